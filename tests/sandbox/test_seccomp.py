"""The system call filter, run by hand: also for the machine that this one is not."""

import struct

import pytest

from palestra.sandbox import seccomp

ALLOW, KILL, EPERM, ENOSYS, EACCES = 0x7FFF0000, 0x80000000, 0x50001, 0x50026, 0x5000D
MACHINES = ["x86_64", "aarch64"]


def judge(machine: str, number: int, *arguments: int, alone: bool = True, architecture: int | None = None) -> int:
    """What the filter says of a call, as the kernel would work it out."""
    known, _ = seccomp.MACHINES[machine]
    words = [*arguments, *[0] * (6 - len(arguments))]
    data = struct.pack("<IIQ6Q", number, known if architecture is None else architecture, 0, *words)
    code = list(struct.iter_unpack("<HBBI", seccomp.program(alone, machine)))
    held = place = 0
    while True:
        kind, yes, no, value = code[place]
        place += 1
        if kind == seccomp.LOAD:
            held = struct.unpack_from("<I", data, value)[0]
        elif kind == seccomp.RETURN:
            return value
        else:
            true = {seccomp.EQUAL: held == value, seccomp.AT_LEAST: held >= value, seccomp.ANY_BIT: held & value}[kind]
            place += yes if true else no


@pytest.mark.parametrize("machine", MACHINES)
def test_every_call_on_the_lists_is_refused_and_others_are_not(machine):
    column = MACHINES.index(machine)
    forbidden = {numbers[column] for numbers in seccomp.FORBIDDEN.values()} - {None}
    absent = {numbers[column] for numbers in seccomp.ABSENT.values()} - {None}
    judged = {seccomp.SOCKET[column]}  # by its argument
    for number in range(seccomp.UNKNOWN_FROM):
        expected = EPERM if number in forbidden else ENOSYS if number in absent else ALLOW
        assert judge(machine, number) == (EACCES if number in judged else expected), number


@pytest.mark.parametrize("machine", MACHINES)
def test_calls_of_another_machine_kill_and_unknown_ones_are_absent(machine):
    assert judge(machine, 0, architecture=0x40000003) == KILL  # 32-bit x86 on the same processor
    for number in (seccomp.UNKNOWN_FROM, 0x40000000 + 1, 2**32 - 1):
        assert judge(machine, number) == ENOSYS


@pytest.mark.parametrize("machine", MACHINES)
def test_arguments_count_where_they_must(machine):
    column = MACHINES.index(machine)
    clone, sock, ioctl = seccomp.CLONE[column], seccomp.SOCKET[column], seccomp.IOCTL[column]
    threads = 0x3D0F00
    assert judge(machine, clone, threads) == judge(machine, clone, 17) == ALLOW
    for flag in (0x20000, 0x2000000, 0x4000000, 0x8000000, 0x10000000, 0x20000000, 0x40000000):
        assert judge(machine, clone, flag | 17) == EPERM
    assert judge(machine, sock, 1) == ALLOW and judge(machine, sock, 2) == judge(machine, sock, 16) == EACCES
    assert judge(machine, sock, 1, alone=False) == EACCES
    assert judge(machine, ioctl, 0, 0x5401) == ALLOW and judge(machine, ioctl, 0, 0x5412) == EPERM
    fcntl, preadv2 = seccomp.FCNTL[column], seccomp.PREADV2[column]
    for command, expected in ((0, ALLOW), (6, ALLOW), (1024, EPERM), (1025, EPERM), (1026, EPERM), (1030, ALLOW)):
        assert judge(machine, fcntl, 3, command) == expected
    assert judge(machine, preadv2, 3, 0, 1, 0, 0, 1) == ALLOW and judge(machine, preadv2, 3, 0, 1, 0, 0, 9) == 0x5005F
    for numbers in seccomp.OF_A_PROCESS.values():
        number = numbers[column]
        assert number is not None
        assert judge(machine, number, 1) == ALLOW and judge(machine, number, 1, alone=False) == EPERM
        assert judge(machine, number, 0, alone=False) == ALLOW
    for numbers in seccomp.OF_A_USER.values():
        assert (
            judge(machine, numbers[column] or 0) == ALLOW and judge(machine, numbers[column] or 0, alone=False) == EPERM
        )
