"""Cells: what comes back, what a swap or a change does, and what a thief of the disk finds."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from decimal import Decimal
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.guard.vault.conftest import ACT, SIN, raw_bytes

from discreet.errors import StatementFailed
from discreet.guard.vault.columns import (
    ColumnLocation,
    blind_index,
    blind_indexes,
    decrypt,
    encrypt,
)
from discreet.guard.vault.functions import EncryptionFunctions
from discreet.guard.vault.keys import create_key, destroy_key, open_key, rotate_key
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.session_keys import locked_key_failure

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.guard.control import ControlStore
    from discreet.guard.vault.wrapping import WrappingKey

PLACE = ColumnLocation("public.employee", "sin")
VALUES = pa.array(["046-454-286", None, "", "Zoë\0\x80", "046-454-286"])
IDS = pa.array([1, 2, 3, 4, 5])
KEY = OpenKey(SIN, {1: bytes(range(32))}, active=1)


def opened(cells, *, key=KEY, place=PLACE, rows=(IDS,), returns=None):
    return decrypt(cells, key=key, place=place, rows=rows, returns=returns or pa.string())


def refused(cells, **more) -> None:
    with pytest.raises(StatementFailed) as caught:
        opened(cells, **more)
    assert caught.value.sqlstate == "22000"
    assert str(caught.value) == "an encrypted value cannot be read with this key"
    assert caught.value.__cause__ is None


def test_values_come_back_and_null_stays_null():
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS])
    assert cells.null_count == 1
    assert opened(cells).to_pylist() == VALUES.to_pylist()


@pytest.mark.parametrize(
    "values",
    [
        pa.array([True, False, None]),
        pa.array([-32768, 0, 32767], pa.int16()),
        pa.array([-(2**31), None, 5], pa.int32()),
        pa.array([-(2**63), 2**63 - 1, 0], pa.int64()),
        pa.array([0.1, 1e308, -0.0], pa.float64()),
        pa.array([0.5, None, 3.4e38], pa.float32()),
        pa.array([Decimal("12.50"), Decimal("-0.01"), None], pa.decimal128(10, 2)),
        pa.array([dt.date(1, 1, 1), dt.date(9999, 12, 31), None]),
        pa.array(
            [dt.datetime.fromisoformat("2026-05-01T12:30:00.123456"), None], pa.timestamp("us")
        ),
        pa.array([dt.datetime(1969, 5, 1, tzinfo=dt.UTC), None], pa.timestamp("us", "UTC")),
        pa.array([dt.time(23, 59, 59, 999999), None], pa.time64("us")),
        pa.array([b"\0\x80\xff", b"", None], pa.binary()),
        pa.array(["", "\0", "\N{GRINNING FACE}" * 100]),
    ],
    ids=lambda values: str(values.type),
)
def test_every_type_comes_back(values: pa.Array):
    ids = pa.array(range(len(values)))
    cells = encrypt(values, key=KEY, place=PLACE, rows=[ids])
    assert opened(cells, rows=[ids], returns=values.type).equals(values)


def test_types_that_cannot_be_written_are_refused():
    with pytest.raises(StatementFailed) as caught:
        encrypt(pa.array([[1], [2]]), key=KEY, place=PLACE, rows=[pa.array([1, 2])])
    assert caught.value.sqlstate == "0A000"


@given(st.lists(st.one_of(st.none(), st.binary(max_size=70)), max_size=8))
def test_any_bytes_come_back(values: list[bytes | None]):
    column, ids = pa.array(values, pa.binary()), pa.array(range(len(values)), pa.int64())
    cells = encrypt(column, key=KEY, place=PLACE, rows=[ids])
    assert opened(cells, rows=[ids], returns=pa.binary()).equals(column)
    sizes = {len(cell) % 16 for cell in cells.to_pylist() if cell is not None}
    assert sizes <= {(1 + 8 + 12 + 16) % 16}


def test_equal_values_have_different_cells_of_equal_length():
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS]).to_pylist()
    assert cells[0] != cells[4]
    assert len(cells[2]) == len(cells[0])


def test_no_cell_holds_its_value():
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS])
    assert not any(b"046" in cell for cell in cells.to_pylist() if cell)


def test_swapped_cells_are_noticed():
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS]).to_pylist()
    refused(pa.array([cells[4], *cells[1:4], cells[0]]))


@pytest.mark.parametrize(
    "place", [ColumnLocation("public.other", "sin"), ColumnLocation("public.employee", "name")]
)
def test_cells_of_another_column_or_table_are_noticed(place: ColumnLocation):
    cells = encrypt(VALUES, key=KEY, place=place, rows=[IDS])
    refused(cells)


def test_places_whose_names_run_together_are_apart():
    cells = encrypt(VALUES, key=KEY, place=ColumnLocation("a", "bc"), rows=[IDS])
    refused(cells, place=ColumnLocation("ab", "c"))


def test_every_bit_of_a_cell_counts():
    (cell,) = encrypt(pa.array(["x"]), key=KEY, place=PLACE, rows=[pa.array([1])]).to_pylist()
    for at in range(len(cell)):
        changed = cell[:at] + bytes([cell[at] ^ 0x10]) + cell[at + 1 :]
        refused(pa.array([changed]), rows=[pa.array([1])])
    for short in (b"", cell[:5], cell[:20], cell[:-1]):
        refused(pa.array([short]), rows=[pa.array([1])])


def test_another_key_opens_nothing():
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS])
    refused(cells, key=OpenKey(SIN, {1: bytes(range(1, 33))}, active=1))
    refused(cells, key=OpenKey("other", {1: bytes(range(32))}, active=1))
    closed = OpenKey(SIN, {1: bytes(range(32))}, active=1)
    closed.close()
    refused(cells, key=closed)


def test_a_key_of_several_columns_is_not_taken_apart_differently():
    one, two = (
        (pa.array(["a", "ab"]), pa.array(["bc", "c"])),
        (pa.array(["ab", "a"]), pa.array(["c", "bc"])),
    )
    values = pa.array(["x", "y"])
    cells = encrypt(values, key=KEY, place=PLACE, rows=one)
    assert opened(cells, rows=one).equals(values)
    refused(cells, rows=two)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (pa.array([7], pa.int32()), pa.array([7], pa.int64())),
        (
            pa.array([Decimal("7.50")], pa.decimal128(10, 2)),
            pa.array([Decimal("7.5000")], pa.decimal128(18, 4)),
        ),
        (
            pa.array([dt.datetime.fromisoformat("2026-05-01")], pa.timestamp("s")),
            pa.array([dt.datetime.fromisoformat("2026-05-01")], pa.timestamp("ns")),
        ),
        (
            pa.array([dt.datetime(2026, 5, 1, tzinfo=dt.UTC)], pa.timestamp("us", "UTC")),
            pa.array([dt.datetime(2026, 5, 1, tzinfo=dt.UTC)], pa.timestamp("us", "Europe/Paris")),
        ),
        (pa.array(["a"]), pa.array(["a"], pa.large_string())),
        (pa.array([0.5], pa.float32()), pa.array([0.5], pa.float64())),
    ],
    ids=lambda each: str(each.type),
)
def test_the_same_row_is_the_same_on_engines_that_write_it_differently(one, other):
    cells = encrypt(pa.array(["x"]), key=KEY, place=PLACE, rows=[one])
    assert opened(cells, rows=[other]).to_pylist() == ["x"]


def test_a_row_without_a_key_cannot_hold_cells():
    with pytest.raises(StatementFailed, match="needs a table with a primary key"):
        encrypt(VALUES, key=KEY, place=PLACE, rows=[])
    with pytest.raises(StatementFailed, match="no primary key"):
        encrypt(VALUES, key=KEY, place=PLACE, rows=[pa.array([1, 2, None, 4, 5])])


def test_after_a_rotation_old_cells_open_until_they_are_encrypted_anew(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    old = encrypt(VALUES, key=key, place=PLACE, rows=[IDS])
    rotate_key(documents, SIN, server, act=ACT)
    both = open_key(documents, SIN, server)
    again = encrypt(opened(old, key=both), key=both, place=PLACE, rows=[IDS])
    assert opened(again, key=both).equals(VALUES)
    refused(again, key=key)


# Blind index


def test_equal_values_have_equal_indexes_and_others_do_not():
    values = pa.array(["a", "b", None, "a", "e\u0301", "\u00e9"])
    one, two, none, again, long, short = blind_index(values, key=KEY, place=PLACE).to_pylist()
    assert (one, none, long) == (again, None, short)
    assert len({one, two, long}) == 3
    assert {len(each) for each in (one, two, long)} == {16}


def test_indexes_of_other_columns_and_keys_are_unlike():
    values = pa.array(["a"])
    other = OpenKey("other", {1: bytes(range(32))}, active=1)
    made = [
        blind_index(values, key=KEY, place=PLACE),
        blind_index(values, key=KEY, place=ColumnLocation("public.employee", "name")),
        blind_index(values, key=other, place=PLACE),
    ]
    assert max(Counter(each[0].as_py() for each in made).values()) == 1


def test_a_value_is_looked_up_under_all_versions():
    both = OpenKey(SIN, {1: bytes(range(32)), 2: bytes(range(1, 33))}, active=2)
    new, old = blind_indexes(pa.array(["a"]), key=both, place=PLACE)
    assert old.equals(blind_index(pa.array(["a"]), key=KEY, place=PLACE))
    assert new != old


# Inside DuckDB


@pytest.fixture
def employees(tmp_path: Path):
    connection = duckdb.connect(str(tmp_path / "data.db"))
    cells = encrypt(VALUES, key=KEY, place=PLACE, rows=[IDS])
    index = blind_index(VALUES, key=KEY, place=PLACE)
    stored = pa.table({"id": IDS, "sin": cells, "sin_index": index})
    connection.execute("CREATE TABLE employee AS SELECT * FROM stored")
    connection.execute("CHECKPOINT")
    del stored
    yield connection
    connection.close()


@pytest.fixture
def functions(employees) -> EncryptionFunctions:
    made = EncryptionFunctions()

    def create(name, function, *, returns, is_pure):
        function.__annotations__ = {}
        employees.create_function(
            name,
            function,
            None,
            returns,
            type="arrow",
            null_handling="special",
            side_effects=not is_pure,
        )

    made.register(create)
    return made


def test_a_query_decrypts_cells_by_a_function_with_an_unguessable_name(
    employees, functions, tmp_path: Path
):
    slot = functions.add(KEY, place=PLACE, kind=pa.string())
    # The name is ours, of letters and digits.
    found = employees.execute(
        f"SELECT {functions.open_text}({slot.number}, sin, sin_index, id) AS s, count(*) FROM employee "
        "GROUP BY s ORDER BY s"
    ).fetchall()
    assert found == [("", 1), ("046-454-286", 2), ("Zoë\0\x80", 1), (None, 1)]
    assert len(functions.open_text) >= 32
    assert EncryptionFunctions().open_text != functions.open_text
    employees.execute("CHECKPOINT")
    assert b"046-454" not in raw_bytes(tmp_path)


def test_a_slot_that_was_removed_opens_nothing(employees, functions):
    slot = functions.add(KEY, place=PLACE, kind=pa.string())
    functions.remove(slot)
    with pytest.raises(duckdb.Error):
        employees.execute(
            f"SELECT {functions.open_text}({slot.number}, sin, sin_index, id) FROM employee"
        )


def test_a_locked_slot_says_how_to_unlock_it(employees, functions):
    slot = functions.add(locked_key_failure(SIN), place=PLACE, kind=pa.string())
    with pytest.raises(duckdb.Error):
        employees.execute(
            f"SELECT {functions.open_text}({slot.number}, sin, sin_index, id) FROM employee"
        )
    assert slot.failure is not None
    assert slot.failure.sqlstate == "42501"
    assert slot.failure.hint == f"Unlock it: SELECT discreet_unlock('{SIN}', $1)"


def test_a_moved_cell_fails_the_query_and_no_value_is_shown(employees, functions):
    slot = functions.add(KEY, place=PLACE, kind=pa.string())
    employees.execute(
        "UPDATE employee SET sin = (SELECT sin FROM employee WHERE id = 1) WHERE id = 3"
    )
    with pytest.raises(duckdb.Error) as caught:
        employees.execute(
            f"SELECT {functions.open_text}({slot.number}, sin, sin_index, id) FROM employee"
        ).fetchall()
    assert slot.failure is not None
    assert slot.failure.sqlstate == "22000"
    assert "046" not in str(caught.value)


def test_cells_that_are_not_asked_for_are_not_opened(employees, functions):
    slot = functions.add(KEY, place=PLACE, kind=pa.string())
    employees.execute("UPDATE employee SET sin = 'x'::BLOB WHERE id = 3")
    query = (
        f"SELECT id FROM (SELECT id, {functions.open_text}({slot.number}, sin, sin_index, id) AS s "
        "FROM employee) WHERE id = 1 AND s = '046-454-286'"
    )
    assert employees.execute(query).fetchall() == [(1,)]


def test_a_query_locks_values_and_finds_them_by_their_index(employees, functions):
    slot = functions.add(KEY, place=PLACE, kind=pa.decimal128(10, 2))
    number = slot.number
    employees.execute(
        f"CREATE TABLE pay AS SELECT id, {functions.lock}({number}, 5.25, id) AS amount, "
        f"{functions.index}({number}, 5.25) AS amount_index FROM employee"
    )
    found = employees.execute(
        f"SELECT id, {functions.open_text}({number}, amount, amount_index, id)::DECIMAL(10, 2) FROM pay "
        f"WHERE amount_index = {functions.index}({number}, 5.25) ORDER BY id"
    ).fetchall()
    assert found == [(each, Decimal("5.25")) for each in range(1, 6)]
    (cells,) = employees.execute("SELECT count(DISTINCT amount) FROM pay").fetchone()
    assert cells == 5


def test_with_the_key_everything_it_locked_is_gone(
    documents: ControlStore, server: WrappingKey, tmp_path: Path
):
    create_key(documents, "pay", server, act=ACT)
    key = open_key(documents, "pay", server)
    cells = encrypt(VALUES, key=key, place=PLACE, rows=[IDS])
    key.close()
    destroy_key(documents, "pay", act=ACT)
    refused(cells, key=OpenKey("pay", {}, active=None))
    assert b"046-454" not in raw_bytes(tmp_path)
