"""One self-contained page: parts that templates know how to show, its style, and how it is written.

A page holds no script, asks for nothing over the network and says so to the browser: its content
policy allows one style sheet, by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import os
import re
import secrets
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files
from typing import TYPE_CHECKING

from discreet.errors import MissingExtra, OutputRefused

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape
except ImportError as error:
    raise MissingExtra(what="The HTML report", extra="report") from error

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True)
class Status:
    """Yes or no in a table: shown as a sign and a word, never by color alone."""

    holds: bool
    yes: str = "holds"
    no: str = "fails"

    @property
    def word(self) -> str:
        """The word that is shown."""
        return self.yes if self.holds else self.no


@dataclass(frozen=True)
class Table:
    """A table with a caption; the first cell of each row names the row.

    `numbers` are the columns, counted from 0, whose cells are set to the right.
    """

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str | Status, ...], ...]
    numbers: frozenset[int] = field(default_factory=frozenset[int])


@dataclass(frozen=True)
class Figure:
    """A chart and the words below it."""

    svg: str
    caption: str

    @property
    def drawing(self) -> Markup:
        """The chart as markup: `charts` has escaped every word in it."""
        return Markup(self.svg)  # noqa: S704


def render_page(template: str, **parts: object) -> str:
    """Return the page that `template` makes of `parts`."""
    style = (files("discreet.report") / "templates" / "page.css").read_text("utf-8")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    rooms = Environment(
        loader=PackageLoader("discreet.report"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_unbroken,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rooms.filters["code"] = code
    return rooms.get_template(template).render(
        **parts,
        style=Markup(style),  # noqa: S704 -- our own file
        policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; "
        "base-uri 'none'; form-action 'none'",
        version=version("discreet"),
    )


def code(text: str) -> Markup:
    """Return text with what stands between backticks as code, everything escaped."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))  # noqa: S704


def _unbroken(value: object) -> object:
    """Keep a number and its percent sign on one line."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if isinstance(value, str) else value


def require_writable(path: Path) -> None:
    """Refuse a place where no page can be written, before any work is done for it."""
    if path.is_dir():
        raise OutputRefused(f"{path} is a folder. Name the file, such as {path / 'report.html'}.")
    folder = path.parent
    if not folder.is_dir():
        raise OutputRefused(f"There is no folder {folder}. Create it, or choose another place.")
    if not os.access(folder, os.W_OK):
        raise OutputRefused(f"The folder {folder} cannot be written. Choose another place.")


def write_page(page: str, path: Path) -> None:
    """Write a page whole or not at all: whoever opens `path` sees the old page or the new one."""
    require_writable(path)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    try:
        with beside.open("x", encoding="utf-8", newline="\n") as file:
            file.write(page)
        beside.replace(path)
    except OSError as error:
        raise OutputRefused(
            f"{path} cannot be written: {error.strerror}. Choose another place."
        ) from None
    finally:
        beside.unlink(missing_ok=True)
