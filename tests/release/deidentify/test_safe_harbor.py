"""Safe Harbor on whole tables: the same release on every engine, and nothing of the rule left."""

from __future__ import annotations

import datetime as dt
import json
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow as pa
import pytest

from discreet.engines.connect import open_table
from discreet.errors import EmptySource, OutputRefused, WrongUsage
from discreet.release.deidentify.deidentify import safe_harbor
from discreet.release.deidentify.zip_areas import SmallAreas

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.engines.engine import Engine

REASON = "what is removed is tested, not what is left"
COUNT = 40
PEOPLE = pa.table(
    {
        "name": [f"Zebulon{n} Quackenbush{n}" for n in range(COUNT)],
        "email": [f"p{n}@example.org" if n % 4 else None for n in range(COUNT)],
        "zip": pa.array([10001 if n % 2 else 3601 for n in range(COUNT)], pa.int64()),
        "age": pa.array([88 + n % 4 for n in range(COUNT)], pa.int64()),
        "birth_date": [dt.date(1934 + n % 5, 3, 1 + n % 28) for n in range(COUNT)],
        "state": ["NY" if n % 2 else "NH" for n in range(COUNT)],
        "diagnosis": ["flu" if n % 3 else "cold" for n in range(COUNT)],
        "remarks": [
            f"Wrote to p{n}@example.org about the result of visit {n}." for n in range(COUNT)
        ],
    }
)


def released(path: Path) -> list[dict[str, Any]]:
    found = duckdb.sql(f"FROM read_csv('{path}', all_varchar = true)")
    return [dict(zip(found.columns, row, strict=True)) for row in found.fetchall()]


def test_a_release_holds_nothing_of_the_list_on_any_engine(any_engine: Engine, tmp_path: Path):
    few = PEOPLE.select(["name", "zip", "birth_date", "remarks"])
    path = tmp_path / "out.csv"
    found = safe_harbor(open_table(few, engine=any_engine), path, as_of=2026, accept_risk=REASON)
    rows = released(path)
    assert len(rows) == COUNT
    assert list(rows[0]) == ["zip", "birth_date", "remarks"]
    assert {row["zip"] for row in rows} == {"100", "000"}
    assert {row["birth_date"] for row in rows} == {"90+", "1937", "1938"}
    assert "@" not in path.read_text()
    assert found.column("remarks").found["F"] == COUNT


def test_every_cell_that_changes_or_goes_is_counted(tmp_path: Path):
    found = safe_harbor(PEOPLE, tmp_path / "out.csv", as_of=2026, accept_risk=REASON)
    rows = released(tmp_path / "out.csv")
    assert list(rows[0]) == ["zip", "age", "birth_date", "state", "diagnosis", "remarks"]
    assert {row["age"] for row in rows} == {"88", "89", "90+"}
    assert found.column("age").changed == COUNT // 2
    assert found.column("email").removed == COUNT * 3 // 4
    assert (found.column("state").changed, found.column("state").removed) == (0, 0)


def test_the_same_rows_in_another_order_give_the_same_file(tmp_path: Path):
    backwards = PEOPLE.take(list(range(COUNT - 1, -1, -1)))
    first, second = tmp_path / "a.csv", tmp_path / "b.csv"
    safe_harbor(PEOPLE, first, as_of=2026, accept_risk=REASON)
    safe_harbor(backwards, second, as_of=2026, accept_risk=REASON)
    assert first.read_bytes() == second.read_bytes()


def test_names_of_the_table_are_taken_out_of_its_texts(tmp_path: Path):
    table = pa.table(
        {
            "name": [f"Zebulon Quackenbush {n}" for n in range(COUNT)],
            "remarks": ["Spoke to Mr. Quackenbush and to Zebulon this week."] * COUNT,
        }
    )
    path = tmp_path / "out.csv"
    safe_harbor(table, path, as_of=2026)
    assert "zebulon" not in path.read_text().lower()
    assert "quackenbush" not in path.read_text().lower()


def test_all_eighteen_classes_are_reported_also_those_not_found():
    found = safe_harbor(PEOPLE, as_of=2026)
    letters = "".join(item.letter for item in found.classes)
    assert letters == "ABCDEFGHIJKLMNOPQR"
    by_letter = {item.letter: item for item in found.classes}
    assert by_letter["A"].columns == ("name",)
    assert by_letter["F"].columns == ("email", "remarks")
    assert by_letter["F"].in_text == COUNT
    assert by_letter["Q"].columns == ()


def test_what_still_singles_people_out_is_warned_of():
    table = pa.table({"sex": ["F"] * 9 + ["M"], "state": ["NY"] * 10, "ill": ["flu"] * 10})
    found = safe_harbor(table, as_of=2026)
    assert found.remaining is not None
    assert (found.remaining.unique, found.remaining.k) == (1, 1)
    assert any("164.514(b)(2)(ii)" in warning for warning in found.warnings)
    assert any("'sex' by itself singles out 1 person" in warning for warning in found.warnings)


def test_people_not_rows_are_counted_where_the_unit_is_known():
    table = pa.table(
        {"patient_id": [f"P{n // 5}" for n in range(50)], "sex": ["F"] * 45 + ["M"] * 5}
    )
    found = safe_harbor(table, as_of=2026, unit="patient_id", classes={"patient_id": "R"})
    assert found.remaining is not None
    assert (found.remaining.people, found.remaining.unique) == (10, 1)


def test_a_column_of_unreadable_dates_is_removed():
    table = pa.table({"visit_date": ["soon", "later", "2020-01-01"] * 5})
    found = safe_harbor(table, as_of=2026).column("visit_date")
    assert (found.action, found.letter, found.removed) == ("removed", "C", 15)


def test_days_of_a_month_are_not_kept_as_ages():
    table = pa.table({"visited": [3, 28] * 20, "sex": ["F", "M"] * 20})
    assert safe_harbor(table, as_of=2026, classes={"visited": "C"}).column("visited").action == (
        "removed"
    )


def test_blank_texts_are_missing_not_unreadable():
    table = pa.table({"visit_date": [" "] * 30 + ["2020-01-01"] * 9 + ["2020-02-01"]})
    found = safe_harbor(table, as_of=2026).column("visit_date")
    assert (found.action, found.cells, found.changed, found.removed) == ("year", 10, 10, 0)


def test_dates_after_the_year_of_ages_are_reported():
    table = pa.table({"visit_date": ["2024-01-01"] * 10, "age": [30] * 10})
    found = safe_harbor(table, as_of=2020)
    assert any("'visit_date'" in text and "--as-of" in text for text in found.cautions)
    assert any("year of birth" in text for text in found.cautions)


def test_a_few_unreadable_values_go_and_the_column_stays(tmp_path: Path):
    table = pa.table({"visit_date": ["soon"] + ["2020-01-01"] * 9})
    found = safe_harbor(table, tmp_path / "out.csv", as_of=2026, accept_risk=REASON).column(
        "visit_date"
    )
    assert (found.action, found.changed, found.removed) == ("year", 9, 1)
    assert "soon" not in (tmp_path / "out.csv").read_text()


def test_a_list_of_small_areas_replaces_ours(tmp_path: Path):
    small = SmallAreas(frozenset({"100"}), "ours")
    safe_harbor(PEOPLE, tmp_path / "out.csv", as_of=2026, small=small, accept_risk=REASON)
    assert {row["zip"] for row in released(tmp_path / "out.csv")} == {"000", "036"}


def test_a_column_kept_on_request_is_reported():
    found = safe_harbor(PEOPLE, as_of=2026, keep=["email"])
    assert found.column("email").action == "kept"
    assert any("'email' (class F)" in caution for caution in found.cautions)


def test_the_record_says_what_was_done_and_holds_no_cell(tmp_path: Path):
    source = tmp_path / "people.csv"
    duckdb.from_arrow(PEOPLE).write_csv(str(source))
    safe_harbor(source, tmp_path / "out.csv", as_of=2026, accept_risk=REASON)
    text = (tmp_path / "out.csv.release.json").read_text()
    record = json.loads(text)
    assert "input" not in record
    assert len(record["output"]["sha256"]) == 64
    assert set(record["columns"][0]) == {"column", "letter", "action", "reason"}
    assert record["settings"]["as_of"] == 2026
    assert "example.org" not in text
    assert "Zebulon" not in text


def test_bad_requests_are_refused_and_write_nothing(tmp_path: Path):
    path = tmp_path / "out.csv"
    with pytest.raises(EmptySource):
        safe_harbor(PEOPLE.slice(0, 0), path, as_of=2026)
    with pytest.raises(OutputRefused, match="nothing is left"):
        safe_harbor(PEOPLE.select(["name", "email"]), path, as_of=2026)
    with pytest.raises(WrongUsage, match="year 26"):
        safe_harbor(PEOPLE, path, as_of=26)
    assert list(tmp_path.iterdir()) == []


def test_an_output_or_its_record_is_not_replaced_unasked(tmp_path: Path):
    path = tmp_path / "out.csv"
    (tmp_path / "out.csv.release.json").write_text("mine")
    with pytest.raises(OutputRefused, match="--force"):
        safe_harbor(PEOPLE, path, as_of=2026)
    assert not path.exists()
    safe_harbor(PEOPLE, path, as_of=2026, force=True, accept_risk=REASON)
    assert path.exists()
