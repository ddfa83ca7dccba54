"""`discreet backup` and `restore`: everything comes back, and no spending is forgotten."""

from __future__ import annotations

import stat
import subprocess
import sys
from dataclasses import replace
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

import duckdb
import pytest

from discreet.dp.accounting import price
from discreet.dp.budget import Budget
from discreet.dp.event import Pure
from discreet.dp.ledger import Account, Ledger, Reservation
from discreet.errors import BudgetExceeded
from discreet.guard.access.authority import Relation
from discreet.guard.access.initial import initial_authority
from discreet.guard.control import ControlStore
from discreet.guard.journal import Event, Journal
from discreet.guard.journal.search import EntryFilter
from discreet.writing import make_private_folder, private_files

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
PAYER = Account("table", Budget(Fraction(10)))


def spend(clinic: Path, key: str) -> None:
    ledger = Ledger(clinic / "ledger.sqlite")
    reservation = ledger.reserve([PAYER], price(Pure(Fraction(1))), key=key, at=NOON, question="q")
    ledger.commit(reservation, b"42")
    ledger.close()


def spent(clinic: Path) -> Fraction:
    return Ledger(clinic / "ledger.sqlite").remaining([PAYER])[0].epsilon.spent


@pytest.fixture
def clinic(folder: Path) -> Path:
    """A server's folder as it is after a stop."""
    with private_files():
        return _make_clinic(folder / "clinic")


def _make_clinic(data: Path) -> Path:
    make_private_folder(data / "keys")
    (data / "tls").mkdir(mode=0o700)
    (data / "keys" / "server.key").write_bytes(b"secret")
    (data / "tls" / "server.pem").write_text("certificate", "utf-8")
    (data / "server.yaml").write_text("port: 5433\n", "utf-8")
    with duckdb.connect(str(data / "data.duckdb")) as connection:
        connection.execute("CREATE TABLE t AS SELECT 42 AS a")
    control = ControlStore(data / "control.sqlite")
    control.put("setting", "a", {"n": 1})
    control.close()
    journal = Journal(data / "journal.sqlite")
    journal.record(Event(NOON, "login", user="ada"))
    journal.close()
    spend(data, "first")
    return data


@pytest.fixture
def backed_up(discreet, clinic: Path) -> Path:
    assert discreet("backup", "clinic", "-o", "clinic.backup").code == 0
    return clinic.with_name("clinic.backup")


def test_a_backup_is_for_its_owner_only_and_says_what_it_holds(discreet, clinic: Path):
    ran = discreet("backup", "clinic", "-o", "clinic.backup", "--json")
    assert ran.json["files"] == [
        "control.sqlite",
        "data.duckdb",
        "journal.sqlite",
        "keys/server.key",
        "ledger.sqlite",
        "server.yaml",
        "tls/server.pem",
    ]
    assert ran.json["ledger"] == 3
    file = clinic.with_name("clinic.backup")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert sorted(path.name for path in file.parent.iterdir()) == ["clinic", "clinic.backup"]


def test_everything_comes_back_in_another_folder(discreet, backed_up: Path, folder: Path):
    assert discreet("restore", "clinic.backup", "other", "--forget", "a drill").code == 0
    other = folder / "other"
    with duckdb.connect(str(other / "data.duckdb")) as connection:
        assert connection.execute("SELECT a FROM t").fetchall() == [(42,)]
    assert ControlStore(other / "control.sqlite").get("setting", "a") == {"n": 1}
    assert next(Journal(other / "journal.sqlite").entries()).event.user == "ada"
    assert spent(other) == 1
    assert (other / "keys" / "server.key").read_bytes() == b"secret"
    assert stat.S_IMODE(other.stat().st_mode) == 0o700
    assert stat.S_IMODE((other / "keys" / "server.key").stat().st_mode) == 0o600


def test_the_journal_records_backups_and_restores(discreet, backed_up: Path):
    assert discreet("restore", "clinic.backup", "elsewhere").code == 3
    for place, result in (
        ("clinic", [f"back up to {backed_up}"]),
        ("elsewhere", [f"back up to {backed_up}", "restored from clinic.backup as of "]),
    ):
        journal = Journal(backed_up.with_name(place) / "journal.sqlite")
        found = [entry.event.reason or "" for entry in journal.entries(EntryFilter(kind="backup"))]
        journal.close()
        assert [reason[: len(word)] for reason, word in zip(found, result, strict=True)] == result


def test_a_folder_in_use_is_replaced_only_on_request_and_kept(
    discreet, backed_up: Path, clinic: Path
):
    (clinic / "server.yaml").write_text("port: 1\n", "utf-8")
    assert discreet("restore", "clinic.backup", "clinic").error == "output-refused"
    ran = discreet("restore", "clinic.backup", "clinic", "--replace", "--json")
    assert ran.code == 0
    assert (clinic / "server.yaml").read_text("utf-8") == "port: 5433\n"
    assert (Path(ran.json["before"]) / "server.yaml").exists()


def test_a_newer_ledger_is_not_forgotten(discreet, backed_up: Path, clinic: Path):
    spend(clinic, "second")
    ran = discreet("restore", "clinic.backup", "clinic", "--replace")
    assert (ran.code, ran.error) == (2, "output-refused")
    assert "would forget what was spent" in ran.err
    assert spent(clinic) == 2


def test_everything_but_a_newer_ledger_can_be_restored(discreet, backed_up: Path, clinic: Path):
    spend(clinic, "second")
    (clinic / "data.duckdb").unlink()
    ran = discreet("restore", "clinic.backup", "clinic", "--replace", "--keep-ledger")
    assert ran.code == 0
    assert spent(clinic) == 2
    assert (clinic / "data.duckdb").exists()
    Ledger(clinic / "ledger.sqlite").verify()


def test_spending_is_forgotten_only_for_a_reason(discreet, backed_up: Path, clinic: Path):
    spend(clinic, "second")
    restore = ("restore", "clinic.backup", "clinic", "--replace", "--forget")
    assert discreet(*restore, " ").error == "wrong-usage"
    assert discreet(*restore, "nobody saw the answer").code == 0
    assert spent(clinic) == 1
    spend(clinic, "third")
    assert "forget: nobody saw the answer" in reasons(clinic)[-1]


def reasons(clinic: Path) -> list[str]:
    journal = Journal(clinic / "journal.sqlite")
    found = [entry.event.reason or "" for entry in journal.entries()]
    journal.close()
    return found


def refused(clinic: Path, key: str) -> bool:
    with pytest.raises(BudgetExceeded, match="counts as spent"):
        spend(clinic, key)
    return True


def test_a_backup_in_another_folder_spends_nothing_until_the_custodian_says_so(
    discreet, backed_up: Path, clinic: Path, folder: Path
):
    spend(clinic, "second")
    ran = discreet("restore", "clinic.backup", "other", "--json")
    assert ran.code == 3
    assert (ran.json["spending_unknown"], ran.json["rights_unknown"]) == (True, True)
    assert "What was spent since is unknown: all budgets count as spent" in ran.err
    assert "no one can log in" in ran.err
    other = folder / "other"
    assert refused(other, "second")
    spend(other, "first")  # what was answered before is answered again, and the same
    reopen = ("budget", "--ledger", other / "ledger.sqlite", "--reopen")
    assert discreet(*reopen, "the first server is gone, and answered nothing").code == 0
    spend(other, "second")
    assert "reopen budgets: the first server is gone, and answered nothing" in reasons(other)[-1]
    assert discreet(*reopen, "again").error == "wrong-usage"
    Ledger(other / "ledger.sqlite").verify()


def test_a_backup_beside_a_deleted_ledger_spends_nothing(discreet, backed_up: Path, clinic: Path):
    spend(clinic, "second")
    for path in clinic.glob("ledger.sqlite*"):
        path.unlink()
    ran = discreet("restore", "clinic.backup", "clinic", "--replace")
    assert ran.code == 3
    assert refused(clinic, "second")


def test_a_stand_alone_ledger_that_was_restored_spends_nothing(discreet, folder: Path):
    alone = folder / "alone"
    make_private_folder(alone)
    spend(alone, "first")
    assert discreet("backup", "alone", "-o", "alone.backup").code == 0
    spend(alone, "second")
    assert discreet("restore", "alone.backup", "other").code == 3
    assert refused(folder / "other", "second")
    assert discreet("budget", "--ledger", "other/ledger.sqlite", "--reopen", "a drill").code == 0
    spend(folder / "other", "second")


def test_a_reservation_that_was_not_answered_in_the_backup_is_paid_again(
    discreet, clinic: Path, folder: Path
):
    def reserve(place: Path) -> Reservation:
        ledger = Ledger(place / "ledger.sqlite")
        try:
            cost = price(Pure(Fraction(1)))
            return ledger.reserve([PAYER], cost, key="cut off", at=NOON, question="q")
        finally:
            ledger.close()

    assert reserve(clinic).is_new
    assert discreet("backup", "clinic", "-o", "clinic.backup").code == 0
    assert discreet("restore", "clinic.backup", "other").code == 3
    discreet("budget", "--ledger", "other/ledger.sqlite", "--reopen", "a drill")
    assert reserve(folder / "other").is_new
    assert spent(folder / "other") == 3


def test_users_who_were_dropped_since_stay_dropped(discreet, backed_up: Path, clinic: Path):
    control = ControlStore(clinic / "control.sqlite")
    control.change(0, initial_authority("admin"), by="ada", statement="DROP ROLE eve", at=NOON)
    control.delete("setting", "a")
    control.close()
    restore = ("restore", "clinic.backup", "clinic", "--replace")
    ran = discreet(*restore)
    assert (ran.code, ran.error) == (2, "output-refused")
    assert "changed since the backup was made (DROP ROLE eve)" in ran.err
    assert discreet(*restore, "--keep-rights").code == 0
    control = ControlStore(clinic / "control.sqlite")
    assert (control.authority().version, control.get("setting", "a")) == (1, None)
    control.close()
    assert discreet(*restore, "--forget", "it was a mistake").code == 0
    control = ControlStore(clinic / "control.sqlite")
    assert (control.authority().version, control.get("setting", "a")) == (0, {"n": 1})
    control.close()


def test_rights_that_do_not_fit_the_data_are_not_kept(discreet, backed_up: Path, clinic: Path):
    control = ControlStore(clinic / "control.sqlite")
    made = replace(
        initial_authority("admin"),
        relations={("public", "n"): Relation("public", "n", "table", "admin", ())},
    )
    control.change(0, made, by="ada", statement="CREATE TABLE n", at=NOON)
    control.close()
    ran = discreet("restore", "clinic.backup", "clinic", "--replace", "--keep-rights")
    assert "do not fit the backup's data" in ran.err


def test_the_journal_is_not_put_back(discreet, backed_up: Path, clinic: Path):
    journal = Journal(clinic / "journal.sqlite")
    journal.record(Event(NOON, "login", user="eve", reason="since the backup"))
    journal.close()
    assert discreet("restore", "clinic.backup", "clinic", "--replace").code == 0
    assert reasons(clinic)[-2] == "since the backup"
    assert reasons(clinic)[-1].startswith("restored from clinic.backup")


def test_another_ledger_of_the_same_length_is_not_forgotten(
    discreet, backed_up: Path, clinic: Path
):
    for path in clinic.glob("ledger.sqlite*"):
        path.unlink()
    spend(clinic, "another")
    assert discreet("restore", "clinic.backup", "clinic", "--replace").error == "output-refused"


def test_a_dry_run_writes_nothing(discreet, backed_up: Path, folder: Path):
    ran = discreet("restore", "clinic.backup", "other", "--dry-run")
    assert "other would be as of" in ran.out
    assert not (folder / "other").exists()


HOLDER = """
import duckdb, sys
connection = duckdb.connect(sys.argv[1])
print("open", flush=True)
sys.stdin.read()
"""


def test_data_that_a_server_has_open_are_not_copied(discreet, clinic: Path, folder: Path):
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, clinic / "data.duckdb"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert holder.stdout is not None
    holder.stdout.readline()
    ran = discreet("backup", "clinic", "-o", "clinic.backup")
    holder.communicate()
    assert ran.error == "locked-source"
    assert not (folder / "clinic.backup").exists()


def test_what_is_no_backup_is_refused(discreet, folder: Path, backed_up: Path):
    (folder / "note").write_text("hello", "utf-8")
    assert discreet("restore", "note", "other").error == "unreadable-source"
    assert discreet("restore", "nowhere", "other").error == "no-such-source"
    content = bytearray(backed_up.read_bytes())
    place = content.index(b"certificate")
    content[place : place + 4] = b"fake"
    backed_up.write_bytes(content)
    assert discreet("restore", "clinic.backup", "other").error == "unreadable-source"
    assert not (folder / "other").exists()


def test_a_folder_that_is_no_servers_is_refused(discreet, folder: Path):
    assert discreet("backup", folder, "-o", "x").error == "no-such-source"


def test_a_backup_is_not_overwritten(discreet, backed_up: Path):
    assert discreet("backup", "clinic", "-o", "clinic.backup").error == "output-refused"
