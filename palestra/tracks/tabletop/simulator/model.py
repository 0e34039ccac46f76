"""The table as a MuJoCo model: the text of its MJCF, made of boxes, cylinders and capsules alone."""

import math

from palestra.tracks.tabletop.simulator.arm import AXES, BASE, GRIP_OFFSET, HAND_OFFSET, HIGH, LOW, OFFSETS, OPEN_WIDTH
from palestra.tracks.tabletop.simulator.cameras import CAMERAS, camera_text
from palestra.tracks.tabletop.simulator.objects import DRAWER_TRAVEL, KINDS, TABLE_LENGTH, TABLE_WIDTH, Scene, Thing
from palestra.tracks.tabletop.simulator.shapes import Geoms, geoms_of, number, numbers

TIMESTEP_S = 0.0025  # 20 steps to a control period
TABLE_THICKNESS, FLOOR_DEPTH = 0.04, 0.72
STIFFNESS = (6000, 6000, 5000, 5000, 2000, 2000, 1000)  # N·m/rad, of the joints' position controllers
DAMPING = (220, 220, 170, 170, 60, 60, 30)  # N·m·s/rad; the hand lags by about 35 ms
TORQUE = (180, 180, 140, 140, 60, 60, 40)  # N·m at most
GRIP_FORCE = 20.0  # N, of each finger at most
LINKS = (  # what each link looks like: (kind, size, where along it)
    ("capsule", 0.062, (0.0, 0.0, -0.06), (0.0, 0.0, 0.17)),
    ("capsule", 0.058, (0.0, -0.03, 0.0), (0.0, 0.03, 0.0)),
    ("capsule", 0.050, (0.0, 0.0, -0.15), (0.0, 0.0, 0.20)),
    ("capsule", 0.052, (0.0, -0.025, 0.0), (0.0, 0.025, 0.0)),
    ("capsule", 0.044, (0.0, 0.0, -0.15), (0.0, 0.0, 0.18)),
    ("capsule", 0.046, (0.0, -0.02, 0.0), (0.0, 0.02, 0.0)),
    ("cylinder", 0.040, (0.0, 0.0, -0.04), (0.0, 0.0, 0.048)),
)


def mjcf(scene: Scene) -> str:
    """The whole model. Things and their joints have the things' ids."""
    things = "".join(_thing(thing) for thing in scene.things)
    return f"""<mujoco model="table">
<compiler angle="radian" autolimits="true"/>
<option timestep="{TIMESTEP_S}" integrator="implicitfast" cone="elliptic" impratio="10" iterations="30">
  <flag sleep="enable"/>
</option>
<size memory="8M"/>
{_VISUAL}
<default>
  <geom friction="0.9 0.01 0.0005" solref="0.01 1" condim="4"/>
  <default class="seen"><geom contype="0" conaffinity="0" group="1" mass="0"/></default>
  <default class="felt"><geom group="3" rgba="0.5 0.5 0.5 0.3"/></default>
</default>
<worldbody>
{_ROOM}
{"".join(camera_text(camera) for camera in CAMERAS.values() if not camera.on_hand)}
{_arm()}
{things}
</worldbody>
<contact>{_EXCLUDED}</contact>
<equality><joint joint1="finger_left" joint2="finger_right" polycoef="0 1 0 0 0" solref="0.005 1"/></equality>
<actuator>{_actuators()}</actuator>
</mujoco>"""


_VISUAL = """<visual>
  <headlight ambient="0.34 0.34 0.34" diffuse="0.22 0.22 0.22" specular="0.05 0.05 0.05"/>
  <quality shadowsize="0" offsamples="0" numquads="1" numslices="20" numstacks="8"/>
  <map znear="0.01" zfar="6"/>
  <global offwidth="1280" offheight="1280"/>
</visual>
<statistic extent="1" center="0 0 0.1"/>
<asset>
  <texture type="skybox" builtin="gradient" rgb1="0.93 0.95 0.97" rgb2="0.72 0.77 0.83" width="64" height="384"/>
  <texture name="floor" type="2d" builtin="checker" rgb1="0.52 0.55 0.58" rgb2="0.49 0.52 0.55" width="64" height="64"/>
  <material name="floor" texture="floor" texrepeat="12 12" texuniform="false"/>
  <material name="shell" rgba="0.93 0.94 0.95 1" specular="0.4" shininess="0.6"/>
  <material name="joint" rgba="0.22 0.25 0.30 1" specular="0.3" shininess="0.5"/>
</asset>"""

_TABLE_HALF = f"{TABLE_LENGTH / 2} {TABLE_WIDTH / 2} {TABLE_THICKNESS / 2}"
_ROOM = f"""<light pos="0.6 -0.9 2.2" dir="-0.25 0.38 -0.9" directional="true" castshadow="false"
  diffuse="0.38 0.37 0.35" specular="0.1 0.1 0.1"/>
<light pos="-0.3 1.2 2.0" dir="0.15 -0.5 -0.85" directional="true" castshadow="false"
  diffuse="0.16 0.17 0.20" specular="0 0 0"/>
<geom name="floor" type="plane" size="3 3 0.1" pos="0 0 {-FLOOR_DEPTH}" material="floor"/>
<geom name="table" type="box" size="{_TABLE_HALF}" pos="0 0 {-TABLE_THICKNESS / 2}" rgba="0.80 0.76 0.70 1"/>
""" + "".join(
    f'<geom class="seen" type="box" size="0.03 0.03 {(FLOOR_DEPTH - TABLE_THICKNESS) / 2}" '
    f'pos="{x * 0.45} {y * 0.70} {-(FLOOR_DEPTH + TABLE_THICKNESS) / 2}" rgba="0.42 0.38 0.34 1"/>\n'
    for x in (-1, 1)
    for y in (-1, 1)
)

# Links beside each other overlap by design; the fingers touch each other when they close on nothing.
_NAMES = ["arm_base", *(f"arm_{i}" for i in range(1, 8)), "hand"]
_EXCLUDED = "".join(
    f'<exclude body1="{_NAMES[i]}" body2="{_NAMES[j]}"/>' for i in range(9) for j in range(i + 1, min(i + 3, 9))
)


def _arm() -> str:
    text = f'<body name="arm_base" pos="{numbers(BASE)}" gravcomp="1">'
    text += '<geom type="cylinder" fromto="0 0 0 0 0 0.02" size="0.09" material="joint"/>'
    text += '<geom type="cylinder" fromto="0 0 0.02 0 0 0.10" size="0.07" material="shell"/>'
    for i, (shape, size, start, end) in enumerate(LINKS):
        axis = "0 0 1" if AXES[i] == "z" else "0 1 0"
        material = "shell" if AXES[i] == "z" and i < 6 else "joint"
        text += f'<body name="arm_{i + 1}" pos="0 0 {OFFSETS[i]}" gravcomp="1">'
        text += f'<joint name="joint_{i + 1}" axis="{axis}" range="{LOW[i]} {HIGH[i]}" damping="2" armature="0.1"/>'
        text += f'<geom type="{shape}" size="{size}" fromto="{numbers(start + end)}" mass="{2.5 - 0.3 * i:.2f}" '
        text += f'material="{material}"/>'
    return text + _hand() + "</body>" * (len(LINKS) + 1)


def _hand() -> str:
    finger_z = 0.055
    fingers = "".join(_finger(side, finger_z) for side in ("left", "right"))
    camera = camera_text(CAMERAS["wrist"])
    return f"""<body name="hand" pos="0 0 {HAND_OFFSET}" gravcomp="1">
<geom type="box" size="0.026 0.060 0.024" pos="0 0 0.024" mass="0.4" material="shell"/>
<geom class="seen" type="box" size="0.014 0.022 0.010" pos="0.072 0 0.006" material="joint"/>
<geom class="seen" type="box" size="0.018 0.010 0.005" pos="0.042 0 0.006" material="joint"/>
{camera}<site name="grip" pos="0 0 {GRIP_OFFSET}" size="0.002" rgba="0 0 0 0"/>{fingers}</body>"""


def _finger(side: str, z: float) -> str:
    sign = 1 if side == "left" else -1
    pads = 'condim="4" friction="1.6 0.02 0.001" solref="0.01 1" solimp="0.95 0.99 0.001" priority="1"'
    return f"""<body name="finger_{side}" pos="0 0 {z}" gravcomp="1">
<joint name="finger_{side}" type="slide" axis="0 {sign} 0" range="0 {OPEN_WIDTH / 2}" damping="20" armature="0.05"/>
<geom type="box" size="0.010 0.006 0.010" pos="0 {sign * 0.006} -0.002" mass="0.02" material="joint"/>
<geom type="box" size="0.010 0.0045 0.030" pos="0 {sign * 0.0045} 0.030" mass="0.03" rgba="0.30 0.33 0.38 1" {pads}/>
</body>"""


def _actuators() -> str:
    text = ""
    for i in range(7):
        text += f'<position name="joint_{i + 1}" joint="joint_{i + 1}" kp="{STIFFNESS[i]}" kv="{DAMPING[i]}" '
        text += f'ctrlrange="{LOW[i]} {HIGH[i]}" forcerange="{-TORQUE[i]} {TORQUE[i]}"/>'
    for side in ("left", "right"):
        text += f'<position name="finger_{side}" joint="finger_{side}" kp="3000" kv="60" '
        text += f'ctrlrange="-0.01 {OPEN_WIDTH / 2}" forcerange="{-GRIP_FORCE} {GRIP_FORCE}"/>'
    return text


def _thing(thing: Thing) -> str:
    turn = f"{number(math.cos(thing.yaw / 2))} 0 0 {number(math.sin(thing.yaw / 2))}"
    place = f'pos="{numbers(thing.position)} 0" quat="{turn}"'
    parts = geoms_of(thing)
    joint = "" if KINDS[thing.kind].fixed else f'<freejoint name="{thing.id}"/>'
    inner = _drawer(thing, parts) if thing.kind == "drawer" else ""
    return f'<body name="{thing.id}" {place}>{joint}{parts.outer}{inner}</body>\n'


def _drawer(thing: Thing, parts: Geoms) -> str:
    joint = f'<joint name="{thing.id}" type="slide" axis="-1 0 0" range="0 {DRAWER_TRAVEL}" '
    joint += 'damping="2" frictionloss="0.6"/>'
    return f'<body name="{thing.id}/slide">{joint}{parts.inner}</body>'
