"""Makes the pictures of the documentation from the demo, as a user sees it: `make pictures`.

Pages of reports are photographed by chromium; what a command prints is drawn as a terminal shows it.
"""

from __future__ import annotations

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = ROOT / "docs" / "pictures"
WIDTH = 88
# What a reader of a page sees first; the height is where its first part ends.
REPORTS = {
    "assess": ("report.html", 770),
    "release": ("released.html", 640),
    "synthetic": ("synthetic.html", 870),
    "model": ("insurance.html", 870),
}
COMMANDS = {
    "answer": "discreet ask patients.csv 'SELECT sex, count(*) AS people, avg(salary) AS salary FROM patients"
    " GROUP BY sex' --policy policy.yaml --epsilon 0.5 --ledger pictures.sqlite",
    "attack": "discreet attack linkage patients.csv --known voters.csv --on birth_date,sex,postcode",
    "gate": "discreet check patients.csv --policy policy.yaml",
}
# Where the terminal's font would come from: a page that is read offline asks for nothing.
FONTS = re.compile(r"@font-face \{.*?\}", re.DOTALL)
CHROMIUM = (
    *(
        "chromium",
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
    ),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
    "--hide-scrollbars",
)


def photograph_page(page: Path, picture: Path, *, width: int, height: int) -> None:
    """Write the upper part of a page, in few colors, so that the repository stays small."""
    with tempfile.TemporaryDirectory() as profile:
        raw = Path(profile) / "page.png"
        size = (
            f"--window-size={width},{height}",
            f"--screenshot={raw}",
            f"--user-data-dir={profile}",
        )
        command = [*CHROMIUM, *size, page.as_uri()]
        subprocess.run(command, check=True, timeout=60, stderr=subprocess.DEVNULL)
        Image.open(raw).convert("RGB").quantize(128).save(picture, optimize=True)


def draw_terminal(command: str, folder: Path, picture: Path) -> None:
    """Write what a command prints, with the command itself."""
    printed = subprocess.run(
        shlex.split(command),
        cwd=folder,
        env={**os.environ, "FORCE_COLOR": "1", "COLUMNS": str(WIDTH)},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    ).stdout
    console = Console(record=True, width=WIDTH, file=io.StringIO())
    console.print(Text("$ ", "bold green") + Text(command, "bold"))
    console.print(Text.from_ansi(printed.rstrip()))
    picture.write_text(FONTS.sub("", console.export_svg(title="discreet")), "utf-8")


def make_pictures() -> None:
    """Run the demo, and write every picture that the documentation shows."""
    PICTURES.mkdir(exist_ok=True)
    scripts = Path(sys.executable).parent
    os.environ["PATH"] = f"{scripts}{os.pathsep}{os.environ['PATH']}"
    with tempfile.TemporaryDirectory() as state:
        os.environ["XDG_STATE_HOME"] = state
        folder = Path(state) / "hospital"
        demo = [scripts / "discreet", "demo", folder]
        subprocess.run(demo, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for name, (page, height) in REPORTS.items():
            photograph_page(folder / page, PICTURES / f"{name}.png", width=1180, height=height)
        for name, command in COMMANDS.items():
            draw_terminal(command, folder, PICTURES / f"{name}.svg")


if __name__ == "__main__":
    make_pictures()
