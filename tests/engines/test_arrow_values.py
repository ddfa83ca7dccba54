"""No value of an Arrow or Parquet source makes a question fail, or is seen before it is paid for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import duckdb
import polars as pl
import pyarrow as pa
import pytest
from bench.verify.loss import Side, compare
from pyarrow import ipc, parquet

import discreet
from discreet.engines.arrow_values import fit_table
from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.errors import EngineFailed
from discreet.policy.load import parse_policy
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

FAR = 2**63 - 1
POLICY = parse_policy(
    "tables: {t: {unit: row, budget: {epsilon: 1000}, columns: {v: sensitive, g: insensitive}}}"
)
QUESTIONS = (
    "SELECT count(*) FROM t",
    "SELECT count(v) FROM t",
    "SELECT count(DISTINCT v) FROM t",
    "SELECT v, count(*) FROM t GROUP BY v",
    "SELECT count(*) FROM t WHERE v IS NULL",
)


def _of_numbers(kind: Any, *numbers: int) -> Any:
    width = pa.int32() if pa.types.is_time32(kind) else pa.int64()
    return pa.array(numbers, width).view(kind)


_TIMES = [
    *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in (None, "UTC")),
    *(pa.duration(unit) for unit in ("s", "ms", "us", "ns")),
]
_MAP = pa.map_(pa.string(), pa.int64())
_MOMENTS = pa.struct([("at", pa.timestamp("ms", "UTC"))])
VALUES = {
    **{f"{kind} far": _of_numbers(kind, 0, FAR) for kind in _TIMES},
    **{f"{kind} fine": _of_numbers(kind, 0, 1) for kind in _TIMES},
    "time before its day": _of_numbers(pa.time64("ns"), 0, -1),
    "time after its day": _of_numbers(pa.time32("s"), 0, 2**31 - 1),
    "bytes that are no text": pa.array([b"a", b"\xff\xfe"]).view(pa.string()),
    "a map with a key twice": pa.array([[("a", 1)], [("a", 1), ("a", 2)]], _MAP),
    # As DuckDB itself writes the largest numbers of UHUGEINT.
    "a decimal beyond its digits": pa.Array.from_buffers(
        pa.decimal128(38, 0), 2, [None, pa.py_buffer(bytes(16) + bytes(15) + b"\x80")]
    ),
    "a moment in a record": pa.array([{"at": 0}, {"at": FAR}], _MOMENTS),
}
# Parquet has no seconds: Arrow does not write these.
CASES = [
    (form, what)
    for what in VALUES
    for form in ("table", "parquet", "arrow", "arrows")
    if not (form == "parquet" and "[s" in what and what.endswith("far"))
]


def _write(form: str, table: Any, folder: Path) -> Any:
    path = folder / f"t.{form}"
    if form == "parquet":
        parquet.write_table(table, path)
    elif form == "arrow":
        with ipc.new_file(str(path), table.schema) as writer:
            writer.write_table(table)
    elif form == "arrows":
        with ipc.new_stream(str(path), table.schema) as writer:
            writer.write_table(table)
    else:
        return table
    return str(path)


def _open(source: Any) -> Side:
    name = None if isinstance(source, str) else "t"
    curator = discreet.open(source, POLICY, ledger=":memory:", table=name)
    return Side(curator.catalog, curator.engine)


@pytest.mark.parametrize(("form", "what"), CASES)
def test_a_value_that_duckdb_cannot_hold_makes_no_question_fail(
    form: str, what: str, tmp_path: Path
) -> None:
    values = pa.concat_arrays([VALUES[what].slice(0, 1)] * 3 + [VALUES[what]])
    table = pa.table({"v": values, "g": ["a", "b", "a", "b", "a"]})
    folders = [tmp_path / "there", tmp_path / "gone"]
    for folder in folders:
        folder.mkdir()
    there, gone = (
        _open(_write(form, rows, folder))
        for rows, folder in zip((table, table.slice(0, 4)), folders, strict=True)
    )
    verdicts = [compare(question, there, gone) for question in QUESTIONS]
    assert [verdict.fault for verdict in verdicts] == [None] * 5
    assert verdicts[0].loss > 0
    there.engine.close()
    gone.engine.close()


def test_a_moment_finer_than_microseconds_is_not_seen_before_paying() -> None:
    """Polars keeps nanoseconds with a zone: one of them made the frame unreadable."""
    moments = pl.Series("v", [0, 1001], pl.Int64).cast(pl.Datetime("ns", "UTC"))
    frame = pl.DataFrame({"v": moments, "g": ["a", "b"]})
    with discreet.open(frame, POLICY, table="t") as curator:
        answer = curator.ask("SELECT count(v) FROM t", epsilon=100)
    assert round(answer.rows[0][0]) == 2


def test_a_parquet_file_with_bytes_that_are_no_text_is_recognized_and_answered(
    tmp_path: Path,
) -> None:
    names = [f"person {number}".encode() for number in range(300_000)]
    names[250_000] = b"\xff\xfe"
    table = pa.table({"v": pa.array(names).view(pa.string()), "g": ["a"] * 300_000})
    (tmp_path / "year=2024").mkdir()
    parquet.write_table(table, tmp_path / "year=2024" / "t.parquet")
    with discreet.open(
        str(tmp_path / "year=2024" / "t.parquet"), POLICY, ledger=str(tmp_path / "ledger.sqlite")
    ) as curator:
        found = curator.ask("SELECT count(*) FROM t WHERE v LIKE 'person%'", epsilon=100)
        years = curator.ask("SELECT count(*) FROM t WHERE year = '2024'", epsilon=100)
    assert abs(found.rows[0][0] - 299_999) < 2
    assert abs(years.rows[0][0] - 300_000) < 2


def test_rows_are_streamed_once_where_reading_begins_again(tmp_path: Path) -> None:
    numbers = pa.array(range(300_000))
    moments = pa.array([0] * 299_999 + [FAR], pa.int64()).view(pa.timestamp("ms"))
    parquet.write_table(pa.table({"n": numbers, "at": moments}), tmp_path / "t.parquet")
    engine = DuckDB(looks_at_rows=False)
    opened = open_table(str(tmp_path / "t.parquet"), engine=engine)
    query = build.select(build.column("n"), build.column("at"), source=opened.relation)
    seen = [number for batch in engine.stream(query) for number in batch.column(0).to_pylist()]
    assert seen == list(range(300_000))
    engine.close()


def test_a_failure_between_batches_quotes_no_cell(tmp_path: Path) -> None:
    names = [b"a"] * 300_000 + [b"\xff Alice Example"]
    parquet.write_table(pa.table({"v": pa.array(names).view(pa.string())}), tmp_path / "t.parquet")
    engine = DuckDB()
    opened = open_table(str(tmp_path / "t.parquet"), engine=engine)
    query = build.select(build.column("v"), source=opened.relation)
    with pytest.raises(EngineFailed) as failed:
        list(engine.stream(query))
    assert "Alice" not in str(failed.value)
    engine.close()


def test_values_that_fit_stay_as_they_are() -> None:
    table = pa.table(
        {
            "m": pa.array([[("a", 1)], None, []], _MAP),
            "l": pa.array([[1], None, [None]], pa.list_(pa.int64())),
            "s": pa.array([{"at": 5}, None, {"at": None}], _MOMENTS),
            "d": pa.array(["x", None, "x"]).dictionary_encode(),
            "t": pa.array([1, None, 2], pa.time64("us")),
        }
    )
    assert fit_table(table).to_pylist() == table.to_pylist()
    assert fit_table(table.slice(1)).to_pylist() == table.slice(1).to_pylist()
    assert duckdb.from_arrow(fit_table(table)).fetchall()[1] == (None,) * 5
