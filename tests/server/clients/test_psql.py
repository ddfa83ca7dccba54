"""psql talks to the server."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.pg.served import Served

pytestmark = pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")


def psql(
    server: Served, *arguments: str, text: str | None = None
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["psql", "--no-psqlrc", server.conninfo, *arguments],
        input=text,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )


def test_rows_are_shown(server: Served, people: str):
    done = psql(
        server,
        "-At",
        "-c",
        f"select id, name, born, weight, is_active, seen from {people} order by id limit 2",
    )
    assert done.stdout.splitlines() == [
        "1|person 1|1980-01-31|70.50|t|2024-02-29 10:20:30.5",
        "2|||||",
    ]


def test_several_statements_have_several_results(server: Served):
    done = psql(server, "-At", "-c", "select 1; select 2")
    assert done.stdout.split() == ["1", "2"]


def test_a_script_goes_on_after_a_failure(server: Served):
    done = psql(server, "-At", text="select nowhere;\nselect 42;\n")
    assert "ERROR:" in done.stderr
    assert done.stdout.split() == ["42"]


def test_a_failure_reports_its_sqlstate(server: Served):
    done = psql(server, "-v", "VERBOSITY=sqlstate", "-c", "select * from no_such_table")
    assert "ERROR:  42P01" in done.stderr


def test_a_transaction_is_undone(server: Served, people: str):
    done = psql(
        server,
        "-At",
        text=f"begin;\ndelete from {people};\nrollback;\nselect count(*) from {people};\n",
    )
    assert done.stdout.split()[-1] == "500"


@pytest.mark.parametrize("options", ["", "with (format csv, header)"])
def test_rows_are_copied_out(server: Served, people: str, options: str):
    done = psql(
        server, "-c", f"copy (select id, name from {people} order by id) to stdout {options}"
    )
    lines = done.stdout.splitlines()
    assert lines[-1].split("," if options else "\t") == ["500", "person 500"]
    assert len(lines) == (501 if options else 500)


def test_a_wrong_password_is_reported_as_every_other_failure(server: Served):
    wrong = server.conninfo.replace(f"password={server.password}", "password=wrong")
    done = subprocess.run(
        ["psql", wrong, "-c", "select 1"], capture_output=True, encoding="utf-8", check=False
    )
    assert done.returncode == 2
    assert "authentication failed" in done.stderr


def test_the_connection_is_encrypted(server: Served):
    done = psql(server, text="\\conninfo\n")
    assert "TLSv1.3" in done.stdout
