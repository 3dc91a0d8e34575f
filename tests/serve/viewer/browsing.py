"""A real headless Chromium on the viewer, which notes whatever a page should not do."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, sync_playwright

CHROMIUM = shutil.which("chromium")
SWITCHES = [
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--disable-background-networking", "--disable-component-update",
    "--disable-sync",
]  # fmt: skip

WIDTHS = {"wide": (1280, 900), "narrow": (390, 844)}


@contextmanager
def chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=SWITCHES)
        yield browser
        browser.close()


class Reader:
    """One window. `wrong` collects errors, dialogs, and requests to anywhere but where the page came from."""

    def __init__(self, browser: Browser, url: str, *, width: str = "wide", scheme: Any = "light") -> None:
        self.url = url
        self.wrong: list[str] = []
        size = WIDTHS[width]
        self.page: Page = browser.new_page(viewport={"width": size[0], "height": size[1]}, color_scheme=scheme)
        self.page.set_default_timeout(20_000)
        self.page.on("pageerror", lambda error: self.wrong.append(f"error: {error}"))
        self.page.on("console", self._said)
        self.page.on("dialog", lambda dialog: (self.wrong.append(f"dialog: {dialog.message}"), dialog.dismiss()))
        self.page.on("request", self._requested)

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.wrong.append(f"{message.type}: {message.text}")

    def _requested(self, request: Any) -> None:
        origin = urlsplit(self.url)
        asked = urlsplit(request.url)
        if asked.scheme not in ("data", "blob") and (asked.scheme, asked.netloc) != (origin.scheme, origin.netloc):
            self.wrong.append(f"request: {request.url}")

    def go(self, address: str, wait_for: str) -> None:
        """To `#address`; `wait_for` is what a selector finds when the page is there."""
        if urlsplit(self.page.url)[:3] != urlsplit(self.url)[:3]:
            self.page.goto(self.url + address)
        else:
            self.page.evaluate("address => { location.hash = address }", address)
        self.page.wait_for_selector(wait_for)

    def check(self, name: str) -> None:
        """Fits its window, and axe-core finds no serious fault; a picture of it is kept where `CORPUSCOPE_PICTURES` says."""
        assert self.wrong == [], name
        across = self.page.evaluate("[document.documentElement.scrollWidth, innerWidth]")
        assert across[0] <= across[1], f"{name} is {across[0]} pixels wide in a window of {across[1]}"
        violations = Axe().run(self.page).response["violations"]
        told = [
            f"{name}: {fault['impact']} {fault['id']} {fault['nodes'][0]['html'][:200]}"
            for fault in violations
            if fault["impact"] in ("serious", "critical")
        ]
        assert told == []
        self.picture(name)

    def picture(self, name: str) -> None:
        if folder := os.environ.get("CORPUSCOPE_PICTURES"):
            self.page.screenshot(path=Path(folder) / f"{name}.png")

    def focused(self) -> str:
        return str(self.page.evaluate("document.activeElement.innerText ?? ''"))
