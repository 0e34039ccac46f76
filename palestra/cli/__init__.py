"""The commands."""

from typing import TYPE_CHECKING

from palestra.door import opened

if TYPE_CHECKING:
    from palestra.cli.app import main
else:
    __getattr__ = opened(__name__)
