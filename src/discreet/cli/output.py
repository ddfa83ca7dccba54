"""How results reach the terminal: tables for people, JSON for machines, progress on stderr."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unicodedata import category

import click

from discreet.result import Result

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.measure.assessment import CriterionVerdict


def replace_control_characters(text: str) -> str:
    """Return `text` without letters that steer a terminal: names come from files of others."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if category(letter) == "Cc" and letter not in "\n\t" else letter
        for letter in text
    )


def console() -> Console:
    """Return a console on stdout."""
    from rich.console import Console

    return Console(highlight=False)


def print_json(result: Result) -> None:
    """Print a result as JSON; its keys are public."""
    # Where stdout cannot carry every letter, JSON has escapes for the others.
    is_unicode = str(getattr(sys.stdout, "encoding", None)).lower().startswith("utf")
    click.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=not is_unicode))


def print_sentence(to: Console, text: str, *, style: str = "") -> None:
    """Print a sentence on one line, however long; the terminal breaks it."""
    from rich.text import Text

    to.print(Text(replace_control_characters(text), style), soft_wrap=True)


def print_table(
    to: Console,
    title: str,
    header: Sequence[str],
    rows: Sequence[Sequence[object]],
    *,
    texts: Collection[int] = (0,),
) -> None:
    """Print a table; `texts` are the columns, counted from 0, that hold words, not numbers."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(header):
        table.add_column(
            escape(replace_control_characters(name)),
            justify="left" if index in texts else "right",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(escape(replace_control_characters(str(cell))) for cell in row))
    to.print(f"\n[bold]{escape(title)}[/bold]")
    to.print(table)


def print_criteria(
    to: Console,
    title: str,
    verdicts: Sequence[CriterionVerdict],
    *,
    k: int | None,
    counts: bool = False,
) -> None:
    """Print the table of criteria, if there are any; with `counts`, of who fails them."""
    from discreet.measure.wording import CRITERIA_HEADER, criterion_rows

    rows = [
        (f"{'✓' if row.holds else '✗'} {row.criterion}", *row.texts[1:], *row.counts[: 2 * counts])
        for row in criterion_rows(verdicts, k=k)
    ]
    if rows:
        header = (*CRITERIA_HEADER, *("People", "Classes")[: 2 * counts])
        print_table(to, title, header, rows, texts=(0, 1, 2))


def format_number(value: object) -> str:
    """Return a number as people read it: separators, few digits, ∞, and – where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:,.4g}"
    return str(value)


@contextmanager
def progress() -> Generator[Callable[[str, int, int], None]]:
    """Show the steps of long work on stderr, if it is a terminal."""
    if not sys.stderr.isatty():
        yield lambda *_: None
        return
    from rich.console import Console

    to = Console(stderr=True)
    if not to.is_terminal:
        yield lambda *_: None
        return
    with phase_bars(to) as step:
        yield step


@contextmanager
def phase_bars(to: Console) -> Generator[Callable[[str, int, int], None]]:
    """Show a bar for each phase: what is done, the time it took, and about how long it will take.

    A phase of one part moves to and fro until it ends: how far it is, no one can say.
    """
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=to, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def step(name: str, done: int, total: int) -> None:
            known = total if total > 1 or done else None
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=known)
            bar.update(tasks[name], completed=done, total=known)

        yield step
