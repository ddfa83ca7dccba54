"""Units and references between tables."""

from __future__ import annotations

import pyarrow as pa

from discreet.engines.connect import open_table
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.measure.profile import PolicyDraft, draft_tables

PATIENTS = pa.table({"id": [f"P{n}" for n in range(100)], "age": [n % 80 for n in range(100)]})
VISITS = pa.table({"visit_id": list(range(300)), "patient_id": [f"P{n % 90}" for n in range(300)]})


def named(data: pa.Table, label: str, engine: DuckDB | None = None) -> Table:
    found = open_table(data, engine=engine)
    return Table(found.engine, found.relation, found.columns, label)


def draft(*, together: bool, visits: pa.Table = VISITS) -> PolicyDraft:
    home = DuckDB() if together else None
    return draft_tables([named(PATIENTS, "patients", home), named(visits, "visits", home)])


def references(found: PolicyDraft) -> dict[str, tuple[str, str]]:
    return {
        f"{table.name}.{column.guess.column}": column.references
        for table in found.tables
        for column in table.columns
        if column.references
    }


def test_a_reference_is_found_on_one_engine() -> None:
    assert references(draft(together=True)) == {"visits.patient_id": ("patients", "id")}


def test_a_reference_is_found_across_engines() -> None:
    assert references(draft(together=False)) == {"visits.patient_id": ("patients", "id")}


def test_one_value_that_the_target_lacks_is_no_reference() -> None:
    strange = VISITS.set_column(1, "patient_id", [[f"P{n % 90}" for n in range(299)] + ["P999"]])
    assert references(draft(together=True, visits=strange)) == {}
    assert references(draft(together=False, visits=strange)) == {}


def test_the_unit_of_visits_is_the_patient() -> None:
    units = {table.name: table.unit for table in draft(together=True).tables}
    assert units == {"patients": "id", "visits": "patient_id"}


def test_the_reason_of_a_unit_counts_rows_and_people() -> None:
    assert draft(together=True).tables[1].unit_reason == "300 rows belong to 90 people"


def test_in_a_table_without_a_key_each_row_is_a_unit() -> None:
    found = draft_tables([named(pa.table({"age": [1, 2, 3]}), "ages")]).tables[0]
    assert found.unit == "row"
    assert found.unit_reason == "each row is taken to be one person"


def test_rows_are_not_called_people_when_people_repeat() -> None:
    data = VISITS.append_column(
        "admission_date", [[f"2024-01-{n % 28 + 1:02}" for n in range(300)]]
    )
    reasons = [
        column.guess.reason for column in draft(together=True, visits=data).tables[1].columns
    ]
    assert reasons[2].startswith("28 values among 300 rows")
