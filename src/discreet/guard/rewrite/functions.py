"""The functions that statements may call: those with one meaning on PostgreSQL and on DuckDB.

None of them reads a file, a setting or the catalog, runs SQL, depends on chance, or returns much more
than its input.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from sqlglot import exp

# A kind; or `same`: of the first argument; `common`: of all; `real`: numeric stays, else float8;
# `sum`: one wider; `array`: an array of the first argument.
Result: TypeAlias = str
Sort = Literal["scalar", "aggregate", "window"]


@dataclass(frozen=True)
class AllowedFunction:
    """A function: its arguments' positions in the tree, their categories, and its result.

    `takes` has one letter per argument (`kinds.CATEGORIES`), `?` for any, `A` for an array and `E` for
    an element of the first one; the last one applies to all that follow. `total` functions never fail.
    """

    name: str
    takes: str
    result: Result
    places: tuple[str, ...] = ("this",)
    sort: Sort = "scalar"
    total: bool = False


_BOTH = ("this", "expression")
_MANY = ("this", "expressions")


def _numeric_functions(
    sort: Sort, **classes: type[exp.Expr]
) -> dict[type[exp.Expr], AllowedFunction]:
    return {
        node: AllowedFunction(name, "N", "real", sort=sort, total=sort == "aggregate")
        for name, node in classes.items()
    }


def _pair_aggregates(**classes: type[exp.Expr]) -> dict[type[exp.Expr], AllowedFunction]:
    return {
        node: AllowedFunction(name, "NN", "float8", _BOTH, "aggregate", total=True)
        for name, node in classes.items()
    }


FUNCTIONS: Mapping[type[exp.Expr], AllowedFunction] = {
    # Numbers
    exp.Abs: AllowedFunction("abs", "N", "same"),
    exp.Sign: AllowedFunction("sign", "N", "real", total=True),
    **_numeric_functions(
        "scalar", ceil=exp.Ceil, floor=exp.Floor, sqrt=exp.Sqrt, exp=exp.Exp, ln=exp.Ln
    ),
    exp.Round: AllowedFunction("round", "NN", "real", ("this", "decimals")),
    exp.Trunc: AllowedFunction("trunc", "NN", "real", ("this", "decimals")),
    exp.Log: AllowedFunction("log", "NN", "real", _BOTH),
    exp.Pow: AllowedFunction("power", "NN", "real", _BOTH),
    exp.Sin: AllowedFunction("sin", "N", "float8"),
    exp.Cos: AllowedFunction("cos", "N", "float8"),
    exp.Tan: AllowedFunction("tan", "N", "float8"),
    exp.Asin: AllowedFunction("asin", "N", "float8"),
    exp.Acos: AllowedFunction("acos", "N", "float8"),
    exp.Atan: AllowedFunction("atan", "N", "float8"),
    exp.Atan2: AllowedFunction("atan2", "NN", "float8", _BOTH),
    exp.Cbrt: AllowedFunction("cbrt", "N", "float8"),
    exp.Degrees: AllowedFunction("degrees", "N", "float8"),
    exp.Radians: AllowedFunction("radians", "N", "float8"),
    exp.Pi: AllowedFunction("pi", "", "float8", (), total=True),
    # Texts
    exp.Lower: AllowedFunction("lower", "S", "text", total=True),
    exp.Upper: AllowedFunction("upper", "S", "text", total=True),
    exp.Length: AllowedFunction("length", "S", "int4", total=True),
    exp.Trim: AllowedFunction("btrim", "SS", "text", _BOTH, total=True),
    exp.Left: AllowedFunction("left", "SN", "text", _BOTH),
    exp.Right: AllowedFunction("right", "SN", "text", _BOTH),
    exp.Substring: AllowedFunction("substring", "SNN", "text", ("this", "start", "length")),
    exp.Replace: AllowedFunction("replace", "SSS", "text", ("this", "expression", "replacement")),
    exp.StrPosition: AllowedFunction("strpos", "SS", "int4", ("this", "substr"), total=True),
    exp.Concat: AllowedFunction("concat", "?", "text", ("expressions",), total=True),
    exp.ConcatWs: AllowedFunction("concat_ws", "S?", "text", ("expressions",), total=True),
    exp.Reverse: AllowedFunction("reverse", "S", "text", total=True),
    exp.StartsWith: AllowedFunction("starts_with", "SS", "bool", _BOTH, total=True),
    exp.MD5: AllowedFunction("md5", "S", "text", total=True),
    exp.SplitPart: AllowedFunction(
        "split_part", "SSN", "text", ("this", "delimiter", "part_index")
    ),
    exp.Translate: AllowedFunction("translate", "SSS", "text", ("this", "from_", "to")),
    exp.RegexpReplace: AllowedFunction(
        "regexp_replace", "SSSS", "text", ("this", "expression", "replacement", "modifiers")
    ),
    exp.Repeat: AllowedFunction("repeat", "SN", "text", ("this", "times")),
    exp.Ascii: AllowedFunction("ascii", "S", "int4", total=True),
    exp.TimeToStr: AllowedFunction("to_char", "DS", "text", ("this", "format")),
    exp.Pad: AllowedFunction("lpad", "SNS", "text", ("this", "expression", "fill_pattern")),
    # Choices among values
    exp.Coalesce: AllowedFunction("coalesce", "?", "common", _MANY, total=True),
    exp.Greatest: AllowedFunction("greatest", "?", "common", _MANY, total=True),
    exp.Least: AllowedFunction("least", "?", "common", _MANY, total=True),
    exp.Nullif: AllowedFunction("nullif", "??", "common", _BOTH, total=True),
    # Arrays
    exp.ArraySize: AllowedFunction("array_length", "AN", "int4", _BOTH, total=True),
    exp.ArrayAppend: AllowedFunction("array_append", "AE", "same", _BOTH, total=True),
    exp.ArrayConcat: AllowedFunction("array_cat", "AA", "same", _MANY, total=True),
    exp.ArrayPosition: AllowedFunction("array_position", "AE", "int4", _BOTH, total=True),
    exp.ArrayToString: AllowedFunction("array_to_string", "AS", "text", _BOTH, total=True),
    exp.StringToArray: AllowedFunction("string_to_array", "SS", "text[]", _BOTH, total=True),
    # Aggregates
    exp.ArrayAgg: AllowedFunction("array_agg", "?", "array", sort="aggregate", total=True),
    exp.GroupConcat: AllowedFunction(
        "string_agg", "SS", "text", ("this", "separator"), "aggregate", total=True
    ),
    exp.Count: AllowedFunction("count", "?", "int8", sort="aggregate", total=True),
    exp.Sum: AllowedFunction("sum", "N", "sum", sort="aggregate"),
    exp.Min: AllowedFunction("min", "?", "same", sort="aggregate", total=True),
    exp.Max: AllowedFunction("max", "?", "same", sort="aggregate", total=True),
    exp.AnyValue: AllowedFunction("any_value", "?", "same", sort="aggregate", total=True),
    exp.LogicalAnd: AllowedFunction("bool_and", "B", "bool", sort="aggregate", total=True),
    exp.LogicalOr: AllowedFunction("bool_or", "B", "bool", sort="aggregate", total=True),
    **_numeric_functions(
        "aggregate",
        avg=exp.Avg,
        stddev=exp.Stddev,
        stddev_samp=exp.StddevSamp,
        stddev_pop=exp.StddevPop,
        variance=exp.Variance,
        var_pop=exp.VariancePop,
    ),
    **_pair_aggregates(
        corr=exp.Corr,
        covar_pop=exp.CovarPop,
        covar_samp=exp.CovarSamp,
        regr_slope=exp.RegrSlope,
        regr_intercept=exp.RegrIntercept,
        regr_r2=exp.RegrR2,
    ),
    exp.PercentileCont: AllowedFunction("percentile_cont", "N", "float8", sort="aggregate"),
    exp.PercentileDisc: AllowedFunction("percentile_disc", "N", "float8", sort="aggregate"),
    # Windows
    exp.RowNumber: AllowedFunction("row_number", "", "int8", (), "window", total=True),
    exp.Rank: AllowedFunction("rank", "", "int8", (), "window", total=True),
    exp.DenseRank: AllowedFunction("dense_rank", "", "int8", (), "window", total=True),
    exp.PercentRank: AllowedFunction("percent_rank", "", "float8", (), "window", total=True),
    exp.CumeDist: AllowedFunction("cume_dist", "", "float8", (), "window", total=True),
    exp.Ntile: AllowedFunction("ntile", "N", "int4", sort="window"),
    exp.Lag: AllowedFunction("lag", "?N?", "same", ("this", "offset", "default"), "window"),
    exp.Lead: AllowedFunction("lead", "?N?", "same", ("this", "offset", "default"), "window"),
    exp.FirstValue: AllowedFunction("first_value", "?", "same", sort="window", total=True),
    exp.LastValue: AllowedFunction("last_value", "?", "same", sort="window", total=True),
    exp.NthValue: AllowedFunction("nth_value", "?N", "same", ("this", "offset"), "window"),
}

_PARTS = ("expressions",)
# Functions that sqlglot has no class for, by name.
NAMED: Mapping[str, AllowedFunction] = {
    "gcd": AllowedFunction("gcd", "NN", "common", _PARTS),
    "lcm": AllowedFunction("lcm", "NN", "common", _PARTS),
    "make_date": AllowedFunction("make_date", "NNN", "date", _PARTS),
    "cardinality": AllowedFunction("cardinality", "A", "int4", _PARTS, total=True),
    "every": AllowedFunction("every", "B", "bool", _PARTS, "aggregate", total=True),
}

# Functions that are known and refused, with an alternative.
REFUSED: Mapping[str, str] = {
    "random": "Answers do not depend on chance here.",
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


def function_of(node: exp.Expr) -> AllowedFunction | None:
    """Return the specification of a call, None when the node is not an allowed call."""
    if isinstance(node, exp.Anonymous):
        name = node.this
        return NAMED.get(name.lower()) if isinstance(name, str) else None
    return FUNCTIONS.get(type(node))


def is_aggregate_call(node: exp.Expr) -> bool:
    """Whether a node is a call of an aggregate."""
    found = function_of(node)
    return found is not None and found.sort == "aggregate"
