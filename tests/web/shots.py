"""Pictures of every page with sample views: python -m tests.web.shots FOLDER [PAGE …]

A page is served from memory, with the policy that the contest's server sets, so what that forbids shows here.
"""

from __future__ import annotations

import mimetypes
import sys
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from playwright.sync_api import Browser, ConsoleMessage, Page, Route, sync_playwright

from palestra.web.site.rendering import STATIC, render
from tests.web import samples
from tests.web.sample_live import live_point

CHROMIUM = "/usr/bin/chromium"
HOST = "http://contest.test"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; frame-src 'self'; form-action 'self'; base-uri 'none'"
)
SIZES = {
    "phone": (390, 844), "upright": (768, 1024), "tablet": (1024, 768), "laptop": (1366, 768), "wall": (1920, 1080),
    "huge": (3840, 2160),
}  # fmt: skip
SCREENS = ("screen", "hall")  # pages for a wall
POINTS = 130  # of the live run


def main(folder: Path, wanted: list[str]) -> int:
    """How many complaints there were: scrolling sideways, errors in the console."""
    folder.mkdir(parents=True, exist_ok=True)
    complaints: list[str] = []
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for size, (width, height) in SIZES.items():
            for scheme in ("light", "dark"):
                for language in ("en", "zh"):
                    names = [name for name in samples.pages() if not wanted or name in wanted]
                    shown = [name for name in names if size != "huge" or name.startswith(SCREENS)]
                    if shown:
                        complaints += shoot(browser, folder, shown, (size, width, height, scheme, language))
        browser.close()
    print("\n".join(complaints) or "No page scrolls sideways, none complains.")
    return len(complaints)


def shoot(browser: Browser, folder: Path, names: list[str], how: tuple[str, int, int, str, str]) -> list[str]:
    size, width, height, scheme, language = how
    zone = "Europe/Berlin" if language == "en" else "Asia/Shanghai"
    context = browser.new_context(
        viewport={"width": width, "height": height},
        color_scheme="dark" if scheme == "dark" else "light",
        timezone_id=zone,
        locale="zh-CN" if language == "zh" else "en-GB",
    )
    complaints: list[str] = []
    page = context.new_page()
    page.on("console", lambda said: complaints.append(said.text) if is_fault(said) else None)
    page.on("pageerror", lambda error: complaints.append(str(error)))
    context.route("**/*", lambda route: answer(route, language))
    for name in names:
        page.goto(f"{HOST}/{name}", wait_until="load")
        page.wait_for_timeout(250)
        whole = size not in ("wall", "huge") and not name.startswith((*SCREENS, "certificate"))
        page.screenshot(path=folder / f"{name}-{size}-{scheme}-{language}.png", full_page=whole)
        if scrolls(page):
            complaints.append(f"{name} at {size} in {language} scrolls sideways.")
    context.close()
    return complaints


def is_fault(said: ConsoleMessage) -> bool:
    """An error, other than htmx's word that the event stream has ended: here it always has."""
    return said.type == "error" and said.text != "[object Event]"


def scrolls(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"))


def answer(route: Route, language: str) -> None:
    """What a server would say."""
    path = urlsplit(route.request.url).path
    name = path.strip("/")
    if path.startswith("/static/"):
        file = STATIC / path.removeprefix("/static/")
        route.fulfill(body=file.read_bytes(), content_type=mimetypes.guess_type(file)[0] or "application/octet-stream")
    elif path == "/live":
        route.fulfill(body=": quiet\nretry: 600000\n\n", content_type="text/event-stream")
    elif path.endswith("/clock"):
        route.fulfill(body=msgspec.json.encode({"now": samples.NOW}), content_type="application/json")
    elif path.endswith("/points"):
        points = {"points": [live_point(number) for number in range(1, POINTS + 1)]}
        route.fulfill(body=msgspec.json.encode(points), content_type="application/json")
    elif name in samples.pages():
        template, frame, page = samples.pages()[name]
        html = render(template, language, frame=frame, page=page)
        route.fulfill(body=html, content_type="text/html; charset=utf-8", headers={"Content-Security-Policy": POLICY})
    else:
        route.fulfill(status=404, body="")


if __name__ == "__main__":
    sys.exit(1 if main(Path(sys.argv[1]), sys.argv[2:]) else 0)
