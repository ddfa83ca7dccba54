"""Conditions stored as text by owners: parsed and checked like any other statement."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority, Relation, Subject
from discreet.guard.rewrite.authorize import authorize_query
from discreet.guard.rewrite.kinds import kind_named
from discreet.guard.rewrite.permitted import Source, plain_source
from discreet.guard.statements.dialect import ClientPostgres
from discreet.sql.names import fold_identifier
from discreet.sql.walk import given_clauses


def compile_condition(
    text: str,
    rows: Mapping[str, tuple[Relation, Callable[[str], exp.Expr]]],
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
    source: Source = plain_source,
    role: str | None = None,
) -> exp.Expr:
    """Return an executable expression, with columns of `rows` in place of their names.

    While it is checked, a column such as NEW.age is a parameter of the column's type: so it follows
    the same rules as users' statements. Names without a table belong to the row called "".

    Args:
        text: The owner's text.
        rows: By the name of a row, such as `new`: its relation, and what each column becomes.
        authority: The basis of decisions.
        subject: The sender.
        traits: The engine's.
        source: How a relation is read that is not a plain table.
        role: The role whose privileges apply to other relations, if not `subject`.

    Raises:
        StatementFailed: As `authorize_query` does.
    """
    holder = exp.Paren(this=_parse_condition(text))
    kinds: list[str | None] = []
    reached: list[exp.Expr] = []
    for column in list(holder.find_all(exp.Column)):
        row = rows.get(
            fold_identifier(column.args.get("table")) if column.args.get("table") else ""
        )
        if row is None:
            continue
        relation, reach = row
        name = fold_identifier(column.this)
        found = relation.column(name)
        if found is None:
            raise StatementFailed("42703", f'column "{name}" does not exist')
        kinds.append(kind_named(found.type) or "text")
        reached.append(reach(name))
        column.replace(exp.Parameter(this=exp.Literal.number(len(kinds))))
    query = exp.select(exp.alias_(holder.this.pop(), "holds", quoted=True))
    permitted = authorize_query(
        query, authority, subject, traits=traits, source=source, declared=kinds, role=role
    )
    if len(permitted.parameters) > len(kinds):
        raise StatementFailed("42P02", "there are no parameters here")
    return _single_expression(permitted.tree, reached)


def _single_expression(tree: exp.Query, reached: list[exp.Expr]) -> exp.Expr:
    """Return the only column of a query without tables, which may hold subqueries."""
    for node in list(tree.find_all(exp.Parameter)):
        node.replace(reached[int(node.name) - 1].copy())
    is_bare = isinstance(tree, exp.Select) and given_clauses(tree) == ["expressions"]
    if not is_bare or len(tree.expressions) != 1:
        return exp.Subquery(this=tree)
    return exp.Paren(this=tree.expressions[0].unalias().copy())


def _parse_condition(text: str) -> exp.Expr:
    try:
        tree = parse_one(text, dialect=ClientPostgres)
    except (SqlglotError, RecursionError):
        tree = None
    if tree is None:
        raise StatementFailed("42601", "a condition cannot be read")
    return tree
