"""A real browser for the console: signed in as the hospital's users, driven by Playwright."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

PASSWORD = "correct horse battery"
AXE = (Path(__file__).parent / "vendor" / "axe.min.js").read_text("utf-8")
SCAN = """
async () => {
  const found = await axe.run(document, {resultTypes: ["violations"]});
  return found.violations.map(one => one.id + ": " + one.nodes.map(n => n.html).slice(0, 3).join(" | "));
}
"""
# Parts that stick out to the right of the screen, where nothing lets a reader scroll to them.
CUT_OFF = """
() => [...document.querySelectorAll("body *")]
  .filter(e => !e.closest(".scroll, .skip, svg, pre") && e.getBoundingClientRect().right > innerWidth + 1)
  .map(e => e.tagName + "." + e.className)
"""


@dataclass
class ConsoleTab:
    """A page of the console, with everything that the browser complained about."""

    page: Any
    url: str
    complaints: list[str] = field(default_factory=list[str])
    outside: list[str] = field(default_factory=list[str])

    def sign_in(self, user: str) -> None:
        """Sign in as a user of the hospital."""
        self.page.goto(f"{self.url}/console/sign-in")
        self.page.get_by_label("User").fill(user)
        self.page.get_by_label("Password").fill(PASSWORD)
        self.page.get_by_role("button", name="Sign in").click()
        self.page.wait_for_load_state("networkidle")

    def open(self, place: str) -> None:
        """Open a page, and wait until it is complete."""
        self.page.goto(f"{self.url}/console{place}")
        self.page.wait_for_load_state("networkidle")

    def verdict(self) -> str:
        """Return the sentence on top of the page."""
        return self.page.get_by_role("heading", level=1).inner_text()

    def find_violations(self, *, scheme: str) -> list[str]:
        """Return what axe finds on the open page, to a reader who prefers a color scheme."""
        self.page.emulate_media(color_scheme=scheme)
        self.page.evaluate(AXE)
        return self.page.evaluate(SCAN)


@dataclass
class ConsoleBrowser:
    """One browser; each tab has cookies of its own."""

    browser: Any
    url: str

    @contextmanager
    def tab(self, *, has_script: bool = True) -> Iterator[ConsoleTab]:
        """Yield a tab in which no one is signed in."""
        context = self.browser.new_context(java_script_enabled=has_script)
        page = context.new_page()
        page.set_default_timeout(120_000)
        tab = ConsoleTab(page, self.url)
        page.on("console", lambda message: tab.complaints.append(message.text))
        page.on("pageerror", lambda error: tab.complaints.append(str(error)))
        page.on("dialog", lambda dialog: (tab.complaints.append(dialog.message), dialog.dismiss()))
        page.on(
            "request",
            lambda request: (
                None
                if request.url.startswith((self.url, "data:"))
                else tab.outside.append(request.url)
            ),
        )
        try:
            yield tab
        finally:
            context.close()


@contextmanager
def open_browser(url: str) -> Iterator[ConsoleBrowser]:
    """Yield Debian's chromium; where it is missing tests are skipped, but never on CI."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        if os.environ.get("CI"):
            pytest.fail("chromium is not installed: run `apt-get install chromium`")
        pytest.skip("chromium is not installed")
    api = pytest.importorskip("playwright.sync_api", reason="not installed: make setup")
    with api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield ConsoleBrowser(browser, url)
        finally:
            browser.close()
