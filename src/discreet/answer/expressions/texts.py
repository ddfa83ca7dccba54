"""Text: joining, cutting, case, length and LIKE, with constants where an engine could differ or fail."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from sqlglot import exp

from discreet.answer.expressions.typed import (
    NULL,
    TypedExpression,
    boolean_expression,
    integer_literal,
    make_refusal,
    map_domain,
    parenthesize,
    text_literal,
    value_domain,
)
from discreet.engines.engine import Kind

CUT = 65_536  # characters of a text that are read before it is made longer
_LONGEST = 16 * CUT
_PATTERN = 200
_WILDCARDS = 4  # engines look for the parts between them by trying all places
_ESCAPE = "!"


def require_text(typed: TypedExpression, name: str) -> TypedExpression:
    """Return `typed` if it is a text, and refuse it otherwise."""
    if typed.kind is Kind.TEXT or typed.is_null:
        return typed
    raise make_refusal(
        f"{name} is for text, not for {typed.kind.value} values.", "Write CAST(… AS TEXT)."
    )


def concatenate_texts(items: Sequence[TypedExpression]) -> TypedExpression:
    """Return texts one after the other, NULL if one is."""
    parts = [_cut_text(require_text(item, "||")) for item in items]
    if any(part.is_null for part in parts):
        return NULL
    longest = sum(part.longest or 0 for part in parts)
    if longest > _LONGEST:
        raise make_refusal("This text could become too long.", "Cut its parts with LEFT first.")
    tree, values = parts[0].tree.copy(), value_domain(parts[0])
    for part in parts[1:]:
        tree = exp.DPipe(this=parenthesize(tree), expression=parenthesize(part.tree), safe=True)
        values = _concatenated_values(values, value_domain(part))
    found = TypedExpression(
        tree,
        Kind.TEXT,
        values=values,
        nullable=any(part.nullable for part in parts),
        longest=longest,
    )
    return _fold_constant(found)


def concatenate_known_texts(items: Sequence[TypedExpression]) -> TypedExpression:
    """Return CONCAT, which reads NULL as no text."""
    empty = text_literal("")
    parts = [require_text(item, "CONCAT") for item in items if not item.is_null]
    return concatenate_texts([empty, *(_or_empty(part) for part in parts)])


def _or_empty(part: TypedExpression) -> TypedExpression:
    if not part.nullable:
        return part
    tree = exp.Coalesce(this=part.tree.copy(), expressions=[exp.Literal.string("")])
    values = None if part.values is None else tuple(dict.fromkeys((*part.values, "")))
    return replace(part, tree=tree, values=values, nullable=False)


def lower_case(typed: TypedExpression) -> TypedExpression:
    """Return the text in small letters."""
    return _change_case(typed, "LOWER", exp.Lower, str.lower)


def upper_case(typed: TypedExpression) -> TypedExpression:
    """Return the text in capital letters."""
    return _change_case(typed, "UPPER", exp.Upper, str.upper)


def _change_case(
    typed: TypedExpression,
    name: str,
    node: type[exp.Lower | exp.Upper],
    change: Callable[[str], str],
) -> TypedExpression:
    found = _cut_text(require_text(typed, name))
    if found.is_null:
        return NULL
    values = value_domain(found)
    if values is not None and not all(_is_simple(str(value), change) for value in values):
        values = None  # engines differ in letters such as the German sharp s
    return _fold_constant(
        replace(
            found,
            tree=node(this=found.tree.copy()),
            values=None if values is None else _map_values(values, change),
        )
    )


def _is_simple(value: str, change: Callable[[str], str]) -> bool:
    return all(len(change(letter)) == 1 for letter in value) and "\u03a3" not in value


def trim_text(typed: TypedExpression, position: str) -> TypedExpression:
    """Return the text without blanks at its ends; other white space stays."""
    found = require_text(typed, "TRIM")
    if found.is_null:
        return NULL
    strip = {"LEADING": str.lstrip, "TRAILING": str.rstrip}.get(position, str.strip)
    tree = exp.Trim(
        this=found.tree.copy(), expression=exp.Literal.string(" "), position=position or "BOTH"
    )
    return _map_text(found, tree, lambda value: strip(value, " "))


def text_length(typed: TypedExpression) -> TypedExpression:
    """Return how many characters the text has."""
    found = require_text(typed, "LENGTH")
    if found.is_null:
        return NULL
    most = None if found.longest is None else Fraction(found.longest)
    return replace(
        integer_literal(1),
        tree=exp.cast(exp.Length(this=found.tree.copy()), "BIGINT"),
        low=Fraction(0),
        high=most,
        values=map_domain(found, lambda value: len(str(value))),
        nullable=found.nullable,
        most=Fraction(2**32) if most is None else most,
    )


def take_substring(typed: TypedExpression, start: int, count: int | None) -> TypedExpression:
    """Return characters from position `start`, the first being 1."""
    found = require_text(typed, "SUBSTRING")
    if start < 1 or (count is not None and count < 0) or start > CUT or (count or 0) > CUT:
        raise make_refusal(
            "SUBSTRING counts from 1, and takes 0 characters or more.",
            "Use RIGHT for the end of a text.",
        )
    if found.is_null:
        return NULL
    amount = CUT if count is None else count
    tree = exp.Substring(
        this=found.tree.copy(), start=exp.Literal.number(start), length=exp.Literal.number(amount)
    )
    end = start - 1 + amount
    return _limit_length(_map_text(found, tree, lambda value: value[start - 1 : end]), amount)


def take_left(typed: TypedExpression, count: int) -> TypedExpression:
    """Return the first characters."""
    return _take_end(typed, count, exp.Left, lambda value: value[:count])


def take_right(typed: TypedExpression, count: int) -> TypedExpression:
    """Return the last characters."""
    return _take_end(typed, count, exp.Right, lambda value: value[-count:] if count else "")


def _take_end(
    typed: TypedExpression, count: int, node: type[exp.Left | exp.Right], take: Callable[[str], str]
) -> TypedExpression:
    name = "LEFT" if node is exp.Left else "RIGHT"
    found = require_text(typed, name)
    if not 0 <= count <= CUT:
        raise make_refusal(f"{name} takes 0 to {CUT} characters.", "Write such a number.")
    if found.is_null:
        return NULL
    tree = node(this=found.tree.copy(), expression=exp.Literal.number(count))
    return _limit_length(_map_text(found, tree, take), count)


def replace_in_text(typed: TypedExpression, old: str, new: str) -> TypedExpression:
    """Return the text with each `old` replaced by `new`."""
    found = _cut_text(require_text(typed, "REPLACE"))
    if not old:
        raise make_refusal("REPLACE of an empty text is refused.", "Say what is to be replaced.")
    if found.is_null:
        return NULL
    longest = (found.longest or 0) * max(1, -(-len(new) // len(old)))
    if longest > _LONGEST:
        raise make_refusal("REPLACE could make this text too long.", "Cut it with LEFT first.")
    tree = exp.Replace(
        this=found.tree.copy(),
        expression=exp.Literal.string(old),
        replacement=exp.Literal.string(new),
    )
    return replace(_map_text(found, tree, lambda value: value.replace(old, new)), longest=longest)


def match_like(typed: TypedExpression, pattern: Sequence[str | None]) -> TypedExpression:
    """Return whether the text has the form `pattern`: characters, `%` as None and `_` as ""."""
    found = require_text(typed, "LIKE")
    if len(pattern) > _PATTERN or sum(item is None for item in pattern) > _WILDCARDS:
        raise make_refusal(
            f"A LIKE pattern has at most {_PATTERN} characters and {_WILDCARDS} times %.",
            "Write a shorter one, or several joined by AND.",
        )
    if found.is_null:
        return NULL
    is_plain = not any(item in ("%", "_", "\\") for item in pattern)
    words = {None: "%", "": "_"}
    special = () if is_plain else ("%", "_", _ESCAPE)
    written = "".join(
        words[item] if item in words else f"{_ESCAPE}{item}" if item in special else str(item)
        for item in pattern
    )
    tree: exp.Expr = exp.Like(this=parenthesize(found.tree), expression=exp.Literal.string(written))
    if not is_plain:
        # Engines differ in what a backslash means, unless the escape is given.
        tree = exp.Escape(this=tree, expression=exp.Literal.string(_ESCAPE))
    return boolean_expression(tree, found)


def parse_like_pattern(pattern: str, escape: str | None) -> list[str | None]:
    """Return the parts of a LIKE pattern as DuckDB reads it: no escape unless one is given."""
    parts: list[str | None] = []
    letters = iter(pattern)
    for letter in letters:
        if letter == escape:
            following = next(letters, None)
            if following is None or following not in ("%", "_", escape):
                raise make_refusal(
                    "The escape of a LIKE pattern must come before %, _ or itself.",
                    "Write it so.",
                )
            parts.append(following)
        elif letter == "%":
            if not parts or parts[-1] is not None:  # two in a row mean the same as one
                parts.append(None)
        else:
            parts.append("" if letter == "_" else letter)
    return parts


def _cut_text(found: TypedExpression) -> TypedExpression:
    """Return a text of bounded length: a cell of a gigabyte cannot be made longer everywhere."""
    if found.is_null or (found.longest is not None and found.longest <= _LONGEST):
        return found
    tree = exp.Left(this=found.tree.copy(), expression=exp.Literal.number(CUT))
    return replace(found, tree=tree, longest=CUT)


def _limit_length(found: TypedExpression, count: int) -> TypedExpression:
    longest = count if found.longest is None else min(found.longest, count)
    return replace(found, longest=longest)


def _map_text(
    found: TypedExpression, tree: exp.Expr, change: Callable[[str], str]
) -> TypedExpression:
    values = value_domain(found)
    return _fold_constant(
        replace(found, tree=tree, values=None if values is None else _map_values(values, change))
    )


def _map_values(values: Sequence[object], change: Callable[[str], str]) -> tuple[object, ...]:
    return tuple(dict.fromkeys(change(str(value)) for value in values))


def _fold_constant(found: TypedExpression) -> TypedExpression:
    """Return a text that the question alone decides as a literal, whose order all engines share."""
    value = found.constant
    return text_literal(value) if isinstance(value, str) else found


def _concatenated_values(
    first: tuple[object, ...] | None, second: tuple[object, ...] | None
) -> tuple[object, ...] | None:
    if first is None or second is None or len(first) * len(second) > 1000:
        return None
    return tuple(dict.fromkeys(f"{a}{b}" for a in first for b in second))
