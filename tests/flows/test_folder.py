"""A server's folder, and every private file, is for its owner only."""

from __future__ import annotations

import os
import shlex
import shutil
import stat
from contextlib import closing
from typing import TYPE_CHECKING

import pytest
from tests.flows.gateways import Gateway, connect

from discreet.errors import UnprotectedFile
from discreet.server.folder import require_protected
from discreet.server.settings import read_settings
from discreet.server.startup import open_server
from discreet.writing import make_private_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.flows.conftest import Discreet


@pytest.fixture(autouse=True)
def careless() -> Iterator[None]:
    """The user's umask lets everybody read, and their group write."""
    before = os.umask(0o002)
    yield
    os.umask(before)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def unprotected(folder: Path) -> list[str]:
    """Return all below a folder, and the folder itself, that others can use in any way."""
    found = [folder, *folder.rglob("*")]
    return [f"{path} {mode_of(path):o}" for path in found if mode_of(path) & 0o077]


def test_no_file_of_a_server_can_be_read_by_others_while_it_serves(folder: Path):
    data = folder / "srv" / "clinic"
    witness = folder / "witness.txt"
    make_private_folder(folder / "srv" / "clinic")
    (data / "server.yaml").write_text(f"audit: {{witness: [{witness}]}}\n")
    (data / "server.yaml").chmod(0o600)
    gateway = Gateway(data)
    try:
        with closing(connect(gateway)) as connection:
            connection.execute("CREATE TABLE t (a integer PRIMARY KEY, b text)")
            connection.execute("INSERT INTO t VALUES (1, 'x'), (2, 'y')")
            connection.execute("SELECT discreet_backup('monday.backup')")
            connection.execute("UPDATE t SET b = 'z'")
            assert (data / "data.duckdb.wal").exists()
            assert (data / "control.sqlite-wal").exists()
            assert (data / "backups" / "monday.backup").exists()
            assert unprotected(folder / "srv") == []
            assert mode_of(witness) == 0o600
    finally:
        gateway.stop()
    assert unprotected(folder / "srv") == []


def test_folders_above_a_servers_are_made_for_their_owner_only(folder: Path, discreet: Discreet):
    assert discreet("key", "create", "a/b/clinic").code == 0
    assert unprotected(folder / "a") == []


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o711, 0o770])
def test_a_servers_folder_that_others_can_read_is_refused(
    folder: Path, discreet: Discreet, mode: int
):
    assert discreet("key", "create", "clinic").code == 0
    (folder / "clinic").chmod(mode)
    for command in (
        ("serve", "--data", "clinic"),
        ("key", "list", "clinic"),
        ("user", "list", "clinic"),
        ("backup", "clinic", "-o", "b"),
    ):
        ran = discreet(*command)
        assert (ran.code, ran.error) == (2, "unprotected-file")
        assert "chmod 700 clinic" in ran.err
    os.system(ran_chmod(ran.err))
    assert discreet("key", "list", "clinic").code == 0


def ran_chmod(result: str) -> str:
    """Return the command that an error shows."""
    words = shlex.split(result.partition("run: ")[2])
    return shlex.join(words[:3])


@pytest.mark.parametrize("name", ["control.sqlite", "keys/master.key", "server.yaml", "keys"])
def test_what_others_can_change_in_a_servers_folder_is_refused(
    folder: Path, discreet: Discreet, name: str
):
    assert discreet("key", "create", "clinic").code == 0
    path = folder / "clinic" / name
    path.touch()
    path.chmod(mode_of(path) | 0o020)
    ran = discreet("key", "list", "clinic")
    assert ran.error == "unprotected-file"
    assert f"chmod {'700' if name == 'keys' else '600'} clinic/{name}" in ran.err


def test_a_ledger_that_others_can_read_is_refused(people: Path, discreet: Discreet):
    question = ("ask", people, "SELECT count(*) AS n FROM people", "--epsilon", "1")
    assert discreet(*question, "--ledger", "own.sqlite").code in (0, 4)
    ledger = people.with_name("own.sqlite")
    assert mode_of(ledger) == 0o600
    ledger.chmod(0o644)
    ran = discreet(*question, "--ledger", "own.sqlite")
    assert (ran.code, ran.error) == (2, "unprotected-file")
    assert "chmod 600" in ran.err


def test_a_server_is_not_opened_in_a_folder_that_others_can_read(tmp_path: Path):
    (tmp_path / "data").mkdir()
    with pytest.raises(UnprotectedFile, match="chmod 700"):
        open_server(read_settings(tmp_path / "data", port=0))


def test_public_halves_and_settings_may_be_read(tmp_path: Path):
    data = tmp_path / "data"
    make_private_folder(data / "keys")
    for name in ("server.yaml", "keys/journal.pub"):
        (data / name).touch()
        (data / name).chmod(0o644)
    require_protected(data)
    shutil.rmtree(data)
