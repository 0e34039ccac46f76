"""How a team's program is spoken to: what it sees, what it says, and in which of three ways."""

from __future__ import annotations

from palestra.contest.manual import Block, Code, Grid, Heading, Points, Prose, Section
from palestra.text import Words

_PYTHON = """\
class MyAlgorithm:
    def __init__(self):                # load the model, once
        ...

    def reset(self, about):            # a case begins
        self.wish = about["instruction"]

    def act(self, observation):        # arrays by name, and what else is told
        return action                  # 8 or 7 numbers, several of them (n x 8), or
                                       # {"actions": ..., "done": True}
"""
_AGENT = """\
POST /agent/initialize        {"args": [], "kwargs": {}}               -> "name", or {"name": ...}
POST /agent/{name}/reset      {"args": [], "kwargs": {}}               before each case
POST /agent/{name}/step       {"args": [[observation]], "kwargs": {}}  -> [action] or {"result": [action]}

an array: {"type": "ndarray", "dtype": "float32", "shape": [2, 3], "data": base64 of its bytes}
"""
_OPENPI = """\
server -> metadata                     on connect: any map
client -> {"rgb_top": array, ..., "instruction": "...", "step": 0, "trial": "...", "ask": true}
server -> {"actions": array}           n x 8 or n x 7; "done": true ends the case
server -> text                         an error: its traceback

an array in msgpack: {b"__ndarray__": true, b"data": bytes, b"dtype": "<f4", b"shape": [2, 3]}
"""


def interfaces(size: int, hz: int) -> Section:
    blocks: list[Block] = [
        Heading(Words("Observation", "观测")),
        observation(size),
        Prose(Words("Nothing in an observation tells whether anything is met.", "观测中不含任何有关成败的信息。")),
        Heading(Words("Action", "动作")),
        Grid(
            (Words("numbers", "数目"), Words("meaning", "含义")),
            (
                (
                    "8",
                    Words(
                        "7 joint angles (rad), then the gripper: 0 shut, 1 open",
                        "7 个关节角（rad）和夹爪开度：0 闭合，1 张开",
                    ),
                ),
                (
                    "7",
                    Words(
                        "the hand's move (3, m) and turn (3, rotation vector, rad) in world axes, then the gripper",
                        "手部在世界坐标系中的位移（3，m）、转动（3，旋转向量，rad）和夹爪开度",
                    ),
                ),
            ),
        ),
        Points(_acting(hz)),
        Heading(
            Words(
                "A policy server (WebSocket, as openpi-client speaks)", "策略服务器（WebSocket，与 openpi-client 相同）"
            )
        ),
        Prose(
            Words(
                "Palestra dials ws://host:port. Messages are msgpack with numpy arrays; each request gets one "
                "response, in order. What is written with openpi's server runs unchanged.",
                "由平台连接 ws://主机:端口。消息为带 numpy 数组的 msgpack；每个请求依次对应一个响应。"
                "以 openpi 服务端编写的程序可直接运行。",
            )
        ),
        Code(_OPENPI),
        Heading(Words("An agent server (HTTP)", "智能体服务器（HTTP）")),
        Prose(
            Words(
                "For what was written for the table's first contests. Only these three are called. An answer has "
                "1 MiB at most.",
                "适用于此前比赛所写的程序。只调用以下三个接口；单个应答不超过 1 MiB。",
            )
        ),
        Code(_AGENT),
        Heading(Words("A Python class", "Python 类")),
        Prose(
            Words(
                "Algorithm/MyAlgorithm.py in a bundle (folder, .zip, .tar.gz). It runs in a sandbox without network; "
                "wheels that it needs lie in wheels/. Neither the class nor its methods may be renamed.",
                "打包文件（文件夹、.zip 或 .tar.gz）中的 Algorithm/MyAlgorithm.py。"
                "在无网络的沙箱中运行；所需的 wheel 放在 wheels/ 目录。类名和方法名不可更改。",
            )
        ),
        Code(_PYTHON),
    ]
    return Section("interfaces", Words("Interfaces", "接口文档"), tuple(blocks))


def observation(size: int) -> Grid:
    """Every field that a program is shown. A test holds this to what the table really shows."""
    pose = Words("camera axes to world, now", "当前从相机坐标系到世界坐标系的变换")
    per_camera = [
        (f"{what}_{camera}", kind, shape, unit, told)
        for what, kind, shape, unit, told in (
            ("rgb", "uint8", f"{size} × {size} × 3", "0–255", Words("picture, red green blue", "彩色图像，红绿蓝")),
            (
                "depth",
                "float32",
                f"{size} × {size}",
                "m",
                Words("along the camera's z, pixel by pixel", "沿相机 z 轴的深度，逐像素"),
            ),
            ("pose", "float64", "4 × 4", "m", pose),
        )
        for camera in ("top", "side", "wrist")
    ]
    rows = [
        ("instruction", "text", "", "", Words("the wish, in English", "英文指令")),
        ("instruction_zh", "text", "", "", Words("the same wish in Chinese", "中文指令（含义相同）")),
        ("case", "int", "", "", Words("number of the case in the run", "用例在本次运行中的序号")),
        (
            "step",
            "int",
            "",
            "",
            Words("control periods since the start; 0 begins a case", "自开始以来的控制周期数；0 表示新用例开始"),
        ),
        ("joints", "float64", "7", "rad", Words("joint angles", "关节角")),
        (
            "hand_pose",
            "float64",
            "4 × 4",
            "m",
            Words("point between the fingertips, in the world", "两指尖中点在世界坐标系中的位姿"),
        ),
        ("gripper", "float64", "1", "0–1", Words("how far it is open", "夹爪开度")),
        *per_camera,
    ]
    head = (
        Words("field", "字段"),
        Words("type", "类型"),
        Words("shape", "形状"),
        Words("unit", "单位"),
        Words("what it is", "说明"),
    )
    return Grid(head, tuple(rows))


def _acting(hz: int) -> tuple[Words, ...]:
    return (
        Words(
            f"Control runs at {hz} Hz and does not wait: while a program thinks, its last action goes on.",
            f"控制频率为 {hz} Hz，不等待程序：程序计算期间，上一个动作继续执行。",
        ),
        Words(
            "A program is shown the world again when nothing of what it said is left to be done. Up to 256 actions may "
            "be said at once.",
            "程序给出的动作执行完后才会收到下一次观测；一次最多给出 256 个动作。",
        ),
        Words(
            "Targets are kept within the joints' limits, and move no faster than the arm can.",
            "目标值会被限制在关节范围内，变化速度不超过机械臂的能力。",
        ),
        Words(
            "An answer with NaN, another shape or numbers beyond all bounds is noted, and the last action goes on.",
            "含 NaN、形状不符或数值越界的应答会被记录，上一个动作继续执行。",
        ),
    )
