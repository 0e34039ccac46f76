"""A form that was refused, as the page that shows it again is told of it: why, and what was typed.

The macros of `parts.html` ask it as they draw forms and fields. On any other page it is FRESH, which fills in nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

Sent = Mapping[str, Sequence[str]]  # the fields of a form, each with its values

# Hidden in forms, yet not what they are about: where a refused form comes back, and what was looked at when it was
# sent. That may be another by now, which may be why the form was refused.
NOT_ITS_SUBJECT = ("again", "licence", "preview")


@dataclass(frozen=True)
class Typed:
    """What the fields of one form on a page hold."""

    sent: Sent | None = None  # none where it is not the form that was refused

    @property
    def is_refused(self) -> bool:
        return self.sent is not None

    def text(self, name: str, otherwise: object) -> object:
        """The text of a field."""
        return next(iter((self.sent or {}).get(name, ())), otherwise)

    def has(self, name: str, value: object, otherwise: bool) -> bool:
        """Whether an option is chosen, or a box ticked."""
        return otherwise if self.sent is None else str(value) in self.sent.get(name, ())


@dataclass
class Refusal:
    address: str = ""  # that the form was sent to
    sent: Sent = field(default_factory=dict)
    message: str = ""
    faults: tuple[str, ...] = ()
    is_told: bool = False  # whether the page says it by now

    def typed(self, address: str, hidden: Mapping[str, object]) -> Typed:
        """What the fields of a form hold; what was sent, where it is the first on the page that this was sent from."""
        if self.is_told or address != self.address or not self._is_about(hidden):
            return Typed()
        self.is_told = True
        return Typed(self.sent)

    def _is_about(self, hidden: Mapping[str, object]) -> bool:
        """Whether a form is about the same thing, by all that is hidden in it. One about another team or another
        account must not be filled in with what was meant for this one."""
        subject = {name: str(value) for name, value in hidden.items() if name not in NOT_ITS_SUBJECT}
        return all(value in self.sent.get(name, [""]) for name, value in subject.items())

    def is_left_to_the_page(self) -> bool:
        """Whether the page itself must say it, because the form is not on it any more; asked once all else is drawn."""
        left = bool(self.address) and not self.is_told
        self.is_told = self.is_told or left
        return left


FRESH = Refusal()
