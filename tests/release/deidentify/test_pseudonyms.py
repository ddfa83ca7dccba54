"""Pseudonyms are the same wherever the key is the same, so that joins survive; and tell nothing else."""

from __future__ import annotations

import datetime as dt
import json
import subprocess
import sys
from decimal import Decimal
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlglot import exp

from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Engine, Table
from discreet.engines.scratch import ScratchEngine
from discreet.errors import InvalidKey, UnknownColumn, UnsuitableValues, WrongUsage
from discreet.release.deidentify import pseudonyms
from discreet.release.deidentify.base32 import read_base32, write_base32
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import (
    DateShift,
    FormatPreserving,
    KeyedHash,
    Pseudonym,
    RandomToken,
    Reversible,
)
from discreet.release.deidentify.pseudonyms import pseudonymize, pseudonyms_of, undo_pseudonyms
from discreet.sql import build

if TYPE_CHECKING:
    from pathlib import Path

KEY, OTHER = SecretKey(bytes(range(32))), SecretKey(bytes(range(1, 33)))
VALUE_KINDS = [KeyedHash(), Reversible()]


@pytest.fixture(scope="module")
def engine():
    engine = DuckDB()
    yield engine
    engine.close()


def opened(engine: Engine, **columns: object) -> Table:
    relation = engine.load(pa.table(columns).to_reader())
    return Table(engine, relation, engine.columns(relation), "people")


def released(table: Table, columns: dict[str, Pseudonym], key: SecretKey | None = KEY, **options):
    return table.engine.run(pseudonymize(table, columns, key=key, **options).query)


def of(values: list, kind: Pseudonym, key: SecretKey = KEY) -> list[str]:
    return pseudonyms_of(pa.array(values), kind, key=key, column="id").to_pylist()


unique_texts = st.lists(st.text(), min_size=1, max_size=20, unique=True)


@pytest.mark.parametrize("kind", VALUE_KINDS, ids=lambda kind: kind.name)
@given(values=unique_texts)
def test_a_pseudonym_depends_on_value_key_and_domain_only(kind: Pseudonym, values: list[str]):
    found = of(values, kind)
    assert len(set(found)) == len(values)
    assert of(values[::-1], kind) == found[::-1]
    others = {*of(values, kind, OTHER), *of(values, type(kind)(domain="visits"))}
    assert not others & set(found)


@given(unique_texts)
def test_a_reversible_pseudonym_comes_back(values: list[str]):
    found = pseudonyms_of(pa.array(values), Reversible(), key=KEY, column="id")
    back = pseudonyms.originals_of(found, Reversible(), key=KEY, tokens=None, column="id")
    assert back.to_pylist() == values


def test_the_length_of_a_value_shows_in_steps_of_16_bytes_only():
    assert len({len(text) for text in of(["", "Bo", "Alexandra Smith"], Reversible())}) == 1


@given(st.lists(st.binary(max_size=40)))
def test_base32_is_read_back(rows: list[bytes]):
    texts = write_base32(rows)
    assert [read_base32(text) for text in texts] == rows
    assert all(text == text.lower() and text.isalnum() for text in texts if text)


SAME = [
    pa.array([1, 20]),
    pa.array(["1", "20"]),
    pa.array([1.0, 20.0]),
    pa.array([Decimal("1.00"), Decimal("20.00")]),
    pa.array(["1", "20"]).dictionary_encode(),
]


@pytest.mark.parametrize("values", SAME, ids=lambda values: str(values.type))
@pytest.mark.parametrize("kind", VALUE_KINDS, ids=lambda kind: kind.name)
def test_a_number_has_one_pseudonym_whatever_its_type(kind: Pseudonym, values: pa.Array):
    assert pseudonyms_of(values, kind, key=KEY, column="id").to_pylist() == of(["1", "20"], kind)


def test_a_pseudonym_never_changes_between_versions():
    """A change here breaks the joins of everyone who has published pseudonyms."""
    assert of(["Ann", "1"], KeyedHash()) == [
        "nurwdnezp62fysgntgari5tzmu",
        "t7zhodkdoird62ygslwdpta2o4",
    ]
    assert of(["Ann"], Reversible()) == ["hvxphae52cux4425kxxusud7rzapaqxx656ch2qnah2pwjljkf7a"]
    assert of(["AB-1234567"], FormatPreserving()) == ["LM-3255249"]
    assert of(["1234567"], FormatPreserving()) == ["3954268"]


def test_values_that_share_a_pseudonym_are_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(pseudonyms.hmac, "digest", lambda *_: bytes(32))
    with pytest.raises(UnsuitableValues, match="share a pseudonym of 128 bits"):
        of(["Ann", "Bob"], KeyedHash())


@pytest.mark.parametrize("bits", [0, 56, 63, 65, 264])
def test_too_few_or_too_many_bits_are_refused(bits: int):
    with pytest.raises(WrongUsage, match="bits"):
        KeyedHash(bits=bits)
    with pytest.raises(WrongUsage, match="bits"):
        RandomToken(bits=bits)


@settings(max_examples=20)
@given(
    patients=st.lists(st.integers(0, 30), unique=True, min_size=1),
    visits=st.lists(st.none() | st.integers(0, 30), min_size=1),
)
@pytest.mark.parametrize("kind", [*VALUE_KINDS, RandomToken()], ids=lambda kind: kind.name)
def test_joins_between_tables_survive(
    engine: DuckDB, kind: Pseudonym, patients: list[int], visits: list[int | None]
):
    first = pseudonymize(opened(engine, id=pa.array(patients)), {"id": kind}, key=KEY)
    texts = pa.array([None if v is None else str(v) for v in visits], pa.string())
    second = pseudonymize(
        opened(engine, patient=texts), {"patient": kind}, key=KEY, tokens=first.tokens
    )
    known = engine.run(first.query)["id"].to_pylist()
    found = engine.run(second.query)["patient"].to_pylist()
    assert sum(text in known for text in found) == sum(visit in patients for visit in visits)
    assert sum(text is None for text in found) == sum(visit is None for visit in visits)


def test_columns_of_different_domains_do_not_join(engine: DuckDB):
    table = opened(engine, a=["x", "y"], b=["x", "y"])
    found = released(table, {"a": KeyedHash("patients"), "b": KeyedHash("doctors")})
    assert not set(found["a"].to_pylist()) & set(found["b"].to_pylist())
    same = released(table, {"a": KeyedHash(), "b": KeyedHash()})
    assert same["a"] == same["b"]


def test_tokens_agree_within_a_table_and_need_no_key(engine: DuckDB):
    table = opened(engine, a=["x", "y", None], b=["y", "x", None])
    done = pseudonymize(table, {"a": RandomToken(), "b": RandomToken()})
    rows = engine.run(done.query).to_pylist()
    assert {row["a"] for row in rows} == {row["b"] for row in rows}
    assert done.to_dict()["key"] is None
    assert engine.run(done.query).to_pylist() == rows


def test_order_and_other_columns_stay_and_dropped_ones_go(engine: DuckDB):
    table = opened(engine, age=[30, 40], name=["Ann", "Bob"], mail=["a@b", "c@d"], city=["X", None])
    found = released(table, {"name": KeyedHash()}, drop=["mail"]).sort_by("age")
    assert found.column_names == ["age", "name", "city"]
    assert found["age"].to_pylist() == [30, 40]
    assert found["city"].to_pylist() == ["X", None]


def test_neither_key_nor_value_is_in_what_is_published(engine: DuckDB):
    values = ["Ann Lee-Meier", "Bob Ray 1234567", "Charlotte 99"]
    table = opened(engine, a=values, b=values, c=values, d=values)
    kinds = {"a": KeyedHash(), "b": Reversible(), "c": FormatPreserving(), "d": RandomToken()}
    done = pseudonymize(table, kinds, key=KEY)
    published = f"{engine.run(done.query).to_pylist()} {json.dumps(done.to_dict())}"
    for secret in (*values, "Ann", "1234567", KEY.secret.hex(), str(KEY.secret)):
        assert secret not in published
    assert done.to_dict()["key"] == KEY.fingerprint


def test_a_manifest_reports_kind_domain_and_unit(engine: DuckDB):
    table = opened(engine, id=["a"], day=[dt.date(2024, 1, 1)])
    kinds = {"id": KeyedHash("people", bits=96), "day": DateShift(days=30)}
    assert pseudonymize(table, kinds, key=KEY, unit="id").to_dict() == {
        "key": KEY.fingerprint,
        "unit": "id",
        "columns": {
            "id": {"kind": "keyed", "domain": "people", "bits": 96},
            "day": {"kind": "date-shift", "domain": "", "days": 30},
        },
    }


def test_a_missing_key_and_a_missing_column_are_reported(engine: DuckDB):
    table = opened(engine, name=["a"])
    with pytest.raises(InvalidKey, match="need a key"):
        pseudonymize(table, {"name": KeyedHash()})
    with pytest.raises(UnknownColumn, match="Did you mean 'name'"):
        pseudonymize(table, {"nam": KeyedHash()}, key=KEY)
    with pytest.raises(UnknownColumn, match="'id' is not in people"):
        pseudonymize(table, {"name": DateShift()}, key=KEY, unit="id")


def test_an_irreversible_pseudonym_is_not_reversed(engine: DuckDB):
    with pytest.raises(WrongUsage, match="cannot be reversed"):
        undo_pseudonyms(opened(engine, name=["a"]), {"name": KeyedHash()}, key=KEY)


@pytest.mark.parametrize("kind", [Reversible(), RandomToken()], ids=lambda kind: kind.name)
@pytest.mark.parametrize("text", ["Ann", "", "a" * 52, "hvxphae52cux4425kxxusud7rzapaqxx"])
def test_what_is_no_pseudonym_of_this_key_is_refused(engine: DuckDB, kind: Pseudonym, text: str):
    with pytest.raises(UnsuitableValues, match="1 of 1 values of column 'name' are no pseudonyms"):
        undo_pseudonyms(opened(engine, name=[text]), {"name": kind}, key=KEY)


def moment(*parts: int) -> dt.datetime:
    return dt.datetime(*parts)  # noqa: DTZ001 -- the zone is that of the column


WITHOUT = """
import sys
sys.modules["cryptography"] = None  # as if it were not installed
import pyarrow as pa
from discreet.errors import MissingExtra
from discreet.release.deidentify import kinds, tokens
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.pseudonyms import pseudonyms_of
key, values = SecretKey(bytes(range(32))), pa.array(["1234567"])
pseudonyms_of(values, kinds.KeyedHash(), key=key, column="id")
for fail in (
    lambda: pseudonyms_of(values, kinds.Reversible(), key=key, column="id"),
    lambda: pseudonyms_of(values, kinds.FormatPreserving(), key=key, column="id"),
    lambda: tokens.seal_tokens(tokens.TokenMapping(), "mapping", key=key),
    lambda: tokens.open_tokens("mapping", key=key),
):
    try:
        fail()
    except MissingExtra as error:
        print(error)
"""


def test_keyed_pseudonyms_need_no_library_and_the_others_name_the_extra(tmp_path: Path):
    ran = subprocess.run(
        [sys.executable, "-c", WITHOUT], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert ran.stderr == ""
    assert ran.stdout.count("pip install 'discreet[pseudonyms]'") == 4


PEOPLE = {
    "n": pa.array([1, 2, 3, 4]),
    "id": pa.array([1234567, None, 7654321, 1234567]),
    "code": pa.array(["AB-12345", "xy 99999", None, "AB-12345"]),
    "name": pa.array(["Ann", "Zoë", "", None]),
    "height": pa.array([1.5, -0.0, 2.0, None]),
    "paid": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("1.50")]),
    "day": pa.array([dt.date(2024, 2, 29), dt.date(1932, 1, 1), None, dt.date.max]),
    "clock": pa.array(
        [moment(2024, 2, 29, 23, 59, 59, 5), None, moment(1932, 1, 1), None], pa.timestamp("us")
    ),
    "instant": pa.array(
        [moment(2024, 2, 29, 23), None, None, moment(2024, 3, 1)], pa.timestamp("us", "UTC")
    ),
    "text": pa.array(["2024-02-29", "2024-02-29T10:00:00Z", None, "9999-12-31"]),
    "person": pa.array(["a", "b", "c", "a"]),
}
KINDS: dict[str, Pseudonym] = {
    "id": FormatPreserving(),
    "code": FormatPreserving("codes"),
    "name": Reversible(),
    "height": KeyedHash(),
    "paid": KeyedHash(bits=64),
    "person": KeyedHash(),
    **dict.fromkeys(("day", "clock", "instant", "text"), DateShift(days=100)),
}


def test_every_engine_gives_the_same_pseudonyms_and_dates(any_engine: Engine, engine: DuckDB):
    wanted = released(opened(engine, **PEOPLE), KINDS, unit="person").sort_by("n").to_pylist()
    with ScratchEngine(any_engine) as scratch:
        table = opened(scratch, **PEOPLE)
        found = released(table, KINDS, unit="person").sort_by("n").to_pylist()
    assert found == wanted


def test_every_engine_undoes_them(any_engine: Engine):
    kinds = {name: kind for name, kind in KINDS.items() if not isinstance(kind, KeyedHash)}
    with ScratchEngine(any_engine) as scratch:
        table = opened(scratch, **PEOPLE)
        kept = scratch.keep(pseudonymize(table, kinds, key=KEY, unit="person").query)
        again = Table(scratch, kept, scratch.columns(kept), "release")
        found = scratch.run(undo_pseudonyms(again, kinds, key=KEY, unit="person"))
        original = scratch.run(build.select(exp.Star(), source=table.relation))
    assert found.sort_by("n").to_pylist() == original.sort_by("n").to_pylist()
