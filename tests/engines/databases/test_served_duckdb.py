"""A served DuckDB: closed to the machine, sealed on the disk, one writer at a time."""

from __future__ import annotations

import secrets
import signal
import subprocess
import sys
import textwrap
import threading
from contextlib import closing
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
from sqlglot import exp, parse_one
from tests.engines.databases.place import Place, failing
from tests.keep_cancelling import keep_cancelling

from discreet.engines.connect import open_database
from discreet.engines.duckdb import file as duckdb_file
from discreet.engines.duckdb.served import CATALOG, ResourceLimits, ServedDuckDB
from discreet.errors import (
    InvalidKey,
    LockedSource,
    OutputRefused,
    StatementFailed,
    StoreFailed,
    UnreadableSource,
    WrongUsage,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEY = bytes(range(32))
SECRET = b"Alice has a rare disease"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "hospital.duckdb"


@pytest.fixture
def memory() -> Iterator[Place]:
    with closing(ServedDuckDB(None, patience=0.2)) as database:
        yield Place(database, "public")


def _fill(database: ServedDuckDB) -> None:
    session = Place(database, "public").connect()
    session.do("CREATE TABLE patient (id INT PRIMARY KEY, note TEXT)")
    session.do(
        f"INSERT INTO patient SELECT i, '{SECRET.decode()} ' || i FROM generate_series(1, 2000) AS g(i)"
    )
    session.close()


def _count(database: ServedDuckDB) -> int:
    session = Place(database, "public").connect()
    try:
        return session.one("SELECT count(*) FROM patient")
    finally:
        session.close()


def _files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


def test_no_plaintext_is_on_the_disk_with_a_key(path: Path) -> None:
    with closing(ServedDuckDB(path, key=KEY)) as database:
        _fill(database)
        wal = path.with_name(f"{path.name}.wal")
        assert wal.exists()
        assert SECRET[:10] not in _files(path.parent)
    assert path.stat().st_size > 10_000
    assert SECRET[:10] not in _files(path.parent)
    assert KEY not in _files(path.parent)
    with closing(ServedDuckDB(path, key=KEY)) as database:
        assert _count(database) == 2000


def test_without_a_key_the_disk_reveals_all(path: Path) -> None:
    """What the test above looks for is there to be found."""
    with closing(ServedDuckDB(path)) as database:
        _fill(database)
        assert SECRET[:10] in _files(path.parent)


@pytest.mark.parametrize(
    ("how", "is_plain"),
    [({}, True), ({"seals_spill": True}, False), ({"key": KEY}, False)],
    ids=["plain", "with keys", "encrypted"],
)
def test_what_spills_is_sealed_as_well(
    path: Path, tmp_path: Path, how: dict[str, Any], is_plain: bool
) -> None:
    spill = tmp_path / "spill"
    found: list[bool] = []
    database = ServedDuckDB(
        path, limits=ResourceLimits("30MB", 1, "2GB"), temp_directory=spill, **how
    )
    with closing(database):
        session = Place(database, "public").connect()
        stop = threading.Event()

        def look() -> None:
            while not stop.wait(0.01):
                for file in spill.rglob("*") if spill.exists() else []:
                    try:
                        found.append(b"SpilledSecret" in file.read_bytes())
                    except OSError:
                        continue

        watcher = threading.Thread(target=look)
        watcher.start()
        session.rows(
            "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY t) AS r FROM (SELECT "
            "'SpilledSecret and some long text ' || i * 7919 % 1000003 AS t "
            "FROM generate_series(1, 400000) AS g(i)) AS a) AS b"
        )
        stop.set()
        watcher.join()
        session.close()
    assert found
    assert any(found) == is_plain


@pytest.mark.parametrize("is_memory", [True, False])
def test_what_cannot_be_sealed_does_not_spill(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, is_memory: bool
) -> None:
    monkeypatch.setattr(duckdb_file, "_MODULE", "no_such_module")
    spill, place = tmp_path / "spill", None if is_memory else path
    database = ServedDuckDB(
        place, seals_spill=True, limits=ResourceLimits("20MB", 1), temp_directory=spill
    )
    with closing(database):
        session = Place(database, "public").connect()
        with pytest.raises(StatementFailed) as failed:
            session.rows(
                "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY t) AS r FROM (SELECT "
                "'a long text to sort ' || i AS t FROM generate_series(1, 900000) AS g(i)) AS a) AS b"
            )
        session.close()
    assert failed.value.sqlstate == "53200"
    assert not spill.exists() or not list(spill.iterdir())


def test_another_key_is_refused(path: Path) -> None:
    with closing(ServedDuckDB(path, key=KEY)) as database:
        _fill(database)
    with pytest.raises(InvalidKey, match="another key"):
        ServedDuckDB(path, key=secrets.token_bytes(32))
    with pytest.raises(InvalidKey, match="is encrypted"):
        ServedDuckDB(path)


def test_a_plain_file_is_not_taken_for_an_encrypted_one(path: Path) -> None:
    with closing(ServedDuckDB(path)) as database:
        _fill(database)
    with pytest.raises(InvalidKey, match="not encrypted"):
        ServedDuckDB(path, key=KEY)


@pytest.mark.parametrize("key", [b"", b"short", bytes(31)])
def test_a_short_key_is_refused(path: Path, key: bytes) -> None:
    with pytest.raises(InvalidKey):
        ServedDuckDB(path, key=key)
    assert not path.exists()


def test_memory_cannot_be_encrypted() -> None:
    with pytest.raises(InvalidKey):
        ServedDuckDB(None, key=KEY)


def test_without_the_module_nothing_is_opened(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(duckdb_file, "_MODULE", "no_such_module")
    with pytest.raises(StoreFailed, match="cannot be encrypted"):
        ServedDuckDB(path, key=KEY)
    assert not path.exists()


def test_a_flipped_bit_is_noticed(path: Path) -> None:
    with closing(ServedDuckDB(path, key=KEY)) as database:
        _fill(database)
    content = bytearray(path.read_bytes())
    place = next(i for i in range(3 * 4096 * 4, len(content)) if content[i : i + 64].count(0) < 8)
    content[place] ^= 1
    path.write_bytes(bytes(content))
    with pytest.raises((StatementFailed, InvalidKey, UnreadableSource)):
        _read_all(path)


def _read_all(path: Path) -> None:
    with closing(ServedDuckDB(path, key=KEY)) as database:
        session = Place(database, "public").connect()
        session.rows("SELECT sum(length(note)), sum(id) FROM patient")


def test_the_key_is_nowhere_to_be_seen(path: Path) -> None:
    with closing(ServedDuckDB(path, key=KEY)) as database:
        seen = database._root.execute("SELECT * FROM duckdb_databases()").fetchall()
        settings = database._root.execute("SELECT * FROM duckdb_settings()").fetchall()
        assert KEY.hex() not in str(seen) + str(settings)


def test_a_second_process_is_kept_out(path: Path) -> None:
    with closing(ServedDuckDB(path)) as database:
        _fill(database)
        database.backup(path.with_name("copy.duckdb"))  # reading the file must not end the lock
        assert "LockedSource" in _elsewhere(
            f"""
            try:
                ServedDuckDB(Path({str(path)!r}))
            except Exception as error:
                print(type(error).__name__)
            """
        )
        with pytest.raises(LockedSource):
            ServedDuckDB(path)


def test_what_was_committed_survives_a_kill(path: Path) -> None:
    code = f"""
        database = ServedDuckDB(Path({str(path)!r}), key=bytes(range(32)))
        session = database.connect()
        run = lambda text: session.execute(parse_one(text, dialect="postgres"))
        run("CREATE TABLE guarded.public.patient (id INT PRIMARY KEY, note TEXT)")
        run("INSERT INTO guarded.public.patient VALUES (1, 'kept')")
        session.begin()
        run("INSERT INTO guarded.public.patient VALUES (2, 'open')")
        os.kill(os.getpid(), {signal.SIGKILL})
    """
    _elsewhere(code)
    with closing(ServedDuckDB(path, key=KEY)) as database:
        assert _count(database) == 1


def _elsewhere(code: str) -> str:
    head = (
        "import os\nfrom pathlib import Path\nfrom sqlglot import parse_one\n"
        "from discreet.engines.duckdb.served import ResourceLimits, ServedDuckDB\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", head + textwrap.dedent(code)],
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stdout


@pytest.mark.parametrize("key", [None, KEY], ids=["plain", "encrypted"])
def test_a_backup_is_a_copy_as_of_one_moment(path: Path, key: bytes | None) -> None:
    copy = path.with_name("copy.duckdb")
    with closing(ServedDuckDB(path, key=key)) as database:
        _fill(database)
        database.backup(copy)
        Place(database, "public").connect().do("DELETE FROM patient")
        with pytest.raises(OutputRefused):
            database.backup(copy)
    with closing(ServedDuckDB(copy, key=key)) as database:
        assert _count(database) == 2000
    assert (SECRET[:10] in copy.read_bytes()) == (key is None)
    assert copy.stat().st_mode & 0o077 == 0


def test_a_backup_while_others_read_and_write_is_whole(path: Path) -> None:
    with closing(ServedDuckDB(path)) as database:
        place = Place(database, "public")
        session = place.connect()
        session.do("CREATE TABLE patient (id INT)")
        reader = place.connect()
        reader.connection.begin()
        reader.rows("SELECT * FROM patient")
        stop = threading.Event()

        def insert() -> None:
            while not stop.is_set():
                session.do("INSERT INTO patient VALUES (1), (2)")

        writer = threading.Thread(target=insert)
        writer.start()
        copies = [path.with_name(f"copy{number}.duckdb") for number in range(5)]
        for copy in copies:
            database.backup(copy)
        stop.set()
        writer.join()
        reader.close()
        session.close()
    for copy in copies:
        with closing(ServedDuckDB(copy)) as database:
            assert _count(database) % 2 == 0


def test_memory_has_no_backup(memory: Place, path: Path) -> None:
    with pytest.raises(WrongUsage):
        memory.database.backup(path)


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM read_csv('/etc/passwd')",
        "SELECT * FROM read_text('/etc/passwd')",
        "SELECT * FROM '/etc/passwd'",
        "COPY (SELECT 1) TO '/tmp/stolen'",
        "ATTACH '/tmp/other.db' AS other",
        "INSTALL httpfs",
        "LOAD httpfs",
        "SET memory_limit = '1TB'",
        "SET enable_external_access = true",
        "SELECT * FROM glob('/etc/*')",
    ],
)
def test_the_machine_cannot_be_reached(path: Path, text: str) -> None:
    with closing(ServedDuckDB(path)) as database:
        cursor = database._root.cursor()
        with pytest.raises(duckdb.Error):
            cursor.execute(text).fetchall()


def test_variables_of_python_are_no_tables(memory: Place) -> None:
    people = [1, 2, 3]
    assert people
    with failing("42P01"):
        memory.connect().connection.query(exp.select("*").from_("people"))


def test_a_writer_does_not_wait_for_ever(memory: Place) -> None:
    session, other = memory.connect(), memory.connect()
    session.do("CREATE TABLE t (a INT)")
    session.connection.begin()
    session.do("INSERT INTO t VALUES (1)")
    with failing("55P03"):
        other.do("INSERT INTO t VALUES (2)")
    session.connection.commit()
    assert other.do("INSERT INTO t VALUES (2)") == 1


def test_a_waiting_writer_can_be_cancelled() -> None:
    with closing(ServedDuckDB(None, patience=60)) as database:
        place = Place(database, "public")
        session, other = place.connect(), place.connect()
        session.do("CREATE TABLE t (a INT)")
        session.connection.begin()
        session.do("INSERT INTO t VALUES (1)")
        with failing("57014"), keep_cancelling(other.connection.interrupt):
            other.do("INSERT INTO t VALUES (2)")


def test_a_failed_transaction_without_savepoints_keeps_no_one_waiting(memory: Place) -> None:
    session, other = memory.connect(), memory.connect()
    session.do("CREATE TABLE t (a INT PRIMARY KEY)")
    session.connection.begin()
    session.do("INSERT INTO t VALUES (1)")
    with failing("23505"):
        session.do("INSERT INTO t VALUES (1)")
    assert other.do("INSERT INTO t VALUES (1)") == 1
    session.connection.rollback()


def test_a_first_write_sees_what_others_wrote_since_begin(memory: Place) -> None:
    session, other = memory.connect(), memory.connect()
    session.do("CREATE TABLE t (a INT)")
    session.connection.begin()
    other.do("INSERT INTO t VALUES (1)")
    assert session.do("UPDATE t SET a = 2") == 1
    session.connection.commit()


def test_reading_one_table_does_not_hinder_writing_another(memory: Place) -> None:
    session, other = memory.connect(), memory.connect()
    session.do("CREATE TABLE t (a INT)")
    session.do("CREATE TABLE u (a INT)")
    session.connection.begin()
    session.rows("SELECT * FROM t")
    other.do("INSERT INTO u VALUES (1)")
    assert session.do("INSERT INTO u VALUES (2)") == 1
    session.connection.commit()


def test_lists_are_arrays_and_what_clients_have_no_array_of_is_text(memory: Place) -> None:
    text = "SELECT [1, 2] AS l, [[1]] AS n, {'a': 1} AS s, INTERVAL 1 MONTH AS i"
    tree = parse_one(text, dialect="duckdb")
    connection: Any = memory.connect().connection
    fields = connection.describe(tree)
    assert [field.type for field in fields] == ["int4[]", "text", "text", "interval"]
    row = connection.query(tree).to_pylist()[0]
    assert (row["l"], row["n"], row["s"]) == ([1, 2], "[[1]]", "{'a': 1}")


def test_memory_and_spilling_are_limited() -> None:
    with closing(ServedDuckDB(None, limits=ResourceLimits("60MB", 1, "1MB"))) as database:
        session = Place(database, "public").connect()
        with failing("53200"):
            session.rows(
                "SELECT sum(r) FROM (SELECT row_number() OVER (ORDER BY t) AS r FROM (SELECT "
                "'some long text that is repeated ' || i * 7919 % 1000003 AS t "
                "FROM generate_series(1, 1500000) AS g(i)) AS a) AS b"
            )


def test_memory_and_files_can_be_opened(path: Path) -> None:
    with closing(open_database(path, key=KEY)) as database:
        assert database.name == "duckdb"
        assert database.tables() == []
    with pytest.raises(WrongUsage):
        open_database("postgresql://nowhere/x", key=KEY)


def test_a_damaged_file_is_reported_as_such(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1000)
    with pytest.raises(UnreadableSource):
        ServedDuckDB(path)


def version_in(path: Path, *statements: str) -> str:
    """Run statements in a database that is opened for them; return the version of `t` at its end."""
    with closing(ServedDuckDB(path)) as database, closing(database.connect()) as session:
        for statement in statements:
            session.execute(parse_one(statement, dialect="duckdb"))
        return database.version((CATALOG, "public", "t"))


def test_a_table_that_nothing_changed_has_its_version_after_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    first = version_in(path, f"CREATE TABLE {CATALOG}.public.t (n INT)")
    assert version_in(path) == first
    second = version_in(path, f"INSERT INTO {CATALOG}.public.t VALUES (1)")
    assert second != first
    assert version_in(path) == second


def test_a_file_that_was_written_or_not_closed_has_other_versions(tmp_path: Path) -> None:
    path = tmp_path / "data.duckdb"
    first = version_in(path, f"CREATE TABLE {CATALOG}.public.t (n INT)")
    with duckdb.connect(str(path)) as other:
        other.execute("INSERT INTO public.t VALUES (1)")
    second = version_in(path)
    assert second != first
    (tmp_path / "data.duckdb.versions").unlink()  # as after a crash
    assert version_in(path) != second
