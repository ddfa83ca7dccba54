"""A release is written whole or not at all, and never over something by mistake."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.errors import Bug, DiscreetError, EngineFailed, OutputRefused, WrongUsage
from discreet.release.write import parse_target, sha256_of_source, write_rows
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

PEOPLE = pa.table({"age": [41, 7, None], "name": ["", "Ann", None]})


def rows_of(engine, table: pa.Table) -> exp.Select:
    return build.select(exp.Star(), source=engine.load(table.to_reader()))


def write(table: pa.Table, place: object, *, force: bool = False, **options):
    engine = DuckDB()
    try:
        return write_rows(
            engine, rows_of(engine, table), parse_target(str(place), force=force), **options
        )
    finally:
        engine.close()


def test_what_was_written_is_reported_with_its_digest(tmp_path):
    result = write(PEOPLE, tmp_path / "a.csv")
    content = (tmp_path / "a.csv").read_bytes()
    assert content == b'age,name\n7,Ann\n41,""\n,\n'
    assert (result.place, result.rows, result.bytes) == (str(tmp_path / "a.csv"), 3, len(content))
    assert result.sha256 == sha256_of_source(tmp_path / "a.csv")


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.gz", "csv.zst", "parquet"])
def test_every_ending_is_read_back_by_us(tmp_path, ending):
    write(PEOPLE, tmp_path / f"a.{ending}")
    table = open_table(tmp_path / f"a.{ending}")
    query = build.select(exp.Star(), source=table.relation)
    assert table.engine.run(query).to_pylist() == PEOPLE.take([1, 0, 2]).to_pylist()
    table.engine.close()


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst", "parquet"])
def test_every_ending_is_read_by_polars(tmp_path, ending):
    write(PEOPLE, tmp_path / f"a.{ending}")
    read = pl.read_parquet if ending == "parquet" else pl.read_csv
    frame = read(tmp_path / f"a.{ending}")
    assert frame.rows() == [(7, "Ann"), (41, ""), (None, None)]


def test_pandas_reads_csv_and_parquet(tmp_path):
    write(PEOPLE, tmp_path / "a.csv")
    write(PEOPLE, tmp_path / "a.parquet")
    assert pd.read_csv(tmp_path / "a.csv")["age"].tolist()[:2] == [7, 41]
    exact = pd.read_parquet(tmp_path / "a.parquet", dtype_backend="pyarrow")
    assert exact["name"].tolist()[:2] == ["Ann", ""]
    assert exact["name"].isna().tolist() == [False, False, True]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "parquet"])
def test_threads_do_not_change_the_bytes(tmp_path, ending):
    digests = set()
    for threads in (1, 2, 5):
        engine = DuckDB()
        engine.execute_unguarded(
            exp.Set(expressions=[exp.SetItem(this=exp.var("threads").eq(build.number(threads)))])
        )
        rows = exp.Table(this=exp.Anonymous(this="range", expressions=[build.number(250_000)]))
        value = exp.Anonymous(this="md5", expressions=[exp.cast(build.column("range"), "TEXT")])
        query = build.select(
            build.alias_as(value, "v"), build.alias_as(value.copy(), "w"), source=rows
        )
        target = parse_target(tmp_path / f"a.{ending}", force=True)
        digests.add(write_rows(engine, query, target).sha256)
        engine.close()
    assert len(digests) == 1


def test_an_existing_file_is_not_replaced_without_force(tmp_path):
    place = tmp_path / "a.csv"
    place.write_text("old")
    with pytest.raises(OutputRefused, match="--force"):
        parse_target(place, force=False)
    write(PEOPLE, place, force=True)
    assert place.read_text().startswith("age,name")


def test_a_file_that_appears_meanwhile_is_not_replaced(tmp_path):
    target = parse_target(tmp_path / "a.csv", force=False)
    (tmp_path / "a.csv").write_text("somebody else's")
    engine = DuckDB()
    with pytest.raises(OutputRefused, match="--force"):
        write_rows(engine, rows_of(engine, PEOPLE), target)
    assert (tmp_path / "a.csv").read_text() == "somebody else's"
    assert len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("nowhere/a.csv", "There is no folder"),
        ("a.parqet", "Did you mean '.parquet'"),
        ("a", "It is one of: '.csv', '.parquet', '.tsv'"),
        ("folder.csv", "is a folder"),
        ("out/", "call it out.parquet/"),
        ("full.parquet/", "holds other things"),
        ("file.parquet/", "is a file"),
        ("pipe.csv", "not a plain file"),
    ],
)
def test_a_place_that_cannot_be_written_is_refused_before_any_work(tmp_path, name, words):
    (tmp_path / "folder.csv").mkdir()
    (tmp_path / "full.parquet").mkdir()
    (tmp_path / "full.parquet" / "thesis.docx").touch()
    (tmp_path / "file.parquet").touch()
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(OutputRefused, match=words):
        parse_target(f"{tmp_path}/{name}", force=True)


@pytest.mark.parametrize(
    "text", ["postgresql://db/clinic", "spark:", "spark:/data/a.parquet", "spark:?master=x"]
)
def test_a_database_without_a_table_is_wrong_usage(text):
    with pytest.raises(WrongUsage, match="Say which table"):
        parse_target(text, force=False)


def test_a_spark_table_is_not_written_from_another_engine():
    engine = DuckDB()
    target = parse_target("spark:clinic.released", force=False)
    with pytest.raises(WrongUsage, match="from Spark only"):
        write_rows(engine, rows_of(engine, PEOPLE), target)


def test_a_column_that_the_query_lacks_is_a_bug(tmp_path):
    with pytest.raises(Bug, match="class"):
        write(PEOPLE, tmp_path / "a.csv", order=["class"])


def test_an_odd_name_is_no_pattern(tmp_path):
    write(PEOPLE, tmp_path / "it's [1]*? ~%20.csv")
    assert [path.name for path in tmp_path.iterdir()] == ["it's [1]*? ~%20.csv"]


def test_a_release_may_replace_its_own_source(tmp_path):
    place = tmp_path / "a.parquet"
    write(PEOPLE, place)
    table = open_table(place)
    query = build.select(build.column("age"), source=table.relation)
    write_rows(table.engine, query, parse_target(place, force=True))
    table.engine.close()
    assert pl.read_parquet(place).rows() == [(7,), (41,), (None,)]


FULL = """
import resource, sys
from sqlglot import exp
from discreet.engines.duckdb import DuckDB
from discreet.errors import DiscreetError
from discreet.release.write import parse_target, write_rows
from discreet.sql import build

engine = DuckDB()
number = build.column("range")
rows = exp.Table(this=exp.Anonymous(this="range", expressions=[build.number(500_000)]))
text = exp.Anonymous(this="md5", expressions=[exp.cast(number, "TEXT")])
query = build.select(build.alias_as(text, "v"), source=rows)
target = parse_target(sys.argv[1], force=True)
if sys.argv[2] == "limit":
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, 1 << 20))
try:
    write_rows(engine, query, target)
except DiscreetError as error:
    sys.exit(f"{error.code}: {error}")
"""


def run_full(place: Path | str, how: str) -> str:
    command = [sys.executable, "-c", FULL, str(place), how]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 1, result.stderr
    return result.stderr


@pytest.mark.parametrize("name", ["a.csv", "a.csv.gz", "a.parquet"])
def test_a_file_that_may_not_grow_leaves_the_old_one(tmp_path, name):
    (tmp_path / name).write_text("old")
    words = run_full(tmp_path / name, "limit")
    assert words.startswith("output-refused: ")
    assert "File too large" in words
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "old"


@pytest.fixture
def small_disk(tmp_path):
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "discreet-test", str(folder)]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("no right to mount a small disk")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


@pytest.mark.parametrize("name", ["a.csv", "a.csv.zst", "a.parquet", "b.parquet/"])
def test_a_full_disk_leaves_no_half_file(small_disk, name):
    words = run_full(f"{small_disk}/{name}", "disk")
    assert words.startswith("output-refused: ")
    assert "No space left on device" in words
    assert not list(small_disk.iterdir())


def test_a_folder_that_was_full_keeps_the_old_parts(small_disk):
    write(PEOPLE, f"{small_disk}/a.parquet/")
    run_full(f"{small_disk}/a.parquet/", "disk")
    assert pl.read_parquet(small_disk / "a.parquet").height == 3
    assert [path.name for path in small_disk.iterdir()] == ["a.parquet"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_rights_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(OutputRefused, match="cannot be written"):
        parse_target(tmp_path / "a.csv", force=False)


FOREVER = FULL.replace("write_rows(", "while True: write_rows(")


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL], ids=lambda how: how.name)
def test_a_release_that_is_stopped_leaves_a_whole_file(tmp_path, how):
    place = tmp_path / "a.parquet"
    write(PEOPLE, place)
    process = subprocess.Popen(
        # Tests that run in the background of a shell ignore SIGINT, and so would what they start.
        ["env", "--default-signal", sys.executable, "-c", FOREVER, str(place), "-"],
        stderr=subprocess.DEVNULL,
    )
    while process.poll() is None and not list(tmp_path.glob(".discreet-*.unfinished")):
        time.sleep(0.01)
    assert stopped(process, how) != 0
    assert pl.read_parquet(place).height in (3, 500_000)
    left = {path.suffix for path in tmp_path.iterdir()} - {".parquet"}
    assert left <= ({".unfinished"} if how is signal.SIGKILL else set())


def stopped(process: subprocess.Popen[bytes], how: signal.Signals) -> int:
    """Return how a process ends; Python drops an interrupt that comes while it tidies up."""
    while True:
        process.send_signal(how)
        try:
            return process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            continue


def test_a_replaced_file_is_readable_by_the_same_people(tmp_path):
    place = tmp_path / "a.csv"
    place.touch(mode=0o600)
    write(PEOPLE, place, force=True)
    assert place.stat().st_mode & 0o777 == 0o600


@pytest.mark.postgres
def test_decimals_of_no_declared_size_keep_their_digits(tmp_path, postgres_url):
    from discreet.engines.postgres import PostgreSQL

    engine = PostgreSQL(postgres_url)
    texts = pa.table(
        {"n": ["1.50", "-20.125", None, "NaN"], "long": ["1", None, "1." + "3" * 39, "2"]}
    )
    loaded = engine.load(texts.to_reader())
    kind = exp.DataType.build("NUMERIC", dialect="postgres")
    columns = [
        build.alias_as(exp.Cast(this=build.column(name), to=kind.copy()), name)
        for name in ("n", "long")
    ]
    query = build.select(*columns, source=loaded)
    write_rows(engine, query, parse_target(tmp_path / "a.csv", force=False))
    write_rows(engine, query, parse_target(tmp_path / "a.parquet", force=False))
    engine.close()
    long = "1." + "3" * 39
    assert (tmp_path / "a.csv").read_text() == f"n,long\n-20.125,\n1.500,1\n,{long}\n,2\n"
    assert pl.read_parquet(tmp_path / "a.parquet").schema["n"] == pl.Decimal(38, 3)


CELLS = st.tuples(
    st.integers(-2, 2) | st.none(),
    st.floats() | st.none(),
    st.text("aÄ\n\",' \r", max_size=3) | st.none(),
)


def as_table(rows: list[tuple[object, ...]]) -> pa.Table:
    types = (pa.int64(), pa.float64(), pa.string())
    columns = zip(*rows, strict=True) if rows else ((), (), ())
    arrays = [pa.array(list(c), t) for c, t in zip(columns, types, strict=True)]
    return pa.table(arrays, names=["a", "b", "c"])


@settings(max_examples=30)
@given(rows=st.lists(CELLS, max_size=8), order=st.randoms(use_true_random=False))
def test_any_order_of_rows_gives_the_same_bytes(tmp_path_factory, rows, order):
    place = tmp_path_factory.mktemp("any") / "a.csv"
    first = write(as_table(rows), place)
    shuffled = order.sample(rows, len(rows))
    assert write(as_table(shuffled), place, force=True).sha256 == first.sha256


@settings(max_examples=30)
@given(rows=st.lists(CELLS, max_size=8))
def test_csv_loses_nothing(tmp_path_factory, rows):
    place = tmp_path_factory.mktemp("any") / "a.csv"
    write(as_table(rows), place)
    back = duckdb.execute(
        "SELECT * FROM read_csv(?, columns = {a: 'BIGINT', b: 'DOUBLE', c: 'VARCHAR'}, delim = ',', "
        "quote = '\"', escape = '\"', header = true, auto_detect = false, allow_quoted_nulls = false)",
        [str(place)],
    ).fetchall()
    expected = [(a, None if b is None else b + 0.0, c) for a, b, c in rows]
    assert sorted(map(repr, back)) == sorted(map(repr, expected))


def test_the_error_of_a_failed_cast_quotes_no_cell(tmp_path):
    engine = DuckDB()
    words = rows_of(engine, pa.table({"word": ["Alice"]}))
    number = exp.cast(build.column("word"), "BIGINT")
    query = build.select(build.alias_as(number, "n"), source=build.subquery(words, "w"))
    with pytest.raises(EngineFailed) as failure:
        write_rows(engine, query, parse_target(tmp_path / "a.csv", force=False))
    assert "Alice" not in str(failure.value)
    assert failure.value.__context__ is None or isinstance(failure.value.__context__, DiscreetError)
    assert not list(tmp_path.iterdir())


@pytest.mark.spark
@pytest.mark.xdist_group("spark")
def test_a_spark_table_is_replaced_only_when_it_is_whole(spark_engine):
    target = parse_target("spark:default.released", force=False)
    words = pa.table({"word": ["2", "1", "Alice"]})
    query = rows_of(spark_engine, words)
    assert write_rows(spark_engine, query, target).rows == 3
    with pytest.raises(OutputRefused, match="exists"):
        write_rows(spark_engine, query, target)
    number = build.alias_as(exp.cast(build.column("word"), "BIGINT"), "n")
    bad = build.select(number, source=build.subquery(query.copy(), "w"))
    forced = parse_target("spark:default.released", force=True)
    with pytest.raises(EngineFailed) as failure:
        write_rows(spark_engine, bad, forced)
    assert "Alice" not in str(failure.value)
    again = open_table(target.source, engine=spark_engine)
    assert [column.name for column in again.columns] == ["word"]
    itself = build.select(exp.Star(), source=again.relation)
    assert write_rows(spark_engine, itself, forced).rows == 3
    found = spark_engine.session.sql("SHOW TABLES IN default").collect()
    tables = [row.tableName for row in found]
    assert not [name for name in tables if name.startswith("discreet_saved")]
    spark_engine.session.sql("DROP TABLE default.released")
