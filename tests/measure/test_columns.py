"""How far one column narrows a person down: people are counted, not rows."""

from __future__ import annotations

import pyarrow as pa

from discreet import assess

# Ann is alone with two days; on the day she shares with Bob no one is.
VISITS = pa.table(
    {
        "who": ["ann", "ann", "ann", "bob", None],
        "day": ["mon", "tue", "wed", "wed", "thu"],
        "ward": ["a", "a", "a", "a", None],
    }
)


def unique(table: pa.Table, **parts: object) -> dict[str, int]:
    found = assess(table, quasi=["day"], **parts)
    return {column.column: column.unique for column in found.columns}


def test_without_a_unit_each_row_is_a_person():
    assert unique(VISITS) == {"who": 2, "day": 3, "ward": 1}


def test_a_person_who_is_alone_with_several_values_counts_once():
    assert unique(VISITS.slice(0, 4), unit="who") == {"day": 1, "ward": 0}


def test_rows_without_a_known_person_are_one_person():
    assert unique(VISITS, unit="who") == {"day": 2, "ward": 1}


def test_a_unit_of_two_values_is_counted_on_every_type():
    table = pa.table({"who": [True, True, False], "day": ["mon", "tue", "tue"]})
    assert unique(table, unit="who") == {"day": 1}


def test_people_in_several_classes_are_reported_to_count_in_each():
    found = assess(VISITS, quasi=["day"], unit="who")
    assert any("in several classes" in caution for caution in found.cautions)
    assert not any(
        "in several classes" in caution for caution in assess(VISITS, quasi=["day"]).cautions
    )
