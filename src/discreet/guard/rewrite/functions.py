"""The functions that statements may call: those with one meaning on PostgreSQL and on DuckDB.

None of them reads a file, a setting or the catalog, runs SQL, depends on chance, or returns much more
than it was given.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from sqlglot import exp

if TYPE_CHECKING:
    from collections.abc import Mapping

# A kind; or `same`: of the first argument; `common`: of all; `real`: numeric stays, else float8;
# `sum`: one wider.
Result: TypeAlias = str
Sort = Literal["scalar", "aggregate", "window"]


@dataclass(frozen=True)
class Function:
    """A function: its arguments' places in the tree, the categories they must have, and its result.

    `takes` has one letter per argument (`kinds.CATEGORIES`), `?` for any; the last one stands for all
    that follow. `total` functions never fail.
    """

    name: str
    takes: str
    result: Result
    places: tuple[str, ...] = ("this",)
    sort: Sort = "scalar"
    total: bool = False


_BOTH = ("this", "expression")
_MANY = ("this", "expressions")


def _numbers(sort: Sort, **classes: type[exp.Expr]) -> dict[type[exp.Expr], Function]:
    return {
        node: Function(name, "N", "real", sort=sort, total=sort == "aggregate")
        for name, node in classes.items()
    }


def _pairs(**classes: type[exp.Expr]) -> dict[type[exp.Expr], Function]:
    return {
        node: Function(name, "NN", "float8", _BOTH, "aggregate", total=True)
        for name, node in classes.items()
    }


FUNCTIONS: Mapping[type[exp.Expr], Function] = {
    # Numbers
    exp.Abs: Function("abs", "N", "same"),
    exp.Sign: Function("sign", "N", "real", total=True),
    **_numbers("scalar", ceil=exp.Ceil, floor=exp.Floor, sqrt=exp.Sqrt, exp=exp.Exp, ln=exp.Ln),
    exp.Round: Function("round", "NN", "real", ("this", "decimals")),
    exp.Trunc: Function("trunc", "NN", "real", ("this", "decimals")),
    exp.Log: Function("log", "NN", "real", _BOTH),
    exp.Pow: Function("power", "NN", "real", _BOTH),
    exp.Sin: Function("sin", "N", "float8"),
    exp.Cos: Function("cos", "N", "float8"),
    exp.Tan: Function("tan", "N", "float8"),
    exp.Asin: Function("asin", "N", "float8"),
    exp.Acos: Function("acos", "N", "float8"),
    exp.Atan: Function("atan", "N", "float8"),
    exp.Atan2: Function("atan2", "NN", "float8", _BOTH),
    exp.Cbrt: Function("cbrt", "N", "float8"),
    exp.Degrees: Function("degrees", "N", "float8"),
    exp.Radians: Function("radians", "N", "float8"),
    exp.Pi: Function("pi", "", "float8", (), total=True),
    # Texts
    exp.Lower: Function("lower", "S", "text", total=True),
    exp.Upper: Function("upper", "S", "text", total=True),
    exp.Length: Function("length", "S", "int4", total=True),
    exp.Trim: Function("btrim", "SS", "text", _BOTH, total=True),
    exp.Left: Function("left", "SN", "text", _BOTH),
    exp.Right: Function("right", "SN", "text", _BOTH),
    exp.Substring: Function("substring", "SNN", "text", ("this", "start", "length")),
    exp.Replace: Function("replace", "SSS", "text", ("this", "expression", "replacement")),
    exp.StrPosition: Function("strpos", "SS", "int4", ("this", "substr"), total=True),
    exp.Concat: Function("concat", "?", "text", ("expressions",), total=True),
    exp.ConcatWs: Function("concat_ws", "S?", "text", ("expressions",), total=True),
    exp.Reverse: Function("reverse", "S", "text", total=True),
    exp.StartsWith: Function("starts_with", "SS", "bool", _BOTH, total=True),
    exp.MD5: Function("md5", "S", "text", total=True),
    exp.SplitPart: Function("split_part", "SSN", "text", ("this", "delimiter", "part_index")),
    exp.Translate: Function("translate", "SSS", "text", ("this", "from_", "to")),
    exp.Pad: Function("lpad", "SNS", "text", ("this", "expression", "fill_pattern")),
    # Either of many
    exp.Coalesce: Function("coalesce", "?", "common", _MANY, total=True),
    exp.Greatest: Function("greatest", "?", "common", _MANY, total=True),
    exp.Least: Function("least", "?", "common", _MANY, total=True),
    exp.Nullif: Function("nullif", "??", "common", _BOTH, total=True),
    # Aggregates
    exp.Count: Function("count", "?", "int8", sort="aggregate", total=True),
    exp.Sum: Function("sum", "N", "sum", sort="aggregate"),
    exp.Min: Function("min", "?", "same", sort="aggregate", total=True),
    exp.Max: Function("max", "?", "same", sort="aggregate", total=True),
    exp.AnyValue: Function("any_value", "?", "same", sort="aggregate", total=True),
    exp.LogicalAnd: Function("bool_and", "B", "bool", sort="aggregate", total=True),
    exp.LogicalOr: Function("bool_or", "B", "bool", sort="aggregate", total=True),
    **_numbers(
        "aggregate",
        avg=exp.Avg,
        stddev=exp.Stddev,
        stddev_samp=exp.StddevSamp,
        stddev_pop=exp.StddevPop,
        variance=exp.Variance,
        var_pop=exp.VariancePop,
    ),
    **_pairs(
        corr=exp.Corr,
        covar_pop=exp.CovarPop,
        covar_samp=exp.CovarSamp,
        regr_slope=exp.RegrSlope,
        regr_intercept=exp.RegrIntercept,
        regr_r2=exp.RegrR2,
    ),
    exp.PercentileCont: Function("percentile_cont", "N", "float8", sort="aggregate"),
    exp.PercentileDisc: Function("percentile_disc", "N", "float8", sort="aggregate"),
    # Windows
    exp.RowNumber: Function("row_number", "", "int8", (), "window", total=True),
    exp.Rank: Function("rank", "", "int8", (), "window", total=True),
    exp.DenseRank: Function("dense_rank", "", "int8", (), "window", total=True),
    exp.PercentRank: Function("percent_rank", "", "float8", (), "window", total=True),
    exp.CumeDist: Function("cume_dist", "", "float8", (), "window", total=True),
    exp.Ntile: Function("ntile", "N", "int4", sort="window"),
    exp.Lag: Function("lag", "?N?", "same", ("this", "offset", "default"), "window"),
    exp.Lead: Function("lead", "?N?", "same", ("this", "offset", "default"), "window"),
    exp.FirstValue: Function("first_value", "?", "same", sort="window", total=True),
    exp.LastValue: Function("last_value", "?", "same", sort="window", total=True),
    exp.NthValue: Function("nth_value", "?N", "same", ("this", "offset"), "window"),
}

_PARTS = ("expressions",)
# Functions that sqlglot has no class for, by name.
NAMED: Mapping[str, Function] = {
    "gcd": Function("gcd", "NN", "common", _PARTS),
    "lcm": Function("lcm", "NN", "common", _PARTS),
    "make_date": Function("make_date", "NNN", "date", _PARTS),
    "every": Function("every", "B", "bool", _PARTS, "aggregate", total=True),
}

# Functions that are known and refused, with what to do instead.
REFUSED: Mapping[str, str] = {
    "string_agg": "It may need any amount of memory. Select the rows instead.",
    "array_agg": "It may need any amount of memory. Select the rows instead.",
    "repeat": "It may need any amount of memory.",
    "generate_series": "Select from a table of numbers instead.",
    "random": "Answers do not depend on chance here.",
    "to_char": "Formats differ between engines: format the value in the client.",
    "set_config": "Use SET.",
}
# Parts of a date that mean the same everywhere.
DATE_PARTS = frozenset(
    {
        *("YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "QUARTER", "WEEK", "DOW", "DOY"),
        *("ISODOW", "EPOCH", "CENTURY", "DECADE"),
    }
)
TRUNCATIONS = frozenset(
    {"YEAR", "MONTH", "DAY", "HOUR", "MINUTE", "SECOND", "QUARTER", "WEEK", "DECADE", "CENTURY"}
)


def function_of(node: exp.Expr) -> Function | None:
    """Return what is known of a call, None when the node is none that is allowed."""
    if isinstance(node, exp.Anonymous):
        name = node.this
        return NAMED.get(name.lower()) if isinstance(name, str) else None
    return FUNCTIONS.get(type(node))


def is_aggregate(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate."""
    found = function_of(node)
    return found is not None and found.sort == "aggregate"
