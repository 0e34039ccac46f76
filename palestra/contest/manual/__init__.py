"""The published pack of a match on site: all that teams are told beforehand, made from the contest file.

May be touched freely; its words are what teams prepare by.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.manual.blocks import Block, Cell, Code, Drawing, Grid, Heading, Pack, Points, Prose, Section
    from palestra.contest.manual.build import Source, pack, source_of
else:
    __getattr__ = lazy_exports(__name__)
