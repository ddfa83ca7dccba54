"""Whose a row is has to be declared where a column looks like the key of a person."""

from __future__ import annotations

import io
from dataclasses import replace
from typing import TYPE_CHECKING

import duckdb
import pandas as pd
import pyarrow as pa
import pytest
from tests.answer.curators import hold

import discreet
from discreet.answer.catalog import require_unit
from discreet.engines.connect import open_table
from discreet.errors import UndeclaredUnit
from discreet.measure.profile import draft_tables
from discreet.policy.load import parse_policy
from discreet.policy.write import dump_policy

if TYPE_CHECKING:
    from pathlib import Path

COUNT = "SELECT count(*) AS n FROM visits"
# One person has nearly all visits, and there are few people.
VISITS = pa.table({"patient_id": [1] * 80 + list(range(1, 13)), "cost": list(range(92))})
PATIENTS = pa.table({"id": list(range(1, 13)), "region": ["north", "south"] * 6})


def policy(unit: str, columns: str) -> str:
    return f"tables: {{visits: {{{unit}columns: {{{columns}}}}}}}"


@pytest.mark.parametrize(
    "columns",
    [
        "patient_id: identifier, cost: sensitive",
        "patient_id: sensitive, cost: sensitive",
        "cost: sensitive",  # the table itself has the column
        "email: identifier, cost: sensitive",
    ],
)
def test_a_table_without_a_declared_unit_is_refused_when_a_column_looks_like_a_persons_key(
    columns: str,
) -> None:
    with pytest.raises(UndeclaredUnit, match=r"unit: \w+.*unit: row"):
        hold({"visits": VISITS}, policy("", columns)).plan(COUNT, epsilon=1)


def test_a_reference_leaves_open_whose_a_row_is() -> None:
    text = """
    tables:
      visits: {columns: {stay: {role: sensitive, references: stays.number}, cost: sensitive}}
      stays: {unit: row, columns: {number: sensitive}}
    """
    table = pa.table({"stay": [1], "cost": [2]})
    with pytest.raises(UndeclaredUnit, match="'stay'"):
        hold({"visits": table}, text).plan(COUNT, epsilon=1)


def test_a_foreign_key_that_the_database_knows_leaves_open_whose_a_row_is() -> None:
    curator = hold({"visits": VISITS.select(["cost"])}, policy("", "cost: sensitive"))
    held = curator.catalog.find("visits")
    require_unit(held)
    with pytest.raises(UndeclaredUnit, match="'stay'"):
        require_unit(replace(held, links=("stay",)))


@pytest.mark.parametrize(
    "unit",
    ["unit: row, ", "unit: patient_id, limits: {rows-per-unit: 5}, "],
)
def test_a_declared_unit_is_believed(unit: str) -> None:
    curator = hold({"visits": VISITS}, policy(unit, "patient_id: identifier, cost: sensitive"))
    plan, text = curator.plan(COUNT, epsilon=1)
    assert not any(
        "taken for another person" in line for line in curator.explain_plan(plan, text).cautions
    )


def test_the_refusal_is_the_same_whatever_the_rows_are() -> None:
    result: set[str] = set()
    for table in (VISITS, VISITS.slice(80), VISITS.slice(0, 0)):
        with pytest.raises(UndeclaredUnit) as refused:
            hold({"visits": table}, policy("", "patient_id: sensitive")).plan(COUNT, epsilon=1)
        result.add(str(refused.value))
    assert len(result) == 1


def test_without_a_policy_a_column_that_repeats_like_a_key_refuses_all_questions(
    tmp_path: Path,
) -> None:
    path = tmp_path / "visits.csv"
    rows = "".join(f"{n % 30:06},{n}\n" for n in range(90))
    path.write_text("member_card_no,cost\n" + rows, "utf-8")
    opened_ledger = tmp_path / "ledger.sqlite"
    for _ in range(2):
        with (
            discreet.open(path, ledger=opened_ledger) as curator,
            pytest.raises(UndeclaredUnit, match="discreet init"),
        ):
            curator.plan(COUNT, epsilon=1)
        path.write_text("member_card_no,cost\n000001,5\n", "utf-8")  # the first draft holds


def test_without_a_policy_rows_are_people_where_nothing_looks_like_a_key_and_it_is_reported() -> (
    None
):
    frame = pa.table({"age": [1, 2, 2], "sex": ["F", "M", "F"]})
    with discreet.open(frame) as curator:
        answer = curator.ask("SELECT count(*) AS n FROM data", epsilon=1)
    assert any("Each row of 'data' is taken for another person" in line for line in answer.cautions)


def test_a_column_called_row_is_a_unit_when_it_is_written_as_a_column() -> None:
    loaded = parse_policy("tables: {t: {unit: {column: row}, columns: {row: identifier}}}")
    assert (loaded.tables["t"].unit, loaded.tables["t"].unit_is_row) == ("row", False)
    assert parse_policy(dump_policy(loaded)) == loaded
    rows = parse_policy("tables: {t: {unit: row, columns: {row: identifier}}}")
    assert (rows.tables["t"].unit, rows.tables["t"].unit_is_row) == (None, True)
    assert parse_policy(dump_policy(rows)) == rows


def drafted(folder: Path, **tables: pa.Table) -> dict[str, object]:
    from pyarrow import csv

    for name, table in tables.items():
        csv.write_csv(table, folder / f"{name}.csv")
    opened = [open_table(folder / f"{name}.csv") for name in tables]
    text = draft_tables(opened).to_yaml()
    return {"text": text, **parse_policy(text).tables}


def test_init_drafts_the_unit_of_visits_from_the_foreign_key_and_suggests_limits(
    tmp_path: Path,
) -> None:
    found = drafted(tmp_path, pat=PATIENTS, vis=VISITS)
    assert found["pat"].unit == "id"
    assert found["pat"].limits.rows_per_unit == 1
    assert found["vis"].unit == "patient_id"
    assert found["vis"].column("patient_id").references == ("pat", "id")
    assert found["vis"].limits.rows_per_unit == 100
    assert "# limits: no row is left out" in found["text"]
    assert "each of the 12 rows has its own" in found["text"]


def test_init_drafts_limits_that_leave_out_few_rows_and_says_how_many(tmp_path: Path) -> None:
    people = [n % 200 for n in range(1000)] + [0] * 30
    found = drafted(tmp_path, visits=pa.table({"patient_id": people, "cost": people}))
    assert found["visits"].limits.rows_per_unit == 5
    assert "2.9 % of the rows are beyond it" in found["text"]


def test_init_writes_unit_row_where_nothing_repeats_like_a_key(tmp_path: Path) -> None:
    found = drafted(tmp_path, survey=pa.table({"age": [20, 30, 20], "mood": ["a", "b", "a"]}))
    assert found["survey"].unit_is_row
    assert found["survey"].column("age").kind == "integer"


def test_init_leaves_the_unit_open_where_a_key_of_something_else_repeats(tmp_path: Path) -> None:
    clinics = pa.table({"clinic_id": [1, 1, 2, 2, 2] * 9, "mood": ["a", "b", "a", "c", "c"] * 9})
    found = drafted(tmp_path, notes=clinics)
    assert (found["notes"].unit, found["notes"].unit_is_row) == (None, False)
    assert (
        "# unit: not drafted, because clinic_id may give one person several rows" in found["text"]
    )
    with pytest.raises(UndeclaredUnit, match="'clinic_id'"):
        hold({"notes": clinics}, found["text"]).plan("SELECT count(*) AS n FROM notes", epsilon=1)


def test_what_init_drafts_for_a_file_is_how_questions_read_it(tmp_path: Path) -> None:
    """Kinds, forms of dates, delimiter and encoding: the draft holds all that the rows revealed."""
    path = tmp_path / "people.csv"
    rows = "".join(f"Müller, {n};{1 + n % 28:02}.{1 + n % 12:02}.1990;{n},5\n" for n in range(40))
    path.write_bytes(("name, first;born;pay\n" + rows).encode("latin-1"))
    opened = open_table(path, encoding="latin-1")
    loaded = parse_policy(draft_tables([opened], sources=[str(path)]).to_yaml()).tables["people"]
    assert loaded.reading.encoding == "latin-1"
    assert loaded.column("born").kind == "date"
    (form,) = loaded.column("born").written.dates
    assert form == "%d.%m.%Y"
    with discreet.open(
        path,
        parse_policy(
            f"tables: {{people: {{unit: row, reading: {{encoding: latin-1}}, columns: {{born: {{role: sensitive, "
            f"kind: date, format: '{loaded.column('born').written.dates[0]}'}}}}}}}}"
        ),
        ledger=":memory:",
    ) as curator:
        plan, _ = curator.plan(
            "SELECT count(*) AS n FROM people WHERE born > DATE '1990-06-01'", epsilon=1
        )
        assert (
            plan.private_queries[0].private_query.rows.touches[0].held.table.column("born")
            is not None
        )


NARROW = "tables: {visits: {columns: {cost: {role: sensitive, kind: integer, bounds: [0, 9]}}}}"


def refused(source: object, policy: str | None = None, **options: object) -> None:
    question = COUNT if "visits" in str(source) else "SELECT count(*) AS n FROM data"
    text = policy and (policy if "visits" in question else policy.replace("visits", "data"))
    loaded = parse_policy(text) if text else None
    with (
        discreet.open(source, loaded, **{"ledger": ":memory:", **options}) as curator,
        pytest.raises(UndeclaredUnit, match="unit"),
    ):
        curator.plan(question, epsilon=1)


def write(path: Path, frame: pd.DataFrame) -> None:
    match path.suffix:
        case ".csv":
            frame.to_csv(path, index=False)
        case ".xlsx":
            frame.to_excel(path, index=False)
        case ".parquet":
            frame.to_parquet(path, index=False)
        case ".dta":
            frame.to_stata(path, write_index=False)
        case _:
            frame.to_json(path, orient="records", lines=path.suffix == ".ndjson")


@pytest.mark.parametrize("ending", ["csv", "ndjson", "json", "xlsx", "dta", "parquet"])
def test_a_key_that_the_policy_does_not_list_leaves_open_whose_a_row_is(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / f"visits.{ending}"
    write(path, pd.DataFrame({"patient_id": [7] * 5, "cost": [1] * 5}))
    refused(path, NARROW)
    with discreet.open(
        path, parse_policy(NARROW.replace("columns", "unit: row, columns")), ledger=":memory:"
    ) as curator:
        curator.plan(COUNT, epsilon=1)


def test_a_key_in_python_objects_or_the_index_leaves_open_whose_a_row_is() -> None:
    objects = pd.DataFrame({"patient_id": pd.Series(["p7"] * 9, dtype=object), "cost": [1] * 9})
    refused(objects, NARROW)
    plain = pd.DataFrame({"cost": [1] * 9})
    indexed = plain.set_index(pd.Index([7] * 9, name="patient_id"))
    refused(indexed, NARROW)
    refused(indexed)
    refused(indexed.assign(note=pd.Series(["a"] * 9, dtype=object)), NARROW)


@pytest.mark.parametrize(
    "name", ["email", "mrn", "ssn", "full_name", "username", "iban", "kundennummer"]
)
def test_a_name_that_identifies_people_leaves_open_whose_a_row_is(name: str) -> None:
    table = pa.table({name: ["a"], "cost": [1]})
    for columns in (f"{name}: sensitive, cost: sensitive", "cost: sensitive"):
        with pytest.raises(UndeclaredUnit, match=f"'{name}'"):
            hold({"visits": table}, policy("", columns)).plan(COUNT, epsilon=1)


def first_asked(source: object, name: str, **options: object) -> None:
    with discreet.open(source, **options) as curator:
        curator.plan(f'SELECT count(*) AS n FROM "{name}"', epsilon=1)


# Without a policy the name is not enough here: the draft from the rows finds that it repeats.
MAILS = {"email": [f"a{n % 30}@b.org" for n in range(90)], "cost": [1] * 90}


@pytest.mark.parametrize("columns", [MAILS, {"patient_id": [7] * 90, "cost": [1] * 90}])
@pytest.mark.parametrize("kind", [None, object])
def test_a_harmless_frame_drafts_nothing_for_another(
    tmp_path: Path, columns: dict[str, list[object]], kind: type | None
) -> None:
    opened_ledger = tmp_path / "ledger.sqlite"
    first_asked(pd.DataFrame({"cost": [1, 2] * 9}, dtype=kind), "data", ledger=opened_ledger)
    refused(pd.DataFrame(columns, dtype=kind), ledger=opened_ledger)


@pytest.mark.parametrize("columns", [MAILS, {"patient_id": [7] * 90, "cost": [1] * 90}])
def test_a_harmless_table_drafts_nothing_for_another_of_its_database_or_workbook(
    tmp_path: Path, columns: dict[str, list[object]]
) -> None:
    opened_ledger = tmp_path / "ledger.sqlite"
    database, workbook = tmp_path / "visits.duckdb", tmp_path / "visits.xlsx"
    wards, visits = pd.DataFrame({"cost": [1, 2] * 9}), pd.DataFrame(columns)
    with duckdb.connect(str(database)) as connection:
        connection.register("w", wards)
        connection.register("v", visits)
        connection.execute("CREATE TABLE wards AS FROM w; CREATE TABLE visits AS FROM v")
    with pd.ExcelWriter(workbook) as sheets:
        wards.to_excel(sheets, sheet_name="wards", index=False)
        visits.to_excel(sheets, sheet_name="visits", index=False)
    for source in (database, workbook):
        first_asked(source, "wards", ledger=opened_ledger, table="wards")
        refused(source, ledger=opened_ledger, table="visits")


def test_a_harmless_pipe_or_older_file_drafts_nothing_for_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened_ledger, path = tmp_path / "ledger.sqlite", tmp_path / "visits.csv"

    def piped(text: str) -> str:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text.encode())))
        path.write_text(text, "utf-8")
        return "-"

    first_asked(piped("cost\n1\n2\n"), "-", ledger=opened_ledger)
    first_asked(path, "visits", ledger=opened_ledger)
    mails = "".join(f"{mail},1\n" for mail in MAILS["email"])
    for text in (f"email,cost\n{mails}", "patient_id,cost\n7,1\n7,1\n"):
        with (
            discreet.open(piped(text), ledger=opened_ledger) as curator,
            pytest.raises(UndeclaredUnit, match="unit"),
        ):
            curator.plan('SELECT count(*) AS n FROM "-"', epsilon=1)
        refused(path, ledger=opened_ledger)
