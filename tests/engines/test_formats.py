"""File formats of other packages: read, declared, written, and refused as discreet's own are."""

from __future__ import annotations

import json
import sys
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from tests.answer.files import NAMES, PEOPLE, POLICY

import discreet
from discreet import registry
from discreet.answer.fingerprint import take_sample
from discreet.cli.command import cli
from discreet.engines.connect import list_tables, open_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import DeclaredColumn, DeclaredSchema, Kind
from discreet.engines.files import open_file
from discreet.errors import BrokenExtension, DiscreetError, OutputRefused, UnreadableSource
from discreet.policy.load import parse_policy
from discreet.registry import FORMATS, FormatSpec
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

EXAMPLE = (
    (FormatSpec.__doc__ or "").partition("        import pyarrow")[2].partition("    and offers")
)
TILDE = textwrap.dedent("        import pyarrow" + EXAMPLE[0])
QUESTIONS = (
    "SELECT count(*) AS n FROM people",
    "SELECT sum(age) AS s FROM people",
    "SELECT sex, count(*) AS n FROM people WHERE born > DATE '1990-01-05' GROUP BY sex",
    "SELECT count(only_they) AS n FROM people",
)


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Put a package with a file format on the path, as an installer does."""
    folder = tmp_path / "site-packages"
    folder.mkdir()
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(registry, "_installed_points", registry._installed_points.__wrapped__)
    packages: list[str] = []

    def write(package: str, code: str, name: str = "tilde") -> None:
        packages.append(package)
        (folder / f"{package}.py").write_text(code, "utf-8")
        info = folder / f"{package}-1.0.dist-info"
        info.mkdir()
        metadata = f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n"
        (info / "METADATA").write_text(metadata, "utf-8")
        points = f"[discreet.formats]\n{name} = {package}:SPEC\n"
        (info / "entry_points.txt").write_text(points, "utf-8")

    yield write
    for name in set(FORMATS._found) - {spec.name for spec in FORMATS.own()}:
        del FORMATS._found[name]
    for package in packages:
        sys.modules.pop(package, None)


def tilde_file(folder: Path, rows: Sequence[dict[str, Any]], names: Sequence[str] = NAMES) -> Path:
    folder.mkdir(exist_ok=True)
    lines = ["~".join(names), *("~".join(str(row.get(n, "")) for n in names) for row in rows)]
    path = folder / "people.tilde"
    path.write_text("\n".join(lines) + "\n", "utf-8")
    return path


def cells(path: Path, **options: Any) -> dict[str, list[Any]]:
    opened = open_table(path, **options)
    columns = [build.column(column.name) for column in opened.columns]
    found = opened.engine.run(build.select(*columns, source=opened.relation)).to_pydict()
    opened.engine.close()
    return found


def test_a_format_of_a_package_is_read_with_proven_types(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    path = tmp_path / "t.tilde"
    path.write_text("age~zip~born\n41~01234~2020-01-31\n7~99999~2021-12-01\n")
    opened = open_table(path)
    found = [(column.name, column.kind) for column in opened.columns]
    assert found == [("age", Kind.INTEGER), ("zip", Kind.TEXT), ("born", Kind.DATE)]
    assert opened.schema is not None
    assert list_tables(path) == []


def test_files_that_a_pattern_matches_are_read_together(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    for name, age in (("a", 1), ("b", 2)):
        (tmp_path / f"{name}.tilde").write_text(f"age\n{age}\n")
    assert cells(tmp_path / "*.tilde") == {"age": [1, 2]}
    (tmp_path / "c.tilde").write_text("old\n1\n")
    with pytest.raises(UnreadableSource, match=r"c\.tilde has other columns than a\.tilde"):
        open_table(f"{tmp_path}/*.tilde")


def test_a_declared_cell_that_does_not_fit_is_null(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    path = tmp_path / "t.tilde"
    path.write_text("age~born\n41~2020-01-31\n?~soon\n7\n")
    declared = {"age": DeclaredColumn(Kind.INTEGER), "born": DeclaredColumn(Kind.DATE)}
    found = cells(path, schema=DeclaredSchema(declared))
    assert found["age"] == [41, None, 7]
    assert [day and day.isoformat() for day in found["born"]] == ["2020-01-31", None, None]


def shown(path: Path) -> list[str]:
    """Return all that is shown before anything is paid: plans with queries, prices, refusals."""
    shown: list[str] = []
    with discreet.open(path, parse_policy(POLICY), ledger=path.parent / "l.sqlite") as curator:
        for question in QUESTIONS:
            try:
                plan, text = curator.plan(question, epsilon=1)
                found = curator.explain_plan(plan, text)
                shown.append(json.dumps([found.to_dict(), str(curator.shape(plan))], default=str))
            except DiscreetError as error:
                shown.append(f"{error.code}: {error}")
    return [line.replace(str(path), "") for line in shown]


def test_one_odd_person_changes_no_plan_refusal_or_price(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    expected = shown(tilde_file(tmp_path / "all", PEOPLE))
    assert sum(line.startswith("[") for line in expected) == 3
    for number, odd in enumerate([dict.fromkeys(NAMES, "?"), {"age": 50.5, "born": "31/12/1990"}]):
        assert shown(tilde_file(tmp_path / f"odd{number}", [*PEOPLE, odd])) == expected
    assert shown(tilde_file(tmp_path / "none", [])) == expected


def test_the_same_rows_are_recognized_in_every_format(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    path = tilde_file(tmp_path / "people", PEOPLE)
    beside = path.with_suffix(".csv")
    beside.write_text(path.read_text().replace("~", ","))
    first, _ = take_sample(open_table(path), [], key=b"key")
    _, (share,) = take_sample(open_table(beside), [first], key=b"key")
    assert share == 1


def test_anonymize_writes_a_format_of_a_package(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    people, out = [{"age": 20 + i, "sex": "FM"[i % 2]} for i in range(12)], tmp_path / "out.tilde"
    source = tilde_file(tmp_path / "people", people, names=("age", "sex"))
    arguments = ["anonymize", str(source), "--quasi", "age,sex", "--k", "3", "-o", str(out)]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0, done.output
    checked = discreet.assess(out, quasi=["age", "sex"])
    assert checked.k >= 3
    assert len(cells(out)["age"]) == len(people)


def test_columns_with_types_are_refused_where_the_file_states_none(install, tmp_path: Path) -> None:
    install("inferring", TILDE.replace("pa.string()", "pa.large_binary()"))
    (tmp_path / "t.tilde").write_text("age\n41\n")
    with pytest.raises(BrokenExtension, match="'age' as large_binary"):
        open_table(tmp_path / "t.tilde")


def test_a_format_with_types_keeps_them(install, tmp_path: Path) -> None:
    code = """
import pyarrow as pa
from discreet.registry import FormatSpec

def read(path, *, encoding=None):
    return pa.table({"size": pa.array([1], pa.int16()), "encoding": [encoding]})

SPEC = FormatSpec("tilde", "Tilde", (".tilde",), typed=True, read=read, options=("encoding",))
"""
    install("typed", code)
    (tmp_path / "t.tilde").write_text("any")
    opened = open_table(tmp_path / "t.tilde", encoding="latin-1")
    assert opened.schema is None
    assert opened.columns[0].type == "SMALLINT"
    assert cells(tmp_path / "t.tilde", encoding="latin-1")["encoding"] == ["latin-1"]


FAILING = """
import pyarrow as pa
from discreet.registry import FormatSpec

def read(path):
    def batches():
        yield pa.record_batch({"age": ["41"]})
        raise RuntimeError("Alice")
    if path.stem == "early":
        raise RuntimeError("Alice")
    return pa.RecordBatchReader.from_batches(pa.schema({"age": pa.string()}), batches())

def write(rows, path):
    path.write_text("some")
    if path.parent.name == "raises":
        raise RuntimeError("Alice")

SPEC = FormatSpec("tilde", "Tilde", (".tilde",), read=read, write=write)
"""


@pytest.mark.parametrize("name", ["early", "late"])
def test_the_message_of_a_reader_is_withheld(install, tmp_path: Path, name: str) -> None:
    install("failing", FAILING)
    (tmp_path / f"{name}.tilde").write_text("any")
    with pytest.raises(UnreadableSource, match="cannot be read as Tilde") as raised:
        open_table(tmp_path / f"{name}.tilde")
    assert "Alice" not in repr(raised.value)


def test_the_rows_of_a_format_with_types_are_read_by_the_first_question(
    install, tmp_path: Path
) -> None:
    install("failing", FAILING.replace("write=write)", "write=write, typed=True)"))
    (tmp_path / "late.tilde").write_text("any")
    engine = DuckDB(looks_at_rows=False)
    opened = open_file(str(tmp_path / "late.tilde"), engine=engine)
    assert [column.name for column in opened.columns] == ["age"]
    with pytest.raises(UnreadableSource, match="cannot be read as Tilde") as raised:
        engine.run(build.select(build.column("age"), source=opened.relation))
    assert "Alice" not in repr(raised.value)


@pytest.mark.parametrize(("folder", "reason"), [("raises", "RuntimeError"), ("short", "left rows")])
def test_a_writer_that_fails_leaves_no_file(
    install, tmp_path: Path, folder: str, reason: str
) -> None:
    from discreet.release.write import parse_target, write_rows

    install("failing", FAILING)
    (tmp_path / folder).mkdir()
    opened = open_table(pa.table({"age": [41]}))
    query = build.select(build.column("age"), source=opened.relation)
    target = parse_target(tmp_path / folder / "out.tilde", force=False)
    with pytest.raises(OutputRefused, match=reason) as raised:
        write_rows(opened.engine, query, target)
    assert "Alice" not in repr(raised.value)
    assert list((tmp_path / folder).iterdir()) == []


def test_a_suffix_of_discreet_stays_with_discreet(install, tmp_path: Path) -> None:
    install("greedy", TILDE.replace('(".tilde",)', '(".csv", ".tilde")'))
    (tmp_path / "t.csv").write_text("a,b\n1,2\n")
    assert cells(tmp_path / "t.csv") == {"a": [1], "b": [2]}


def test_first_bytes_do_not_change_the_format_of_a_package(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    (tmp_path / "t.tilde").write_text("PAR1\n1\n")
    assert cells(tmp_path / "t.tilde") == {"PAR1": [1]}


def test_two_packages_with_one_suffix_are_both_named(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    install("second", TILDE.replace('name="tilde"', 'name="wave"'), name="wave")
    (tmp_path / "t.tilde").write_text("a\n1\n")
    with pytest.raises(BrokenExtension, match=r"'tilde' and 'wave' .* suffix '\.tilde'"):
        open_table(tmp_path / "t.tilde")


def test_a_broken_package_is_named_for_its_own_files_only(install, tmp_path: Path) -> None:
    install("broken", "raise RuntimeError('Alice')")
    for name in ("t.tilde", "t.csv"):
        (tmp_path / name).write_text("a\n1\n")
    with pytest.raises(BrokenExtension, match="'tilde' of the package broken"):
        open_table(tmp_path / "t.tilde")
    assert cells(tmp_path / "t.csv") == {"a": [1]}


def test_a_packed_file_is_refused_unless_the_format_unpacks_it(install, tmp_path: Path) -> None:
    install("sound", TILDE)
    (tmp_path / "t.tilde.gz").write_bytes(b"\x1f\x8b")
    with pytest.raises(UnreadableSource, match="packed"):
        open_table(tmp_path / "t.tilde.gz")


def test_a_format_needs_a_reader() -> None:
    with pytest.raises(ValueError, match="needs `read`"):
        FormatSpec("tilde", "Tilde", (".tilde",))
