"""Keys: who can open them, how they change, and that nothing is left of those that were destroyed."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

import pytest
from tests.guard.vault.conftest import ACT, SIN, raw_bytes

from discreet.errors import InvalidKey, OutputRefused, StatementFailed, WrongUsage
from discreet.guard.vault.keys import (
    KIND,
    create_key,
    destroy_key,
    end_rotation,
    get_key,
    list_keys,
    open_key,
    rewrap_key,
    rewrap_keys,
    rotate_key,
)
from discreet.guard.vault.session_keys import UnlockedKeys
from discreet.guard.vault.wrapping import (
    WrappingKey,
    derive_subkey,
    new_wrapping_key,
    parse_wrapping_key,
    read_wrapping_key,
)

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.guard.control import ControlStore
    from discreet.guard.vault.open_key import OpenKey

OWN = bytes(range(32))  # a client's key


def wrapped(documents: ControlStore, key_id: str = SIN) -> list[str]:
    body = documents.get(KIND, key_id)
    assert body is not None
    return [item["wrapped"] for item in body["versions"]]


# Files


def test_a_new_key_file_is_read_by_its_owner_only(tmp_path: Path):
    made = new_wrapping_key(tmp_path / "key")
    assert read_wrapping_key(tmp_path / "key") == made
    assert (tmp_path / "key").stat().st_mode & 0o777 == 0o600
    with pytest.raises(OutputRefused):
        new_wrapping_key(tmp_path / "key")


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o666, 0o610])
def test_a_key_file_that_others_can_open_is_refused(tmp_path: Path, mode: int):
    new_wrapping_key(tmp_path / "key")
    (tmp_path / "key").chmod(mode)
    with pytest.raises(InvalidKey, match="chmod 600"):
        read_wrapping_key(tmp_path / "key")


@pytest.mark.parametrize("content", [b"", b"short", b"a" * 64, b"00" * 32, b"zz" * 32, b"x" * 5000])
def test_a_file_that_holds_no_key_is_refused(tmp_path: Path, content: bytes):
    (tmp_path / "key").write_bytes(content)
    (tmp_path / "key").chmod(0o600)
    with pytest.raises(InvalidKey) as caught:
        read_wrapping_key(tmp_path / "key")
    assert not content or content.decode() not in str(caught.value)


def test_a_missing_key_is_reported_with_how_to_make_one(tmp_path: Path):
    with pytest.raises(InvalidKey, match="openssl rand"):
        read_wrapping_key(tmp_path / "nothing")
    with pytest.raises(InvalidKey):
        read_wrapping_key(tmp_path)


def test_no_text_of_a_key_shows_it(server: WrappingKey, key: OpenKey):
    secret = server.secret
    assert secret.hex() not in repr(server)
    assert server.fingerprint not in secret.hex()
    assert repr(key) == "OpenKey('employee.sin', open)"


def test_sub_keys_are_apart():
    made = {
        derive_subkey(OWN, purpose, domain)
        for purpose, domain in [("a", ""), ("a", "b"), ("ab", ""), ("", "ab"), ("b", "a")]
    }
    assert len(made) == 5


def test_hkdf_is_that_of_rfc_5869():
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.kdf.hkdf import HKDF

    found = HKDF(hashes.SHA256(), 42, bytes(range(13)), bytes(range(0xF0, 0xFA))).derive(
        b"\x0b" * 22
    )
    assert found.hex().startswith(
        "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"
    )


# Life of a key


def test_a_key_is_made_once(documents: ControlStore, server: WrappingKey, key: OpenKey):
    with pytest.raises(WrongUsage, match="already"):
        create_key(documents, SIN, server, act=ACT)
    record = get_key(documents, SIN)
    assert (record.custody, record.state, record.wrapped_by) == (
        "server",
        "active",
        server.fingerprint,
    )


@pytest.mark.parametrize("name", ["", "a\nb", "x" * 300])
def test_a_key_needs_a_name(documents: ControlStore, server: WrappingKey, name: str):
    with pytest.raises(WrongUsage):
        create_key(documents, name, server, act=ACT)


def test_another_wrapping_key_opens_nothing(documents: ControlStore, key: OpenKey, tmp_path: Path):
    with pytest.raises(InvalidKey):
        open_key(documents, SIN, new_wrapping_key(tmp_path / "other"))


def test_a_wrapped_key_does_not_open_under_another_name(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    body = documents.get(KIND, SIN)
    assert body is not None
    documents.put(KIND, "employee.salary", body)
    with pytest.raises(InvalidKey):
        open_key(documents, "employee.salary", server)


def test_a_changed_wrapped_key_does_not_open(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    body = dict(documents.get(KIND, SIN) or {})
    broken = bytearray(base64.b64decode(body["versions"][0]["wrapped"]))
    for content in (bytes(broken[:5]), bytes([broken[0] ^ 1]) + bytes(broken[1:]), b""):
        item = {**body["versions"][0], "wrapped": base64.b64encode(content).decode()}
        documents.put(KIND, SIN, {**body, "versions": [item]})
        with pytest.raises(InvalidKey):
            open_key(documents, SIN, server)


def test_rotation_keeps_old_versions_until_it_ends(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    record = rotate_key(documents, SIN, server, act=ACT)
    assert [(v.number, v.state) for v in record.versions] == [(1, "retired"), (2, "active")]
    opened = open_key(documents, SIN, server)
    assert opened.active == 2
    assert set(opened.decrypting()) > set(key.decrypting())
    ended = end_rotation(documents, SIN, act=ACT)
    assert [v.state for v in ended.versions] == ["destroyed", "active"]
    assert set(open_key(documents, SIN, server).decrypting()).isdisjoint(key.decrypting())


def test_a_key_is_not_rotated_with_another_wrapping_key(
    documents: ControlStore, key: OpenKey, tmp_path: Path
):
    with pytest.raises(InvalidKey):
        rotate_key(documents, SIN, new_wrapping_key(tmp_path / "other"), act=ACT)
    assert len(get_key(documents, SIN).versions) == 1


def test_the_servers_own_keys_are_not_rotated(documents: ControlStore, server: WrappingKey):
    create_key(documents, "discreet/file", server, act=ACT)
    with pytest.raises(WrongUsage, match="rewrap"):
        rotate_key(documents, "discreet/file", server, act=ACT)


def test_a_new_wrapping_key_replaces_the_old_one_for_the_servers_keys(
    documents: ControlStore, server: WrappingKey, key: OpenKey, tmp_path: Path
):
    rotate_key(documents, SIN, server, act=ACT)
    create_key(documents, "own", WrappingKey(OWN), act=ACT, custody="client")
    new = new_wrapping_key(tmp_path / "new")
    before = open_key(documents, SIN, server)
    assert rewrap_keys(documents, server, new) == [SIN]
    assert rewrap_keys(documents, server, new) == []
    assert open_key(documents, SIN, new).index_secrets() == before.index_secrets()
    with pytest.raises(InvalidKey):
        open_key(documents, SIN, server)
    open_key(documents, "own", WrappingKey(OWN))


def test_a_wrong_old_key_rewraps_nothing(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    with pytest.raises(InvalidKey):
        rewrap_key(documents, SIN, WrappingKey(OWN), WrappingKey(bytes(range(32, 64))))
    open_key(documents, SIN, server)


def test_of_a_destroyed_key_only_the_tombstone_is_left(
    documents: ControlStore, server: WrappingKey, key: OpenKey, tmp_path: Path
):
    for number in range(40):  # so that pages are split, moved and freed
        create_key(documents, f"filler{number}", server, act=ACT)
    rotate_key(documents, SIN, server, act=ACT)
    gone = wrapped(documents)
    documents.close()
    assert all(each.encode() in raw_bytes(tmp_path / "data") for each in gone)
    record = destroy_key(documents, SIN, act=ACT)
    left = raw_bytes(tmp_path / "data")
    assert not any(each.encode() in left for each in gone)
    assert not any(each.encode()[:24] in left for each in gone)
    assert record.state == "destroyed"
    assert {(v.ended_by, v.ended) for v in record.versions} == {("officer", ACT.at.isoformat())}
    with pytest.raises(InvalidKey, match="destroyed"):
        open_key(documents, SIN, server)
    with pytest.raises(WrongUsage):
        create_key(documents, SIN, server, act=ACT)
    with pytest.raises(InvalidKey):
        rotate_key(documents, SIN, server, act=ACT)


def test_rewrapping_leaves_no_copy_that_the_old_key_opens(
    documents: ControlStore, server: WrappingKey, key: OpenKey, tmp_path: Path
):
    (old,) = wrapped(documents)
    rewrap_keys(documents, server, new_wrapping_key(tmp_path / "new"))
    assert old.encode() not in raw_bytes(tmp_path / "data")


def test_the_bytes_of_a_key_are_nowhere_in_the_store(
    documents: ControlStore, server: WrappingKey, key: OpenKey, tmp_path: Path
):
    secret = bytes(key._secrets[1])
    documents.close()
    left = raw_bytes(tmp_path / "data")
    for form in (secret, secret.hex().encode(), base64.b64encode(secret)):
        assert form not in left


def test_keys_are_listed_without_their_bytes(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    (record,) = list_keys(documents)
    assert record.id == SIN
    assert wrapped(documents)[0] not in repr(record)
    with pytest.raises(WrongUsage, match="no key"):
        get_key(documents, "other")
    with pytest.raises(WrongUsage, match="no key"):
        destroy_key(documents, "other", act=ACT)


# Sessions


@pytest.mark.parametrize("form", [OWN, OWN.hex(), OWN.hex().upper().encode()])
def test_a_client_unlocks_a_key_by_a_parameter(documents: ControlStore, form: str | bytes):
    create_key(documents, SIN, WrappingKey(OWN), act=ACT, custody="client")
    with UnlockedKeys(documents) as session:
        with pytest.raises(StatementFailed) as caught:
            session.require(SIN)
        assert (caught.value.sqlstate, "discreet_unlock" in str(caught.value.hint)) == (
            "42501",
            True,
        )
        session.unlock(SIN, form)
        opened = session.require(SIN)
        assert (session.ids, opened.is_open) == ((SIN,), True)
        assert OWN.hex() not in repr(session)
    assert not opened.is_open
    assert session.get(SIN) is None


@pytest.mark.parametrize("secret", ["", "no key", b"", bytes(32), bytes(range(1, 33)), "ü" * 16])
def test_what_does_not_fit_unlocks_nothing_and_reveals_nothing(
    documents: ControlStore, secret: str | bytes
):
    create_key(documents, SIN, WrappingKey(OWN), act=ACT, custody="client")
    session = UnlockedKeys(documents)
    failures = set()
    for name in (SIN, "there is none"):
        with pytest.raises(StatementFailed) as caught:
            session.unlock(name, secret)
        failures.add((caught.value.sqlstate, str(caught.value)))
    assert failures == {("28000", "the key does not unlock anything here")}


def test_a_key_of_the_server_opens_by_itself_and_closes_when_it_is_destroyed(
    documents: ControlStore, server: WrappingKey, key: OpenKey
):
    session = UnlockedKeys(documents, server)
    assert session.require(SIN).is_open
    destroy_key(documents, SIN, act=ACT)
    session.refresh()
    with pytest.raises(StatementFailed):
        session.require(SIN)
    assert UnlockedKeys(documents).get(SIN) is None


def test_a_closed_key_is_overwritten_and_of_no_use(key: OpenKey):
    held = key._secrets[1]
    key.close()
    assert held == bytes(32)
    assert key.decrypting() == {}
    with pytest.raises(InvalidKey):
        key.encrypting()


def test_a_parameter_that_is_no_key_is_not_quoted():
    with pytest.raises(InvalidKey) as caught:
        parse_wrapping_key("my secret words", where="The parameter")
    assert "secret words" not in str(caught.value)
