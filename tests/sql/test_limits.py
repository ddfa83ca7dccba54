"""What is too large to read is refused before a parser gets it, and rows of plain values need none."""

from __future__ import annotations

import pytest
from bench.verify.parse_bombs import BOMBS, counted
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot.dialects.postgres import Postgres
from sqlglot.errors import TokenError
from tests.guard.rewrite import corpus

from discreet.errors import StatementFailed
from discreet.guard.statements.parse import parse_statements
from discreet.guard.statements.split import set_apart
from discreet.guard.statements.trees import parse_tree, parse_write
from discreet.sql.limits import StatementBounds, check_text

CELLS = "(1, -2.5, 'a''b;(', NULL, true, DEFAULT, $1, 1e5, .5, FALSE)"


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_the_parser(name: str):
    with counted() as given, pytest.raises(StatementFailed) as failed:
        parse_statements(BOMBS[name](200_000))
    assert failed.value.sqlstate == "54000"
    assert given == []


pieces = st.sampled_from(
    [*"'\"$/*-\\{}#e1a,( \n", "E'", "U&'", "--", "/*", "*/", "$a$", "{#", "#}", "''", "1e'", "#-"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(pieces, max_size=60))
def test_no_quoting_hides_tokens_from_the_count(found: list[str]):
    text, bounds = "".join(found), StatementBounds(tokens=8)
    try:
        check_text(text, bounds)
        tokens = len(Postgres().tokenize(text))
    except (StatementFailed, TokenError):
        return
    assert tokens <= 2 * bounds.tokens


def test_rows_of_plain_values_are_read_as_a_parser_reads_them():
    head, rest = 'INSERT INTO s.t (a, "values") VALUES ', " ON CONFLICT DO NOTHING RETURNING a"
    text = head + ",\n".join([CELLS] * 60) + rest
    with counted() as given:
        (found,) = parse_statements(text)
    assert sum(given) < 300
    assert found.tree == parse_write(set_apart(text))
    assert found.text == text


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES " + ", ".join(["(1)"] * 60 + ["(1 + 1)"]),
        "INSERT INTO t /* VALUES */ VALUES " + ", ".join(["('a' 'b')"] * 60),
        "INSERT INTO t SELECT a FROM (VALUES " + ", ".join(["(1)"] * 60) + ") AS v (a)",
    ],
    ids=["expression", "comment", "query"],
)
def test_other_rows_are_read_by_the_parser(text: str):
    (found,) = parse_statements(text)
    assert found.tree == parse_write(text)


def test_many_rows_and_another_statement_are_read_by_the_parser():
    text = "INSERT INTO t VALUES " + ", ".join(["(1)"] * 60)
    first, second = parse_statements(f"{text}; SELECT 1")
    assert first.tree == parse_write(text)
    assert second.text == "SELECT 1"


def test_five_thousand_rows_of_ten_values_and_as_many_parameters_as_a_driver_may_send_are_read():
    row = "(" + ", ".join(["'text'"] * 10) + ")"
    (found,) = parse_statements("INSERT INTO t VALUES " + ",".join([row] * 5000))
    assert len(found.tree.expression.expressions) == 5000
    rows = (
        f"(${5 * n + 1},${5 * n + 2},${5 * n + 3},${5 * n + 4},${5 * n + 5})" for n in range(13107)
    )
    (found,) = parse_statements("INSERT INTO t VALUES " + ",".join(rows))
    assert len(found.tree.expression.expressions) == 13107


def test_more_values_than_allowed_are_refused():
    text = "INSERT INTO t VALUES " + ",".join(["(1)"] * 101)
    with pytest.raises(StatementFailed, match="more than 100 values") as failed:
        parse_statements(text, bounds=StatementBounds(values=100))
    assert failed.value.sqlstate == "54000"


BRACKETS = (
    *("date(", "int(", "decimal(", "numeric(", "timestamp(", "text(", "varchar(", "char(", "bit("),
    *("time(", "struct(", "object(", "union(", "enum(", "vector(", "variant(", "geometry("),
    *("array[", "list[", "x::int["),
)


def nested(bracket: str, depth: int) -> str:
    return bracket * depth + "1" + {"(": ")", "[": "]"}[bracket[-1]] * depth


@pytest.mark.parametrize("bracket", BRACKETS)
def test_nested_names_of_types_are_read_in_a_bounded_number_of_steps(bracket: str):
    with pytest.raises(StatementFailed) as failed:
        parse_statements(f"SELECT {nested(bracket, 40)}")
    assert failed.value.sqlstate == "54001"


@pytest.mark.parametrize(
    "text",
    [
        "INSERT INTO t VALUES ({})",
        "UPDATE t SET a = {}",
        "CREATE VIEW v AS SELECT {}",
        "CREATE POLICY p ON t USING ({})",
        "CREATE TABLE t (a integer DEFAULT {})",
        "DECLARE c CURSOR FOR SELECT {}",
        "EXECUTE p ({})",
        "COPY (SELECT {}) TO STDOUT",
    ],
)
def test_so_are_they_in_every_other_statement(text: str):
    with pytest.raises(StatementFailed) as failed:
        parse_statements(text.replace("{}", nested("date(", 40)))
    assert failed.value.sqlstate == "54001"


@pytest.mark.parametrize("bracket", ["date(", "decimal(", "array["])
def test_names_of_types_nested_as_people_do_are_read(bracket: str, monkeypatch: pytest.MonkeyPatch):
    assert parse_statements(f"SELECT {nested(bracket, 8)}")
    monkeypatch.setattr("discreet.sql.steps.STEPS", 20)
    (found,) = parse_statements("SELECT " + ", ".join([nested(bracket, 2)] * 100))
    assert len(found.tree.expressions) == 100


def test_the_steps_of_every_ordinary_statement_are_few(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("discreet.sql.steps.STEPS", 20)
    queries = corpus.QUERIES.strip().splitlines()
    expressions = (corpus.EXPRESSIONS + corpus.AGGREGATES).strip().splitlines()
    for text in (*queries, *(f"SELECT {text}" for text in expressions if text)):
        parse_tree(text)


def test_a_quoted_name_of_a_type_is_not_read_as_sql():
    with pytest.raises(StatementFailed, match="syntax error") as failed:
        parse_statements(f'SELECT 1::"{nested("int(", 3000)}"')
    assert len(str(failed.value)) < 200


@pytest.mark.parametrize(
    "text",
    [
        "SELECT {}",
        "SELECT -{}",
        "SELECT ${}",
        "SELECT 1 LIMIT {}",
        "SELECT 1 ORDER BY {}",
        "SELECT a[{}] FROM t",
        "SELECT 'a'::varchar({})",
        "INSERT INTO t VALUES ({})",
        "INSERT INTO t VALUES " + ", ".join(["({})"] * 60),
        "CREATE POLICY p ON t USING (a = {})",
    ],
)
def test_a_number_of_thousands_of_digits_is_out_of_range(text: str):
    with pytest.raises(StatementFailed) as failed:
        parse_statements(text.replace("{}", "9" * 5000))
    assert failed.value.sqlstate == "22003"


def test_an_option_of_thousands_of_digits_is_out_of_range():
    with pytest.raises(StatementFailed, match="whole number of people"):
        parse_statements(f"CREATE CONTROL c ON t TO a WITH (size = {'9' * 5000})")


def test_a_long_text_in_quotes_counts_as_one():
    words = "it''s (a [word " * 30_000
    assert len(parse_statements(f"SELECT '{words}'")) == 1
    with pytest.raises(StatementFailed):
        parse_statements(f"SELECT {words}")
