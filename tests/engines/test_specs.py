"""Engines by their addresses: discreet's own, and that of an installed package."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from discreet import registry
from discreet.engines.address import without_password
from discreet.engines.connect import (
    holds_tables,
    is_local,
    list_tables,
    names_its_table,
    open_database,
    open_table,
)
from discreet.errors import BrokenExtension, OutputRefused, WrongUsage
from discreet.registry import ENGINES, find_engine
from discreet.release.manifest import manifest_path
from discreet.release.write import parse_target
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Iterator

# An engine over a folder of CSV files, which DuckDB reads.
SHELF = """
from pathlib import Path

from discreet.engines.connect import open_table as open_file
from discreet.engines.duckdb import DuckDB
from discreet.registry import EngineSpec

def folder(address):
    return Path(address.removeprefix("shelf:").partition("?")[0])

def table_name(address):
    return address.partition("?table=")[2] or None

def list_tables(address):
    return sorted(path.stem for path in folder(address).glob("*.csv"))

def open_table(address, *, table, engine):
    return open_file(folder(address) / f"{table or table_name(address)}.csv", engine=engine)

SPEC = EngineSpec(
    name="shelf",
    title="Shelf",
    schemes=("shelf:",),
    start=lambda address: DuckDB(),
    open_table=open_table,
    table_name=table_name,
    list_tables=list_tables,
)
"""


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A folder with two tables, and an installed package that opens it."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_installed_points", registry._installed_points.__wrapped__)
    (tmp_path / "shelves.py").write_text(SHELF, "utf-8")
    info = tmp_path / "shelves-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: shelves\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[discreet.engines]\nshelf = shelves:SPEC\n", "utf-8")
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "people.csv").write_text("age\n41\n")
    (tmp_path / "data" / "visits.csv").write_text("day\n1\n2\n")
    yield f"shelf:{tmp_path}/data"
    ENGINES._found.pop("shelf", None)
    sys.modules.pop("shelves", None)


def test_an_engine_of_a_package_opens_its_addresses(shelf: str) -> None:
    assert list_tables(shelf) == ["people", "visits"]
    assert (holds_tables(shelf), is_local(shelf)) == (True, False)
    assert not names_its_table(shelf)
    address = f"{shelf}?table=visits"
    assert names_its_table(address)
    opened = open_table(address)
    query = build.select(build.column("day"), source=opened.relation)
    assert opened.engine.run(query).to_pydict() == {"day": [1, 2]}


def test_what_an_engine_of_a_package_cannot_do_is_refused(shelf: str) -> None:
    with pytest.raises(OutputRefused, match="Shelf are read, not written"):
        parse_target(f"{shelf}?table=released", force=False)
    with pytest.raises(WrongUsage, match="Shelf cannot be served"):
        open_database(shelf)


def test_a_broken_package_is_named_for_its_own_addresses(shelf: str, tmp_path: Path) -> None:
    (tmp_path / "shelves.py").write_text("raise RuntimeError('Alice')", "utf-8")
    with pytest.raises(BrokenExtension, match="'shelf' of the package shelves"):
        open_table(shelf)
    assert find_engine("spark:clinic.patients") is ENGINES.get("spark")


@pytest.mark.parametrize(
    ("address", "name"),
    [
        ("postgresql://ann@db/clinic", "postgresql"),
        ("postgres://db/clinic", "postgresql"),
        ("spark:clinic.patients", "spark"),
        ("patients.csv", None),
        ("C:patients.csv", None),
        (Path("patients.csv"), None),
        (41, None),
    ],
)
def test_an_address_belongs_to_one_engine(address: object, name: str | None) -> None:
    spec = find_engine(address)
    assert (spec.name if spec else None) == name


def test_addresses_of_discreet_s_own_engines_load_no_driver(run_python) -> None:
    loaded = run_python(
        "import sys; from discreet.engines.connect import is_local, names_its_table;"
        "print(is_local('postgresql://db/x'), names_its_table('spark:x'));"
        "print([name for name in ('psycopg', 'pyspark') if name in sys.modules])"
    )
    assert loaded == "False True\n[]"


@pytest.fixture
def run_python():
    import subprocess

    def run(code: str) -> str:
        done = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True
        )
        return done.stdout.strip()

    return run


@pytest.mark.parametrize(
    ("address", "shown"),
    [
        ("spark:clinic.patients?master=spark://host:7077", None),
        ("spark://host:7077", None),
        ("shelf://ann:secret@host/data", "shelf://ann@host/data"),
    ],
)
def test_no_password_of_an_address_is_shown(address: str, shown: str | None) -> None:
    assert without_password(address) == (shown or address)


def test_the_manifest_of_a_table_is_called_by_the_table(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name = manifest_path("spark:clinic.released?master=spark://host:7077").name
    assert name == "clinic.released.release.json"


@pytest.mark.parametrize("output", ["out/published.csv", "out/published.parquet", "out/by-sex"])
def test_the_manifest_stands_beside_a_file_or_folder_under_its_name(output: str) -> None:
    assert manifest_path(output) == Path(f"{output}.release.json")
    assert manifest_path(f"{output}/") == Path(f"{output}.release.json")
