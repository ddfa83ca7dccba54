"""One suite for all engines: the same table gives the same answers everywhere."""

from __future__ import annotations

import datetime as dt
import math
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.engines.engine import Engine, Kind
from discreet.errors import EngineFailed
from discreet.sql import build

SMALLEST, LARGEST = -(2**63), 2**63 - 1
# Bytes, not a locale, order them: capitals first, a blank before a letter, marks after letters.
TEXTS = [
    "",
    " ",
    "A",
    "B",
    "a",
    "a ",
    "ab",
    "a\u0301",
    "b",
    "\u00e1",
    "\u00e9",
    "\u4e2d",
    "\U0001f600",
]


def load(engine: Engine, **columns: pa.Array) -> exp.Table:
    return engine.load(pa.table(columns).to_reader())


def column(engine: Engine, query: exp.Query) -> list[object]:
    return engine.run(query).column(0).to_pylist()


def rows(engine: Engine, query: exp.Query) -> list[tuple[object, ...]]:
    table = engine.run(query)
    return list(zip(*(item.to_pylist() for item in table.columns), strict=True))


def everything(relation: exp.Table) -> exp.Select:
    return build.select(exp.Star(), source=relation.copy())


VALUES = {
    "boolean": pa.array([True, False, None]),
    "int16": pa.array([-32768, 32767, None], pa.int16()),
    "int32": pa.array([-(2**31), 2**31 - 1, None], pa.int32()),
    "int64": pa.array([SMALLEST, LARGEST, None], pa.int64()),
    "real": pa.array([1.5, -0.25, None], pa.float32()),
    "double": pa.array([5e-324, 1.7976931348623157e308, None]),
    "double exact": pa.array([0.1, 1 / 3, None]),
    "infinite": pa.array([math.inf, -math.inf, None]),
    "text": pa.array(["", 'it\'s "quoted"; \\N, \r\n\tline', None]),
    "text unicode": pa.array(["a\u0301\U0001f600", "NULL", None]),
    "date": pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
    "timestamp": pa.array(
        [dt.datetime(1582, 10, 3, 23, 59, 59, 999999), dt.datetime(9999, 12, 31), None],  # noqa: DTZ001
        pa.timestamp("us"),
    ),
    "instant": pa.array(
        [dt.datetime(1969, 12, 31, 23, 59, 59, 1), dt.datetime(2024, 2, 29), None],  # noqa: DTZ001
        pa.timestamp("us", "UTC"),
    ),
    "time": pa.array([dt.time(0), dt.time(23, 59, 59, 999999), None], pa.time64("us")),
    "decimal": pa.array([Decimal("-99999999.99"), Decimal("0.10"), None], pa.decimal128(10, 2)),
    "decimal wide": pa.array([Decimal("9" * 38), Decimal(-1), None], pa.decimal128(38, 0)),
}


@pytest.mark.parametrize("name", VALUES)
def test_what_is_loaded_comes_back_exactly(any_engine: Engine, name: str) -> None:
    order = pa.array([1, 2, 3])
    relation = load(any_engine, **{"n": order, name: VALUES[name]})
    query = build.select(build.column(name), source=relation)
    table = any_engine.run(build.order_nulls_last(query, [build.column("n")]))
    assert table.column(0).combine_chunks() == VALUES[name]


KINDS = {
    "boolean": Kind.BOOLEAN,
    "int16": Kind.INTEGER,
    "int64": Kind.INTEGER,
    "real": Kind.REAL,
    "double": Kind.REAL,
    "text": Kind.TEXT,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "instant": Kind.TIMESTAMP,
    "time": Kind.TIME,
    "decimal": Kind.DECIMAL,
}


def test_columns_have_the_same_kinds_everywhere(any_engine: Engine) -> None:
    relation = load(any_engine, **{name: VALUES[name] for name in KINDS})
    assert {c.name: c.kind for c in any_engine.columns(relation)} == KINDS


@pytest.mark.parametrize(
    ("given_type", "values", "expected"),
    [
        (pa.dictionary(pa.int8(), pa.string()), ["b", "a", None], ["a", "b", None]),
        (pa.large_string(), ["b", "a", None], ["a", "b", None]),
        (pa.string_view(), ["b", "a", None], ["a", "b", None]),
        (pa.uint8(), [255, 0, None], [0, 255, None]),
        (pa.uint32(), [2**32 - 1, 0, None], [0, 2**32 - 1, None]),
        (pa.uint64(), [2**64 - 1, 0, None], [Decimal(0), Decimal(2**64 - 1), None]),
        (pa.null(), [None, None, None], [None, None, None]),
    ],
    ids=str,
)
def test_uncommon_arrow_types_are_loaded_as_common_ones(
    any_engine: Engine, given_type: pa.DataType, values: list[object], expected: list[object]
) -> None:
    relation = load(any_engine, v=pa.array(values, given_type))
    query = build.order_nulls_last(
        build.select(build.column("v"), source=relation), [build.column("v")]
    )
    assert column(any_engine, query) == expected


def test_text_is_ordered_by_its_bytes(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(list(reversed(TEXTS))))
    query = build.order_nulls_last(
        build.select(build.column("v"), source=relation), [build.column("v")]
    )
    assert column(any_engine, query) == sorted(TEXTS, key=str.encode)


def test_smallest_and_largest_text_are_those_of_the_bytes(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(["b", "A", "a", "B"]))
    query = build.select(
        build.alias_as(exp.Min(this=build.column("v")), "low"),
        build.alias_as(exp.Max(this=build.column("v")), "high"),
        source=relation,
    )
    assert rows(any_engine, query) == [("A", "b")]


@pytest.mark.parametrize(
    "key",
    [
        exp.Coalesce(this=build.column("v"), expressions=[build.text("B")]),
        exp.Case(
            ifs=[
                exp.If(
                    this=exp.EQ(this=build.column("n"), expression=build.number(1)),
                    true=build.text("a"),
                )
            ],
            default=build.text("B"),
        ),
        exp.cast(build.column("v"), "TEXT"),
    ],
    ids=["coalesce", "case", "cast"],
)
def test_computed_text_is_ordered_by_its_bytes_too(any_engine: Engine, key: exp.Expr) -> None:
    relation = load(any_engine, n=pa.array([1, 2]), v=pa.array(["a", "B"]))
    query = build.order_nulls_last(build.select(build.column("n"), source=relation), [key])
    assert column(any_engine, query) == [2, 1]


def test_text_stays_in_byte_order_after_it_is_kept(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(["a", "B"]))
    kept = any_engine.keep(
        build.select(
            build.alias_as(exp.cast(build.column("v"), "TEXT"), "v"),
            source=relation,
        )
    )
    query = build.order_nulls_last(
        build.select(build.column("v"), source=kept), [build.column("v")]
    )
    assert column(any_engine, query) == ["B", "a"]


def test_nulls_come_last_in_either_direction(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([2, None, 1]))
    upward = build.order_nulls_last(
        build.select(build.column("v"), source=relation), [build.column("v")]
    )
    downward = build.select(build.column("v"), source=relation).order_by(
        exp.Ordered(this=build.column("v"), desc=True, nulls_first=False)
    )
    assert column(any_engine, upward) == [1, 2, None]
    assert column(any_engine, downward) == [2, 1, None]


def test_not_a_number_equals_itself_and_is_the_largest(any_engine: Engine) -> None:
    values = pa.array([math.nan, 1.0, math.inf, math.nan, -math.inf, None])
    relation = load(any_engine, v=values)
    query = build.select(build.column("v"), build.count_star(), source=relation)
    query = build.order_nulls_last(query.group_by(build.column("v")), [build.column("v")])
    found = [(str(value), count) for value, count in rows(any_engine, query)]
    assert found == [("-inf", 1), ("1.0", 1), ("inf", 1), ("nan", 2), ("None", 1)]


def test_the_two_zeros_are_one_value(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([0.0, -0.0, 1.0, None]))
    distinct = exp.Count(this=exp.Distinct(expressions=[build.column("v")]))
    grouped = build.select(build.count_star(), source=relation).group_by(build.column("v"))
    assert column(any_engine, build.select(distinct, source=relation)) == [2]
    assert sorted(column(any_engine, grouped)) == [1, 1, 2]


def test_the_two_zeros_join(any_engine: Engine) -> None:
    left = load(any_engine, v=pa.array([0.0, math.nan]))
    right = load(any_engine, w=pa.array([-0.0, math.nan]))
    query = build.select(build.count_star(), source=build.aliased_table(left, "l")).join(
        build.aliased_table(right, "r"),
        on=exp.EQ(this=build.column("v", of="l"), expression=build.column("w", of="r")),
    )
    assert column(any_engine, query) == [2]


def test_texts_are_equal_only_when_their_characters_are(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([*TEXTS, *TEXTS, None, None]))
    distinct = exp.Count(this=exp.Distinct(expressions=[build.column("v")]))
    grouped = build.select(build.count_star(), source=relation).group_by(build.column("v"))
    assert column(any_engine, build.select(distinct, source=relation)) == [len(TEXTS)]
    assert column(any_engine, grouped) == [2] * (len(TEXTS) + 1)


def test_an_empty_table_has_columns_and_no_rows(any_engine: Engine) -> None:
    relation = load(any_engine, a=pa.array([], pa.int64()), b=pa.array([], pa.string()))
    table = any_engine.run(everything(relation))
    assert (table.column_names, table.num_rows) == (["a", "b"], 0)
    assert table.schema.types == [pa.int64(), pa.string()]
    assert list(any_engine.stream(everything(relation))) in ([], [table.to_batches()])


def test_an_empty_table_counts_zero_and_sums_to_null(any_engine: Engine) -> None:
    relation = load(any_engine, a=pa.array([], pa.int64()))
    query = build.select(build.count_star(), build.sum_integers(build.column("a")), source=relation)
    assert rows(any_engine, query) == [(0, None)]


def test_names_keep_case_blanks_and_quotes(any_engine: Engine) -> None:
    names = ["Hours per week", 'say "hi"', "marital-status", "\u540d\u524d", "SELECT", "a.b", "`x`"]
    relation = load(any_engine, **{name: pa.array([1]) for name in names})
    assert [c.name for c in any_engine.columns(relation)] == names
    query = build.select(*(build.column(name) for name in names), source=relation)
    assert any_engine.run(query).column_names == names


def test_two_columns_of_a_result_may_share_a_name(any_engine: Engine) -> None:
    relation = load(any_engine, a=pa.array([1]), b=pa.array(["x"]))
    query = build.select(
        build.alias_as(build.column("a"), "same"),
        build.alias_as(build.column("b"), "same"),
        source=relation,
    )
    table = any_engine.run(query)
    assert (table.column_names, table.to_batches()[0].columns[1].to_pylist()) == (
        ["same", "same"],
        ["x"],
    )
    assert next(iter(any_engine.stream(query))).schema.names == ["same", "same"]


def test_left_join_on_equality_keeps_what_has_no_partner(any_engine: Engine) -> None:
    people = load(any_engine, id=pa.array([1, 2, None]), name=pa.array(["a", "b", "c"]))
    visits = load(any_engine, person=pa.array([1, 1, None]), n=pa.array([10, 20, 30]))
    query = build.select(
        build.column("name", of="p"),
        build.column("n", of="v"),
        source=build.aliased_table(people, "p"),
    ).join(
        build.aliased_table(visits, "v"),
        on=exp.EQ(this=build.column("id", of="p"), expression=build.column("person", of="v")),
        join_type="left",
    )
    query = build.order_nulls_last(query, [build.column("name", of="p"), build.column("n", of="v")])
    assert rows(any_engine, query) == [("a", 10), ("a", 20), ("b", None), ("c", None)]


def test_null_safe_join_matches_nulls(any_engine: Engine) -> None:
    left = load(any_engine, v=pa.array([1, None]))
    right = load(any_engine, w=pa.array([1, None]))
    query = build.select(build.count_star(), source=build.aliased_table(left, "l")).join(
        build.aliased_table(right, "r"),
        on=exp.NullSafeEQ(this=build.column("v", of="l"), expression=build.column("w", of="r")),
    )
    assert column(any_engine, query) == [2]


def test_rows_are_numbered_in_the_order_of_the_window(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(["b", "A", None, "a"]))
    order = exp.Order(expressions=[exp.Ordered(this=build.column("v"), nulls_first=False)])
    number = build.alias_as(exp.Window(this=exp.RowNumber(), order=order), "position")
    query = build.select(build.column("v"), number, source=relation)
    query = build.order_nulls_last(query, [build.column("position")])
    assert rows(any_engine, query) == [("A", 1), ("a", 2), ("b", 3), (None, 4)]


def test_groups_can_be_filtered_and_limited(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([1, 1, 2, 3, 3, 3]))
    query = (
        build.select(build.column("v"), build.alias_as(build.count_star(), "n"), source=relation)
        .group_by(build.column("v"))
        .having(exp.GT(this=build.count_star(), expression=build.number(1)))
    )
    query = build.order_nulls_last(query, [build.column("v")]).limit(1)
    assert rows(any_engine, query) == [(1, 2)]


@pytest.mark.parametrize(("top", "bottom"), [(7, 2), (-7, 2), (7, -2), (-7, -2), (LARGEST, 10)])
def test_whole_division_cuts_towards_zero_and_leaves_a_rest(
    any_engine: Engine, top: int, bottom: int
) -> None:
    relation = load(any_engine, a=pa.array([top]), b=pa.array([bottom]))
    a, b = build.column("a"), build.column("b")
    table = any_engine.run(
        build.select(
            build.alias_as(exp.IntDiv(this=a.copy(), expression=b.copy()), "quotient"),
            build.alias_as(exp.Mod(this=a.copy(), expression=b.copy()), "rest"),
            source=relation,
        )
    )
    quotient = abs(top) // abs(bottom) * (1 if (top < 0) == (bottom < 0) else -1)
    assert table.to_pylist() == [{"quotient": quotient, "rest": top - quotient * bottom}]
    assert table.schema.types == [pa.int64(), pa.int64()]


def test_whole_division_binds_like_an_operator(any_engine: Engine) -> None:
    relation = load(any_engine, a=pa.array([20]))
    inner = exp.Paren(this=exp.Add(this=build.column("a"), expression=build.number(1)))
    quotient = exp.IntDiv(this=inner, expression=build.number(2))
    query = build.select(exp.Mul(this=build.number(3), expression=quotient), source=relation)
    assert column(any_engine, query) == [30]


def test_sums_of_large_numbers_are_whole_and_exact(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([LARGEST - 1, 1, SMALLEST, None]))
    table = any_engine.run(
        build.select(build.alias_as(build.sum_integers(build.column("v")), "v"), source=relation)
    )
    assert (table.column(0).to_pylist(), table.schema.types) == ([-1], [pa.int64()])


def test_a_cast_that_may_fail_gives_null(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(["12", "-5", "Alice", "", None]), n=pa.array(range(5)))
    for kind, expected in (("BIGINT", [12, -5]), ("DOUBLE", [12.0, -5.0])):
        cast = exp.TryCast(this=build.column("v"), to=exp.DataType.build(kind))
        query = build.order_nulls_last(
            build.select(build.alias_as(cast, "v"), source=relation), [build.column("n")]
        )
        assert column(any_engine, query) == [*expected, None, None, None]


def test_literals_are_taken_as_they_are(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([1]))
    words = ["it's", 'a "b"', "back\\slash", "100%", "%s", "line\nbreak", "{}", "\U0001f600", "--x"]
    literals = [build.alias_as(build.text(word), str(n)) for n, word in enumerate(words)]
    assert rows(any_engine, build.select(*literals, source=relation)) == [tuple(words)]


def test_what_is_dropped_is_gone(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([1]))
    kept = any_engine.keep(everything(relation))
    any_engine.drop(relation)
    any_engine.drop(kept)
    for gone in (relation, kept):
        with pytest.raises(EngineFailed):
            any_engine.run(everything(gone))


def test_what_is_kept_outlives_what_it_came_from(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([1, 2]))
    kept = any_engine.keep(build.select(build.column("v"), source=relation))
    any_engine.drop(relation)
    assert sorted(column(any_engine, everything(kept))) == [1, 2]


def test_dropping_twice_is_no_error(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([1]))
    any_engine.drop(relation)
    any_engine.drop(relation)


def test_a_stream_is_in_order_and_comes_in_several_batches(any_engine: Engine) -> None:
    count = 300_000
    relation = load(any_engine, v=pa.array(range(count)), t=pa.array(["x" * 40] * count))
    key = exp.Mod(this=build.column("v"), expression=build.number(1000))
    query = build.order_nulls_last(everything(relation), [key, build.column("v")])
    batches = list(any_engine.stream(query))
    values = [v for batch in batches for v in batch.column(0).to_pylist()]
    assert len(batches) > 1
    assert values == sorted(range(count), key=lambda v: (v % 1000, v))


def test_other_queries_may_run_while_a_stream_is_read(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(range(1000)))
    stream = any_engine.stream(build.order_nulls_last(everything(relation), [build.column("v")]))
    first = next(stream)
    kept = any_engine.keep(build.select(build.count_star().as_("n"), source=relation))
    rest = sum(batch.num_rows for batch in stream)
    assert first.num_rows + rest == 1000
    assert column(any_engine, everything(kept)) == [1000]


def test_a_query_tree_is_left_as_it_was(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array(["1"]))
    cast = exp.TryCast(this=build.column("v"), to=exp.DataType.build("BIGINT"))
    query = build.select(build.alias_as(cast, "v"), source=relation)
    before = query.copy()
    any_engine.run(query)
    assert query == before


SECRET = "Alice-Meier-1967"


def leak(engine: Engine, relation: exp.Table) -> list[exp.Query]:
    secret = build.column("v")
    return [
        build.select(exp.cast(secret.copy(), "BIGINT"), source=relation),
        build.select(exp.cast(secret.copy(), "DATE"), source=relation),
        build.select(secret.copy(), source=relation).where(
            exp.EQ(this=exp.cast(secret.copy(), "DOUBLE"), expression=build.number(1))
        ),
    ]


@pytest.mark.parametrize("number", range(3))
def test_a_failure_quotes_no_cell(
    any_engine: Engine, number: int, capfd: pytest.CaptureFixture[str]
) -> None:
    relation = load(any_engine, v=pa.array([SECRET]))
    query = leak(any_engine, relation)[number]
    with pytest.raises(EngineFailed) as run:
        any_engine.run(query)
    with pytest.raises(EngineFailed) as stream:
        list(any_engine.stream(query))
    with pytest.raises(EngineFailed) as keep:
        any_engine.keep(query)
    for caught in (run, stream, keep):
        assert SECRET not in str(caught.value)
        assert caught.value.__context__ is None
        assert caught.value.__cause__ is None
    assert SECRET not in "".join(capfd.readouterr())


def test_an_engine_goes_on_after_a_failure(any_engine: Engine) -> None:
    relation = load(any_engine, v=pa.array([SECRET]))
    with pytest.raises(EngineFailed):
        any_engine.run(leak(any_engine, relation)[0])
    assert column(any_engine, everything(relation)) == [SECRET]


TABLES = st.lists(
    st.tuples(
        st.none() | st.integers(SMALLEST, LARGEST),
        st.none() | st.text(st.characters(blacklist_characters="\0", codec="utf-8"), max_size=5),
        st.none() | st.floats(),
    ),
    max_size=12,
)


@settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(table=TABLES)
def test_any_table_comes_back_in_the_order_of_its_bytes(
    any_engine: Engine, table: list[tuple[int | None, str | None, float | None]]
) -> None:
    whole, text, real = (
        (list(values) for values in zip(*table, strict=True)) if table else ([],) * 3
    )
    relation = load(
        any_engine,
        a=pa.array(whole, pa.int64()),
        b=pa.array(text, pa.string()),
        c=pa.array(real, pa.float64()),
        n=pa.array(range(len(table)), pa.int64()),
    )
    order = [build.column(name) for name in ("b", "a", "n")]
    found = rows(any_engine, build.order_nulls_last(everything(relation), order))
    any_engine.drop(relation)
    expected = sorted(
        ((*row, n) for n, row in enumerate(table)),
        key=lambda row: (
            row[1] is None,
            (row[1] or "").encode(),
            row[0] is None,
            row[0] or 0,
            row[3],
        ),
    )
    assert [tuple(map(repr, row)) for row in found] == [tuple(map(repr, row)) for row in expected]
