"""What can be told of whoever asks by the request alone: the language they read, whether a program asks."""

import re
from typing import Any
from urllib.parse import urlsplit

from litestar import Request

from palestra.text import LANGUAGES
from palestra.web.site import Site

LANGUAGE = "palestra_language"
PROGRAMS = ("/api", "/live", "/health", "/metrics")
NO_PAGES = (*PROGRAMS, "/static", "/do/", "/sign-in/")  # what no form of ours stands on


def language_of(request: Request[Any, Any, Any]) -> str:
    """The language that was asked for: in the address, before, or by the browser."""
    wanted = request.query_params.get("lang") or request.cookies.get(LANGUAGE)
    return str(wanted) if wanted in LANGUAGES else preferred(request.headers.get("accept-language", ""))


def preferred(accepted: str) -> str:
    """The one of our languages that a browser likes best: `fr, zh-CN;q=0.9, en;q=0.8`. English, where it likes none."""
    likings = dict.fromkeys(LANGUAGES, 0.0)
    for part in accepted[:1000].split(","):
        name, _, weight = part.partition(";")
        language = name.strip().lower().partition("-")[0]
        liking = weight.strip().removeprefix("q=")
        if language in likings:
            good = re.fullmatch(r"[01](\.\d{0,3})?", liking)
            likings[language] = max(likings[language], float(liking) if good else 0.0 if liking else 1.0)
    return max(LANGUAGES, key=lambda language: likings[language])  # the first of them, where both are liked as much


def address_of(site: Site, request: Request[Any, Any, Any]) -> str:
    """Where people reach the server: as it was set up, else as they have just reached it."""
    return site.setup.address or str(request.base_url).rstrip("/")


def local_path(wanted: str) -> str:
    """An address of ours, and of nobody else: browsers take a backslash for a slash, and leave out tabs."""
    ours = wanted.startswith("/") and not wanted.startswith(("//", "/\\")) and wanted.isprintable()
    return wanted if ours else "/"


def came_from(site: Site, request: Request[Any, Any, Any]) -> str:
    """Where on our site the browser says that it was; empty where it was on none of our pages, or does not say."""
    said = urlsplit(request.headers.get("referer", ""))
    if not said.netloc or said.netloc != urlsplit(address_of(site, request)).netloc:
        return ""
    return local_path(said.path + (f"?{said.query}" if said.query else ""))


def is_program(request: Request[Any, Any, Any]) -> bool:
    """Whether an error is answered as a record, and not as a page."""
    return request.url.path.startswith(PROGRAMS) or "hx-request" in request.headers
