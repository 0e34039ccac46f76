"""Forms and links in a page, as a browser finds them."""

from dataclasses import dataclass, field
from html.parser import HTMLParser


@dataclass
class Form:
    """A form: where it goes, and the fields that it sends."""

    method: str
    action: str
    fields: dict[str, str] = field(default_factory=dict)


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.forms: list[Form] = []
        self.links: list[str] = []
        self._inside = False
        self._choice = ""  # the select whose options come

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag == "form":
            self._inside = True
            self.forms.append(Form(values.get("method", "get").lower(), values.get("action", "")))
        elif tag in ("input", "select", "textarea") and self._inside and values.get("name"):
            self.forms[-1].fields[values["name"]] = values.get("value", "")
            self._choice = values["name"] if tag == "select" else ""
        elif tag == "option" and self._choice and not self.forms[-1].fields[self._choice]:
            self.forms[-1].fields[self._choice] = values.get("value", "")
        elif tag == "a" and values.get("href"):
            self.links.append(values["href"])

    def handle_endtag(self, tag: str) -> None:
        if tag == "form":
            self._inside = False


def forms_in(html: str) -> list[Form]:
    return _read(html).forms


def links_in(html: str) -> list[str]:
    return _read(html).links


def _read(html: str) -> _Reader:
    reader = _Reader()
    reader.feed(html)
    return reader
