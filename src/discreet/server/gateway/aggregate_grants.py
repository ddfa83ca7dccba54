"""Authorization of private queries: the grant that pays, and the columns left out of answers."""

from __future__ import annotations

from collections.abc import Sequence

from sqlglot import exp

from discreet.errors import AccessDenied, Bug
from discreet.guard.access.authority import (
    DEFAULT_SCHEMA,
    Allowance,
    Authority,
    Privilege,
    Relation,
    Subject,
)
from discreet.guard.access.decide import budgets_on, privilege_on
from discreet.guard.rewrite.policies import has_policies
from discreet.server.gateway.encrypted_columns import INDEX
from discreet.sql import build
from discreet.sql.names import fold_identifier


def may_read_others(
    authority: Authority, subject: Subject, relations: Sequence[Relation], private: list[Relation]
) -> bool:
    """Return whether the sender has SELECT on every public table that is named."""
    return all(
        relation in private
        or privilege_on(authority, subject.role, relation, Privilege.SELECT).allowed
        for relation in relations
    )


def payer_of(authority: Authority, subject: Subject, relations: list[Relation]) -> str | None:
    """Return the role whose budget pays: one that was granted AGGREGATE on every table named.

    The sender's own grant comes first, then the largest.

    Raises:
        AccessDenied: Each table may be queried, but no single grant covers them all.
    """
    grants = [dict(budgets_on(authority, subject.role, relation)) for relation in relations]
    if not all(grants):
        return None
    shared = set(grants[0]).intersection(*grants[1:])
    if not shared:
        raise AccessDenied(
            "no single grant of AGGREGATE covers all tables of this question",
            hint="Ask about one table at a time, or have them granted to one role.",
        )
    return min(
        shared,
        key=lambda grantee: (grantee != subject.role, -grants[0][grantee].epsilon, grantee),
    )


def name_tables(query: exp.Query) -> exp.Query:
    """Return a query whose tables have one name each: without the default schema, `"schema.name"` elsewhere."""
    found = query.copy()
    commons = {common.alias.lower() for common in found.find_all(exp.CTE)}
    for node in list(found.find_all(exp.Table, exp.Column)):
        schema, called = node.args.get("db"), node.name if isinstance(node, exp.Table) else ""
        # Without its schema, a table could be confused with an alias of the query.
        if schema is None or node.args.get("catalog") or called.lower() in commons:
            continue
        if fold_identifier(schema) == DEFAULT_SCHEMA or isinstance(node, exp.Column):
            node.set("db", None)
        elif (name := _join_name(schema, node.this)).lower() not in commons:
            if not node.alias:
                node.set("alias", exp.TableAlias(this=node.this.copy()))
            node.set("this", exp.to_identifier(name, quoted=True))
            node.set("db", None)
    holder = exp.Paren(this=found)
    for node in list(holder.find_all(exp.WithinGroup)):
        node.replace(_translate_quantile(node))
    found = holder.this.pop()
    if not isinstance(found, exp.Query):
        raise Bug("A question is no query any more.")
    return found


def _join_name(schema: exp.Expr, name: exp.Expr) -> str:
    return f"{fold_identifier(schema)}.{fold_identifier(name)}"


def _translate_quantile(node: exp.WithinGroup) -> exp.Expr:
    """Return `percentile_cont(q) WITHIN GROUP (ORDER BY x)` in DuckDB's form."""
    orders = node.expression.expressions if isinstance(node.expression, exp.Order) else []
    if not isinstance(node.this, (exp.PercentileCont, exp.PercentileDisc)) or len(orders) != 1:
        return node  # refused later, with the reason
    share = node.this.this
    if orders[0].args.get("desc"):
        share = exp.Sub(this=build.number(1), expression=share)
    return type(node.this)(this=orders[0].this, expression=share)


def allowance_of(payer: str, relation: Relation) -> Allowance | None:
    """Return the total budget of the payer on a relation, None if nothing was granted."""
    found = [
        entry.budget
        for entry in relation.acl or ()
        if entry.grantee == payer and entry.privilege is Privilege.AGGREGATE and entry.budget
    ]
    # Two grantors may have given the same role different budgets: the smaller one applies.
    return min(found, key=lambda budget: (budget.epsilon, budget.delta), default=None)


def cell_columns(relation: Relation) -> set[str]:
    """Return the physical columns that hold encrypted cells, and their blind indexes."""
    cells = [column.name for column in relation.columns if column.key is not None]
    return {*cells, *(name + INDEX for name in cells)}


def require_all_rows(authority: Authority, subject: Subject, relation: Relation) -> None:
    """Refuse queries of roles with a row policy: an answer is about all rows."""
    if has_policies(authority, subject.role, relation):
        raise AccessDenied(
            f"permission denied for table {relation.name}",
            reason=f"row policies of {relation.name} apply to {subject.role}, and answers are about all rows",
            hint="A role with a row policy on a table cannot query all of it.",
        )


def require_seen(
    query: exp.Query, relations: Sequence[Relation], hidden: Sequence[frozenset[str]]
) -> None:
    """Refuse a query that names a masked column, with a message that names it."""
    pairs = list(zip(relations, hidden, strict=True))
    shown = {
        column.name for one, names in pairs for column in one.columns if column.name not in names
    }
    named = {column.name.lower() for column in query.find_all(exp.Column)} - shown
    for relation, names in pairs:
        if named & names:
            raise AccessDenied(
                f"permission denied for table {relation.name}",
                reason=f"column {min(named & names)} of {relation.name} is masked",
                hint="Ask without the columns that you see masks of.",
            )
