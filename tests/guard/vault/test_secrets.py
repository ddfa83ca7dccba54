"""The control store's secrets: sealed, bound to their names, and useless without the key file."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.guard.vault.conftest import ACT, raw_bytes

from discreet.errors import InvalidKey, StoreFailed
from discreet.guard.access.authority import Authority, DatabaseRole
from discreet.guard.identity.accounts import get_account, set_password
from discreet.guard.identity.authenticator import ClientInfo
from discreet.guard.identity.rule_authenticator import RuleAuthenticator
from discreet.guard.identity.tokens import create_token, find_token
from discreet.guard.vault.keys import destroy_key, rewrap_keys
from discreet.guard.vault.secrets import FILE_KEY, database_key, open_secrets
from discreet.guard.vault.wrapping import WrappingKey, new_wrapping_key

if TYPE_CHECKING:
    from pathlib import Path

    from discreet.guard.control import ControlStore, Documents


@pytest.fixture
def sealed(documents: ControlStore, server: WrappingKey) -> Documents:
    return open_secrets(documents, server, act=ACT)


def test_a_document_comes_back_and_its_body_is_not_in_the_file(
    sealed: Documents, documents: ControlStore, tmp_path: Path
):
    sealed.put("credential", "alice", {"word": "xylophone"})
    sealed.put("other", "alice", {"word": "glockenspiel"})
    assert sealed.get("credential", "alice") == {"word": "xylophone"}
    assert sealed.names("credential") == ["alice"]
    documents.close()
    left = raw_bytes(tmp_path / "data")
    assert b"xylophone" not in left
    assert b"glockenspiel" in left


def test_an_update_sees_the_body_and_may_delete(sealed: Documents):
    def more(old):
        return {"count": (old or {"count": 0})["count"] + 1}

    for count in (1, 2, 3):
        assert sealed.update("secret", "n", more) == {"count": count}
    assert sealed.update("secret", "n", lambda old: old) == {"count": 3}
    assert sealed.update("secret", "n", lambda _: None) is None
    assert sealed.get("secret", "n") is None
    sealed.put("secret", "n", {})
    sealed.delete("secret", "n")
    assert sealed.get("secret", "n") is None


def test_a_writer_of_the_store_cannot_insert_a_secret(sealed: Documents, documents: ControlStore):
    sealed.put("credential", "alice", {"a": 1})
    sealed.put("credential", "bob", {"b": 2})
    alices = documents.get("credential", "alice")
    assert alices is not None
    documents.put("credential", "bob", alices)
    for body in (alices, {"scram": "mine"}, {"sealed": "AAAA"}, {"sealed": 7}):
        documents.put("credential", "bob", body)
        with pytest.raises(StoreFailed):
            sealed.get("credential", "bob")
        with pytest.raises(StoreFailed):
            sealed.update("credential", "bob", lambda old: old)


def test_another_key_file_opens_no_secrets(sealed: Documents, documents: ControlStore):
    with pytest.raises(InvalidKey):
        open_secrets(documents, WrappingKey(bytes(range(32))), act=ACT)


def test_without_the_key_file_sealed_secrets_are_not_touched(
    sealed: Documents, documents: ControlStore
):
    with pytest.raises(InvalidKey, match="key file"):
        open_secrets(documents, None, act=ACT)


def test_secrets_from_before_there_was_a_key_are_sealed_with_the_first_use(
    documents: ControlStore, server: WrappingKey, tmp_path: Path
):
    assert open_secrets(documents, None, act=ACT) is documents
    documents.put("credential", "alice", {"word": "xylophone"})
    sealed = open_secrets(documents, server, act=ACT)
    assert sealed.get("credential", "alice") == {"word": "xylophone"}
    assert b"xylophone" not in raw_bytes(tmp_path / "data")


def test_passwords_tokens_and_the_authenticator_work_on_sealed_documents(
    sealed: Documents, documents: ControlStore, tmp_path: Path
):
    set_password(sealed, "alice", "correct horse", now=ACT.at)
    text, _token = create_token(sealed, "alice", now=ACT.at)
    assert find_token(sealed, text, now=ACT.at) is not None
    authenticator = RuleAuthenticator(
        sealed,
        lambda: Authority(roles={"alice": DatabaseRole("alice", login=True)}),
        journal=[].append,
    )
    client = ClientInfo("alice", "192.0.2.1", is_encrypted=True)
    assert authenticator.check_password(client, "correct horse") == "password"
    account = get_account(sealed, "alice")
    documents.close()
    left = raw_bytes(tmp_path / "data")
    assert account.hashed is not None
    for secret in ("SCRAM-SHA-256$", "$argon2id$", "digest", "correct horse", account.hashed[-20:]):
        assert secret.encode() not in left


def test_secrets_and_the_databases_key_survive_a_new_server_key(
    sealed: Documents, documents: ControlStore, server: WrappingKey, tmp_path: Path
):
    sealed.put("secret", "x", {"a": 1})
    before = database_key(documents, server, act=ACT)
    new = new_wrapping_key(tmp_path / "new")
    rewrap_keys(documents, server, new)
    assert open_secrets(documents, new, act=ACT).get("secret", "x") == {"a": 1}
    assert database_key(documents, new, act=ACT) == before
    assert len(bytes.fromhex(before)) == 32


def test_a_database_is_destroyed_with_its_key(documents: ControlStore, server: WrappingKey):
    database_key(documents, server, act=ACT)
    destroy_key(documents, FILE_KEY, act=ACT)
    with pytest.raises(InvalidKey):
        database_key(documents, server, act=ACT)


def test_the_file_of_an_encrypted_database_holds_no_plaintext(
    documents: ControlStore, server: WrappingKey, tmp_path: Path
):
    """DuckDB writes encrypted files with the module of its httpfs extension only."""
    import duckdb

    extension = pytest.importorskip("duckdb_extension_httpfs")
    module = next(
        path for folder in extension.__path__ for path in _files(folder) if "httpfs" in path.name
    )
    folder = tmp_path / "database"
    folder.mkdir()
    secret = database_key(documents, server, act=ACT)
    with duckdb.connect() as connection:
        connection.load_extension(str(module))
        connection.execute(
            f"ATTACH '{folder / 'x.db'}' AS x (ENCRYPTION_KEY '{secret}', ENCRYPTION_CIPHER 'GCM')"
        )
        connection.execute("CREATE TABLE x.t AS SELECT 'xylophone' || range AS w FROM range(1000)")
        connection.execute("CHECKPOINT x")
    assert b"xylophone" not in raw_bytes(folder)


def _files(folder: str):
    from pathlib import Path

    return sorted(Path(folder).rglob("*.duckdb_extension"))
