"""The control store: one version after the other, and documents that no one changes in between."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
import threading
from dataclasses import replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from discreet.errors import StatementFailed, StoreFailed
from discreet.guard.access.authority import Authority, DatabaseRole, DatabaseSchema
from discreet.guard.control import ControlStore

if TYPE_CHECKING:
    from pathlib import Path

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)


@pytest.fixture(params=["file", "memory", pytest.param("server", marks=pytest.mark.postgres)])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Each kind of place in turn, empty."""
    if request.param == "file":
        return str(tmp_path / "control.sqlite")
    if request.param == "memory":
        return ":memory:"
    import psycopg

    url = request.getfixturevalue("postgres_url")
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP SCHEMA IF EXISTS controlled CASCADE")
        connection.execute("CREATE SCHEMA controlled")
    return f"{url}{'&' if '?' in url else '?'}options=-csearch_path%3Dcontrolled"


def with_role(authority: Authority, name: str) -> Authority:
    return replace(authority, roles={**authority.roles, name: DatabaseRole(name, login=True)})


def change(control: ControlStore, expected: int, authority: Authority) -> Authority:
    return control.change(expected, authority, by="admin", statement="CREATE ROLE ?", at=NOON)


def test_a_new_store_has_an_empty_authority(place: str):
    control = ControlStore(place)
    assert control.authority() == Authority()
    assert control.history() == []


def test_a_change_is_the_next_version_and_is_there_for_everybody(place: str):
    control = ControlStore(place)
    kept = change(control, 0, with_role(control.authority(), "ada"))
    assert kept.version == 1
    assert control.authority() is kept
    if place != ":memory:":
        assert ControlStore(place).authority() == kept


def test_every_authority_there_was_is_kept_with_who_changed_it(place: str):
    control = ControlStore(place)
    one = change(control, 0, with_role(Authority(), "ada"))
    schema = DatabaseSchema("public", "ada")
    two = change(control, 1, replace(one, schemas={"public": schema}))
    assert control.authority_at(1) == one
    assert control.authority_at(2) == two
    newest = control.history()[0]
    assert (newest.version, newest.by, newest.at) == (2, "admin", NOON)


def test_the_second_of_two_changes_must_be_retried(place: str):
    control = ControlStore(place)
    change(control, 0, with_role(Authority(), "ada"))
    with pytest.raises(StatementFailed) as refused:
        change(control, 0, with_role(Authority(), "bob"))
    assert refused.value.sqlstate == "40001"
    assert list(control.authority().roles) == ["ada"]


def test_a_cached_authority_is_read_again_when_another_gateway_moved_it(tmp_path: Path):
    one, two = ControlStore(tmp_path / "c.sqlite"), ControlStore(tmp_path / "c.sqlite")
    assert one.authority().version == 0
    change(two, 0, with_role(Authority(), "ada"))
    assert "ada" in one.authority().roles


def test_of_many_threads_each_change_is_kept_exactly_once(place: str):
    control = ControlStore(place)
    names = [f"role{number}" for number in range(12)]

    def add(name: str) -> None:
        while True:
            before = control.authority()
            try:
                change(control, before.version, with_role(before, name))
            except StatementFailed:
                continue
            return

    threads = [threading.Thread(target=add, args=[name]) for name in names]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(control.authority().roles) == sorted(names)
    assert control.authority().version == 12


def test_a_change_waits_for_the_engine_and_is_kept_after_it(place: str):
    control = ControlStore(place)
    new = with_role(Authority(), "ada")
    with control.changing(0, new, by="admin", statement="s", at=NOON) as kept:
        assert kept.version == 1
        assert control.authority().version == 0
    assert control.authority().version == 1


def test_nothing_is_kept_when_the_engine_does_not_commit(place: str):
    control = ControlStore(place)
    with (
        pytest.raises(ZeroDivisionError),
        control.changing(0, Authority(), by="admin", statement="s", at=NOON),
    ):
        raise ZeroDivisionError
    assert control.authority().version == 0


def test_the_engine_is_not_asked_when_another_change_was_first(place: str):
    control = ControlStore(place)
    change(control, 0, Authority())
    reached: list[int] = []
    with (
        pytest.raises(StatementFailed, match="concurrent update"),
        control.changing(0, Authority(), by="admin", statement="s", at=NOON) as kept,
    ):
        reached.append(kept.version)
    assert reached == []


def test_documents_are_there_until_they_are_deleted(place: str):
    control = ControlStore(place)
    control.put("credential", "ada", {"scram": "x", "n": [1, None]})
    control.put("credential", "bob", {"scram": "y"})
    control.put("token", "ada", {"hash": "z"})
    assert control.get("credential", "ada") == {"scram": "x", "n": [1, None]}
    assert control.names("credential") == ["ada", "bob"]
    control.delete("credential", "ada")
    control.delete("credential", "ada")
    assert control.get("credential", "ada") is None
    assert control.documents("credential") == {"bob": {"scram": "y"}}
    assert control.names("token") == ["ada"]


def test_a_document_is_replaced_only_if_it_is_the_expected_one(place: str):
    control = ControlStore(place)
    control.put("setting", "a", {"n": 1})
    with pytest.raises(StatementFailed) as refused:
        control.put("setting", "a", {"n": 3}, expected={"n": 2})
    assert refused.value.sqlstate == "40001"
    control.put("setting", "a", {"n": 3}, expected={"n": 1})
    assert control.get("setting", "a") == {"n": 3}


def test_an_update_sees_what_is_there_and_may_delete(place: str):
    control = ControlStore(place)
    assert control.update("lock", "a", lambda found: {"n": 1} if found is None else None) == {
        "n": 1
    }
    assert control.update("lock", "a", lambda found: {"n": 1} if found is None else None) is None
    assert control.names("lock") == []


def count(found):
    return {"n": (found or {"n": 0})["n"] + 1}


def test_no_update_is_lost_between_threads(place: str):
    control = ControlStore(place)

    def work() -> None:
        for _ in range(10):
            control.update("counter", "a", count)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert control.get("counter", "a") == {"n": 80}


def test_no_update_is_lost_between_processes(tmp_path: Path):
    place = tmp_path / "control.sqlite"
    ControlStore(place).put("counter", "a", {"n": 0})
    children = []
    for _ in range(4):
        child = os.fork()
        if not child:
            code = 1
            try:
                control = ControlStore(place)
                for _ in range(10):
                    control.update("counter", "a", count)
                code = 0
            finally:
                os._exit(code)
        children.append(child)
    assert [os.waitpid(child, 0)[1] for child in children] == [0] * 4
    assert ControlStore(place).get("counter", "a") == {"n": 40}


def test_what_was_deleted_is_not_in_the_file_any_more(tmp_path: Path):
    control = ControlStore(tmp_path / "control.sqlite")
    control.put("key", "a", {"wrapped": "x" * 3000 + "needle-in-a-haystack"})
    control.delete("key", "a")
    for path in tmp_path.iterdir():
        assert b"needle-in-a-haystack" not in path.read_bytes()


def test_a_ledger_is_no_control_store(tmp_path: Path):
    from discreet.dp.ledger import Ledger

    Ledger(tmp_path / "ledger.sqlite").close()
    with pytest.raises(StoreFailed, match="not a control store"):
        ControlStore(tmp_path / "ledger.sqlite")


def test_a_damaged_authority_is_refused(tmp_path: Path):
    control = ControlStore(tmp_path / "control.sqlite")
    change(control, 0, with_role(Authority(), "ada"))
    with sqlite3.connect(tmp_path / "control.sqlite") as raw:
        raw.execute("UPDATE discreet_authority SET body = '{}'")
    with pytest.raises(StoreFailed, match="backup"):
        ControlStore(tmp_path / "control.sqlite").authority()


KILLED = """
import sys
from datetime import UTC, datetime
from discreet.guard.access.authority import Authority
from discreet.guard.control import Control
import os, signal
control = Control(sys.argv[1])
with control.changing(0, Authority(), by="a", statement="s", at=datetime.now(UTC)):
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_who_is_killed_before_the_end_leaves_nothing_behind(tmp_path: Path):
    place = tmp_path / "control.sqlite"
    subprocess.run([sys.executable, "-c", KILLED, place], check=False)
    control = ControlStore(place)
    assert control.authority().version == 0
    assert change(control, 0, Authority()).version == 1


@pytest.mark.postgres
def test_an_update_without_a_response_is_done_once(postgres_url: str):
    import tempfile
    from pathlib import Path

    from tests.stores.lossy import LossyWire

    with tempfile.TemporaryDirectory(prefix="w-") as folder:
        Path(folder).chmod(0o755)
        wire = LossyWire(postgres_url, Path(folder))
        control = ControlStore(wire.url)
        control.delete("counter", "a")
        wire.cuts = 1
        assert control.update("counter", "a", count) == {"n": 1}
        before = control.authority().version
        wire.cuts = 1
        with control.changing(before, Authority(), by="a", statement="s", at=NOON):
            pass
        assert wire.cuts == 0
        assert ControlStore(postgres_url).get("counter", "a") == {"n": 1}
        assert ControlStore(postgres_url).authority().version == before + 1
        wire.close()
