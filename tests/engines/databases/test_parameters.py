"""A value gives the same result as a parameter of the engine as it does as a literal."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.engines.databases.place import failing

from discreet.errors import StatementFailed
from discreet.guard.rewrite.bind import bind_query, engine_values, with_engine_parameters

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.engines.databases.place import Place, Session

COLUMNS = (
    *("bool", "int2", "int4", "int8", "float4", "float8", "numeric", "text", "varchar", "bytea"),
    *("date", "time", "timestamp", "timestamptz", "interval", "uuid"),
)
QUERIES = (
    "SELECT $1 AS a",
    "SELECT id FROM thing WHERE it_{kind} = $1 ORDER BY id",
    """SELECT CASE WHEN $1 IS NULL THEN 0 ELSE 1 END AS a, count(*) AS n, $1 AS b FROM thing
    WHERE it_{kind} IS NOT NULL OR $1 > it_{kind} GROUP BY $1 LIMIT 5""",
)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False, places=3)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]))
VALUES: dict[str, Any] = {
    "bool": st.booleans(),
    **dict.fromkeys(("int2", "int4", "int8"), st.integers(-(2**65), 2**65) | st.integers(-5, 5)),
    **dict.fromkeys(("float4", "float8"), st.floats() | st.sampled_from(["1e5", "-0", "x"])),
    "numeric": NUMBERS | st.sampled_from([Decimal("0.5"), Decimal(2), "NaN", "1e3", "x", ".5"]),
    **dict.fromkeys(("text", "varchar"), TEXTS | st.sampled_from(["it's", "$1", "\\", "NULL", ""])),
    "bytea": st.binary(max_size=20),
    "date": st.dates() | st.sampled_from(["infinity", "2024-02-30", "0044-03-15 BC"]),
    "time": st.times(),
    "timestamp": st.datetimes(),
    "timestamptz": st.datetimes(timezones=st.just(dt.UTC)) | st.just("2024-02-29 12:00:00+05:30"),
    "interval": st.timedeltas(dt.timedelta(-9999), dt.timedelta(9999)) | st.just("1 mon"),
    "uuid": st.uuids() | st.just("x"),
}
GIVEN = st.sampled_from(COLUMNS).flatmap(
    lambda kind: st.tuples(st.just(kind), st.none() | VALUES[kind], st.sampled_from(QUERIES))
)


@pytest.fixture
def session(place: Place) -> Iterator[Session]:
    opened = place.connect()
    opened.do(
        "CREATE TABLE thing (id INT, " + ", ".join(f"it_{kind} {kind}" for kind in COLUMNS) + ")"
    )
    some = (
        *("true", "1", "2", "3", "0.5", "0.25", "0.5", "'it''s'", "''", "'\\x00ff'"),
        *("'2024-02-29'", "'01:02:03'", "'2024-02-29 01:02:03'", "'2024-02-29 01:02:03+00'"),
        *("'1 day'", "'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'"),
    )
    cells = ", ".join(f"CAST({cell} AS {kind})" for cell, kind in zip(some, COLUMNS, strict=True))
    opened.do(f"INSERT INTO thing SELECT 1, {cells}")
    opened.do("INSERT INTO thing (id) VALUES (2)")
    yield opened
    opened.close()


def outcome(run: Callable[[], Any]) -> tuple[object, ...]:
    try:
        table = run()
    except StatementFailed as failed:
        return (failed.sqlstate,)
    return str(table.schema), *(column.to_string() for column in table.columns)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(GIVEN)
def test_a_parameter_means_what_a_literal_means(
    session: Session, prepared: dict[object, Any], drawn: tuple[str, Any, str]
) -> None:
    kind, value, text = drawn
    traits, connection = session.connection.traits, session.connection
    tree = session.place.tree(text.format(kind=kind))

    def run() -> Any:
        values = engine_values([kind], [value], traits=traits)
        key = (kind, text, values.forms)
        if key not in prepared:
            bound, places = with_engine_parameters(tree, [kind], values.forms, traits=traits)
            assert places == (0,)
            prepared[key] = connection.prepare(bound)
        return connection.run(prepared[key], values.texts)

    expected = outcome(lambda: connection.query(bind_query(tree, [kind], [value], traits=traits)))
    assert outcome(run) == expected
    assert outcome(run) == expected  # also when the shape of the result is known


@pytest.fixture
def prepared() -> dict[object, Any]:
    return {}


def test_a_column_may_change_its_type_with_a_value(session: Session) -> None:
    tree = session.place.tree(
        "SELECT round(it_numeric, CAST($1 AS INT)) AS a FROM thing WHERE id = 1"
    )
    query = session.connection.prepare(tree)
    for digits in ("0", "1", "0"):
        table = session.connection.run(query, [digits])
        assert table.to_pylist() == [{"a": Decimal(1 if digits == "0" else "0.5")}]


def test_a_prepared_query_keeps_to_its_limit_and_only_reads(session: Session) -> None:
    tree = session.place.tree("SELECT id FROM thing WHERE id >= CAST($1 AS INT) ORDER BY id")
    query = session.connection.prepare(tree)
    for _ in range(2):
        assert session.connection.run(query, ["1"], limit=2).to_pylist() == [{"id": 1}, {"id": 2}]
        with failing("54000"):
            session.connection.run(query, ["1"], limit=1)
        with failing("22P02"):
            session.connection.run(query, ["one"], limit=2)
    with failing("0A000"):
        session.connection.prepare(session.place.tree("DELETE FROM thing"))
