"""Writes into tables with encrypted columns: values are encrypted before they are stored."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from sqlglot import exp

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.guard.integrity.changes import proposed_rows
from discreet.guard.integrity.create import engine_column_type
from discreet.guard.rewrite.permitted import OnConflict, PermittedWrite
from discreet.guard.rewrite.targets import NEW
from discreet.server.gateway.ciphers import SessionCiphers
from discreet.server.gateway.encrypted_columns import INDEX, TRAITS, stored_relation
from discreet.server.gateway.encrypted_lookups import narrow_write_condition
from discreet.sql import build

EXCLUDED = "excluded"


def encrypt_cells(
    permitted: PermittedWrite, ciphers: SessionCiphers, settings: Mapping[str, str]
) -> PermittedWrite:
    """Return a write, without parameters, of encrypted cells in place of values.

    Its relation is the physical one, with a column for each blind index.

    Raises:
        StatementFailed: 42501, a column that it reads or writes is locked; 0A000, it changes the
            primary key, to which cells are bound.
    """
    relation = permitted.relation
    conflict = permitted.on_conflict
    _refuse_keys(relation, permitted.assignments)
    if conflict is not None:
        _refuse_keys(relation, conflict.assignments or {})
    handle = permitted.target.alias_or_name
    called = relation.physical[-1] if permitted.kind == "INSERT" else handle
    reading = _CellReader(relation, ciphers, {handle: called, EXCLUDED: EXCLUDED, NEW: NEW})
    columns, rows = permitted.columns, permitted.rows
    if permitted.kind == "INSERT":
        columns, rows = _encrypt_rows(permitted, ciphers, settings)
    return replace(
        permitted,
        relation=stored_relation(relation),
        # DuckDB does not allow an alias for a new row.
        target=build.table(*relation.physical, alias=called),
        columns=columns,
        rows=rows,
        assignments=_encrypt_assignments(relation, ciphers, permitted.assignments, called, reading),
        condition=reading.opened(
            narrow_write_condition(permitted.condition, relation, handle, ciphers)
        ),
        with_check=reading.opened(permitted.with_check),
        returning=None
        if permitted.returning is None
        else tuple(reading.must(item) for item in permitted.returning),
        on_conflict=None
        if conflict is None
        else _encrypt_conflict(conflict, relation, ciphers, called, reading),
    )


class _CellReader:
    """Decrypts the cells that expressions name; `rows` maps the names of their rows."""

    def __init__(
        self, relation: Relation, ciphers: SessionCiphers, rows: Mapping[str, str]
    ) -> None:
        self._relation, self._ciphers, self._rows = relation, ciphers, rows

    def opened(self, tree: exp.Expr | None) -> exp.Expr | None:
        """Return an expression over values; None stays None."""
        return None if tree is None else self.must(tree)

    def must(self, tree: exp.Expr) -> exp.Expr:
        """Return an expression over values."""
        holder = exp.Paren(this=tree.copy())
        for node in list(holder.find_all(exp.Column)):
            called = self._rows.get(node.table)
            if called is None:
                continue
            column = self._relation.column(node.name)
            if column is not None and column.key is not None:
                self._ciphers.require_open(self._relation, column)
                node.replace(self._ciphers.decrypt(self._relation, column, of=called))
            else:
                node.replace(build.column(node.name, of=called))
        return holder.this.pop()


def _refuse_keys(relation: Relation, assigned: Collection[str]) -> None:
    if set(relation.primary_key) & set(assigned):
        raise StatementFailed(
            "0A000",
            f'the primary key of "{relation.name}" cannot be updated: encrypted values use it',
            hint="Insert the row under its new key, and delete the old one.",
        )


def _encrypt_assignments(
    relation: Relation,
    ciphers: SessionCiphers,
    assignments: Mapping[str, exp.Expr],
    handle: str,
    reading: _CellReader,
) -> dict[str, exp.Expr]:
    found: dict[str, exp.Expr] = {}
    keys = [build.column(name, of=handle) for name in relation.primary_key]
    for name, value in assignments.items():
        column = relation.column(name)
        found[name] = reading.must(value)
        if column is not None and column.key is not None:
            sealed = ciphers.encrypt(relation, column, found[name], [key.copy() for key in keys])
            found[name], found[name + INDEX] = sealed
    return found


def _encrypt_conflict(
    conflict: OnConflict,
    relation: Relation,
    ciphers: SessionCiphers,
    handle: str,
    reading: _CellReader,
) -> OnConflict:
    if conflict.assignments is None:
        return conflict
    there = build.column(relation.primary_key[0], of=handle)

    def where_there(value: exp.Expr) -> exp.Expr:
        # DuckDB also evaluates these for new rows, and drops the result.
        found = exp.not_(build.is_null(there.copy()))
        return exp.Case(ifs=[exp.If(this=found, true=value)])

    assigned = _encrypt_assignments(relation, ciphers, conflict.assignments, handle, reading)
    condition = reading.opened(conflict.condition)
    return replace(
        conflict,
        assignments={name: where_there(value) for name, value in assigned.items()},
        condition=None if condition is None else where_there(condition),
    )


def _encrypt_rows(
    permitted: PermittedWrite, ciphers: SessionCiphers, settings: Mapping[str, str]
) -> tuple[tuple[str, ...], exp.Query]:
    """Return the columns and rows of an INSERT with defaults, cells and blind indexes."""
    relation = permitted.relation
    names, rows = proposed_rows(permitted, TRAITS, settings)
    given = {name: build.column(f"g{place}", of="given") for place, name in enumerate(names)}
    alias = exp.TableAlias(
        this=exp.to_identifier("given", quoted=True),
        columns=[exp.to_identifier(f"g{place}", quoted=True) for place in range(len(names))],
    )
    keys = [_key_part(relation, name, given) for name in relation.primary_key]
    wanted: dict[str, exp.Expr] = {}
    for name, value in given.items():
        column = relation.column(name)
        wanted[name] = value.copy()
        if column is not None and column.key is not None:
            sealed = ciphers.encrypt(relation, column, wanted[name], [key.copy() for key in keys])
            wanted[name], wanted[name + INDEX] = sealed
    source = exp.Subquery(this=rows, alias=alias)
    return tuple(wanted), build.select(*wanted.values(), source=source)


def _key_part(relation: Relation, name: str, given: Mapping[str, exp.Column]) -> exp.Expr:
    """Return a part of the new row's primary key, as it will be stored."""
    column = relation.column(name)
    if column is None:
        raise StatementFailed("XX000", "internal error: a key has no column")
    value = given[name].copy() if name in given else exp.Null()
    return exp.Cast(this=value, to=engine_column_type(column, TRAITS))
