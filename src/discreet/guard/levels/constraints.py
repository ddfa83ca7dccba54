"""Checks of a draft against the relation's constraints, as far as its clearance sees.

A constraint that looked further would reveal hidden data by its error. So uniqueness, foreign keys
and checks hold for what each writer saw when it wrote, not for all the data.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.errors import Bug, StatementFailed
from discreet.guard.access.authority import (
    Authority,
    DatabaseRole,
    ForeignKey,
    Name,
    Relation,
    Subject,
)
from discreet.guard.integrity.conditions import compile_condition
from discreet.guard.levels.draft import WriteDraft, new_rows, old_rows
from discreet.guard.levels.read import visible
from discreet.guard.levels.trees import (
    alias_in_place,
    conjunction,
    equality,
    exists,
    is_value,
    join_source,
    negate,
    select_ones,
)
from discreet.sql import build
from discreet.sql.types import parse_modified_type

_ROW = "row"
_KEPT = 256  # cached conditions
Rule = tuple[exp.Select, StatementFailed]  # rows that violate it, and the error


def enforce_rules(connection: DatabaseConnection, rules: Sequence[Rule]) -> None:
    """Raise the failure of the first violated rule.

    Raises:
        StatementFailed: A rule is violated.
    """
    if not rules:
        return
    broken = [alias_in_place(exists(query), f"broken{i}") for i, (query, _) in enumerate(rules)]
    row = connection.query(exp.Select(expressions=broken)).to_pylist()[0]
    for found, (_, failure) in zip(row.values(), rules, strict=True):
        if found:
            raise failure


def rules_before(draft: WriteDraft, traits: EngineTraits) -> list[Rule]:
    """Return the rules for the new rows by themselves, and for new keys."""
    return [
        *_no_conflicts(draft),
        *_length_rules(draft),
        *_no_missing(draft),
        *_check_rules(draft, traits),
        *_new_keys(draft),
    ]


def rules_after(draft: WriteDraft, relations: Mapping[Name, Relation]) -> list[Rule]:
    """Return the rules for the relation, and for those that reference it, after the write."""
    return [
        *_unique_rules(draft),
        *_reference_rules(draft, relations),
        *_referenced_rules(draft, relations),
    ]


def duplicate(name: str) -> StatementFailed:
    """Return the error for a key or another unique value that exists already."""
    return StatementFailed("23505", f'duplicate key value violates unique constraint "{name}"')


def _no_conflicts(draft: WriteDraft) -> Iterator[Rule]:
    """Two rows of one entity with the same labels must not get two values at one label."""
    if draft.verb != "UPDATE":
        return
    for name in draft.changed:
        is_top = equality(draft.cell("m", name), draft.cell("t", name))
        mine, chosen = (exp.cast(draft.cell(x, name), "TEXT") for x in ("n", "w"))
        yield (
            select_ones(draft.table(), is_top, exp.NullSafeNEQ(this=mine, expression=chosen)),
            StatementFailed(
                "21000",
                f'UPDATE command cannot give column "{name}" two values for one key',
                hint="Rows with the same key are versions of one thing: choose one by its labels.",
            ),
        )


def _no_missing(draft: WriteDraft) -> Iterator[Rule]:
    relation = draft.sight.relation
    for column in relation.columns:
        required = column.not_null or column.name in relation.primary_key
        if required and column.name in draft.changed:
            yield (
                select_ones(draft.table(), build.is_null(draft.cell("w", column.name))),
                StatementFailed(
                    "23502",
                    f'null value in column "{column.name}" of relation "{relation.name}" '
                    "violates not-null constraint",
                ),
            )


def _length_rules(draft: WriteDraft) -> Iterator[Rule]:
    relation = draft.sight.relation
    for column in relation.columns:
        limit = parse_modified_type(column.type).length_limit
        if column.name not in draft.changed or limit is None:
            continue
        # Blanks at the end are cut, as PostgreSQL does.
        text = exp.Trim(this=draft.cell("w", column.name), position="TRAILING")
        too_long = exp.GT(this=exp.Length(this=text), expression=build.number(limit))
        yield (
            select_ones(draft.table(), too_long),
            StatementFailed("22001", f"value too long for type {column.type}"),
        )


def _check_rules(draft: WriteDraft, traits: EngineTraits) -> Iterator[Rule]:
    relation = draft.sight.relation
    if draft.verb == "DELETE":
        return
    for check in relation.checks:
        kept = exp.Coalesce(
            this=_compile_check(relation, check.condition, traits).copy(), expressions=[exp.true()]
        )
        name = check.name or f"{relation.name}_check"
        yield (
            select_ones(build.subquery(new_rows(draft), _ROW), negate(kept)),
            StatementFailed(
                "23514",
                f'new row for relation "{relation.name}" violates check constraint "{name}"',
            ),
        )


@lru_cache(maxsize=_KEPT)
def _compile_check(relation: Relation, text: str, traits: EngineTraits) -> exp.Expr:
    """Return a check as an executable tree over a row called `_ROW`; it reads no other table."""
    own = (relation, lambda name: build.column(name, of=_ROW))
    owner = DatabaseRole(relation.owner)
    return compile_condition(
        text,
        {"": own, relation.name: own},
        Authority(roles={owner.name: owner}),
        Subject(owner.name, owner.name),
        traits=traits,
    )


def _new_keys(draft: WriteDraft) -> Iterator[Rule]:
    """No new key may equal a visible one; it may equal a hidden one."""
    if draft.verb != "INSERT":
        return
    relation = draft.sight.relation
    failure = duplicate(f"{relation.name}_pkey")
    there = build.subquery(visible(draft.sight), "there")
    yield (
        join_source(select_ones(draft.table("new")), there, draft.same_key("there", "new")),
        failure,
    )
    twice = select_ones(draft.table()).group_by(*(draft.new(n) for n in relation.primary_key))
    yield (
        twice.having(exp.GT(this=build.count_star(), expression=build.number(1))),
        failure,
    )


def _unique_rules(draft: WriteDraft) -> Iterator[Rule]:
    if draft.verb == "DELETE":
        return
    relation = draft.sight.relation
    for unique in relation.uniques:
        if not set(unique) & set(draft.changed):
            continue
        query = select_ones(draft.table("new"))
        mine = build.subquery(visible(draft.sight), "mine")
        join_source(query, mine, draft.same_entity("mine", "new"))
        theirs = build.subquery(visible(draft.sight), "theirs")
        other = negate(build.same(relation.primary_key, "mine", "theirs"))
        join_source(query, theirs, build.same(unique, "mine", "theirs"), other)
        yield query, duplicate(f"{relation.name}_{'_'.join(unique)}_key")


def _reference_rules(draft: WriteDraft, relations: Mapping[Name, Relation]) -> Iterator[Rule]:
    """A key that new rows reference must be visible where they are written."""
    if draft.verb == "DELETE":
        return
    relation = draft.sight.relation
    for key in relation.foreign_keys:
        if not set(key.columns) & set(draft.changed):
            continue
        target = relations.get(key.target)
        if target is None:
            raise Bug(f'"{relation.name}" refers to a table that does not exist')
        given = [is_value(build.column(name, of="new")) for name in key.columns]
        found = select_ones(
            _visible_rows(draft, target, "target"), _matches_key(key, "new", "target")
        )
        yield (
            select_ones(build.subquery(new_rows(draft), "new"), *given, negate(exists(found))),
            StatementFailed(
                "23503",
                f'insert or update on table "{relation.name}" violates foreign key constraint '
                f'"{_key_name(relation, key)}"',
            ),
        )


def _referenced_rules(draft: WriteDraft, relations: Mapping[Name, Relation]) -> Iterator[Rule]:
    """A key that visible rows reference must still be visible."""
    if draft.verb == "INSERT":
        return
    relation = draft.sight.relation
    keys = [(other, key) for other in relations.values() for key in other.foreign_keys]
    for other, key in keys:
        is_changed = draft.verb == "DELETE" or set(key.target_columns) & set(draft.changed)
        if key.target != relation.key or not is_changed:
            continue
        still = select_ones(
            _visible_rows(draft, relation, "still"), _matches_key(key, "mine", "still")
        )
        query = select_ones(build.subquery(old_rows(draft), "old"), negate(exists(still)))
        yield (
            join_source(
                query, _visible_rows(draft, other, "mine"), _matches_key(key, "mine", "old")
            ),
            StatementFailed(
                "23503",
                f'update or delete on table "{relation.name}" violates foreign key constraint '
                f'"{_key_name(other, key)}" on table "{other.name}"',
            ),
        )


def _visible_rows(draft: WriteDraft, relation: Relation, alias: str) -> exp.Expr:
    """Return what the draft's clearance sees of `relation`; of a plain one, all of it."""
    if not relation.multilevel:
        return build.table(*relation.physical, alias=alias)
    return build.subquery(visible(replace(draft.sight, relation=relation)), alias)


def _matches_key(key: ForeignKey, here: str, there: str) -> exp.Expr:
    return conjunction(
        equality(build.column(mine, of=here), build.column(theirs, of=there))
        for mine, theirs in zip(key.columns, key.target_columns, strict=True)
    )


def _key_name(relation: Relation, key: ForeignKey) -> str:
    return key.name or f"{relation.name}_{'_'.join(key.columns)}_fkey"
