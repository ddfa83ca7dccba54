"""Java programs talk to the server through pgjdbc, which DBeaver and others use, too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.server.pg.served import Served

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"
DRIVER = Path("/usr/share/java/postgresql.jar")
pytestmark = pytest.mark.skipif(
    shutil.which("javac") is None or not DRIVER.exists(),
    reason="no Java compiler or driver: apt-get install default-jdk-headless libpostgresql-jdbc-java",
)


@pytest.fixture(scope="module")
def lines(server: Served, people: str) -> list[str]:
    """What the program of this folder printed."""
    url = f"jdbc:postgresql://{server.host}:{server.port}/{server.database}"
    arguments = (url, server.user, server.password, str(server.authority))
    source = Path(__file__).with_name("Client.java")
    done = subprocess.run(
        ["java", "-XX:TieredStopAtLevel=1", "-cp", str(DRIVER), str(source), *arguments],
        capture_output=True,
        encoding="utf-8",
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout.splitlines()


@pytest.mark.parametrize(
    "line",
    [
        "version 16",
        "row 1 person 1 1980-01-31 70.50 true 0.5 2024-02-29 10:20:30.5",
        "row 2 null null null null null null",
        "binary 70.50 1980-01-31",
        "prepared 78",
        f"types 7 1099511627776 Grüße 'quoted' true 0.1 2024-02-29 2024-02-29 10:20:30.5 {UUID} -1 null",
        "parts 500",
        "failure 42P01",
        "failure 25P02",
        "batch 10",
        "canceled 57014",
    ],
)
def test_a_java_program_gets_its_answer(lines: list[str], line: str):
    assert line in lines
