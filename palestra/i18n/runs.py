"""What is said of runs and programs in English, and its Chinese. Templates as in phrasebook.py."""

FRAMES = {
    "{Faults}\nWhat it printed last:\n{output}": "{Faults}\n最后的输出：\n{output}",
    "… and {n} more": "……另有 {n} 处",
    "verification: {Outcome}; {Message}": "复现核验{Outcome}；{Message}",
    "compliance: {reasons}": "合规性：{reasons}",
    "disqualified: {reason}": "取消资格：{reason}",
    "What it wrote is no submission: {Faults}": "程序写出的内容不是有效的提交：{Faults}",
    "The bundle is no bundle: {Faults}.": "这不是有效的程序包：{Faults}。",
    "{name} could not take part: {Why}": "{name} 未能参加：{Why}",
    "{Where}: found {Found}, expected {Expected}": "{Where}——实际：{Found}；应为：{Expected}",
}

# Of attempts that came to nothing: palestra/contest worker, work, stage, verifying, predicting.
ATTEMPTS = {
    "The platform failed while it worked on this. It was no fault of yours and costs no quota.": (
        "平台在处理时出现故障。这不是您的问题，不占提交次数。"
    ),
    "The process that worked on this crashed. It was no fault of yours and costs no quota.": (
        "处理该提交的进程崩溃了。这不是您的问题，不占提交次数。"
    ),
    "The machine that worked on this was lost. It was no fault of yours and costs no quota.": (
        "处理该提交的机器失去了联系。这不是您的问题，不占提交次数。"
    ),
    "Something failed on our side. It does not count against your quota, and the organiser has been told.": (
        "平台出现故障，不占提交次数，主办方已收到通知。"
    ),
    "{Main} It ended {n} times before the run did, first: {Why}.": "{Main}它在评测结束前退出了 {n} 次，第一次：{Why}。",
    "It gave no usable answer, {n} times. The first time: {Why}.": (
        "程序 {n} 次都没有给出可用的答案。第一次的原因：{Why}。"
    ),
    "Nobody can take part.": "没有队伍能够参加。",
    "No entrant can take part.": "没有队伍能够参加。",
    "The organiser stopped the run.": "主办方中止了这场评测。",
    "This run does not count, and no team is to blame: {why}.": "这场评测不计成绩，且并非任何队伍的责任：{why}。",
    "{name}: not ready after {n} s. Loading must not take longer.": (
        "{name}：{n} 秒后仍未就绪。程序加载不得超过这一时间。"
    ),
    "{name}: said what cannot be read before it was ready: {why}": "{name}：就绪前发来了无法读取的内容：{why}",
    "{name}: ended before it was ready: {Why}": "{name}：就绪前已退出：{Why}",
    "{name}: said something else than ready": "{name}：发来的不是就绪消息",
    "The bundle has {n} wheels; at most {m} are installed.": "程序包中有 {n} 个 wheel；最多安装 {m} 个。",
    "The wheels come to {Size} unpacked; at most {Most} are installed.": "wheel 解压后共 {Size}；最多安装 {Most}。",
    "The wheels cannot be installed ({Why}):\n{output}": "无法安装 wheel（{Why}）：\n{output}",
    "{name} cannot be read as a wheel: {why}.": "{name} 无法作为 wheel 读取：{why}。",
    "It wrote {Size}; a submission has at most {Most}.": "程序写出了 {Size}；提交最多 {Most}。",
    "{program} ended without writing anything to OUT.": "{program} 结束时没有向 OUT 写入任何内容。",
    "predict.py {Why}.": "predict.py {Why}。",
    "Algorithm/predict.py {Why}.": "Algorithm/predict.py {Why}。",
}

# How a program ended: palestra/entrants running, program.
ENDINGS = {
    "{Why}; it was started {n} times, and no more": "{Why}；已启动 {n} 次，不再重试",
    "{Why}; it cannot be started again: {error}": "{Why}；无法再次启动：{error}",
    "{Why}; some of its processes could not be killed": "{Why}；其部分进程无法终止",
    "killed by us": "被平台终止",
    "killed: it ran longer than {n} s": "被终止：运行超过 {n} 秒",
    "killed: it used more than {n} s of processor time": "被终止：占用处理器时间超过 {n} 秒",
    "killed: it used more than {Size} of memory": "被终止：占用内存超过 {Size}",
    "killed: it wrote more than {Size} of temporary files": "被终止：写入的临时文件超过 {Size}",
    "killed: {Size} of packets wait that it does not take": "被终止：有 {Size} 的数据等待接收，程序没有读取",
    "killed: it took longer than {n} s over one packet": "被终止：处理一个数据包超过 {n} 秒",
    "killed: it took longer than {n} s over one answer": "被终止：给出一个答案超过 {n} 秒",
    "killed: it says more than it is asked": "被终止：发送的消息多于所问",
    "killed: it said what cannot be read: {why}": "被终止：发来了无法读取的内容：{why}",
    "it was never started: {why}": "未能启动：{why}",
    "it closed its socket": "程序关闭了连接",
    "it is being started again": "正在重新启动",
    "it could not be made again": "无法重新创建",
    "ended by itself with exit code {n}": "自行退出，退出码 {n}",
    "ended by signal {n} ({name}: {Cause})": "因信号 {n}（{name}：{Cause}）退出",
    "ended by signal {n} ({name})": "因信号 {n}（{name}）退出",
    "ended by signal {n}": "因信号 {n} 退出",
    "a bad memory access": "非法内存访问",
    "it gave up": "程序主动中止",
    "a bad calculation": "非法运算",
    "a bad instruction": "非法指令",
    "a forbidden system call": "被禁止的系统调用",
    "a file grew too large": "文件过大",
    "killed from inside, or short of memory": "从内部被终止，或内存不足",
    "returned {value}, and not a number": "返回了 {value}，而不是数字",
}

# What contained it: palestra/sandbox/backends.py.
SANDBOXES = {
    "{name}: own namespaces, system call filter, {limits}": "{name}：独立命名空间、系统调用过滤、{limits}",
    "{name}: Landlock {n}, system call filter, {limits}": "{name}：Landlock {n}、系统调用过滤、{limits}",
    "{name}: system call filter, {limits}": "{name}：系统调用过滤、{limits}",
}

VERIFICATIONS = {
    "All {n} answers are the same, exactly (largest difference: {worst}).": (
        "全部 {n} 个答案完全一致（最大差异：{worst}）。"
    ),
    "All {n} answers are the same, within {limit} (largest difference: {worst}).": (
        "全部 {n} 个答案在容差 {limit} 内一致（最大差异：{worst}）。"
    ),
    "{Main} Answered in one of the two runs alone: {n}.": "{Main}其中仅在一次运行中作答的有 {n} 个。",
    "{n} of {m} answers are not the same exactly; the first is {trial}. The largest difference is {worst}.": (
        "{m} 个答案中有 {n} 个不完全一致；第一个是 {trial}。最大差异为 {worst}。"
    ),
    "{n} of {m} answers are not the same within {limit}; the first is {trial}. The largest difference is {worst}.": (
        "{m} 个答案中有 {n} 个超出容差 {limit}；第一个是 {trial}。最大差异为 {worst}。"
    ),
}
