"""The headless Chromium of the machine, driven by playwright."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

EXECUTABLE = Path("/usr/bin/chromium")
_FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
)


@dataclass
class Opened:
    """A page. told: its output on the console, errors included. asked: the URLs that it requested,
    without its own."""

    page: Any
    told: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)

    def value(self, script: str) -> Any:
        """The value of the script in the page."""
        return self.page.evaluate(script)


def until(opened: Opened, script: str) -> None:
    """Waits until the script is true in the page, whose policy forbids playwright's own waiting."""
    deadline = time.monotonic() + 10
    while not opened.value(script):
        assert time.monotonic() < deadline, script
        time.sleep(0.02)


class Browser:
    """Opens pages; `page` closes them."""

    def __init__(self, browser: Any) -> None:
        self._browser = browser

    @contextmanager
    def page(
        self, path: Path, *, width: int = 1280, scheme: str = "light", scripts: bool = True
    ) -> Iterator[Opened]:
        """The file, in a window with this width in pixels and this scheme, light or dark."""
        context = self._browser.new_context(
            viewport={"width": width, "height": 800},
            color_scheme=scheme,
            java_script_enabled=scripts,
        )
        opened = Opened(context.new_page())
        url = path.as_uri()
        opened.page.on("console", lambda message: opened.told.append(message.text))
        opened.page.on("pageerror", lambda error: opened.told.append(str(error)))
        opened.page.on(
            "request",
            lambda request: None if request.url == url else opened.asked.append(request.url),
        )
        opened.page.goto(url)
        try:
            yield opened
        finally:
            context.close()


@contextmanager
def browser() -> Iterator[Browser]:
    """The browser, ended at exit."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        launched = driver.chromium.launch(executable_path=str(EXECUTABLE), args=list(_FLAGS))
        try:
            yield Browser(launched)
        finally:
            launched.close()
