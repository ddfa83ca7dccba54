"""How results reach the terminal: tables for people, JSON for machines, progress on stderr."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from rich.console import Console

    from discreet.result import Result


def console() -> Console:
    """Return a console on stdout that leaves long lines to the terminal."""
    from rich.console import Console

    return Console(highlight=False, soft_wrap=False)


def print_json(result: Result) -> None:
    """Print a result as JSON; its keys are public."""
    click.echo(json.dumps(result.to_dict(), indent=2, ensure_ascii=False))


def print_table(
    to: Console, title: str, header: Sequence[str], rows: Sequence[Sequence[object]]
) -> None:
    """Print a table: first column to the left, the others to the right."""
    from rich.box import SIMPLE_HEAD
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    for index, name in enumerate(header):
        table.add_column(escape(name), justify="left" if index == 0 else "right", overflow="fold")
    for row in rows:
        table.add_row(*(escape(str(cell)) for cell in row))
    to.print(f"\n[bold]{escape(title)}[/bold]")
    to.print(table)


def number(value: object) -> str:
    """Return a number as people read it: separators, few digits, ∞, and – where there is none."""
    if value is None:
        return "–"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return "∞" if value == float("inf") else f"{value:.4g}"
    if isinstance(value, (list, tuple)):
        return " … ".join(number(item) for item in value)
    return str(value)


@contextmanager
def progress() -> Generator[Callable[[str, int, int], None]]:
    """Show the steps of long work on stderr, if it is a terminal."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    to = Console(stderr=True)
    if not to.is_terminal:
        yield lambda *_: None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(bar_width=30),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=to, transient=True) as bar:
        tasks: dict[str, Any] = {}

        def step(name: str, done: int, total: int) -> None:
            if name not in tasks:
                tasks[name] = bar.add_task(name, total=total)
            bar.update(tasks[name], completed=done, total=total)

        yield step
