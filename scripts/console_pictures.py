"""Take the pictures of the console for docs/: the demo's hospital in a real browser.

    python scripts/console_pictures.py [FOLDER]

FOLDER is docs/figures/console if it is not given. It needs Debian's chromium.
"""

from __future__ import annotations

import subprocess
import sys
from configparser import ConfigParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from playwright.sync_api import sync_playwright

HERE = Path(__file__).parents[1]
DISCREET = Path(sys.executable).parent / "discreet"
CHROMIUM = "/usr/bin/chromium"
QUESTION = (
    "SELECT insurance, count(*) AS people, avg(salary) AS salary\nFROM patients\nGROUP BY insurance"
)


def main(folder: Path) -> None:
    """Start the hospital, and take all pictures."""
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as place:
        hospital = Path(place) / "hospital"
        server = subprocess.Popen(
            [DISCREET, "demo", hospital, "--serve", "--port", "0", "--http-port", "0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
        try:
            _take_pictures(folder, hospital, _read_address(server))
        finally:
            server.terminate()
            server.wait()


def _read_address(server: subprocess.Popen[str]) -> str:
    """Return where the console is, as the server prints it."""
    if server.stdout is None:
        raise RuntimeError("the server prints nothing")
    address = ""
    for line in server.stdout:
        if line.rstrip().endswith("/console/"):
            address = line.strip().removesuffix("/")
        if "Ctrl-C" in line:
            return address
    raise RuntimeError("the server did not start")


def _take_pictures(folder: Path, hospital: Path, address: str) -> None:
    people = ConfigParser(interpolation=None)
    people.read(hospital / "people.conf", encoding="utf-8")
    with sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        for user, take in PICTURES.items():
            context = browser.new_context(
                ignore_https_errors=True, viewport={"width": 1180, "height": 760}
            )
            page = context.new_page()
            page.goto(f"{address}/sign-in")
            page.get_by_label("User").fill(user)
            page.get_by_label("Password").fill(people[user]["password"])
            page.get_by_role("button", name="Sign in").click()
            page.wait_for_load_state("networkidle")
            take(page, address, folder)
            context.close()
        browser.close()


def _take_custodian(page: Any, address: str, folder: Path) -> None:
    _take_picture(page, folder / "home.png")
    page.get_by_role("link", name="Assess patients in detail").click()
    page.get_by_role("button", name="Assess", exact=True).click()
    _take_picture(page, folder / "assess.png", whole=False)
    page.goto(f"{address}/guard")
    _take_picture(page, folder / "guard.png", whole=False)
    page.get_by_role("link", name="See as another user").click()
    page.get_by_label("User").select_option("nurse")
    page.get_by_label("Query").fill("SELECT patient_id, admitted, ward FROM visits LIMIT 3")
    page.get_by_role("button", name="See as this user").click()
    _take_picture(page, folder / "see-as.png")
    page.goto(f"{address}/journal")
    _take_picture(page, folder / "journal.png", whole=False)


def _take_analyst(page: Any, address: str, folder: Path) -> None:
    page.goto(f"{address}/ask")
    page.get_by_role("textbox", name="SQL").fill(QUESTION)
    page.get_by_label("Epsilon, at most").fill("0.25")
    page.get_by_role("button", name="Show the price").click()
    _take_picture(page, folder / "ask-price.png")
    page.get_by_role("button", name="Ask", exact=True).click()
    _take_picture(page, folder / "ask-answer.png")


def _take_picture(page: Any, place: Path, *, whole: bool = True) -> None:
    page.wait_for_load_state("networkidle")
    page.screenshot(path=place, full_page=whole)


PICTURES = {"custodian": _take_custodian, "analyst": _take_analyst}


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "docs" / "figures" / "console")
