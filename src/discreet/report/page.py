"""One self-contained page: the parts that templates show, its style, and how it is written.

A page holds no script and loads nothing over the network. Its content security policy allows one
style sheet, by its hash, and nothing else.
"""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import dataclass, field
from importlib.metadata import version
from importlib.resources import files

from discreet.errors import MissingExtra

try:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup, escape
except ImportError as error:
    raise MissingExtra(what="The HTML report", extra="report") from error


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
class PageTable:
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
        finalize=_keep_percent_together,
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


def _keep_percent_together(value: object) -> object:
    """Keep a number and its percent sign on one line."""
    return value.replace(" %", "\N{NO-BREAK SPACE}%") if isinstance(value, str) else value
