"""Whether a draft keeps what was promised of a relation, as far as its clearance sees.

A constraint that looked further would answer with its error who may not know. So uniqueness, foreign
keys and checks hold of what each writer saw when it wrote, not of all that there is.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.errors import Bug, StatementFailed
from discreet.guard.access.authority import Authority, Role, Subject
from discreet.guard.integrity.conditions import compiled
from discreet.guard.levels.draft import LETTERS, Draft, new_rows, old_rows
from discreet.guard.levels.read import visible
from discreet.guard.levels.trees import (
    equal,
    every,
    exists,
    is_value,
    joined,
    named,
    negated,
    rows_of,
)
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from discreet.engines.databases.database import Connection
    from discreet.guard.access.authority import ForeignKey, Name, Relation

_ROW = "row"
_KEPT = 256  # conditions that are not read again
Rule = tuple[exp.Select, StatementFailed]  # rows that break it, and what is said then


def hold(connection: Connection, rules: Sequence[Rule]) -> None:
    """Raise the failure of the first rule that is broken.

    Raises:
        StatementFailed: A rule is broken.
    """
    if not rules:
        return
    broken = [named(exists(query), f"broken{i}") for i, (query, _) in enumerate(rules)]
    row = connection.query(exp.Select(expressions=broken)).to_pylist()[0]
    for found, (_, failure) in zip(row.values(), rules, strict=True):
        if found:
            raise failure


def rules_before(draft: Draft, dialect: str) -> list[Rule]:
    """Return what must hold of the new rows by themselves, and of new keys."""
    return [
        *_no_conflicts(draft),
        *_lengths(draft),
        *_no_missing(draft),
        *_checks(draft, dialect),
        *_new_keys(draft),
    ]


def rules_after(draft: Draft, relations: Mapping[Name, Relation]) -> list[Rule]:
    """Return what must hold of the relation, and of those that are tied to it, once it is written."""
    return [*_uniques(draft), *_references(draft, relations), *_referenced(draft, relations)]


def duplicate(name: str) -> StatementFailed:
    """Return what is said when a key or another unique value is there already."""
    return StatementFailed("23505", f'duplicate key value violates unique constraint "{name}"')


def _no_conflicts(draft: Draft) -> Iterator[Rule]:
    """Two rows of one entity that say equally much must not get two values at one label."""
    if draft.verb != "UPDATE":
        return
    for name in draft.changed:
        is_top = equal(draft.cell("m", name), draft.cell("t", name))
        mine, chosen = (exp.cast(draft.cell(x, name), "TEXT") for x in ("n", "w"))
        yield (
            rows_of(draft.table(), is_top, exp.NullSafeNEQ(this=mine, expression=chosen)),
            StatementFailed(
                "21000",
                f'UPDATE command cannot give column "{name}" two values for one key',
                hint="Rows with the same key are versions of one thing: choose one by its labels.",
            ),
        )


def _no_missing(draft: Draft) -> Iterator[Rule]:
    relation = draft.sight.relation
    for column in relation.columns:
        required = column.not_null or column.name in relation.primary_key
        if required and column.name in draft.changed:
            yield (
                rows_of(draft.table(), build.is_null(draft.cell("w", column.name))),
                StatementFailed(
                    "23502",
                    f'null value in column "{column.name}" of relation "{relation.name}" '
                    "violates not-null constraint",
                ),
            )


def _lengths(draft: Draft) -> Iterator[Rule]:
    relation = draft.sight.relation
    for column in relation.columns:
        kind = exp.DataType.build(column.type, dialect="postgres")
        if column.name not in draft.changed or kind.this not in LETTERS or not kind.expressions:
            continue
        limit = kind.expressions[0].this.copy()
        # Blanks at the end are cut, as PostgreSQL does.
        text = exp.Trim(this=draft.cell("w", column.name), position="TRAILING")
        too_long = exp.GT(this=exp.Length(this=text), expression=limit)
        yield (
            rows_of(draft.table(), too_long),
            StatementFailed("22001", f"value too long for type {column.type}"),
        )


def _checks(draft: Draft, dialect: str) -> Iterator[Rule]:
    relation = draft.sight.relation
    if draft.verb == "DELETE":
        return
    for check in relation.checks:
        kept = exp.Coalesce(
            this=_condition(relation, check.condition, dialect).copy(), expressions=[exp.true()]
        )
        name = check.name or f"{relation.name}_check"
        yield (
            rows_of(build.subquery(new_rows(draft), _ROW), negated(kept)),
            StatementFailed(
                "23514",
                f'new row for relation "{relation.name}" violates check constraint "{name}"',
            ),
        )


@lru_cache(maxsize=_KEPT)
def _condition(relation: Relation, text: str, dialect: str) -> exp.Expr:
    """Return a check as a tree that may run, over a row called `_ROW`; it reads no other table."""
    own = (relation, lambda name: build.column(name, of=_ROW))
    owner = Role(relation.owner)
    return compiled(
        text,
        {"": own, relation.name: own},
        Authority(roles={owner.name: owner}),
        Subject(owner.name, owner.name),
        dialect=dialect,
    )


def _new_keys(draft: Draft) -> Iterator[Rule]:
    """No new key may be one that is seen already; one that is hidden may."""
    if draft.verb != "INSERT":
        return
    relation = draft.sight.relation
    failure = duplicate(f"{relation.name}_pkey")
    there = build.subquery(visible(draft.sight), "there")
    yield joined(rows_of(draft.table("new")), there, draft.same_key("there", "new")), failure
    twice = rows_of(draft.table()).group_by(*(draft.new(n) for n in relation.primary_key))
    yield (
        twice.having(exp.GT(this=build.count_rows(), expression=build.number(1))),
        failure,
    )


def _uniques(draft: Draft) -> Iterator[Rule]:
    if draft.verb == "DELETE":
        return
    relation = draft.sight.relation
    for unique in relation.uniques:
        if not set(unique) & set(draft.changed):
            continue
        query = rows_of(draft.table("new"))
        mine = build.subquery(visible(draft.sight), "mine")
        joined(query, mine, draft.same_entity("mine", "new"))
        theirs = build.subquery(visible(draft.sight), "theirs")
        other = negated(build.same(relation.primary_key, "mine", "theirs"))
        joined(query, theirs, build.same(unique, "mine", "theirs"), other)
        yield query, duplicate(f"{relation.name}_{'_'.join(unique)}_key")


def _references(draft: Draft, relations: Mapping[Name, Relation]) -> Iterator[Rule]:
    """A key that new rows refer to must be seen where they are written."""
    if draft.verb == "DELETE":
        return
    relation = draft.sight.relation
    for key in relation.foreign_keys:
        if not set(key.columns) & set(draft.changed):
            continue
        target = relations.get(key.target)
        if target is None:
            raise Bug(f'"{relation.name}" refers to a table that is not there')
        given = [is_value(build.column(name, of="new")) for name in key.columns]
        found = rows_of(_shown(draft, target, "target"), _refers(key, "new", "target"))
        yield (
            rows_of(build.subquery(new_rows(draft), "new"), *given, negated(exists(found))),
            StatementFailed(
                "23503",
                f'insert or update on table "{relation.name}" violates foreign key constraint '
                f'"{_name(relation, key)}"',
            ),
        )


def _referenced(draft: Draft, relations: Mapping[Name, Relation]) -> Iterator[Rule]:
    """A key that rows seen here refer to must still be seen."""
    if draft.verb == "INSERT":
        return
    relation = draft.sight.relation
    keys = [(other, key) for other in relations.values() for key in other.foreign_keys]
    for other, key in keys:
        is_changed = draft.verb == "DELETE" or set(key.target_columns) & set(draft.changed)
        if key.target != relation.key or not is_changed:
            continue
        still = rows_of(_shown(draft, relation, "still"), _refers(key, "mine", "still"))
        query = rows_of(build.subquery(old_rows(draft), "old"), negated(exists(still)))
        yield (
            joined(query, _shown(draft, other, "mine"), _refers(key, "mine", "old")),
            StatementFailed(
                "23503",
                f'update or delete on table "{relation.name}" violates foreign key constraint '
                f'"{_name(other, key)}" on table "{other.name}"',
            ),
        )


def _shown(draft: Draft, relation: Relation, alias: str) -> exp.Expr:
    """Return what the draft's clearance sees of `relation`; of a plain one, all of it."""
    if not relation.multilevel:
        return build.table(*relation.physical, alias=alias)
    return build.subquery(visible(replace(draft.sight, relation=relation)), alias)


def _refers(key: ForeignKey, here: str, there: str) -> exp.Expr:
    return every(
        equal(build.column(mine, of=here), build.column(theirs, of=there))
        for mine, theirs in zip(key.columns, key.target_columns, strict=True)
    )


def _name(relation: Relation, key: ForeignKey) -> str:
    return key.name or f"{relation.name}_{'_'.join(key.columns)}_fkey"
