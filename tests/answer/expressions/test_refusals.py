"""What is not on the list is refused by its name, whatever the data."""

from __future__ import annotations

import pytest
from sqlglot import exp, parse_one

from discreet.answer.expressions.translate import translate_condition, translate_expression
from discreet.answer.expressions.typed import TypedExpression
from discreet.engines.engine import Kind
from discreet.errors import QuestionRefused
from discreet.sql import build

KINDS = {
    "i": Kind.INTEGER,
    "r": Kind.REAL,
    "t": Kind.TEXT,
    "d": Kind.DATE,
    "w": Kind.TIMESTAMP,
    "b": Kind.BOOLEAN,
    "o": Kind.OTHER,
    "c": Kind.TIME,
}


def resolve(column: exp.Column) -> TypedExpression:
    return TypedExpression(build.column(column.name), KINDS[column.name])


def refusal(written: str) -> str:
    with pytest.raises(QuestionRefused) as caught:
        translate_expression(parse_one(written, dialect="duckdb"), resolve)
    return str(caught.value)


@pytest.mark.parametrize(
    ("written", "named"),
    [
        ("regexp_matches(t, '(a+)+$')", "REGEXP_LIKE"),
        ("regexp_replace(t, 'a', 'b')", "REGEXP_REPLACE"),
        ("t SIMILAR TO 'a+'", "SIMILARTO"),
        ("t GLOB 'a*'", "GLOB"),
        ("random()", "RAND"),
        ("uuid()", "UUID"),
        ("gen_random_uuid()", "UUID"),
        ("setseed(0.5)", "setseed"),
        ("now()", "now"),
        ("CURRENT_DATE", "CURRENT_DATE"),
        ("CURRENT_TIMESTAMP", "CURRENT_TIMESTAMP"),
        ("today()", "CURRENT_DATE"),
        ("error('x')", "error"),
        ("getenv('HOME')", "getenv"),
        ("current_setting('x')", "current_setting"),
        ("read_text('/etc/passwd')", "read_text"),
        ("nextval('s')", "nextval"),
        ("repeat(t, 1000000)", "REPEAT"),
        ("lpad(t, 1000000, 'x')", "PAD"),
        ("printf('%s', t)", "printf"),
        ("no_such_function(i)", "no_such_function"),
        ("md5(t)", "MD5"),
        ("hash(t)", "hash"),
        ("[1, 2]", "ARRAY"),
        ("{'a': 1}", "STRUCT"),
        ("list_filter([1], x -> x > 1)", "FILTER"),
        ("t[1]", "BRACKET"),
        ("t -> 'x'", "JSON_EXTRACT"),
        ("(SELECT 1)", "SUBQUERY"),
        ("i IN (SELECT 1)", "query"),
        ("EXISTS (SELECT 1)", "EXISTS"),
        ("i = ANY ([1])", "ANY"),
        ("row_number() OVER ()", "WINDOW"),
        ("sum(i)", "SUM"),
        ("count(*)", "COUNT"),
        ("$1", "PLACEHOLDER"),
        ("?", "PLACEHOLDER"),
        ("i ** 2", "POWER"),
        ("exp(r)", "EXP"),
        ("ln(r)", "LN"),
        ("i & 1", "BITWISEAND"),
        ("i << 70", "BITWISELEFTSHIFT"),
        ("t COLLATE nocase", "COLLATE"),
        ("w AT TIME ZONE 'UTC'", "ATTIMEZONE"),
        ("strftime(d, '%Y')", "TIME_TO_STR"),
        ("make_date(i, 1, 1)", "DATE_FROM_PARTS"),
        ("TRY(i)", "TRY"),
        ("i BETWEEN SYMMETRIC 1 AND 0", "symmetric"),
        ("ceil(r, 2)", "decimals"),
        ("trim(BOTH 'x' FROM t)", "expression"),
    ],
)
def test_a_construct_that_is_not_listed_is_refused_by_name(written: str, named: str):
    assert named in refusal(written)


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ("i = '5'", "without quotes"),
        ("t = 5", "CAST"),
        ("t < d", "CAST"),
        ("b = 1", "CAST"),
        ("d = 20240101", "CAST"),
        ("d > 'yesterday'", "no date"),
        ("d > '2023-02-30'", "no date"),
        ("DATE '2023-13-01'", "no date"),
        ("o = 'x'", "compared"),
        ("c > '10:00'", "compared"),
        ("i AND b", "condition"),
        ("CASE WHEN i THEN 1 END", "condition"),
        ("CASE WHEN b THEN 1 ELSE 'x' END", "one kind"),
        ("COALESCE(i, 'none')", "one kind"),
        ("t + 1", "for numbers"),
        ("b * 2", "for numbers"),
        ("r // 2", "whole numbers"),
        ("r % 2", "whole numbers"),
        ("LOWER(i)", "for text"),
        ("i || t", "for text"),
        ("t LIKE t", "literal"),
        ("starts_with(t, t)", "literal"),
        ("REPLACE(t, t, 'x')", "literal"),
        ("REPLACE(t, '', 'x')", "empty"),
        ("LEFT(t, i)", "literal"),
        ("LEFT(t, -1)", "0 to"),
        ("RIGHT(t, -1)", "0 to"),
        ("SUBSTRING(t, 0, 2)", "counts from 1"),
        ("SUBSTRING(t, -3)", "counts from 1"),
        ("SUBSTRING(t, 1, -1)", "0 characters"),
        ("t LIKE '%a%b%c%d%'", "times %"),
        ("t LIKE 'a!b' ESCAPE '!'", "escape"),
        ("ROUND(r, i)", "literal"),
        ("ROUND(r, 300)", "at most"),
        ("i IN (1, NULL)", "constants"),
        ("i IN (i, 1)", "constants"),
        ("w - w", "date_diff"),
        ("d + INTERVAL (i) DAY", "constant"),
        ("d + i", "for numbers"),
        ("d + INTERVAL 20000 YEAR", "shorter"),
        ("EXTRACT(epoch FROM d)", "one of"),
        ("EXTRACT(year FROM t)", "CAST"),
        ("DATE_TRUNC('decade', d)", "one of"),
        ("DATE_DIFF('hour', d, d)", "'day'"),
        ("CAST(r AS TEXT)", "BIGINT"),
        ("CAST(d AS INTEGER)", "EXTRACT"),
        ("CAST(t AS HUGEINT)", "BIGINT"),
        ("CAST(t AS JSON)", "BIGINT"),
        ("CAST(t AS TIMESTAMPTZ)", "BIGINT"),
        ("1e31 * r", "1e30"),
        ("r * 1e-31", "1e30"),
        ("1e999999999 > r", "1e30"),
        ("1e-999999999 < r", "1e30"),
        ("r * r * r * r * r * r * r * r * r * r", "Bound its parts"),
        ("(r * r * r * r * r * r) * (r * r * r * r * r * r)", "Bound its parts"),
        ("1 / (r * r * r * r * r * r * r * r * r * r)", "Bound its parts"),
    ],
)
def test_what_could_fail_or_differ_is_refused_with_what_to_do(written: str, reason: str):
    assert reason in refusal(written)


def test_a_where_needs_a_condition():
    with pytest.raises(QuestionRefused, match="Compare it"):
        translate_condition(parse_one("i", dialect="duckdb"), resolve)


def test_texts_cannot_be_made_long_by_repeated_joining():
    text = "t"
    for _ in range(5):
        text = f"({text} || {text})"
    assert "too long" in refusal(text)


def test_texts_cannot_be_made_long_by_replacing():
    assert "too long" in refusal(f"REPLACE(REPLACE(t, 'a', '{'a' * 10}'), 'a', '{'a' * 10}')")


def test_an_expression_nested_too_deeply_is_refused():
    tree: exp.Expr = build.column("i")
    for _ in range(70):
        tree = exp.Abs(this=tree)
    with pytest.raises(QuestionRefused, match="deeply"):
        translate_expression(tree, resolve)


def test_an_expression_that_grows_too_large_is_refused():
    text = "r"
    for _ in range(12):
        text = f"NULLIF(CAST({text} AS INTEGER), 1)"
    assert "too long" in refusal(text)


def test_many_conditions_in_a_row_are_not_deep():
    chain = " AND ".join(["i > 5"] * 400)
    assert translate_condition(parse_one(chain, dialect="duckdb"), resolve)


def test_a_list_of_too_many_constants_is_refused():
    assert "1000" in refusal(f"i IN ({', '.join(map(str, range(1001)))})")


def test_every_refusal_says_what_to_do_instead():
    message = refusal("now()")
    assert message.count(".") >= 2
    assert "DATE '2024-01-31'" in message
