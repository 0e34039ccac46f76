"""Tabletop manipulation by instruction: tabletop-manip-v1, simulated and before referees.

Changes published numbers: changed scoring is a new version beside manip_v1.py.
"""

from typing import TYPE_CHECKING

from palestra.door import lazy_exports

if TYPE_CHECKING:
    from palestra.tracks.tabletop import format, manual
    from palestra.tracks.tabletop.case_catalogue import catalogue, sheet
    from palestra.tracks.tabletop.manip_v1 import Settings, cases_of
    from palestra.tracks.tabletop.rehearsal import Logged, Paper, Player, Rehearsal
    from palestra.tracks.tabletop.simulator.arm import BASE
    from palestra.tracks.tabletop.simulator.objects import TABLE_LENGTH, TABLE_WIDTH, footprint
else:
    __getattr__ = lazy_exports(__name__)
