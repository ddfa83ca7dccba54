"""One SELECT and nothing else gets through; the refusal says why."""

from __future__ import annotations

import pytest

from discreet.answer.statement import parse
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
    assert parse(text) is not None


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
        parse(text)


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
        parse(text)


def test_a_question_deeper_than_people_write_is_no_crash():
    with pytest.raises(InvalidQuestion):
        parse("SELECT " + "(" * 5000 + "1" + ")" * 5000 + " FROM people")
    with pytest.raises(InvalidQuestion):
        parse("SELECT " + "1 + " * 50_000 + "1 FROM people")


def test_a_long_chain_is_answered_or_refused_but_no_crash():
    import pyarrow as pa

    from discreet.answer.curator import open_curator
    from discreet.errors import DiscreetError

    curator = open_curator(pa.table({"age": [1, 2]}))
    for chain in ("age > 1 AND " * 800, "NOT " * 800, "1 + " * 800 + "age > 0 AND "):
        with pytest.raises(DiscreetError):
            curator.ask(f"SELECT count(*) FROM data WHERE {chain} age > 0", epsilon=200)
