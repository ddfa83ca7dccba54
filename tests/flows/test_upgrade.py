"""What release 0.1.0 wrote opens in this one, and nothing in it is forgotten."""

from __future__ import annotations

import ast
import sqlite3
import tarfile
from collections.abc import Generator
from contextlib import closing
from pathlib import Path

import httpx
import psycopg
import pytest

import discreet as package
from discreet.api.serve import RunningServer
from discreet.guard.control import ControlStore

FIRST = Path(__file__).parents[1] / "fixtures" / "upgrade" / "0.1.0.tar.xz"
PASSWORD = "correct-horse-battery"
QUESTION = "SELECT ward, count(*) AS people FROM people GROUP BY ward"


@pytest.fixture
def first(folder: Path) -> Path:
    """The folder of release 0.1.0, with all that it left."""
    with tarfile.open(FIRST) as packed:
        packed.extractall(folder, filter="fully_trusted")
    settings = folder / "clinic" / "server.yaml"
    written = settings.read_text("utf-8")
    settings.write_text(written.replace("../policy.yaml", f"{folder}/policy.yaml"), "utf-8")
    return folder


@pytest.fixture
def opened(discreet, first: Path) -> Generator[RunningServer]:
    """A server over it, once its custodian accepted what no seal proves."""
    assert discreet("key", "accept", "clinic", "--reason", "upgrade", "--yes").code == 0
    with package.serve(data=first / "clinic", plain=True, http_port=0) as server:
        yield server


def connect(server: RunningServer, user: str) -> psycopg.Connection:
    return psycopg.connect(**server.parameters(user, PASSWORD), autocommit=True)


def is_denied(connection: psycopg.Connection, statement: str) -> bool:
    with pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(statement.encode())
    return True


def test_stores_without_a_seal_are_opened_once_they_are_accepted(discreet, first: Path):
    ran = discreet("serve", "--data", "clinic", "--port", "0", "--plain")
    assert ran.code == 1
    assert "discreet key accept DIR --reason TEXT" in ran.err


def test_tables_users_rights_and_policies_are_as_they_were(opened: RunningServer):
    with connect(opened, "admin") as admin:
        read = {
            "SELECT count(*), sum(age) FROM people": [(40, 1500)],
            "SELECT id, person, cost::text, seen::text FROM visits ORDER BY id": [
                (1, 1, "12.50", "2026-01-02 03:04:05+00"),
                (2, 2, "0.01", None),
            ],
            "SELECT sin, note FROM secrets ORDER BY id": [
                ("123-45-678", "first"),
                ("987-65-432", None),
            ],
            "SELECT count(*) >= 35 FROM open_people": [(True,)],
            "SELECT goal, goal_label FROM missions ORDER BY goal": [
                ("spice", "S {nato}"),
                ("wheat", "U"),
            ],
            "SELECT nspname FROM pg_namespace WHERE nspname = 'lab'": [("lab",)],
        }
        assert {text: admin.execute(text).fetchall() for text in read} == read
        with pytest.raises(psycopg.errors.CheckViolation):
            admin.execute("INSERT INTO visits VALUES (3, 1, -1, NULL)")
        with pytest.raises(psycopg.Error, match="duties"):
            admin.execute("GRANT auditors TO bob")
    with connect(opened, "alice") as alice:
        masked = alice.execute("SELECT id FROM people WHERE ill IS NOT NULL ORDER BY id")
        assert masked.fetchall() == [(n,) for n in range(5)]
        assert alice.execute("SELECT name FROM wards").fetchall() == [("north",)]
        assert alice.execute("SELECT goal FROM missions").fetchall() == [("wheat",)]
        assert is_denied(alice, "SELECT ward FROM people")
        assert is_denied(alice, "SELECT * FROM visits")
    with connect(opened, "bob") as bob:
        assert bob.execute("SELECT count(*) FROM old").fetchone() == (10,)
        with pytest.raises(psycopg.Error, match="the question has no price"):
            bob.execute("SELECT age FROM people")


def test_the_budget_that_was_spent_stays_spent(discreet, opened: RunningServer, first: Path):
    answer = ast.literal_eval((first / "answer.txt").read_text("utf-8"))
    assert sorted(ward for ward, _ in answer) == ["north", "south"]
    with connect(opened, "bob") as bob:
        bob.execute("SET discreet.epsilon = 1.6")  # of 2, 0.5 are spent
        with pytest.raises(psycopg.Error, match="epsilon"):
            bob.execute("SELECT count(*) FROM people")
        bob.execute("SET discreet.epsilon = 0.5")
        bob.execute(QUESTION.encode())
    opened.stop()
    ran = discreet("budget", "--ledger", "clinic/ledger.sqlite", "--verify", "--json")
    spent = {item["account"]: item["epsilon"]["spent"] for item in ran.json["accounts"]}
    assert spent == {"table:public.people": 1.0, "analyst:analysts@table:public.people": 1.0}


def test_tokens_certificates_and_locks_are_as_they_were(discreet, opened: RunningServer):
    token = Path("token.txt").read_text("utf-8").strip()

    def ask() -> int:
        question = {"statement": "SELECT current_user"}
        headers = {"authorization": f"Bearer {token}"}
        return httpx.post(f"{opened.url}/v1/query", json=question, headers=headers).status_code

    assert ask() == 401
    assert discreet("user", "unlock", "clinic", "carol").code == 0
    assert ask() == 200
    users = discreet("user", "list", "clinic", "--json").json["users"]
    ways = {each["name"]: each["ways"] for each in users}
    assert ways["carol"] == ["certificate", "token"]


def test_the_journal_is_whole_from_its_first_entry(discreet, opened: RunningServer):
    opened.stop()
    ran = discreet("journal", "verify", "clinic", "--json")
    assert (ran.code, ran.json["first"]) == (0, 1)
    shown = discreet("journal", "show", "clinic", "--decision", "denied", "--json").out
    assert "SELECT * FROM people" in shown


def test_a_backup_of_the_first_release_is_restored(discreet, first: Path):
    assert discreet("restore", "clinic.backup", "other").code == 3  # until the custodian confirms
    assert len(ControlStore(first / "other" / "control.sqlite").authority().roles) == 7


def test_questions_from_the_command_line_are_charged_to_the_account_of_the_path(
    discreet, first: Path
):
    policy = Path("policy.yaml")
    kinds = {"identifier": "integer", "quasi-identifier": "integer", "sensitive": "text"}
    text = policy.read_text("utf-8").replace("role: insensitive", "role: insensitive, kind: text")
    for role, kind in kinds.items():
        text = text.replace(f"role: {role}", f"role: {role}, kind: {kind}")
    policy.write_text(text, "utf-8")
    about = ("people.csv", "SELECT sum(age) FROM people", "--policy", policy, "--epsilon", "1")
    ran = discreet("ask", *about, "--ledger", "ledger.sqlite", "--json")
    assert ran.json["remaining"]["epsilon"] == 8  # of 10, release 0.1.0 spent 1
    policy.write_text(text.replace("  people:\n", "  people:\n    id: people-of-2026\n"), "utf-8")
    ran = discreet("ask", *about, "--ledger", "ledger.sqlite", "--json")
    assert ran.json["remaining"]["epsilon"] == 7


def test_a_release_of_the_first_release_is_attacked_with_the_next_one(discreet, first: Path):
    ran = discreet("anonymize", "people.csv", "--policy", "policy.yaml", "-o", "next.csv")
    assert "composition: The 2 releases" in ran.out


@pytest.mark.parametrize(
    ("store", "command"),
    [
        ("control.sqlite", ("user", "list", "clinic")),
        ("ledger.sqlite", ("budget", "--ledger", "clinic/ledger.sqlite")),
        ("journal.sqlite", ("journal", "verify", "clinic")),
    ],
)
def test_a_store_of_a_later_release_is_refused(
    discreet, first: Path, store: str, command: tuple[str, ...]
):
    with closing(sqlite3.connect(first / "clinic" / store)) as raw:
        raw.execute("PRAGMA user_version = 1000")
    ran = discreet(*command)
    assert ran.code == 1
    assert "was written by a newer discreet (format 1000" in ran.err
    assert "Update discreet" in ran.err
