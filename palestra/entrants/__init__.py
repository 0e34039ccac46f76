"""How contestants' programs are reached: a line for each, by sandboxed program, policy server, dial-in or LSL.

May be touched only compatibly: messages and bundles are what contestants build on. Hostile input: all that they say.
"""

from palestra.door import TYPE_CHECKING, lazy_exports

if TYPE_CHECKING:
    from palestra.entrants import bundle, open, websocket_messages
    from palestra.entrants.bundle import PROGRAM
    from palestra.entrants.lsl import pylsl
    from palestra.entrants.open import Called, Entry, Terms
    from palestra.entrants.parts import PARTS, Parts, parts_of
    from palestra.entrants.program import Program, left_unanswered, taken_unanswered
    from palestra.entrants.socket_frames import LONGEST_TEXT, MOST_NUMBERS, SPIN_S, Frame, Header, Receiver, send
    from palestra.entrants.tracebacks import explaining_lines
else:
    __getattr__ = lazy_exports(__name__)
