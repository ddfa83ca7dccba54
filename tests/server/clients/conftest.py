"""The server that real clients are tested with, a table in it, and the programs they need."""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.server.pg.served import Served, serving

from discreet.server.pg.tls import load_tls, make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[3]
NODE = ROOT / "tests" / "clients" / "node"
ROWS = 500


@contextlib.contextmanager
def bare(folder: Path) -> Iterator[Served]:
    """The protocol over DuckDB, with nothing guarded."""
    certificate, key = make_certificate(folder, names=["localhost", "127.0.0.1"])
    with serving(tls=load_tls(certificate, key), authority=certificate, require_tls=True) as served:
        yield served


@contextlib.contextmanager
def whole(folder: Path) -> Iterator[Served]:
    """`discreet serve`, as its administrator."""
    password = "correct-horse-battery"
    process = subprocess.Popen(
        [
            Path(sys.executable).with_name("discreet"),
            "serve",
            "--data",
            folder / "data",
            "--port",
            "0",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        env={**os.environ, "DISCREET_ADMIN_PASSWORD": password},
    )
    assert process.stdout is not None
    output = ""
    try:
        while (found := re.search(r"port=(\d+)", output)) is None:
            line = process.stdout.readline()
            assert line, output
            output += line
        authority = folder / "data" / "tls" / "server.crt"
        yield Served("127.0.0.1", int(found[1]), "admin", password, "discreet", authority)
    finally:
        process.terminate()
        process.wait(60)


# All clients of a server are of one worker, so that it is started once, and they are compiled once.
SERVERS = [
    pytest.param(bare, marks=pytest.mark.xdist_group("clients of the protocol")),
    pytest.param(whole, marks=pytest.mark.xdist_group("clients of everything")),
]


@pytest.fixture(scope="session", params=SERVERS, ids=lambda each: each.__name__)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Served]:
    """A server with TLS, and who may create tables there: the protocol alone, and everything."""
    with request.param(tmp_path_factory.mktemp("server")) as served:
        yield served


@pytest.fixture(scope="session")
def people(server: Served) -> str:
    """A table of 500 people with one column of each common type; the second has nothing but NULLs."""
    with psycopg.connect(server.conninfo, autocommit=True) as connection:
        connection.execute(
            "create table people (id int primary key, name text, born date, weight numeric(6,2), "
            "is_active boolean, score double precision, seen timestamp)"
        )
        connection.execute("insert into people (id) values (2)")
        others = [number for number in range(1, ROWS + 1) if number != 2]
        listed = ", ".join(
            f"({number}, 'person {number}', '1980-01-31', 70.50, true, 0.5, '2024-02-29 10:20:30.5')"
            for number in others
        )
        connection.execute(f"insert into people values {listed}".encode())
    return "people"


@pytest.fixture(scope="session")
def node_modules() -> Path:
    """Where node-postgres is installed, as the lock file says."""
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed: apt-get install npm")
    lock = (NODE / "package-lock.json").read_bytes()
    folder = ROOT / "build" / f"node-{hashlib.sha256(lock).hexdigest()[:12]}"
    if not folder.exists():
        # Two workers may come at once: each installs its own, and the first one's stays.
        own = folder.with_name(f"{folder.name}-{os.getpid()}")
        own.mkdir(parents=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(NODE / name, own)
        subprocess.run(
            ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"],
            cwd=own,
            check=True,
            capture_output=True,
        )
        try:
            own.rename(folder)
        except OSError:
            shutil.rmtree(own)
    return folder
