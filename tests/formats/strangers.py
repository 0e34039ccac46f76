"""What every test of a reader of strangers' files asks."""

import resource
import subprocess
import sys
import textwrap
from collections.abc import Callable
from typing import Any

import pytest

from palestra.errors import SHOWN, Refused


def refusal(read: Callable[..., Any], *arguments: Any, **named: Any) -> Refused:
    """The refusal that a call ends in, fit to be shown."""
    with pytest.raises(Refused) as caught:
        read(*arguments, **named)
    return fit(caught.value)


def fit(refused: Refused) -> Refused:
    assert 1 <= len(refused.faults) <= SHOWN
    assert refused.count >= len(refused.faults)
    for fault in refused.faults:
        assert fault.where and fault.found and fault.expected
        assert max(len(fault.where), len(fault.found), len(fault.expected)) < 400
        assert str(fault).isprintable() and fault.zh.isprintable(), f"a terminal would obey {fault}"
    assert str(refused).encode()
    return refused


def result_or_refusal(read: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """What a call returns; a refusal is None; any other exception fails the test."""
    try:
        return read(*arguments, **named)
    except Refused as refused:
        fit(refused)
        return None


def says(refused: Refused, where: str, found: str, expected: str) -> None:
    """Some fault of the refusal has these words."""
    assert any(
        where in fault.where and found in fault.found and expected in fault.expected for fault in refused.faults
    ), f"{(where, found, expected)} not in:\n{refused}"


def run_bounded(code: str, megabytes: int, seconds: int = 20) -> str:
    """What the code prints when its process may take so much memory of its own, and so much time."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (megabytes << 20, megabytes << 20))
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))

    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, preexec_fn=limit, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout
