"""Keys are long and random, come from safe places, and are never shown."""

from __future__ import annotations

import base64
import secrets
import stat
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.errors import InvalidKey, OutputRefused
from discreet.release.deidentify.keys import (
    SecretKey,
    hkdf,
    new_key_file,
    read_key_file,
    read_key_variable,
)

if TYPE_CHECKING:
    from pathlib import Path

SECRET = bytes(range(100, 132))


def written(folder: Path, content: bytes, mode: int = 0o600) -> Path:
    path = folder / "key"
    path.write_bytes(content)
    path.chmod(mode)
    return path


@pytest.mark.parametrize(
    ("secret", "salt", "info", "expected"),
    [
        (
            "0b" * 22,
            "000102030405060708090a0b0c",
            "f0f1f2f3f4f5f6f7f8f9",
            "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865",
        ),
        (
            "0b" * 22,
            "",
            "",
            "8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8",
        ),
    ],
)
def test_the_derivation_is_that_of_rfc_5869(secret: str, salt: str, info: str, expected: str):
    found = hkdf(
        bytes.fromhex(secret), salt=bytes.fromhex(salt), info=bytes.fromhex(info), length=42
    )
    assert found.hex() == expected


@pytest.mark.parametrize(
    "content",
    [
        SECRET,
        SECRET.hex().encode(),
        SECRET.hex().upper().encode() + b"\r\n",
        base64.b64encode(SECRET) + b"\n",
        base64.urlsafe_b64encode(SECRET).rstrip(b"="),
    ],
    ids=["raw", "hexadecimal", "capitals", "base64", "base64 of the web"],
)
def test_a_key_may_be_raw_hexadecimal_or_base64(tmp_path: Path, content: bytes):
    assert read_key_file(written(tmp_path, content)) == SecretKey(SECRET)


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "is empty"),
        (b" \n", "is empty"),
        (secrets.token_bytes(15).hex().encode(), "120 bits"),
        (b"\xff" + secrets.token_bytes(10), "bits"),
        (b"correct horse battery staple, and more words", "words"),
        ("ein Schlüssel mit Umlauten, lang genug".encode(), "words"),
        (b"passwordpasswordpasswordpassword", "not random"),
        (bytes(32), "not random|words"),
        (b"00" * 32, "not random"),
        (b"abcde", "cut off"),
        (b"abcdx", "cut off"),
        (SECRET.hex().encode()[:-1], "cut off"),
        (b"\xfe" * 5000, "larger"),
    ],
    ids=range(13),  # random content must not name a test: workers would collect different ones
)
def test_what_is_no_key_is_refused_without_being_quoted(
    tmp_path: Path, content: bytes, reason: str
):
    path = written(tmp_path, content)
    with pytest.raises(InvalidKey, match=reason) as refused:
        read_key_file(path)
    assert not content or content.decode("latin-1") not in str(refused.value)


@pytest.mark.parametrize("mode", [0o604, 0o602, 0o644])
def test_a_key_file_that_everyone_can_read_or_change_is_refused(tmp_path: Path, mode: int):
    with pytest.raises(InvalidKey, match="chmod 600"):
        read_key_file(written(tmp_path, SECRET, mode))


def test_a_key_file_of_a_group_is_accepted(tmp_path: Path):
    assert read_key_file(written(tmp_path, SECRET, 0o640)) == SecretKey(SECRET)


def test_a_missing_key_file_or_variable_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    with pytest.raises(InvalidKey, match="no key file"):
        read_key_file(tmp_path / "nothing")
    with pytest.raises(InvalidKey, match="cannot be read"):
        read_key_file(tmp_path)
    monkeypatch.delenv("DISCREET_KEY", raising=False)
    with pytest.raises(InvalidKey, match="DISCREET_KEY is not set"):
        read_key_variable()


def test_a_key_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("CLINIC_KEY", SECRET.hex())
    assert read_key_variable("CLINIC_KEY") == SecretKey(SECRET)


def test_a_new_key_is_private_and_replaces_nothing(tmp_path: Path):
    path = tmp_path / "key"
    key = new_key_file(path)
    assert read_key_file(path) == key
    assert len(key.secret) == 32
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    with pytest.raises(OutputRefused, match="exists"):
        new_key_file(path)
    assert read_key_file(path) == key
    assert [item.name for item in tmp_path.iterdir()] == ["key"]


def test_two_new_keys_differ(tmp_path: Path):
    assert new_key_file(tmp_path / "one") != new_key_file(tmp_path / "two")


def test_neither_text_nor_fingerprint_shows_the_key():
    key = SecretKey(SECRET)
    assert repr(key) == "SecretKey()"
    assert key.fingerprint not in SECRET.hex()
    assert len(key.fingerprint) == 16


parts = st.text(max_size=8)


@given(parts, parts, parts, parts)
def test_each_purpose_and_domain_has_a_key_of_its_own(p1: str, d1: str, p2: str, d2: str):
    key = SecretKey(SECRET)
    assert (key.derive(p1, d1) == key.derive(p2, d2)) == ((p1, d1) == (p2, d2))


def test_another_key_has_another_fingerprint():
    assert SecretKey(SECRET).fingerprint != SecretKey(SECRET[::-1]).fingerprint
