"""Differences of meaning between PostgreSQL, whose SQL clients write, and the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.rewrite.analysis import FALLIBLE
from discreet.guard.rewrite.expressions import BYTES, TEXTS
from discreet.guard.rewrite.functions import is_aggregate_call
from discreet.guard.rewrite.kinds import kind_of_cast
from discreet.sql import build
from discreet.sql.decode import plain_interval, read_bytes
from discreet.sql.types import LETTERS

_WIDE = {"int8": "DECIMAL(38, 0)", "int2": "BIGINT", "int4": "BIGINT"}
SUMMED = "sum of"  # meta of a sum: the kind of what is summed


def adapt(holder: exp.Expr, traits: EngineTraits) -> None:
    """Change the tree in `holder`, in place, so that the engine computes what PostgreSQL would."""
    if traits.is_postgresql:
        return
    # From the leaves up, so that a node's children are already changed.
    for node in reversed(list(holder.walk())):
        change = _CHANGES.get(type(node))
        if change is not None:
            change(node, traits)


def _wrap_node(node: exp.Expr, wrap: Callable[[exp.Expr], exp.Expr]) -> None:
    """Wrap a node without copying it."""
    marker = exp.Placeholder()
    node.replace(marker)
    marker.replace(wrap(node))


def _adapt_division(node: exp.Expr, _traits: EngineTraits) -> None:
    if node.meta.get("whole"):
        whole = exp.IntDiv(this=node.this, expression=node.expression)
        whole.meta[FALLIBLE] = True
        node.replace(exp.Paren(this=whole))
        return
    node.set("typed", None)
    if not _is_positive(node.expression):
        # PostgreSQL fails where others return infinity: here it is NULL.
        node.set("expression", exp.Nullif(this=node.expression, expression=build.number(0)))


def _adapt_escape(node: exp.Expr, traits: EngineTraits) -> None:
    """A backslash escapes the next character, also where the engine needs an explicit ESCAPE."""
    pattern = node.expression
    is_plain = isinstance(pattern, exp.Literal) and "\\" not in pattern.name
    is_bare = not is_plain and not isinstance(node.parent, exp.Escape)
    if is_bare and not traits.has_default_escape:
        _wrap_node(node, lambda inner: exp.Escape(this=inner, expression=build.text("\\")))


def _adapt_substring(node: exp.Expr, _traits: EngineTraits) -> None:
    """Positions before the first letter count, but hold none; other engines count from the end."""
    start, length = node.args.get("start"), node.args.get("length")
    if start is None or all(part is None or _is_positive(part) for part in (start, length)):
        return
    first = exp.Greatest(this=start, expressions=[build.number(1)])
    if length is not None:
        end = exp.Add(this=exp.Paren(this=start.copy()), expression=exp.Paren(this=length))
        left = exp.Paren(this=exp.Sub(this=end, expression=first.copy()))
        node.set("length", exp.Greatest(this=left, expressions=[build.number(0)]))
    node.set("start", first)


def _is_positive(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.name.isdecimal() and int(node.name) > 0


def _adapt_cast(node: exp.Expr, traits: EngineTraits) -> None:
    kind = node.args["to"]
    if kind.this == exp.DataType.Type.DECIMAL and not kind.expressions:
        # Without precision it is any number for PostgreSQL only.
        node.set("to", exp.DataType.build("DECIMAL(38, 10)"))
    elif kind.this in LETTERS:
        length = kind.expressions[0].this if kind.expressions else None
        node.set("to", exp.DataType.build("TEXT"))
        if node.meta.get(BYTES):
            _format_hexadecimal(node)
        if length is not None:
            _wrap_node(node, lambda inner: exp.Left(this=inner, expression=length))
    elif kind.this == exp.DataType.Type.TEXT and node.meta.get(BYTES):
        _format_hexadecimal(node)
    elif kind.this == exp.DataType.Type.VARBINARY:
        _adapt_bytes(node)
    elif kind.this == exp.DataType.Type.INTERVAL and isinstance(node.this, exp.Literal):
        node.set("this", build.text(plain_interval(node.this.name)))
    else:
        _adapt_text(node, traits)


def _adapt_text(node: exp.Expr, traits: EngineTraits) -> None:
    """A text is read whole and as it is, or refused: a literal now, a cell when it is cast."""
    inner, kind = node.this.unnest(), kind_of_cast(node.args["to"])
    if isinstance(inner, exp.Literal):
        if inner.is_string and traits.read_literal is not None:
            inner.set("this", traits.read_literal(inner.name, kind))
        return
    pattern = traits.text_patterns.get(kind)
    if pattern is not None and node.meta.get(TEXTS):
        # What does not match becomes the empty text, which no such type has.
        parts = [node.this, build.text(pattern), build.number(1)]
        node.set("this", exp.Anonymous(this="regexp_extract", expressions=parts))


def _format_hexadecimal(node: exp.Expr) -> None:
    """Bytes are written as PostgreSQL writes them: a backslash, x, and two digits for each."""
    digits = exp.Lower(this=exp.Hex(this=node.this))
    node.set("this", exp.DPipe(this=build.text("\\x"), expression=digits, safe=True))


def _adapt_bytes(node: exp.Expr) -> None:
    """A literal is parsed here, once; engines write bytes differently."""
    inner = node.this.unnest()
    if not isinstance(inner, exp.Literal):
        return
    try:
        digits = read_bytes(inner.name).hex()
    except ValueError:
        raise StatementFailed("22P02", "invalid input syntax for type bytea") from None
    node.replace(exp.Unhex(this=build.text(digits)))


def _adapt_sum(node: exp.Expr, _traits: EngineTraits) -> None:
    wide = _WIDE.get(str(node.meta.get(SUMMED)))
    if wide is None:
        return
    outer = node
    while isinstance(outer.parent, (exp.Filter, exp.Window)) and outer.parent.this is outer:
        outer = outer.parent
    _wrap_node(outer, lambda inner: exp.cast(inner, wide))


_CHANGES: Mapping[type[exp.Expr], Callable[[exp.Expr, EngineTraits], None]] = {
    exp.Div: _adapt_division,
    exp.Like: _adapt_escape,
    exp.ILike: _adapt_escape,
    exp.Substring: _adapt_substring,
    exp.Cast: _adapt_cast,
    exp.Sum: _adapt_sum,
}

# Nodes that TRY cannot hold: they are computed after rows were dropped, or fail by themselves.
_UNTRIED = (exp.Subquery, exp.Exists, exp.Window, exp.Query)


def make_total(holder: exp.Expr, traits: EngineTraits) -> None:
    """Make failures NULL, in place, where an engine may compute an expression for hidden rows.

    PostgreSQL does not: conditions stay outside of a subquery with OFFSET.
    """
    if not traits.computes_hidden_rows:
        return
    later = {id(node) for select in holder.find_all(exp.Select) for node in _after_groups(select)}
    for node in list(holder.walk()):
        if not node.meta.get(FALLIBLE) or _is_tried(node):
            continue
        if id(node) in later or any(
            isinstance(part, _UNTRIED) or is_aggregate_call(part) for part in node.walk()
        ):
            if isinstance(node, exp.Cast):
                node.replace(exp.TryCast(this=node.this, to=node.args["to"]))
            continue
        _wrap_node(node, lambda inner: exp.Anonymous(this="TRY", expressions=[inner]))


def _after_groups(select: exp.Select) -> Iterator[exp.Expr]:
    """Return the expressions over groups of visible rows: DuckDB 1.5 has no TRY of a key there.

    Casts in the keys belong to them, so that they stay equal to those in the select list.
    """
    group = select.args.get("group")
    if group is None:
        return
    keys = [key for key in group.expressions if not isinstance(key, exp.Column)]
    order = select.args.get("order")
    for part in (*select.expressions, *(order.expressions if order is not None else ())):
        inner = part.walk(prune=lambda node: is_aggregate_call(node) or node.unalias() in keys)
        yield from (node for node in inner if node.unalias() not in keys)
    for part in (*select.expressions, *keys, *(order.expressions if order is not None else ())):
        yield from part.find_all(exp.Cast)


def _is_tried(node: exp.Expr) -> bool:
    parent = node.parent
    while parent is not None and not isinstance(parent, exp.Query):
        if isinstance(parent, exp.Anonymous) and parent.name == "TRY":
            return True
        parent = parent.parent
    return False
