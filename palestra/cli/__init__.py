"""The command line: one module for each group of commands. They parse, call and print; what they do is elsewhere.

May be touched only compatibly: commands, options, exit codes and JSON are relied upon (docs/commands.md).
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.cli.app import main
else:
    __getattr__ = lazy_exports(__name__)
