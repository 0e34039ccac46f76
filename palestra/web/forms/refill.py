"""A page whose form was refused, with what was typed put back into it and why it was refused beside it.

It works on the page as it was written, so that it holds for every form of every page: no template knows of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from html import escape
from html.parser import HTMLParser
from itertools import accumulate

Sent = Mapping[str, Sequence[str]]  # the fields of a form, each with its values
Attributes = dict[str, str | None]

# Of the page and not of what the form is about: a page that is shown anew has its own.
OF_THE_PAGE = ("csrf", "next", "once", "page", "again")
# What was looked at when the form was sent. It may be another by now, which may be why the form was refused.
LOOKED_AT = ("licence", "preview")
NEVER_REFILLED = ("hidden", "password", "file", "submit", "button", "image", "reset")
TICKED = ("checkbox", "radio")


@dataclass
class _Tag:
    """A tag where it stands."""

    name: str
    attributes: Attributes
    start: int
    end: int

    def __str__(self) -> str:
        given = (name if value is None else f'{name}="{escape(value)}"' for name, value in self.attributes.items())
        return f"<{' '.join([self.name, *given])}>"

    def is_kind(self, *kinds: str) -> bool:
        return (self.attributes.get("type") or "text").lower() in kinds


@dataclass
class _Form:
    tag: _Tag
    around: list[_Tag] = field(default_factory=list)  # what must be open for the form to be seen
    controls: list[_Tag] = field(default_factory=list)
    inside: dict[int, tuple[int, int]] = field(default_factory=dict)  # of a textarea, by where its tag begins

    def hidden(self) -> dict[str, str]:
        found = {tag.attributes.get("name") or "": tag.attributes.get("value") or "" for tag in self.controls
                 if tag.name == "input" and tag.is_kind("hidden")}  # fmt: skip
        return {name: value for name, value in found.items() if name and name not in (*OF_THE_PAGE, *LOOKED_AT)}


class _Reader(HTMLParser):
    """Finds the forms of a page, and where in its text everything stands."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.forms: list[_Form] = []
        self.main_at = 0  # where the page's own part begins
        self._lines = _line_starts(html)
        self._form: _Form | None = None
        self._folded: list[_Tag] = []
        self._choice: _Tag | None = None
        self.feed(html)
        self.close()

    def _here(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, name: str, attrs: list[tuple[str, str | None]]) -> None:
        start = self._here()
        tag = _Tag(name, dict(attrs), start, start + len(self.get_starttag_text() or ""))
        if name == "main":
            self.main_at = tag.end
        elif name == "details":
            self._folded.append(tag)
        elif name == "form":
            self._form = _Form(tag, list(self._folded))
            self.forms.append(self._form)
        elif self._form and name in ("input", "textarea", "select", "option"):
            self._control(self._form, tag)

    def _control(self, form: _Form, tag: _Tag) -> None:
        if tag.name == "select":
            self._choice = tag
        elif tag.name == "option" and self._choice:
            tag.attributes["name"] = self._choice.attributes.get("name")  # so that it is found by it
        form.controls.append(tag)

    def handle_endtag(self, name: str) -> None:
        if name == "details" and self._folded:
            self._folded.pop()
        elif name == "form":
            self._form = None
        elif name == "select":
            self._choice = None
        elif name == "textarea" and self._form:
            tag = self._form.controls[-1]
            self._form.inside[tag.start] = (tag.end, self._here())


def _line_starts(html: str) -> list[int]:
    """Where lines begin, as the parser counts them: by line feeds alone."""
    return [0, *accumulate(len(line) + 1 for line in html.split("\n"))]


Edit = tuple[int, int, str]  # from where to where in the text, and what stands there then


def refilled(html: str, action: str, sent: Sent, alert: str) -> str:
    """The page with the form that was sent to `action` as it was filled in, and `alert`, which is HTML, at its top; at
    the top of the page where the form is not on it any more."""
    page = _Reader(html)
    form = _found(page.forms, action, sent)
    if form is None:
        return html[: page.main_at] + alert + html[page.main_at :]
    edits: list[Edit] = [(form.tag.end, form.tag.end, alert)]
    edits += [(tag.start, tag.end, _open(tag)) for tag in form.around]
    edits += _values(form, sent)
    for start, end, text in sorted(edits, reverse=True):
        html = html[:start] + text + html[end:]
    return html


def _found(forms: Sequence[_Form], action: str, sent: Sent) -> _Form | None:
    """The form that was sent: about the same thing, by all that is hidden in it. One about another team or another
    account must not be filled in with what was meant for this one."""
    alike = [form for form in forms if form.tag.attributes.get("action") == action]
    return next((form for form in alike if _is_about_the_same(form.hidden(), sent)), None)


def _is_about_the_same(hidden: Mapping[str, str], sent: Sent) -> bool:
    return all(value in sent.get(name, [""]) for name, value in hidden.items())


def _open(tag: _Tag) -> str:
    tag.attributes["open"] = None
    return str(tag)


def _values(form: _Form, sent: Sent) -> list[Edit]:
    count: dict[str, int] = {}
    edits: list[Edit] = []
    for tag in form.controls:
        name = tag.attributes.get("name") or ""
        if not name or tag.name == "select" or (tag.name == "input" and tag.is_kind(*NEVER_REFILLED)):
            continue
        if tag.name == "option" or tag.is_kind(*TICKED):
            edits.append((tag.start, tag.end, _chosen(tag, sent.get(name, ()))))
        elif name in sent and count.get(name, 0) < len(sent[name]):
            value = sent[name][count.get(name, 0)]
            count[name] = count.get(name, 0) + 1
            edits.append(_typed(form, tag, value))
    return edits


def _chosen(tag: _Tag, values: Sequence[str]) -> str:
    """An option or a box, chosen or ticked as it was."""
    mark = "selected" if tag.name == "option" else "checked"
    if "value" not in tag.attributes and tag.name == "option":
        return str(_without(tag, "name"))  # its text is its value
    tag.attributes.pop(mark, None)
    if (tag.attributes.get("value") or ("on" if mark == "checked" else "")) in values:
        tag.attributes[mark] = None
    return str(_without(tag, "name") if tag.name == "option" else tag)


def _without(tag: _Tag, name: str) -> _Tag:
    return _Tag(tag.name, {key: value for key, value in tag.attributes.items() if key != name}, tag.start, tag.end)


def _typed(form: _Form, tag: _Tag, value: str) -> Edit:
    if tag.name == "textarea":
        start, end = form.inside.get(tag.start, (tag.end, tag.end))
        return start, end, "\n" + escape(value)  # the first line end in it is no part of it
    tag.attributes["value"] = value
    return tag.start, tag.end, str(tag)
