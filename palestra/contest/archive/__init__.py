"""What leaves a contest and comes back: signed exports, backups, restores, and their verification.

May be touched only compatibly: archives that were written once must verify and restore forever (docs/exports.md).
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.archive import backup, export, signature, tables
    from palestra.contest.archive.restore import bring_back
else:
    __getattr__ = lazy_exports(__name__)
