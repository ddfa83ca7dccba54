"""Surrogates: fresh values that look right, follow from name and kind alone, and fit each other."""

from __future__ import annotations

import re

import numpy as np
import pyarrow as pa
import pytest

from discreet.engines.engine import Column, Kind
from discreet.release.synthesize.surrogates import (
    PLACEHOLDER,
    SurrogateColumn,
    choose_surrogate,
    make_surrogates,
)

NAMED = {
    "full_name": "name",
    "first_name": "given name",
    "surname": "family name",
    "e_mail": "e-mail",
    "mobile_phone": "phone",
    "home_address": "address",
    "patient_id": "key",
    "notes": "text",
}
COLUMNS = [choose_surrogate(Column(name, Kind.TEXT)) for name in NAMED]


def made(count: int, **options: object) -> dict[str, list[object]]:
    found = make_surrogates(COLUMNS, count, np.random.default_rng(4), **options)  # pyright: ignore[reportArgumentType]
    return {name: cells.to_pylist() for name, cells in found.items()}


@pytest.mark.parametrize("name", NAMED)
def test_the_name_of_a_column_decides_the_form(name: str) -> None:
    assert choose_surrogate(Column(name, Kind.TEXT)).form == NAMED[name]


def test_cells_of_a_row_fit_each_other_and_reach_no_one() -> None:
    cells = made(200)

    for given, family, full, mail, phone in zip(
        *(cells[name] for name in ("first_name", "surname", "full_name", "e_mail", "mobile_phone")),
        strict=True,
    ):
        assert full == f"{given} {family}"
        assert re.fullmatch(rf"{given}\.{family}\d+@example\.(com|org|net)".lower(), str(mail))
        assert re.fullmatch(r"\+1-\d{3}-555-01\d\d", str(phone))
    assert set(cells["notes"]) == {PLACEHOLDER}
    assert len(set(cells["e_mail"])) == len(set(cells["patient_id"])) == 200


def test_rows_of_a_unit_share_its_person_and_not_its_other_keys() -> None:
    columns = [
        choose_surrogate(Column("person", Kind.INTEGER), is_unit=True),
        choose_surrogate(Column("visit_id", Kind.INTEGER)),
        choose_surrogate(Column("email", Kind.TEXT)),
    ]

    found = make_surrogates(columns, 4, np.random.default_rng(1), units=np.array([0, 0, 1, 0]))

    assert found["person"].to_pylist() == [1, 1, 2, 1]
    assert sorted(found["visit_id"].to_pylist()) == [1, 2, 3, 4]
    mails = found["email"].to_pylist()
    assert mails[0] == mails[1] == mails[3] != mails[2]


def test_a_foreign_key_is_written_as_the_key_it_points_to() -> None:
    parent = choose_surrogate(Column("id", Kind.TEXT), is_unit=True)
    child = choose_surrogate(Column("parent", Kind.TEXT), references=("parents", "id"))

    ids = make_surrogates([parent], 9, np.random.default_rng(1))["id"].to_pylist()
    found = make_surrogates(
        [child], 3, np.random.default_rng(2), keys={"parent": np.array([8, 0, 0])}
    )

    assert found["parent"].to_pylist() == [ids[8], ids[0], ids[0]]


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (Kind.INTEGER, pa.int64()),
        (Kind.REAL, pa.float64()),
        (Kind.DATE, pa.date32()),
        (Kind.TIMESTAMP, pa.timestamp("us")),
        (Kind.BOOLEAN, pa.bool_()),
    ],
)
def test_surrogates_have_the_type_of_their_column(kind: Kind, expected: object) -> None:
    column = choose_surrogate(Column("key", kind))

    assert make_surrogates([column], 3, np.random.default_rng(1))["key"].type == expected


def test_a_surrogate_survives_its_content() -> None:
    column = SurrogateColumn("p", "key", Kind.TEXT, is_unit=True, references=("t", "id"))

    assert SurrogateColumn.from_content(column.to_content()) == column


def test_no_rows_are_no_surrogates() -> None:
    assert all(cells == [] for cells in made(0).values())
