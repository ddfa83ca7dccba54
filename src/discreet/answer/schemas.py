"""What is known of a table before the first question: its columns' kinds and its unit.

Both are public, so that plans, refusals and prices reveal nothing about a row. They come from the policy.
Where there is none, they are drafted once from the rows and pinned in the ledger, and hold from then on.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import Any

from sqlglot import exp

from discreet.dp.ledger.ledger import Ledger
from discreet.engines.declared_schema import (
    KIND_NAMES,
    KINDS,
    cast_declared,
    declared_columns,
    declared_file,
    declared_kind,
    is_kind_compatible,
)
from discreet.engines.engine import Column, DeclaredColumn, DeclaredSchema, Table
from discreet.errors import UndeclaredKind
from discreet.measure.profile.people import keys_by_content, keys_by_name, keys_by_policy
from discreet.policy import model
from discreet.policy.text_format import CellFormat, read_cell_format
from discreet.sql import build


@dataclass(frozen=True)
class PinnedSchema:
    """What was drafted from the rows of a table that no policy describes.

    `schema` is there for sources without types of their own. `keys` are the columns that look like
    the key of a person.
    """

    schema: DeclaredSchema | None
    keys: tuple[str, ...]

    def write(self) -> str:
        """Return it as text that `read_pinned` reads."""
        schema = self.schema
        columns = schema and {
            name: [KIND_NAMES[one.kind], one.written.to_dict()]
            for name, one in schema.columns.items()
        }
        found: dict[str, Any] = {"columns": columns, "keys": self.keys}
        if schema is not None:
            found |= {"delimiter": schema.delimiter, "encoding": schema.encoding}
            found |= {"skip": schema.skip, "missing": schema.missing}
        return json.dumps(found)


def read_pinned(text: str) -> PinnedSchema:
    """Return what `PinnedSchema.write` wrote."""
    found = json.loads(text)
    columns = found["columns"]
    if columns is None:
        return PinnedSchema(None, tuple(found["keys"]))
    declared = {
        name: DeclaredColumn(KINDS[kind], _read_form(form))
        for name, (kind, form) in columns.items()
    }
    schema = DeclaredSchema(
        declared,
        found["delimiter"],
        found["encoding"],
        skip=found.get("skip"),
        missing=tuple(found.get("missing", ())),
    )
    return PinnedSchema(schema, tuple(found["keys"]))


def _read_form(written: dict[str, Any] | str | None) -> CellFormat:
    """Return how cells are written; drafts of older versions know the format of dates only."""
    if isinstance(written, dict):
        return read_cell_format(written)
    return CellFormat(dates=(written,) if written else ())


def pin_name(kind: str, label: str, table: str | None, names: Iterable[str] | None) -> str:
    """Return the name of a table's draft: its place or its account, and the columns that its source declares."""
    known = json.dumps([table, None if names is None else sorted(names)])
    return f"{kind}:{label}:{hashlib.sha256(known.encode()).hexdigest()}"


class PinnedSchemas:
    """The drafts of tables without a policy, by name, in a ledger."""

    def __init__(self, ledger: Ledger) -> None:
        self._ledger = ledger

    def find(self, account: str) -> PinnedSchema | None:
        """Return what was pinned for a table."""
        text = self._ledger.find_pin(account)
        return None if text is None else read_pinned(text)

    def draft(self, account: str, table: Table) -> PinnedSchema:
        """Pin the draft of `table`, and return what is pinned: the first draft counts."""
        return self.keep(account, PinnedSchema(table.schema, keys_by_content(table)))

    def keep(self, account: str, pinned: PinnedSchema) -> PinnedSchema:
        """Pin a draft, and return what is pinned: the first draft counts."""
        return read_pinned(self._ledger.pin(account, pinned.write()))


def declared_schema(table: model.TablePolicy) -> DeclaredSchema:
    """Return the columns that a policy declares with a kind.

    Raises:
        UndeclaredKind: There is none, so that nothing can be asked.
    """
    declared = declared_file(table)
    if not declared.columns:
        raise UndeclaredKind(
            f"The policy does not say what the columns of '{table.name}' hold, and the rows of a file "
            "without types must not decide it. Give each column its `kind:`, such as `kind: integer`; "
            "`discreet init` drafts them."
        )
    return declared


def conform_table(table: Table, policy: model.TablePolicy) -> Table:
    """Return a table with types of its own, its columns of the kinds that the policy declares.

    Raises:
        UndeclaredKind: A column on a server is of another kind.
    """
    declared = declared_columns(policy)
    wrong = [
        column
        for column in table.columns
        if column.name in declared
        and not is_kind_compatible(declared[column.name].kind, column.kind)
    ]
    if not wrong:
        return table
    home = table.engine.file_engine
    if home is None:
        column = wrong[0]
        raise UndeclaredKind(
            f"Column '{column.name}' of '{policy.name}' is declared as {KIND_NAMES[declared[column.name].kind]}, "
            f"and is {KIND_NAMES[declared_kind(column.kind)]} in the database. Correct its `kind:` in the policy."
        )
    changed = {column.name: declared[column.name] for column in wrong}
    wanted = [_conform_column(column, changed.get(column.name)) for column in table.columns]
    view = home.view(build.select(*wanted, source=table.relation.copy()))
    seen = {column.name: column for column in table.engine.columns(view)}
    columns = tuple(seen[one.name] if one.name in changed else one for one in table.columns)
    cells = table.cells or (lambda: nullcontext(table.relation))
    return replace(table, relation=view, columns=columns, cells=cells)


def _conform_column(column: Column, declared: DeclaredColumn | None) -> exp.Expr:
    value = build.column(column.name)
    if declared is None:
        return value
    # Engines cannot write every value they hold: DuckDB fails at the ends of its timestamps.
    text = exp.TryCast(this=value, to=exp.DataType.build("TEXT"))
    return build.alias_as(cast_declared(text, declared), column.name)


def unit_doubts(
    policy: model.TablePolicy | None, table: Table, pinned: PinnedSchema | None
) -> tuple[str, ...]:
    """Return the columns that may identify the person, where no unit is declared."""
    names = [*(column.name for column in table.columns), *(table.undeclared or ())]
    if policy is None:
        # A name is public, and another table may stand now where the draft was made.
        drafted = pinned.keys if pinned else ()
        return tuple(dict.fromkeys([*drafted, *keys_by_name(names)]))
    if policy.public or policy.unit is not None or policy.unit_is_row:
        return ()
    return keys_by_policy(policy, names)
