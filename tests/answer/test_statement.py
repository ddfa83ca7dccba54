"""One SELECT and nothing else gets through; the refusal says why."""

from __future__ import annotations

from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.answer.statement import parse_question
from discreet.errors import InvalidQuestion, QuestionRefused


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM people",
        "select count(*) from people -- why",
        "WITH old AS (SELECT * FROM people WHERE age > 60) SELECT count(*) FROM old",
        "SELECT a FROM x UNION ALL SELECT b FROM y",
        "SELECT count(*) FROM people;",
    ],
)
def test_one_select_is_read(text: str):
    assert parse_question(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        " ; ",
        "-- nothing",
        "SELECT (",
        "SELECT count(*) FROM",
        "SELECT 'open",
        "SELECT 1; SELECT 2",
    ],
)
def test_what_is_not_one_statement_is_invalid(text: str):
    with pytest.raises(InvalidQuestion):
        parse_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "DROP TABLE people",
        "INSERT INTO people SELECT * FROM people",
        "UPDATE people SET age = 1",
        "DELETE FROM people",
        "CREATE TABLE copy AS SELECT * FROM people",
        "COPY people TO 'people.csv'",
        "ATTACH 'other.db'",
        "PRAGMA database_list",
        "SET memory_limit = '1GB'",
        "EXPLAIN SELECT count(*) FROM people",
        "CALL pragma_version()",
        "EXECUTE stored",
        "PREPARE stored AS SELECT 1",
        "SHOW TABLES",
        "VALUES (1)",
        "SELECT 1 INTERSECT SELECT 2",
        "SELECT 1 EXCEPT SELECT 2",
        "WITH x AS (INSERT INTO people VALUES (1) RETURNING *) SELECT count(*) FROM x",
        "WITH RECURSIVE x AS (SELECT 1) SELECT count(*) FROM x",
        "SELECT count(*) FROM people TABLESAMPLE 10%",
        "SELECT count(*) FROM people USING SAMPLE 10",
        "SELECT count(*) FROM people QUALIFY row_number() OVER () = 1",
        "SELECT count(*) FROM people WINDOW w AS (ORDER BY age)",
        "SELECT count(*) FROM people FOR UPDATE",
        "SELECT count(*) FROM information_schema.tables",
        "SELECT count(*) FROM pg_catalog.pg_class",
        "SELECT count(*) FROM other.main.people",
        "SELECT count(*) FROM people NATURAL JOIN visits",
        "SELECT count(*) FROM people ASOF JOIN visits ON people.id = visits.id",
        "SELECT * FROM people PIVOT (count(*) FOR sex IN ('F', 'M'))",
        "SELECT count(*) INTO copy FROM people",
        "SELECT count(*) FROM (VALUES (1)) AS made(up)",
    ],
)
def test_whatever_else_is_refused(text: str):
    with pytest.raises((QuestionRefused, InvalidQuestion)):
        parse_question(text)


REASONS = {
    "SELECT count(*) FROM people USING SAMPLE 10%": "chance",
    "SELECT count(*) FROM people QUALIFY row_number() OVER () = 1": "window",
    "SELECT sum(age) OVER w FROM people WINDOW w AS (ORDER BY age)": "other people",
    "SELECT count(*) INTO x FROM people": "writes nothing",
    "SELECT count(*) FROM people FOR UPDATE": "locks nothing",
    "SELECT count(*) FROM main.people": "other schemas",
    "SELECT count(*) FROM pg_catalog.pg_class": "system tables",
    "SELECT count(*) FROM people NATURAL JOIN towns": "NATURAL",
    "SELECT count(*) FROM people POSITIONAL JOIN towns": "POSITIONAL",
    "WITH RECURSIVE x AS (SELECT 1) SELECT count(*) FROM x": "recursive",
    "SELECT count(*) FROM people UNION ALL BY NAME SELECT count(*) FROM people": "BY NAME",
    "SELECT x FROM people AS p(x)": "alias",
    "SELECT count(*) FROM people LIMIT -1": "whole number",
    "SELECT count(*) FROM people LIMIT 1.5": "whole number",
    "SELECT count(*) FROM people LIMIT '1'": "whole number",
    "SELECT count(*) FROM people LIMIT (SELECT 1)": "whole number",
    "SELECT count(*) FROM people OFFSET (SELECT 1)": "whole number",
    "SELECT count(*) FROM people LIMIT ?": "whole number",
    "SELECT count(*) FROM people AT (VERSION => 1)": "not supported",
}


@pytest.mark.parametrize("text", REASONS)
def test_a_clause_that_is_on_no_list_is_refused_with_its_reason(text: str):
    with pytest.raises(QuestionRefused, match=REASONS[text]):
        parse_question(text)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT count(*) FROM (SELECT * FROM people USING SAMPLE 5) x",
        "WITH x AS (SELECT * FROM people TABLESAMPLE 5%) SELECT count(*) FROM x",
        "SELECT count(*) FROM people WHERE age IN (SELECT age FROM pg_catalog.x)",
        "SELECT (SELECT count(*) FROM information_schema.tables) FROM people",
    ],
)
def test_a_clause_is_refused_however_deep_it_hides(text: str):
    with pytest.raises(QuestionRefused):
        parse_question(text)


@pytest.mark.parametrize("text", ["SELECT FROM WHERE", "SELECT (1", "how many?", "SELECT 'a"])
def test_what_is_no_sql_says_where_to_look(text: str):
    with pytest.raises(InvalidQuestion, match="Look at"):
        parse_question(text)


BOMBS = {
    "brackets": "(" * 100_000,
    "nested": "SELECT " + "(" * 5000 + "1" + ")" * 5000,
    "length": "SELECT " + "1 + " * 50_000 + "1 FROM people",
    "signs": "SELECT count(*) FROM people WHERE age > " + "- " * 4000 + "1",
    "nots": "SELECT count(*) FROM people WHERE " + "NOT " * 4000 + "sick",
    "terms": "SELECT " + "+".join(["count(*)"] * 4000) + " FROM people",
    "conditions": "SELECT count(*) FROM people HAVING " + " AND ".join(["count(*) > 1"] * 1500),
    "casts": "SELECT count(*) FROM people WHERE age" + "::INTEGER" * 4000 + " = 1",
    "unions": " UNION ALL ".join(["SELECT count(*) FROM people"] * 1000),
    "columns": "SELECT " + ", ".join(f"sum(age + {n})" for n in range(3000)) + " FROM people",
    "selects": "SELECT count(*) FROM " + "(SELECT * FROM " * 190 + "people" + ") x" * 190,
}


@pytest.mark.parametrize("bomb", BOMBS)
def test_a_bomb_is_invalid_by_its_size(bomb: str):
    with pytest.raises(InvalidQuestion, match="deep"):
        parse_question(BOMBS[bomb])


def test_a_long_question_is_still_read():
    many = ", ".join(f"count_if(age = {n}) AS n{n}" for n in range(1000))
    assert len(parse_question(f"SELECT {many} FROM people").expressions) == 1000


def test_a_long_chain_is_answered_or_refused_but_no_crash():
    import pyarrow as pa

    from discreet.answer.curator import open_curator
    from discreet.errors import DiscreetError

    curator = open_curator(pa.table({"age": [1, 2]}))
    for chain in ("age > 1 AND " * 800, "NOT " * 800, "1 + " * 800 + "age > 0 AND "):
        with pytest.raises(DiscreetError):
            curator.ask(f"SELECT count(*) FROM data WHERE {chain} age > 0", epsilon=200)


@given(st.text(max_size=60))
def test_no_text_makes_the_reader_crash(text: str):
    for question in (text, f"SELECT {text} FROM people", f"SELECT count(*) FROM {text}"):
        with suppress(InvalidQuestion, QuestionRefused):
            parse_question(question)


WORDS = ["SELECT", "FROM", "WHERE", "count(*)", "people", "(", ")", ",", ";", "'", '"', "WITH"]
WORDS += ["AS", "x", "UNION", "ALL", "LIMIT", "1", "ON", "JOIN", "GROUP", "BY", "IN", "EXISTS"]
WORDS += ["CASE", "WHEN", "END", "OVER", "PIVOT", "*", "--", "/*", "$1", "?", "[", "]", "{", "::"]


@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_no_row_of_words_makes_the_reader_crash(words: list[str]):
    with suppress(InvalidQuestion, QuestionRefused):
        parse_question(" ".join(words))


@pytest.mark.parametrize("bracket", ["date(", "decimal(", "array[", "struct("])
def test_nested_names_of_types_are_read_in_a_bounded_number_of_steps(bracket: str):
    closing = {"(": ")", "[": "]"}[bracket[-1]]
    with pytest.raises(InvalidQuestion, match="nested too deeply"):
        parse_question(f"SELECT {bracket * 40}1{closing * 40}")


def test_a_number_of_thousands_of_digits_is_refused():
    with pytest.raises(InvalidQuestion, match="digits"):
        parse_question(f"SELECT count(*) FROM people WHERE age < {'9' * 5000}")
