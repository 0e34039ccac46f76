"""A bundle's own dependencies: installed from the wheels that it carries, inside the sandbox, before the timed part."""

import os
import stat
import zipfile
from pathlib import Path

from palestra.errors import PalestraError, clip
from palestra.formats import BROKEN
from palestra.sandbox.launch import PYTHON, Backend, Limits, Sees, plan
from palestra.sandbox.running_program import Running
from palestra.text import human_bytes, say

FOLDER = "wheels"
INSTALL = Limits(wall_s=600, cpu_s=600, tmp_bytes=4 << 30)  # here tmp_bytes is what the wheels may come to, unpacked
MOST_WHEELS = 500
PIP = (
    "-I", "-m", "pip", "install", "--no-index", "--no-build-isolation", "--only-binary=:all:", "--no-compile",
    "--no-cache-dir", "--disable-pip-version-check", "--no-input", "--no-warn-script-location", "--quiet",
    "--root-user-action=ignore",
)  # fmt: skip
SAID = 2000  # characters of pip's words that are shown


def install_wheels(backend: Backend, bundle: Path, into: Path, limits: Limits = INSTALL) -> None:
    """Install every wheel in the bundle's `wheels` into a new folder, which `start` then takes as `site`. Nothing of
    the bundle runs meanwhile: wheels are only unpacked. What they depend on must be among them."""
    wheels = sorted((bundle / FOLDER).glob("*.whl"))
    into.mkdir(parents=True, exist_ok=False)
    if not wheels:
        return
    _check_size(wheels, limits.tmp_bytes)
    scratch = into / ".tmp"
    scratch.mkdir()
    order = plan(backend, (), Sees(bundle, into, site_writable=True), limits)
    site = order.writable[0][1]
    names = [f"{order.folder}/{FOLDER}/{wheel.name}" for wheel in wheels]
    command = [PYTHON, *PIP, "--find-links", f"{order.folder}/{FOLDER}", "--target", site, *names]
    # pip unpacks in a temporary folder first: it must be on the same disk, and has not the size of /tmp.
    environment = order.environment | {"TMPDIR": f"{site}/.tmp"}
    with Running(order._replace(command=command, environment=environment), None) as running:
        running.wait()
        if running.report is None or running.report.cause != "ended" or running.report.code != 0:
            raise PalestraError(
                say(
                    "The wheels cannot be installed ({why}):\n{strip}",
                    why=running.why(),
                    strip=running.output[-SAID:].strip(),
                )
            )
    scratch.rmdir()
    _own(into)


def _check_size(wheels: list[Path], most: int) -> None:
    """Refuse what would fill the disk. What a zip file declares bounds what Python's reader takes out of it."""
    if len(wheels) > MOST_WHEELS:
        raise PalestraError(
            say(
                "The bundle has {number:,} wheels; at most {most_wheels} are installed.",
                number=len(wheels),
                most_wheels=MOST_WHEELS,
            )
        )
    total = 0
    for wheel in wheels:
        try:
            if not stat.S_ISREG(wheel.lstat().st_mode):
                raise PalestraError(say("{name} is not a file.", name=clip(wheel.name)))
            with zipfile.ZipFile(wheel) as packed:
                total += sum(info.file_size for info in packed.infolist())
        except (*BROKEN, ArithmeticError, LookupError) as error:
            raise PalestraError(
                say("{name} cannot be read as a wheel: {error}.", name=clip(wheel.name), error=error)
            ) from None
    if total > most:
        raise PalestraError(
            say(
                "The wheels come to {total} unpacked; at most {most} are installed.",
                total=human_bytes(total),
                most=human_bytes(most),
            )
        )


def _own(folder: Path) -> None:
    """What was installed is ours from now on and no program's, for all to read."""
    for place, names, files in os.walk(folder):
        for path in (Path(place, name) for name in (".", *names, *files)):
            os.chown(path, os.getuid(), os.getgid(), follow_symlinks=False)
            if not path.is_symlink():
                path.chmod(0o755 if path.is_dir() else path.stat().st_mode & 0o755 | 0o444)
