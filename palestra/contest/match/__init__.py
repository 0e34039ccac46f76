"""The referees' table: a match from its opening to its results, as a state machine over events.

Only as new events; a changed rule of scoring changes published numbers.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.contest.match import events, marks, outcomes, state_machine, timetable, turn
    from palestra.contest.match.available_actions import ASK, Option, at_table, options
    from palestra.contest.match.cases import Case, CaseSet, Entrant, Goal, Group, Sheet, Thing, cases_of
    from palestra.contest.match.clock import shown
    from palestra.contest.match.consequences import LABELS
    from palestra.contest.match.cross_check import numbers_again
    from palestra.contest.match.event_kinds import Part, Who
    from palestra.contest.match.events import Entry, MatchBody, MatchOpened, Slot, SlotsPlanned
    from palestra.contest.match.marks import Standing, counted
    from palestra.contest.match.on_site_ranking import Placed, Tally, ranked, tallies, tally, why, with_online
    from palestra.contest.match.outcomes import outcomes_of
    from palestra.contest.match.penalties import deducted
    from palestra.contest.match.reducer import apply, at_time, opened, take_in, team_of
    from palestra.contest.match.results import at_the_time, note_result
    from palestra.contest.match.rules import TOTAL_MS, MatchRules, match_rules, phase_of_match, weights_of
    from palestra.contest.match.simulated_referees import SIMULATOR, SimulatedCase, SimulatedGoal, marks_of, preparation
    from palestra.contest.match.state import Appeal, CaseState, Match, Note, OnSite, Penalty, Scene, Turn, case_of
    from palestra.contest.match.state_machine import decide
    from palestra.contest.match.timetable import timetable_of
    from palestra.contest.match.turn import case_left_ms, current, is_over
else:
    __getattr__ = lazy_exports(__name__)
