"""A release is written beside its place, read again there, and only then moved to it."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sqlglot import exp

from discreet.engines.engine import Engine
from discreet.errors import OutputRefused
from discreet.release.output.target import FileTarget, FolderTarget, Target
from discreet.release.write import WrittenOutput, write_rows


@contextmanager
def stage_output(
    engine: Engine,
    query: exp.Query,
    target: Target,
    *,
    order: Sequence[str],
    settled: Sequence[str],
    repeat: str | None = None,
) -> Generator[tuple[Target, WrittenOutput]]:
    """Write the rows, give the place they are read back from, and publish them at a good end.

    An error inside leaves what was there before. A table in a database has no place beside it: it
    is written at once, in one transaction.
    """
    hide = (*order, *([repeat] if repeat else []))
    if not isinstance(target, (FileTarget, FolderTarget)):
        written = write_rows(
            engine, query, target, order=order, hide=hide, settled=settled, repeat=repeat
        )
        yield target, written
        return
    folder = target.path.parent / f".discreet-{secrets.token_hex(8)}"
    aside = replace(target, path=folder / target.path.name)
    try:
        _make(folder)
        written = write_rows(
            engine, query, aside, order=order, hide=hide, settled=settled, repeat=repeat
        )
        yield aside, replace(written, place=target.place)
        _move_into_place(target, aside.path)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _make(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700)
    except OSError as error:
        raise OutputRefused(
            f"Nothing can be written in {folder.parent}: {error.strerror}. Choose another place."
        ) from None


def _move_into_place(target: FileTarget | FolderTarget, made: Path) -> None:
    if target.path.exists() and not target.force:
        raise OutputRefused(f"{target.place} exists. Name another file, or add --force.")
    try:
        if isinstance(target, FolderTarget) and target.path.exists():
            target.path.rename(made.parent / "old")
        made.replace(target.path)
    except OSError as error:
        raise OutputRefused(
            f"{target.place} cannot be written: {error.strerror}. Choose another place."
        ) from None
