"""A bundle's own dependencies, from its own wheels."""

import os
import zipfile
from pathlib import Path

import pytest

from palestra.entrants.wheels import install_wheels
from palestra.errors import PalestraError
from palestra.sandbox import launch
from palestra.sandbox.launch import Limits
from tests.entrants.programs import TRIES


def _wheel(folder: Path, name: str = "entrantlib", needs: str = "", size: int = 10) -> None:
    folder.mkdir(exist_ok=True)
    info = f"{name}-1.0.dist-info"
    with zipfile.ZipFile(folder / f"{name}-1.0-py3-none-any.whl", "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr(f"{name}/__init__.py", "VALUE = 41\n")
        packed.writestr(f"{name}/data.bin", b"\0" * size)
        needed = f"Requires-Dist: {needs}\n" if needs else ""
        packed.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n{needed}")
        packed.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        packed.writestr(f"{info}/RECORD", f"{name}/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n")


@pytest.fixture
def venv_ground(ground):
    if ground.python != launch.PYTHON:
        pytest.skip("another Python, without pip")
    return ground


def test_a_bundles_wheels_are_installed_and_used(venv_ground, folder):
    ground = venv_ground
    _wheel(ground.bundle / "wheels")
    install_wheels(ground.backend, ground.bundle, folder / "site")
    assert (folder / "site" / "entrantlib" / "__init__.py").stat().st_uid == os.getuid()
    program = f"{TRIES}\nimport entrantlib as e; print('value', e.VALUE + 1); tries(lambda: open(e.__file__, 'w'))"
    ended = ground.run(program, site=folder / "site")
    assert "value 42" in ended.output and "refused:" in ended.output


def test_wheels_that_pip_refuses_are_told_with_its_words(venv_ground, folder):
    _wheel(venv_ground.bundle / "wheels", needs="something-that-is-not-there")
    with pytest.raises(PalestraError, match="something-that-is-not-there"):
        install_wheels(venv_ground.backend, venv_ground.bundle, folder / "site")


def test_wheels_that_would_fill_the_disk_are_refused(venv_ground, folder):
    _wheel(venv_ground.bundle / "wheels", size=10_000_000)
    with pytest.raises(PalestraError, match=r"come to 10\.0 MB unpacked; at most 1\.0 MB"):
        install_wheels(venv_ground.backend, venv_ground.bundle, folder / "site", Limits(tmp_bytes=1_000_000))


def test_a_bundle_without_wheels_needs_none(venv_ground, folder):
    install_wheels(venv_ground.backend, venv_ground.bundle, folder / "site")
    assert list((folder / "site").iterdir()) == []
