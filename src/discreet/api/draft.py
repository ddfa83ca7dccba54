"""`discreet.draft_policy`: the role of each column of one or more tables, with the reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from discreet.engines.connect import list_tables, open_table
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.measure.profile import PolicyDraft, draft_tables
from discreet.measure.profile.ids import with_ids
from discreet.writing import require_writable_path, write_atomically

NamedTable = tuple[object, str | None]


def draft_policy(
    *sources: object,
    output: str | Path | None = None,
    force: bool = False,
    dry_run: bool = False,
    table: str | Sequence[str] | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> PolicyDraft:
    """Return a draft of a policy for one or more tables: the role of each column, and why.

    All rows are read, by the engine that holds them. The draft is a start: read every reason, correct
    what is wrong, and keep the file with the data. `to_yaml()` is the file.

    Args:
        sources: Paths, URLs or frames: pandas, polars, pyarrow, a DuckDB relation, Spark.
        output: Where the policy goes; a policy that is replaced keeps its tables' ids.
        force: Replace what is at `output`.
        dry_run: Draft it as it would be written to `output`, and write nothing.
        table: Which tables of one database or workbook; by default all of a database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    >>> draft = draft_policy("patients.csv")
    >>> [c.guess.column for c in draft.tables[0].columns if c.guess.role == "identifier"][:2]
    ['patient_id', 'name']
    """
    target = None if output is None else Path(output)
    names = (table,) if isinstance(table, str) else tuple(table or ())
    if len(sources) > 1 and names:
        raise WrongUsage("--table belongs to one source. Name one SOURCE with --table.")
    if target is not None:
        require_writable_path(target, may_exist=force)
    wanted = _list_wanted(sources, names)
    tables = _open_wanted(wanted, delimiter=delimiter, encoding=encoding, memory=memory)
    try:
        places = [
            _source_path(source, name, target, label=opened.label)
            for (source, name), opened in zip(wanted, tables, strict=True)
        ]
        draft = draft_tables(tables, sources=places)
    finally:
        for engine in {id(opened.engine): opened.engine for opened in tables}.values():
            engine.close()
    # Drafted again, a table keeps its account: otherwise it would have a second budget.
    draft = with_ids(draft, before=target)
    if target is not None and not dry_run:
        write_atomically(target, draft.to_yaml())
    return draft


def _list_wanted(sources: Sequence[object], names: Sequence[str]) -> list[NamedTable]:
    """Return each source with the name of a table in it, if it holds several."""
    if names:
        return [(sources[0], name) for name in names]
    found: list[NamedTable] = []
    for source in sources:
        if _is_database(source) and "table=" not in str(source):
            listed = list_tables(str(source))
            if not listed:
                raise EmptySource(
                    "The database has no table that this user may read. Name another one."
                )
            found += [(source, name) for name in listed]
        else:
            found.append((source, None))
    return found


def _is_database(source: object) -> bool:
    return isinstance(source, str) and source.startswith(("postgresql://", "postgres://"))


def _open_wanted(
    wanted: Sequence[NamedTable],
    *,
    delimiter: str | None,
    encoding: str | None,
    memory: str | None,
) -> list[Table]:
    """Open every table, files together on one engine so that their keys can be compared."""
    tables: list[Table] = []
    shared = None
    for source, name in wanted:
        is_file = not isinstance(source, str) or not (
            "://" in source or source.startswith("spark:")
        )
        opened = open_table(
            source,
            table=name,
            engine=shared if is_file else None,
            delimiter=delimiter,
            encoding=encoding,
            memory_limit=memory,
        )
        shared = opened.engine if is_file else shared
        tables.append(opened)
    return tables


def _source_path(source: object, table: str | None, target: Path | None, *, label: str) -> str:
    """Return where a table is, as the policy says it: files as seen from the policy."""
    if not isinstance(source, (str, Path)):
        return label
    place = str(source)
    if _is_database(place) and table is not None:
        return f"{place}{'&' if '?' in place else '?'}table={table}"
    if target is None or not Path(place).exists() or Path(place).is_absolute():
        return place
    return Path(os.path.relpath(place, target.parent)).as_posix()
