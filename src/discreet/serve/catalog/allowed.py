"""The allow-list of catalog queries; anything else is refused before DuckDB sees it."""

from __future__ import annotations

from sqlglot import exp

# Parts of queries, conditions and expressions.
PARTS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(exp.Select, exp.Union, exp.Intersect, exp.Except, exp.Values, exp.Tuple, exp.Subquery),
        *(exp.With, exp.CTE, exp.From, exp.Join, exp.Lateral, exp.Table, exp.TableAlias),
        *(exp.Unnest, exp.Where, exp.Group, exp.Having, exp.Order, exp.Ordered, exp.Limit),
        *(exp.Offset, exp.Fetch, exp.Distinct, exp.Alias, exp.Column, exp.Identifier, exp.Star),
        *(exp.Literal, exp.ByteString, exp.Null, exp.Boolean, exp.Paren, exp.Dot, exp.Bracket),
        *(exp.Slice, exp.DataType, exp.DataTypeParam, exp.ObjectIdentifier, exp.PseudoType),
        *(exp.And, exp.Or, exp.Not, exp.EQ, exp.NEQ, exp.GT, exp.GTE, exp.LT, exp.LTE, exp.Is),
        *(exp.In, exp.Between, exp.Like, exp.ILike, exp.SimilarTo, exp.Escape, exp.RegexpLike),
        *(exp.RegexpILike, exp.NullSafeEQ, exp.NullSafeNEQ, exp.Any, exp.All, exp.Exists),
        *(exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod, exp.Neg, exp.DPipe, exp.BitwiseAnd),
        *(exp.BitwiseOr, exp.Operator, exp.Collate, exp.Case, exp.If, exp.Cast, exp.Array),
        *(exp.Window, exp.WindowSpec, exp.Filter, exp.Anonymous, exp.Var, exp.WithinGroup),
        *(exp.ArrayOverlaps, exp.ArrayContainsAll),
    }
)
# Functions that sqlglot has a class for, and that mean the same in DuckDB or are rewritten.
CALLS: frozenset[type[exp.Expr]] = frozenset(
    {
        *(exp.Count, exp.Min, exp.Max, exp.Sum, exp.Avg, exp.ArrayAgg, exp.GroupConcat),
        *(exp.LogicalAnd, exp.LogicalOr, exp.RowNumber, exp.Rank, exp.DenseRank, exp.Lag, exp.Lead),
        *(exp.Coalesce, exp.Nullif, exp.Greatest, exp.Least, exp.Lower, exp.Upper, exp.Length),
        *(exp.Substring, exp.Replace, exp.Trim, exp.Concat, exp.ConcatWs, exp.Left, exp.Right),
        *(exp.StrPosition, exp.SplitPart, exp.RegexpReplace, exp.Abs, exp.Round, exp.Floor),
        *(exp.Ceil, exp.CurrentTimestamp, exp.CurrentDate, exp.CurrentUser, exp.SessionUser),
        *(exp.CurrentSchema, exp.CurrentSchemas, exp.CurrentDatabase, exp.CurrentCatalog),
        *(exp.CurrentVersion, exp.CurrentRole, exp.Explode, exp.ExplodingGenerateSeries),
        *(exp.GenerateSeries, exp.ArrayToString, exp.ArraySize, exp.ArrayConcat),
        *(exp.ArrayPosition, exp.ArrayRemove, exp.ArrayAppend, exp.ArrayPrepend, exp.JSONObject),
        *(exp.Format,),
    }
)
# Functions that sqlglot has no class for, and that mean the same in DuckDB.
PLAIN = frozenset({"initcap", "lower", "upper", "length", "strpos", "array_to_string", "row"})
