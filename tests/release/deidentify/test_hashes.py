"""A plain hash is refused with its price; the published examples' taxi medallions show it."""

from __future__ import annotations

import hashlib

import pyarrow as pa
import pytest

from discreet.attacks.hashes.hashes import count_guesses
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.errors import UnkeyedHash
from discreet.release.deidentify.hashes import refuse_unkeyed_hash


def test_medallions_and_licences_take_as_many_guesses_as_the_seeds_say():
    assert count_guesses(pa.array(["5X55", "XX555", "XXX555"])) == 18_278_000
    assert count_guesses(pa.array([123456, 1234567])) == 11_000_000
    assert count_guesses(pa.array([], pa.string())) == 0


def test_a_hash_without_a_key_is_refused():
    with pytest.raises(UnkeyedHash, match="without a key is no pseudonym"):
        refuse_unkeyed_hash("sha256")


def test_the_refusal_names_the_column_and_how_many_guesses_undo_it():
    engine = DuckDB()
    relation = engine.load(pa.table({"medallion": ["5X55", None, "XX555", "XXX555"]}).to_reader())
    table = Table(engine, relation, engine.columns(relation), "rides")
    with pytest.raises(UnkeyedHash, match="18,278,000 guesses undo all of column 'medallion'") as e:
        refuse_unkeyed_hash("md5", table=table, column=table.columns[0])
    assert "18 seconds at a million a second" in str(e.value)
    assert "5X55" not in str(e.value)
    engine.close()


def test_the_dictionary_attack_works_on_a_plain_hash():
    released = {hashlib.md5(b"7B42").hexdigest()}
    medallions = (
        f"{a}{b}{c}{d}"
        for a in range(10)
        for b in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
        for c in range(10)
        for d in range(10)
    )
    found = [text for text in medallions if hashlib.md5(text.encode()).hexdigest() in released]
    assert found == ["7B42"]
