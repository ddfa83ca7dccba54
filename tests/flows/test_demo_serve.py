"""`discreet demo --serve` as a process: psql connects as everybody, and each sees what they may."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.xdist_group("demo-serve"),  # one server for all
    pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed"),
]
DISCREET = Path(sys.executable).parent / "discreet"
SEX = "SELECT sex, count(*) AS people FROM patients GROUP BY sex ORDER BY sex"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("served") / "hospital"


@pytest.fixture(scope="module")
def greeting(folder: Path) -> Iterator[str]:
    """What is printed until the server listens."""
    server = subprocess.Popen(
        [DISCREET, "demo", str(folder), "--serve", "--port", "0"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
    )
    assert server.stdout is not None
    lines: list[str] = []
    for line in server.stdout:
        lines.append(line)
        if "Ctrl-C" in line:
            break
    yield "".join(lines)
    server.send_signal(signal.SIGINT)
    server.communicate(timeout=300)
    assert server.returncode == 0


@pytest.fixture(scope="module")
def psql(greeting: str, folder: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return how a person types statements."""
    assert "psql service=clerk" in greeting

    def typed(person: str, *statements: str) -> subprocess.CompletedProcess[str]:
        words = [word for statement in statements for word in ("-c", statement)]
        return subprocess.run(
            ["psql", f"service={person}", "-XAt", *words],
            env={**os.environ, "PGSERVICEFILE": str(folder / "people.conf")},
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=300,
        )

    return typed


def test_every_printed_command_ends_as_it_says(greeting, psql):
    commands = [
        line.strip().removeprefix("psql service=").partition(" -c ")
        for line in greeting.splitlines()
        if line.startswith("  psql ")
    ]
    assert len(commands) > 6
    ended = {statement: psql(person, statement.strip('"')) for person, _, statement in commands}
    denied = [statement for statement, done in ended.items() if done.returncode]
    assert denied == ['"SELECT name, diagnosis FROM patients"']


def test_the_custodian_sees_every_row(psql):
    assert psql("custodian", "SELECT count(*) FROM patients").stdout == "2000\n"


def test_the_clerk_sees_four_columns_of_some_patients(psql):
    assert psql("clerk", "SELECT count(*) FROM patients").stdout == "206\n"
    assert psql("clerk", "SELECT DISTINCT insurance FROM patients").stdout == "private\n"
    for statement in ("SELECT * FROM patients", "SELECT name FROM patients WHERE salary > 1"):
        assert "permission denied for table patients" in psql("clerk", statement).stderr
    assert "permission denied for table visits" in psql("clerk", "SELECT 1 FROM visits").stderr


def test_the_nurse_sees_one_ward_and_the_end_of_numbers(psql):
    assert psql("nurse", "SELECT DISTINCT ward FROM visits").stdout == "oncology\n"
    numbers = psql("nurse", "SELECT DISTINCT length(patient_id) FROM visits").stdout
    assert numbers == "3\n"


def test_the_analyst_gets_noisy_counts_for_a_price_and_no_row(psql):
    asked = psql("analyst", "SET discreet.epsilon = 0.5", SEX)
    assert "Left: epsilon " in asked.stderr
    counts = dict(line.split("|") for line in asked.stdout.splitlines()[1:])
    assert 900 < int(counts["F"]) < 1100
    again = psql("analyst", "SET discreet.epsilon = 0.5", SEX)
    assert again.stdout == asked.stdout
    assert "The same question again is free." in again.stderr
    refused = psql("analyst", "SET discreet.epsilon = 0.5", "SELECT name FROM patients")
    assert refused.returncode != 0


def test_the_researcher_sees_classes_of_five_and_nothing_else(psql):
    classes = (
        "SELECT min(n) >= 5 FROM (SELECT count(*) AS n FROM patients_for_research "
        "GROUP BY birth_date, sex, postcode) AS classes"
    )
    assert psql("researcher", classes).stdout == "t\n"
    refused = psql("researcher", "SELECT name FROM patients")
    assert "permission denied for table patients" in refused.stderr


@pytest.mark.parametrize(
    ("person", "seen"),
    [
        ("u", "Smith|||U\n"),
        ("c", "Brown||Good|C\nSmith|40000||C\n"),
        ("s", "Brown|80000|Good|S\nSmith|40000|Fair|S\n"),
    ],
)
def test_each_clearance_sees_its_own_reality(psql, person, seen):
    query = "SELECT name, salary, performance, tc FROM employee ORDER BY name"
    assert psql(person, query).stdout == seen


def test_no_one_gets_in_without_the_password(psql, folder):
    del psql
    done = subprocess.run(
        ["psql", "service=clerk password=wrong", "-c", "SELECT 1"],
        env={**os.environ, "PGSERVICEFILE": str(folder / "people.conf")},
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    assert done.returncode == 2
    assert 'password authentication failed for user "clerk"' in done.stderr


def test_the_journal_has_it_all_and_is_whole(psql, folder):
    psql("clerk", "SELECT diagnosis FROM patients WHERE name = 'Charles Kellaway'")
    shown = subprocess.run(
        [DISCREET, "journal", "show", str(folder / "server"), "--json"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert "SELECT diagnosis FROM patients WHERE name = ?" in shown.stdout
    assert "Kellaway" not in shown.stdout
    verified = subprocess.run(
        [DISCREET, "journal", "verify", str(folder / "server")], capture_output=True, check=False
    )
    assert verified.returncode == 0


def test_what_lies_on_the_disk_reveals_no_name(psql, folder):
    assert psql("custodian", "SELECT count(*) FROM patients").returncode == 0
    written = [path.read_bytes() for path in (folder / "server").rglob("*") if path.is_file()]
    assert len(written) > 4
    assert not [1 for content in written if b"Kellaway" in content]


def test_secrets_are_for_the_user_who_started_it(greeting, folder):
    del greeting
    modes = {(folder / name).stat().st_mode & 0o777 for name in ("people.conf", "server.key")}
    assert modes == {0o600}
    assert (folder / "server").stat().st_mode & 0o777 == 0o700


def test_a_dry_run_writes_nothing(tmp_path):
    done = subprocess.run(
        [DISCREET, "demo", str(tmp_path / "h"), "--serve", "--dry-run"],
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert f"would write {tmp_path / 'h' / 'people.conf'}" in done.stdout
    assert not (tmp_path / "h").exists()


@pytest.mark.parametrize("words", [("--port", "5433"), ("--serve", "--json")])
def test_options_that_do_not_go_together_are_refused(tmp_path, words):
    done = subprocess.run(
        [DISCREET, "demo", str(tmp_path / "h"), *words], capture_output=True, check=False
    )
    assert done.returncode == 2
