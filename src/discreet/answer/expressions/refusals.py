"""Why a construct is refused, in the analyst's words."""

from __future__ import annotations

from collections.abc import Mapping

from sqlglot import exp

from discreet.answer.expressions.typed import make_refusal
from discreet.errors import QuestionRefused

_CLOCK = (
    "depends on the clock, so that the same question has no fixed answer.",
    "Write a literal: DATE '2024-01-31'.",
)
_CHANCE = ("draws by chance; chance belongs to the mechanism only.", "Leave it out.")
_REGEX = ("can take very long on chosen texts.", "Use LIKE, starts_with, contains or ends_with.")
_ROWS = ("looks at other people's rows.", "Use a JOIN on the unit, or aggregate first.")
_PLACE = ("stands for a value that the question does not contain.", "Write the value itself.")
_NESTED = ("works on lists or structures.", "Use the columns of a table of plain values.")
_POWER = ("can overflow.", "Multiply: x * x.")

_WHY: Mapping[type[exp.Expr], tuple[str, str]] = {
    exp.AggFunc: (
        "is an aggregate, which cannot stand inside a row's expression.",
        "Put it outside.",
    ),
    exp.Window: _ROWS,
    exp.Query: _ROWS,
    exp.Subquery: _ROWS,
    exp.Exists: _ROWS,
    exp.Any: _ROWS,
    exp.All: _ROWS,
    exp.CurrentDate: _CLOCK,
    exp.CurrentTimestamp: _CLOCK,
    exp.CurrentTime: _CLOCK,
    exp.Localtime: _CLOCK,
    exp.Localtimestamp: _CLOCK,
    exp.Rand: _CHANCE,
    exp.Uuid: _CHANCE,
    exp.RegexpLike: _REGEX,
    exp.RegexpILike: _REGEX,
    exp.RegexpExtract: _REGEX,
    exp.RegexpReplace: _REGEX,
    exp.SimilarTo: _REGEX,
    exp.Glob: _REGEX,
    exp.Placeholder: _PLACE,
    exp.Parameter: _PLACE,
    exp.Star: _PLACE,
    exp.Pow: _POWER,
    exp.Exp: _POWER,
    exp.Lambda: _NESTED,
    exp.Array: _NESTED,
    exp.Struct: _NESTED,
    exp.Bracket: _NESTED,
    exp.Tuple: _NESTED,
    exp.Dot: _NESTED,
    exp.JSONExtract: _NESTED,
}
_BY_NAME: Mapping[str, tuple[str, str]] = {
    **dict.fromkeys(("now", "today", "get_current_timestamp", "transaction_timestamp"), _CLOCK),
    **dict.fromkeys(("random", "setseed", "gen_random_uuid", "nextval", "currval"), _CHANCE),
    **dict.fromkeys(("regexp_full_match", "regexp_split_to_array"), _REGEX),
}
_UNKNOWN = (
    "is not on the list of functions that can never fail and mean the same on every engine.",
    "See the reference of SQL expressions for the list.",
)


def not_allowed(node: exp.Expr) -> QuestionRefused:
    """Return the refusal of a node that is on no list, by its name."""
    name = node_name(node)
    reason = _BY_NAME.get(name.lower())
    for kind in type(node).__mro__ if reason is None else ():
        if kind in _WHY:
            reason = _WHY[kind]
            break
    why, instead = reason or _UNKNOWN
    return make_refusal(f"{name} {why}", instead)


def too_large() -> QuestionRefused:
    """Return the refusal of an expression that is too long or too deep."""
    return make_refusal(
        "This expression is too long or too deeply nested.", "Ask in smaller parts."
    )


def node_name(node: exp.Expr) -> str:
    """Return what the analyst calls a node: the name of a function, or of an operator."""
    if isinstance(node, exp.Anonymous):
        return str(node.this)
    if isinstance(node, exp.Func):
        return node.sql_name()
    return node.key.upper()
