"""Normal forms: strings, FETCH FIRST and VALUES in the one form that the checks accept."""

from __future__ import annotations

from sqlglot import exp

from discreet.guard.rewrite.allowed import QUANTIFIERS, unsupported_feature
from discreet.sql import build
from discreet.sql.walk import rewrite_tree


def normalize_tree(tree: exp.Expr) -> exp.Expr:
    """Return a copy of an allowed tree in normal form."""
    return rewrite_tree(tree, _normalize_node)


def normalize_select(select: exp.Select) -> exp.Select:
    """Return a copy of an allowed SELECT in normal form."""
    return rewrite_tree(select, _normalize_node)


def _normalize_node(node: exp.Expr) -> exp.Expr:
    if isinstance(node, (exp.ByteString, exp.RawString)):
        return build.text(str(node.this))
    if isinstance(node, exp.Fetch):
        return exp.Limit(expression=node.args.get("count") or build.number(1))
    if isinstance(node, exp.Between) and node.args.get("symmetric"):
        low, high = node.args["low"], node.args["high"]
        pairs = ((low, high), (high, low))
        either = [
            exp.Between(this=node.this.copy(), low=one.copy(), high=other.copy())
            for one, other in pairs
        ]
        return exp.Paren(this=exp.Or(this=either[0], expression=either[1]))
    if isinstance(node, exp.Anonymous) and node.name.lower() in QUANTIFIERS:
        return QUANTIFIERS[node.name.lower()](this=exp.Paren(this=node.expressions[0]))
    if isinstance(node, exp.Anonymous) and node.name.lower() == "every":
        return exp.LogicalAnd(this=node.expressions[0]) if len(node.expressions) == 1 else node
    if isinstance(node, exp.Values) and not isinstance(
        node.parent, (exp.From, exp.Join, exp.Lateral, exp.Insert)
    ):
        return select_from_values(node)
    return node


def select_from_values(values: exp.Expr) -> exp.Select:
    """Return `SELECT * FROM (VALUES …)`."""
    rows = exp.Values(expressions=[row.copy() for row in values.expressions])
    rows.set("alias", exp.TableAlias(this=exp.to_identifier("*VALUES*", quoted=True)))
    return exp.select(exp.Star()).from_(rows)


def limits(query: exp.Expr) -> None:
    """Refuse a LIMIT or OFFSET that is neither a number nor a parameter; LIMIT ALL is none."""
    for name in ("limit", "offset"):
        clause = query.args.get(name)
        if clause is None:
            continue
        value = clause.expression.unnest()
        if isinstance(value, exp.Null) or (isinstance(value, exp.Var) and value.name == "ALL"):
            query.set(name, None)
        elif not isinstance(value, (exp.Parameter, exp.Literal)) or (
            isinstance(value, exp.Literal) and not value.name.isdecimal()
        ):
            raise unsupported_feature(f"{name.upper()} of anything but a number")
