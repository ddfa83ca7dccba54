"""Differences of meaning between PostgreSQL, whose SQL clients write, and the engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from sqlglot import exp

from discreet.engines.databases.database import EngineTraits
from discreet.errors import StatementFailed
from discreet.guard.rewrite.analysis import FALLIBLE
from discreet.guard.rewrite.expressions import BYTES, TEXTS
from discreet.guard.rewrite.functions import is_aggregate_call
from discreet.guard.rewrite.kinds import data_type, element_kind, kind_of_cast
from discreet.guard.rewrite.operators import JOINED, QUANTIFIED
from discreet.guard.rewrite.set_functions import LONGEST_SERIES
from discreet.sql import build
from discreet.sql.decode import array_items, plain_interval, read_bytes
from discreet.sql.types import LETTERS

_WIDE = {"int8": "DECIMAL(38, 0)", "int2": "BIGINT", "int4": "BIGINT"}
SUMMED = "sum of"  # meta of a sum: the kind of what is summed


def adapt(holder: exp.Expr, traits: EngineTraits) -> None:
    """Change the tree in `holder`, in place, so that the engine computes what PostgreSQL would."""
    changes = _FOR_POSTGRESQL if traits.is_postgresql else _CHANGES
    # From the leaves up, so that a node's children are already changed.
    for node in reversed(list(holder.walk())):
        change = changes.get(type(node))
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


def _adapt_array(node: exp.Expr, traits: EngineTraits) -> None:
    """A literal is parsed here, once; engines write arrays differently."""
    to, inner = node.args["to"], node.this.unnest()
    kind = kind_of_cast(to)
    if kind == "numeric[]" and not to.expressions[0].expressions:
        to.set("expressions", [exp.DataType.build("DECIMAL(38, 10)")])
    elif kind == "text[]":
        to.set("expressions", [data_type("text")])
    if isinstance(inner, exp.Literal):
        node.set("this", array_literal(inner.name, str(element_kind(kind)), traits))


def array_literal(text: str, element: str, traits: EngineTraits) -> exp.Expr:
    """Return the texts of an array literal as a list, which a cast makes an array."""
    read = traits.read_literal or (lambda item, _kind: item)
    cells = (
        exp.Null() if item is None else build.text(read(item, element))
        for item in array_items(text)
    )
    # It has a type also when it is empty.
    return exp.Cast(this=exp.Array(expressions=list(cells)), to=data_type("text[]"))


def _adapt_comparison(node: exp.Expr, _traits: EngineTraits) -> None:
    """ANY and ALL of an array, with PostgreSQL's NULLs, as a value that needs no subquery."""
    if QUANTIFIED not in node.meta:
        return
    is_all = isinstance(node.expression, exp.All)
    value, array = exp.Paren(this=node.this), exp.Paren(this=node.expression.this.unnest())
    kind = _OPPOSITES[type(node)] if is_all else type(node)
    holds = _holds_for_one(kind, value, array)
    count = exp.Anonymous(this="len", expressions=[array.copy()])
    known = exp.Anonymous(this="list_count", expressions=[array.copy()])
    cases = (
        (exp.Is(this=array.copy(), expression=exp.Null()), exp.Null()),
        (exp.EQ(this=count, expression=build.number(0)), exp.false()),
        (exp.Is(this=value.copy(), expression=exp.Null()), exp.Null()),
        (holds, exp.true()),
        (exp.LT(this=known, expression=count.copy()), exp.Null()),
    )
    found: exp.Expr = exp.Paren(
        this=exp.Case(
            ifs=[exp.If(this=condition, true=result) for condition, result in cases],
            default=exp.false(),
        )
    )
    node.replace(exp.Paren(this=exp.Not(this=found)) if is_all else found)


_OPPOSITES: Mapping[type[exp.Expr], type[exp.Expr]] = {
    exp.EQ: exp.NEQ,
    exp.NEQ: exp.EQ,
    exp.LT: exp.GTE,
    exp.GTE: exp.LT,
    exp.GT: exp.LTE,
    exp.LTE: exp.GT,
}


def _holds_for_one(kind: type[exp.Expr], value: exp.Expr, array: exp.Expr) -> exp.Expr:
    """Return whether a comparison holds for an element that is not NULL."""
    if kind is exp.EQ:
        return exp.Anonymous(this="list_contains", expressions=[array.copy(), value.copy()])
    if kind in (exp.LT, exp.LTE):
        ends = ["list_max"]
    else:
        ends = ["list_min"] if kind in (exp.GT, exp.GTE) else ["list_min", "list_max"]
    found = [
        kind(this=value.copy(), expression=exp.Anonymous(this=end, expressions=[array.copy()]))
        for end in ends
    ]
    return exp.Paren(this=build.any_of(found))


def _call_list(name: str, *arguments: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=[argument.copy() for argument in arguments])


def _either_null(left: exp.Expr, right: exp.Expr, result: exp.Expr) -> exp.Expr:
    nulls = (
        exp.Is(this=exp.Paren(this=side.copy()), expression=exp.Null()) for side in (left, right)
    )
    missing = build.any_of(nulls)
    return exp.Paren(this=exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=result))


def _adapt_join(node: exp.Expr, _traits: EngineTraits) -> None:
    """Of two arrays, a missing one is empty; an appended element is an array of one."""
    if isinstance(node, exp.DPipe) and JOINED not in node.meta:
        return
    left = node.this
    if isinstance(node, exp.ArrayConcat):
        right = node.expressions[0]
    elif isinstance(node, exp.ArrayAppend):
        right = exp.Array(expressions=[node.expression])
    else:
        right = node.expression
    missing = exp.and_(
        *(exp.Is(this=exp.Paren(this=side.copy()), expression=exp.Null()) for side in (left, right))
    )
    joined = _call_list("list_concat", left, right)
    node.replace(
        exp.Paren(this=exp.Case(ifs=[exp.If(this=missing, true=exp.Null())], default=joined))
    )


def _adapt_containment(node: exp.Expr, _traits: EngineTraits) -> None:
    """An array with NULL in it is contained in none."""
    left, right = node.this, node.expression
    if isinstance(node, exp.ArrayOverlaps):
        node.replace(_either_null(left, right, _call_list("list_has_any", left, right)))
        return
    if isinstance(node, exp.ArrayContainedBy):
        left, right = right, left
    is_known = exp.EQ(this=_call_list("list_count", right), expression=_call_list("len", right))
    holds = exp.and_(_call_list("list_has_all", left, right), is_known)
    node.replace(_either_null(left, right, holds))


def _adapt_length(node: exp.Expr, _traits: EngineTraits) -> None:
    length = exp.Nullif(this=_call_list("len", node.this), expression=build.number(0))
    node.replace(exp.cast(length, "INT"))


def _adapt_named(node: exp.Expr, _traits: EngineTraits) -> None:
    if node.name.lower() == "cardinality":
        node.replace(exp.cast(_call_list("len", node.expressions[0]), "INT"))


def _adapt_position(node: exp.Expr, _traits: EngineTraits) -> None:
    place = _call_list("list_position", node.this, node.expression)
    node.replace(exp.cast(exp.Nullif(this=place, expression=build.number(0)), "INT"))


def _adapt_writing(node: exp.Expr, _traits: EngineTraits) -> None:
    texts = exp.Cast(this=node.this.copy(), to=data_type("text[]"))
    node.set("this", texts)


def _adapt_splitting(node: exp.Expr, _traits: EngineTraits) -> None:
    """An empty text has no parts."""
    empty = exp.Cast(this=exp.Array(expressions=[]), to=data_type("text[]"))
    is_empty = exp.EQ(this=exp.Paren(this=node.this.copy()), expression=build.text(""))
    parts = _call_list("string_split", node.this, node.expression)
    node.replace(exp.Paren(this=exp.Case(ifs=[exp.If(this=is_empty, true=empty)], default=parts)))


def _adapt_gathering(node: exp.Expr, _traits: EngineTraits) -> None:
    """Without a separator there is nothing between the texts."""
    separator = node.args["separator"]
    if not isinstance(separator, exp.Literal):
        node.set("separator", exp.Coalesce(this=separator, expressions=[build.text("")]))


def _adapt_series(node: exp.Expr, _traits: EngineTraits) -> None:
    """A series is a list elsewhere: one that is too long fails, before it takes all memory."""
    start, end, step = (node.args.get(name) for name in ("start", "end", "step"))
    if start is None or end is None or (step is None and isinstance(end, exp.Literal)):
        return  # a literal was counted already

    is_moment = step is not None and not isinstance(step.unnest(), (exp.Literal, exp.Neg))

    def size_of(value: exp.Expr) -> exp.Expr:
        copy = exp.Paren(this=value.copy())
        return exp.Anonymous(this="epoch", expressions=[copy]) if is_moment else copy

    reach = exp.Abs(this=exp.Sub(this=size_of(end), expression=size_of(start)))
    unit = exp.Abs(this=size_of(step)) if step is not None else build.number(1)
    longest = exp.Mul(this=unit, expression=build.number(LONGEST_SERIES))
    too_long = exp.GT(this=reach, expression=longest)
    failing = exp.cast(build.text("1e300"), "DOUBLE")  # for the cast, which else adds nothing
    zero = exp.cast(build.number(0), "DOUBLE")
    nothing: exp.Expr = exp.cast(
        exp.Case(ifs=[exp.If(this=too_long, true=failing)], default=zero), "INT"
    )
    if is_moment:
        nothing = exp.Anonymous(this="to_days", expressions=[nothing])
    node.set("end", exp.Add(this=exp.Paren(this=end.copy()), expression=nothing))


def _adapt_member(node: exp.Expr, _traits: EngineTraits) -> None:
    """A key is part of a path elsewhere."""
    key = node.expression
    path = f'$."{key.name}"' if key.is_string else f"$[{key.name}]"
    name = "json_extract" if isinstance(node, exp.JSONExtract) else "json_extract_string"
    node.replace(exp.Anonymous(this=name, expressions=[node.this, build.text(path)]))


def _call_member(node: exp.Expr, _traits: EngineTraits) -> None:
    """As a call: the second parser takes the arrow for a lambda."""
    key, value = node.expression, exp.cast(node.this, "JSON")
    name = "json_extract_path" if isinstance(node, exp.JSONExtract) else "json_extract_path_text"
    call: exp.Expr = exp.Anonymous(this=name, expressions=[value, build.text(key.name)])
    if not key.is_string:  # a number is no key of an object
        kind = exp.Anonymous(this="json_typeof", expressions=[value.copy()])
        is_list = exp.EQ(this=kind, expression=build.text("array"))
        call = exp.Paren(this=exp.Case(ifs=[exp.If(this=is_list, true=call)]))
    node.replace(call)


_FOR_POSTGRESQL: Mapping[type[exp.Expr], Callable[[exp.Expr, EngineTraits], None]] = {
    exp.JSONExtract: _call_member,
    exp.JSONExtractScalar: _call_member,
}


def _adapt_replacement(node: exp.Expr, _traits: EngineTraits) -> None:
    r"""The whole match is \0 elsewhere."""
    by = node.args["replacement"]
    if isinstance(by, exp.Literal):
        node.set("replacement", build.text(by.name.replace("\\&", "\\0")))


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
    exp.Cast: lambda node, traits: (
        _adapt_array(node, traits) if node.is_type(exp.DType.ARRAY) else _adapt_cast(node, traits)
    ),
    exp.Sum: _adapt_sum,
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE), _adapt_comparison),
    **dict.fromkeys((exp.DPipe, exp.ArrayAppend, exp.ArrayConcat), _adapt_join),
    **dict.fromkeys(
        (exp.ArrayContainsAll, exp.ArrayContainedBy, exp.ArrayOverlaps), _adapt_containment
    ),
    exp.ArraySize: _adapt_length,
    exp.Anonymous: _adapt_named,
    exp.ArrayPosition: _adapt_position,
    exp.ArrayToString: _adapt_writing,
    exp.StringToArray: _adapt_splitting,
    exp.GroupConcat: _adapt_gathering,
    **dict.fromkeys((exp.JSONExtract, exp.JSONExtractScalar), _adapt_member),
    exp.ExplodingGenerateSeries: _adapt_series,
    exp.RegexpReplace: _adapt_replacement,
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
