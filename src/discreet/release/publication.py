"""Rows with their labels written, read again and measured; what fails is not published."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

from sqlglot import exp

from discreet.criteria.criterion import PopulationCriterion
from discreet.engines.connect import open_table
from discreet.engines.engine import Engine, Table
from discreet.errors import Bug, OutputRefused
from discreet.measure.assessment import Assessment
from discreet.policy import model
from discreet.progress import Progress
from discreet.release.anonymize.population import generalized_population
from discreet.release.anonymize.problem import EncodedProblem
from discreet.release.anonymize.recoding import Recoding
from discreet.release.output.target import FileTarget, FolderTarget, Target
from discreet.release.recode import RecodedQuery, recode_table
from discreet.release.registry import PendingRelease
from discreet.release.verify import measure_table, read_again, require_holds, require_same_digest
from discreet.release.write import WrittenOutput, repeats, write_rows
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.release.gate import GateResult


@dataclass(frozen=True)
class ChosenRecoding:
    """A recoding of a table, what is left out, and whether suppressed rows are as well."""

    reading: EncodedProblem
    recoding: Recoding
    leave_out: frozenset[str]
    drops: bool


@dataclass(frozen=True)
class Publication:
    """What was written, what it measures when read again, and what attacks on it found."""

    written: WrittenOutput | None
    found: Assessment
    passed: GateResult


def write_and_measure(
    chosen: ChosenRecoding,
    asked: model.TablePolicy,
    target: Target | None,
    *,
    expected: str | None,
    gate: Callable[[Table, Assessment, Table | None], GateResult],
    publishing: PendingRelease,
    progress: Progress,
) -> Publication:
    """Write the rows, measure and attack them afresh; what fails is not published."""
    subject = chosen.reading.cells.subject
    engine = subject.table.engine
    unit = {subject.unit.name} if subject.unit else frozenset[str]()
    is_file = isinstance(target, (FileTarget, FolderTarget))
    has_population = chosen.reading.problem.population is not None
    is_counted_first = bool(unit) or not is_file or has_population
    recoded = recode_table(
        chosen.reading,
        chosen.recoding,
        leave_out=chosen.leave_out - unit,
        drop_suppressed=chosen.drops,
        may_count=not is_counted_first and target is not None and repeats(engine, target),
    )
    query, found, passed, people = recoded.query, None, None, None
    if is_counted_first:
        counted = _count_first(chosen, asked, recoded)
        query, found = counted.query, counted.found
        people = counted.kept if unit else None
        if not is_file:
            # There is no place beside a table, where it could be read again first.
            passed = gate(counted.published, found, people)
    if target is None:
        return Publication(None, found or _raise_unmeasured(), passed or _raise_unmeasured())
    if not is_file:
        publishing.remember(None, None)
    progress("writing", 0, 1)
    with stage_output(
        engine,
        query,
        target,
        order=[recoded.order],
        settled=recoded.settled,
        repeat=recoded.repeat,
    ) as (place, written):
        if isinstance(place, (FileTarget, FolderTarget)) and is_file:
            rows = replace(_of_rows(asked), unit=None)
            progress("measuring again", 0, 1)
            with read_again(place, rows, engine=engine) as table:
                require_holds(again := measure_table(table, rows))
                found = found or again
                passed = gate(replace(table, label=target.path.name), found, people)
            require_same_digest(written.sha256, expected)
            publishing.remember(place.path, written.sha256)
    publishing.is_published = True
    return Publication(written, found or _raise_unmeasured(), passed or _raise_unmeasured())


@dataclass(frozen=True)
class _MeasuredRows:
    """Rows before they are written: with their unit, without it, and what they measure."""

    kept: Table
    published: Table
    query: exp.Query
    found: Assessment


def _count_first(
    chosen: ChosenRecoding, asked: model.TablePolicy, recoded: RecodedQuery
) -> _MeasuredRows:
    """Measure rows before they are written; return them, and the query that writes them.

    The unit is not published, so that people are counted here, before it goes; and columns are
    compared with the population's while they have their types, which a CSV file forgets.
    """
    subject = chosen.reading.cells.subject
    engine = subject.table.engine
    unit = {subject.unit.name} if subject.unit else frozenset[str]()
    relation = engine.keep(recoded.query)
    columns = engine.columns(relation)
    shown = tuple(column for column in columns if column.name != recoded.order)
    kept = Table(engine, relation, shown, subject.table.label)
    found = measure_table(kept, asked, population=_generalized_population(chosen, recoded.labeled))
    require_holds(found)
    seen = replace(kept, columns=tuple(c for c in shown if c.name not in unit))
    names = [column.name for column in columns if column.name not in unit]
    query = build.select(*map(build.column, names), source=relation)
    return _MeasuredRows(kept, seen, query, found)


def _of_rows(asked: model.TablePolicy) -> model.TablePolicy:
    """Return the criteria that rows without their unit and their population can be asked for.

    A class has at least as many rows as people, and its people have the values that its rows have;
    shares of people are not those of rows.
    """
    kept = [c for c in asked.criteria if not isinstance(c, PopulationCriterion)]
    if asked.unit is not None:
        kept = [c for c in kept if c.is_absorbing]
    return replace(asked, criteria=tuple(kept))


def _generalized_population(chosen: ChosenRecoding, labeled: Collection[str]) -> Table | None:
    if chosen.reading.problem.population is None or "node" not in chosen.recoding.notes:
        return None
    node = list(chosen.recoding.notes["node"].values())
    return open_table(generalized_population(chosen.reading, node, labeled=labeled))


def _raise_unmeasured() -> NoReturn:
    raise Bug("A release was neither written nor measured.")


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
