"""Names in stored SQL: views, policies, masks and triggers follow a column or a relation that is renamed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Name, Relation
from discreet.guard.access.change import AuthorityChange
from discreet.guard.access.dependents import base_tables, named_in, parse_stored_sql
from discreet.guard.access.sequences import default_sequence, sequence_default_text

if TYPE_CHECKING:
    from sqlglot import exp

    Rewriting = Callable[[exp.Expr], None]


def pin_columns(change: AuthorityChange, relation: Relation) -> AuthorityChange:
    """Return the change with views that read all columns of a relation by `*` naming them instead."""
    from sqlglot import exp

    for view in _find_readers(change, relation):
        tree = parse_stored_sql(view.query or "")
        if not any(_is_star(node) for node in tree.find_all(exp.Star)):
            continue
        for table in _tables_of(tree, relation.key):
            _narrow_table(table, relation, [column.name for column in relation.columns])
        change = change.with_relation(replace(view, query=_write_sql(tree)))
    return change


def _is_star(node: exp.Expr) -> bool:
    from sqlglot import exp

    return isinstance(node.parent, (exp.Select, exp.Column))


def _find_readers(change: AuthorityChange, relation: Relation) -> Iterator[Relation]:
    for other in list(change.authority.relations.values()):
        if other.query is not None and relation.key in named_in(parse_stored_sql(other.query)):
            yield other


def _tables_of(tree: exp.Expr, key: Name) -> list[exp.Table]:
    from discreet.guard.access.authority import DEFAULT_SCHEMA

    return [t for t in base_tables(tree) if (t.db or DEFAULT_SCHEMA, t.name) == key]


def _narrow_table(
    table: exp.Table, relation: Relation, shown: list[str], *, new: dict[str, str] | None = None
) -> None:
    """Replace a table by a query of some of its columns, of which some have new names there."""
    from sqlglot import exp

    from discreet.sql import build

    alias = table.args.get("alias") or exp.TableAlias(this=exp.to_identifier(relation.name))
    joins = table.args.get("joins")
    bare = exp.Table(this=table.this.copy(), db=table.args.get("db"))
    columns = [build.alias_as(build.column((new or {}).get(n, n)), n) for n in shown]
    inner = exp.Subquery(this=exp.Select(expressions=columns).from_(bare), alias=alias)
    if joins:
        inner.set("joins", joins)
    table.replace(inner)


def _write_sql(tree: exp.Expr) -> str:
    return tree.sql(dialect="postgres", comments=False)


def _map_rules(relation: Relation, rewrite: Callable[[str], str]) -> Relation:
    """Return a relation with the SQL of its policies, masks, triggers and checks rewritten."""

    def optional(text: str | None) -> str | None:
        return None if text is None else rewrite(text)

    return replace(
        relation,
        policies=tuple(
            replace(one, using=optional(one.using), check=optional(one.check))
            for one in relation.policies
        ),
        masks=tuple(replace(one, expression=rewrite(one.expression)) for one in relation.masks),
        triggers=tuple(replace(one, condition=rewrite(one.condition)) for one in relation.triggers),
        checks=tuple(replace(one, condition=rewrite(one.condition)) for one in relation.checks),
    )


def rename_relation_in(change: AuthorityChange, relation: Relation, new: str) -> AuthorityChange:
    """Return the change with a relation under another name, also where it is referenced."""
    key = relation.key

    def rewrite(text: str) -> str:
        tree = parse_stored_sql(text)
        tables = _tables_of(tree, key)
        _rename_tables(tables, new)
        return _write_sql(tree) if tables else text

    def rewrite_own(text: str) -> str:
        tree = parse_stored_sql(rewrite(text))
        _rename_qualifiers(tree, relation.name, new)
        return _write_sql(tree)

    relations: dict[Name, Relation] = {}
    for name, other in change.authority.relations.items():
        found = _map_rules(other, rewrite_own if name == key else rewrite)
        if found.query is not None:
            found = replace(found, query=rewrite(found.query))
        keys = tuple(
            replace(one, target=(key[0], new)) if one.target == key else one
            for one in found.foreign_keys
        )
        found = replace(found, foreign_keys=keys)
        found = replace(found, name=new) if name == key else found
        if (found.schema, found.options.get("table")) == key:
            found = replace(found, options={**found.options, "table": new})
        if relation.kind == "sequence":
            found = _follow_sequence(found, key, new)
        relations[found.key] = found
    return change.with_authority(replace(change.authority, relations=relations))


def _follow_sequence(table: Relation, key: Name, new: str) -> Relation:
    """Return a table whose defaults use a renamed sequence."""
    columns = tuple(
        replace(column, default=sequence_default_text((key[0], new)))
        if default_sequence(column) == key
        else column
        for column in table.columns
    )
    return replace(table, columns=columns)


def _rename_tables(tables: list[exp.Table], new: str) -> None:
    from sqlglot import exp

    for table in tables:
        if not table.args.get("alias"):  # columns may be written with the old name
            table.set("alias", exp.TableAlias(this=exp.to_identifier(table.name, quoted=True)))
        table.set("this", exp.to_identifier(new, quoted=True))


def _rename_qualifiers(tree: exp.Expr, old: str, new: str) -> None:
    """Rename `old` in front of columns of the row itself, unless a query around them has an `old`."""
    from sqlglot import exp

    for column in list(tree.find_all(exp.Column)):
        if column.table == old and not _is_shadowed(column, old):
            column.set("table", exp.to_identifier(new, quoted=True))


def _is_shadowed(column: exp.Expr, name: str) -> bool:
    from sqlglot import exp

    query = column.find_ancestor(exp.Query)
    while query is not None:
        if any(table.alias_or_name == name for table in query.find_all(exp.Table, exp.Subquery)):
            return True
        query = query.find_ancestor(exp.Query)
    return False


def rename_column_in(
    change: AuthorityChange, relation: Relation, old: str, new: str
) -> AuthorityChange:
    """Return the change with a column under another name, also where it is referenced.

    Raises:
        StatementFailed: 0A000, a rule with a query in it names the column, so that it is not certain
            which column is meant.
    """
    key = relation.key
    for other in list(change.authority.relations.values()):
        change = change.with_relation(_follow_column(other, relation, old, new))
    found = change.authority.relations[key]

    def rename(names: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(new if name == old else name for name in names)

    found = replace(
        _map_rules(found, lambda text: _rename_in_rule(text, relation, old, new)),
        columns=tuple(
            replace(column, name=new) if column.name == old else column for column in found.columns
        ),
        primary_key=rename(found.primary_key),
        uniques=tuple(map(rename, found.uniques)),
        key_names=tuple((name, rename(columns)) for name, columns in found.key_names),
        foreign_keys=tuple(
            replace(one, columns=rename(one.columns), set_columns=rename(one.set_columns))
            for one in found.foreign_keys
        ),
        indexes=tuple(
            replace(one, keys=rename(one.keys), included=rename(one.included))
            for one in found.indexes
        ),
    )
    found = replace(
        found,
        masks=tuple(replace(one, column=new) if one.column == old else one for one in found.masks),
        triggers=tuple(replace(one, columns=rename(one.columns)) for one in found.triggers),
    )
    return change.with_relation(found)


def _follow_column(other: Relation, relation: Relation, old: str, new: str) -> Relation:
    """Return a relation whose foreign keys, rules and query follow a renamed column of another one."""
    keys = tuple(
        replace(
            one,
            target_columns=tuple(new if name == old else name for name in one.target_columns),
        )
        if one.target == relation.key
        else one
        for one in other.foreign_keys
    )
    other = replace(other, foreign_keys=keys)
    if (other.schema, other.options.get("table")) == relation.key:
        column = other.options.get("column")
        renamed = {"column": new} if column == old else {}
        return replace(other, options={**other.options, **renamed})
    if other.key != relation.key:
        other = _map_rules(other, lambda text: _follow_in_query(text, relation, old, new))
    if other.query is not None:
        other = replace(other, query=_follow_in_query(other.query, relation, old, new))
    return other


def _follow_in_query(text: str, relation: Relation, old: str, new: str) -> str:
    """Return SQL in which a relation is read through a query that has the column's old name."""
    from sqlglot import exp

    tree = parse_stored_sql(text)
    tables = _tables_of(tree, relation.key)
    if not tables:
        return text
    has_star = any(_is_star(node) for node in tree.find_all(exp.Star))
    names = {column.name for column in tree.find_all(exp.Column)}
    if not has_star and old not in names:
        return text
    shown = [one.name for one in relation.columns if has_star or one.name in names]
    for table in tables:
        _narrow_table(table, relation, shown, new={old: new})
    return _write_sql(tree)


def _rename_in_rule(text: str, relation: Relation, old: str, new: str) -> str:
    from sqlglot import exp

    tree = parse_stored_sql(text)
    columns = [column for column in tree.find_all(exp.Column) if column.name == old]
    if not columns:
        return text
    if tree.find(exp.Query) is not None:
        raise StatementFailed(
            "0A000",
            f'column "{old}" cannot be renamed: a policy, mask, trigger or check of "{relation.name}" '
            "names it, and has a query in it",
            hint="Drop that first, and create it again.",
        )
    for column in columns:
        column.set("this", exp.to_identifier(new, quoted=True))
    return _write_sql(tree)
