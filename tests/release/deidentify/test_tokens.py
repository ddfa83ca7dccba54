"""Tokens are random and different; their mapping opens only with the key that sealed it."""

from __future__ import annotations

import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidKey, OutputRefused
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.tokens import TokenMapping, open_tokens, seal_tokens

if TYPE_CHECKING:
    from pathlib import Path

KEY, OTHER = SecretKey(bytes(range(32))), SecretKey(bytes(range(1, 33)))
texts = st.lists(st.text(), unique=True)


@given(texts, texts)
def test_known_values_keep_their_token_and_new_ones_get_a_new_one(old: list[str], new: list[str]):
    before = TokenMapping().draw(old, domain="", bits=64)
    after = before.draw(new, domain="", bits=64)
    found = after.by_domain[""]
    assert {text: found[text] for text in old} == before.by_domain[""]
    assert set(found) == {*old, *new}
    assert len(set(found.values())) == len(found)
    everything = [*found]
    assert after.lookup([found[text] for text in everything], domain="") == everything


def test_tokens_are_drawn_anew_each_time():
    drawn = [
        TokenMapping().draw(["Ann"], domain="", bits=128).by_domain[""]["Ann"] for _ in range(5)
    ]
    assert len(set(drawn)) == 5


def test_domains_have_tokens_of_their_own():
    tokens = (
        TokenMapping()
        .draw(["1"], domain="patients", bits=128)
        .draw(["1"], domain="visits", bits=128)
    )
    token = tokens.by_domain["patients"]["1"]
    assert token != tokens.by_domain["visits"]["1"]
    assert tokens.lookup([token], domain="visits") == [None]


@given(st.dictionaries(st.text(), st.dictionaries(st.text(), st.text())))
def test_what_is_sealed_opens_with_its_key(
    tmp_path_factory: pytest.TempPathFactory, entries: dict[str, dict[str, str]]
):
    path = tmp_path_factory.mktemp("sealed") / "mapping"
    seal_tokens(TokenMapping(entries), path, key=KEY)
    assert open_tokens(path, key=KEY) == TokenMapping(entries)


def test_a_sealed_mapping_is_private_and_shows_neither_value_nor_key(tmp_path: Path):
    path = tmp_path / "mapping"
    tokens = TokenMapping().draw(["Ann Lee"], domain="names", bits=128)
    seal_tokens(tokens, path, key=KEY)
    content = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for secret in (b"Ann", b"names", tokens.by_domain["names"]["Ann Lee"].encode(), KEY.secret):
        assert secret not in content
    assert "Ann" not in repr(tokens)
    assert [item.name for item in tmp_path.iterdir()] == ["mapping"]


def test_a_mapping_does_not_open_with_another_key_or_after_a_change(tmp_path: Path):
    path = tmp_path / "mapping"
    seal_tokens(TokenMapping({"": {"a": "b"}}), path, key=KEY)
    with pytest.raises(InvalidKey, match="another key"):
        open_tokens(path, key=OTHER)
    content = path.read_bytes()
    for changed in (content[:-1], content[:20], content[:-1] + bytes([content[-1] ^ 1])):
        path.write_bytes(changed)
        with pytest.raises(InvalidKey, match="cannot be opened"):
            open_tokens(path, key=KEY)
    path.write_text("value,token\n")
    with pytest.raises(InvalidKey, match="no sealed mapping"):
        open_tokens(path, key=KEY)


def test_no_mapping_yet_means_no_tokens_yet(tmp_path: Path):
    assert open_tokens(tmp_path / "mapping", key=KEY) == TokenMapping()


def test_a_mapping_that_cannot_be_written_leaves_the_old_one(tmp_path: Path):
    with pytest.raises(OutputRefused):
        seal_tokens(TokenMapping(), tmp_path / "nowhere" / "mapping", key=KEY)
