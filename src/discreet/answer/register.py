"""Ranks written once: each person's rows get a random order, so that bounding becomes a comparison."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from sqlglot import exp

from discreet.answer.bounded_queries import keyed_hash
from discreet.answer.identity import RANK
from discreet.answer.schemas import conform_table, declared_schema
from discreet.answer.tables import REGISTRATION_SUFFIX, ReadOptions
from discreet.engines import files
from discreet.engines.connect import is_untyped_source, label_of, open_table, opened_table
from discreet.engines.declared_schema import declared_file
from discreet.engines.engine import FileEngine
from discreet.errors import UnknownColumn, WrongUsage
from discreet.measure.roles import select_table
from discreet.policy.model import Policy
from discreet.result import Result
from discreet.sql import build
from discreet.writing import require_writable_path, write_atomically


@dataclass(frozen=True)
class RegisteredTable(Result):
    """A copy of a table whose rows are numbered by chance within each person."""

    source: str
    output: str
    table: str
    unit: str
    rows: int


@dataclass(frozen=True)
class RegistrableSource:
    """A file or address, with how it is read."""

    source: str | Path
    table: str | None
    reading: ReadOptions

    def register(self, policy: Policy, output: str | Path, *, force: bool) -> RegisteredTable:
        """Write its numbered copy."""
        return register_table(
            self.source,
            policy,
            output=output,
            table=self.table,
            force=force,
            reading=self.reading,
        )


def register_table(
    source: str | Path,
    policy: Policy,
    *,
    output: str | Path,
    table: str | None = None,
    force: bool = False,
    reading: ReadOptions | None = None,
) -> RegisteredTable:
    """Write a Parquet copy of `source` with a rank for each row of a person.

    The order of a person's rows is that of a hash under a key that is drawn here and never stored.
    Which rows count then depends on that person's rows only, so that bounding by rank is as good as
    any other.
    """
    output = Path(output)
    beside = Path(f"{output}{REGISTRATION_SUFFIX}")
    if output.suffix != ".parquet":
        raise WrongUsage("A registered table is a Parquet file. Name the output FILE.parquet.")
    require_writable_path(output, may_exist=force)
    _check_lines(source, table, reading or {}, policy)
    schema = None
    if is_untyped_source(source):
        schema = declared_schema(select_table(policy, label=label_of(source), name=table))
    opened = open_table(source, table=table, schema=schema, **(reading or {}))
    try:
        declared = select_table(policy, label=opened.label, name=table)
        opened = conform_table(opened, declared)
        if declared.unit is None or declared.unit_period is not None:
            raise WrongUsage(
                f"Table '{declared.name}' has no unit of several rows in the policy, so that nothing needs "
                "to be registered. Ask about it as it is."
            )
        home = opened.engine.file_engine
        if home is None:
            raise WrongUsage("Only files can be registered. On a server, bounding is done there.")
        if opened.column(declared.unit) is None:
            raise UnknownColumn(f"The unit '{declared.unit}' is not in {opened.label}.")
        every = opened.engine.columns(opened.relation)  # also what no policy declares
        columns = [build.column(column.name) for column in every]
        ranked = build.alias_as(_rank_of(columns, declared.unit), RANK)
        rows = _write_parquet(
            home, build.select(*columns, ranked, source=opened.relation.copy()), output
        )
        registration = {
            "rank": RANK,
            "table": declared.name,
            "unit": declared.unit,
            "size": output.stat().st_size,
        }
        write_atomically(beside, json.dumps(registration, indent=2) + "\n")
    finally:
        opened.engine.close()
    return RegisteredTable(str(source), str(output), declared.name, declared.unit, rows)


def _rank_of(columns: Sequence[exp.Column], unit: str) -> exp.Expr:
    number = exp.Window(
        this=exp.RowNumber(),
        partition_by=[build.column(unit)],
        order=exp.Order(expressions=[exp.Ordered(this=keyed_hash(columns), nulls_first=False)]),
    )
    return exp.cast(number, exp.DataType.Type.INT)


def _check_lines(
    source: str | Path, table: str | None, reading: ReadOptions, policy: Policy
) -> None:
    """Read a CSV file as `assess` does, which refuses lines that questions would have to put right."""
    if str(source) == files.STANDARD_INPUT or not is_untyped_source(source):
        return
    if files.file_format(files.find_files(str(source))[0]).name == "csv":
        declared = declared_file(select_table(policy, label=label_of(source), name=table))
        with opened_table(source, table=table, hints=declared, **reading):
            pass


def _write_parquet(engine: FileEngine, query: exp.Select, output: Path) -> int:
    """Write the file beside its place first, so that it is never there in part."""
    part = output.with_name(f".{output.name}.{secrets.token_hex(4)}")
    try:
        rows = engine.export(
            query,
            part,
            options={"FORMAT": exp.var("PARQUET"), "COMPRESSION": exp.var("ZSTD")},
        )
        part.replace(output)
    finally:
        part.unlink(missing_ok=True)
    return rows
