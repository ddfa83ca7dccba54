"""Keys of columns: random, wrapped by another key, versioned, in the control store.

A key is created, rotated (a new version encrypts, old ones still decrypt), rewrapped and destroyed.
Of a destroyed key only the record of its destruction remains: without its bytes, nothing that was
encrypted under it can be read.
"""

from __future__ import annotations

import base64
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, Literal

from discreet.errors import InvalidKey, WrongUsage
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.wrapping import KEY_BYTES, WrappingKey, frame_parts

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

KIND = "key"
OWN = "discreet/"  # prefix of the server's own keys, which encrypt no cells
Custody = Literal["server", "client"]
State = Literal["active", "retired", "destroyed"]
_MOST_VERSIONS = 65_535
_LONGEST_ID = 200


@dataclass(frozen=True)
class KeyVersion:
    """One version of a key, without its bytes."""

    number: int
    state: State
    made: str
    made_by: str
    ended: str | None = None
    ended_by: str | None = None


@dataclass(frozen=True)
class KeyRecord:
    """The record of a key; `wrapped_by` is the fingerprint of the key that wraps it."""

    id: str
    custody: Custody
    wrapped_by: str
    versions: tuple[KeyVersion, ...]

    @property
    def state(self) -> State:
        """The state of the key as a whole."""
        states = {version.state for version in self.versions}
        return "active" if "active" in states else "destroyed"


@dataclass(frozen=True)
class KeyAction:
    """Who changes a key, and when."""

    by: str
    at: datetime


def create_key(
    documents: Documents,
    key_id: str,
    wrapping: WrappingKey,
    *,
    act: KeyAction,
    custody: Custody = "server",
) -> KeyRecord:
    """Create a key; `custody` is who holds the wrapping key, the server or a client.

    Raises:
        WrongUsage: the name is taken, possibly by a destroyed key.
    """
    if not key_id.isprintable() or not 0 < len(key_id) <= _LONGEST_ID:
        raise WrongUsage("A key needs a name, such as employee.sin.")
    fresh = _new_version(1, key_id, wrapping, act)

    def change(old: Mapping[str, Any] | None) -> Mapping[str, Any]:
        if old is not None:
            raise WrongUsage(f"A key '{key_id}' exists already, or existed. Choose another name.")
        return {"custody": custody, "wrapped_by": wrapping.fingerprint, "versions": [fresh]}

    return _record(key_id, documents.update(KIND, key_id, change))


def get_key(documents: Documents, key_id: str) -> KeyRecord:
    """Return the record of a key.

    Raises:
        WrongUsage: there is no such key.
    """
    return _record(key_id, documents.get(KIND, key_id))


def list_keys(documents: Documents) -> list[KeyRecord]:
    """Return the records of all keys, including destroyed ones."""
    return [get_key(documents, key_id) for key_id in documents.names(KIND)]


def open_key(documents: Documents, key_id: str, wrapping: WrappingKey) -> OpenKey:
    """Return the key with all versions that can still decrypt.

    Raises:
        InvalidKey: the wrapping key is not the right one, or the key was destroyed.
        WrongUsage: there is no such key.
    """
    body = documents.get(KIND, key_id)
    _record(key_id, body)
    living = [item for item in (body or {})["versions"] if item["wrapped"] is not None]
    if not living:
        raise InvalidKey(f"The key '{key_id}' was destroyed; its data cannot be read again.")
    opened = {
        item["number"]: wrapping.unwrap(
            _wrapped_bytes(item), about=_associated_data(key_id, item["number"])
        )
        for item in living
    }
    active = next((item["number"] for item in living if item["state"] == "active"), None)
    return OpenKey(key_id, opened, active=active)


def rotate_key(
    documents: Documents, key_id: str, wrapping: WrappingKey, *, act: KeyAction
) -> KeyRecord:
    """Create a new version, which encrypts from now on; the others decrypt until `end_rotation`.

    Raises:
        WrongUsage: it is the server's own, whose data has one version only.
    """
    if key_id.startswith(OWN):
        raise WrongUsage(
            f"'{key_id}' is the server's own. Change what wraps it: discreet key rewrap"
        )
    open_key(documents, key_id, wrapping).close()  # versions must not be wrapped by different keys

    def change(old: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if old is None or old["wrapped_by"] != wrapping.fingerprint or not _is_living(old):
            raise InvalidKey(f"The key '{key_id}' changed meanwhile. Try again.")
        number = 1 + max(item["number"] for item in old["versions"])
        if number > _MOST_VERSIONS:
            raise WrongUsage(f"The key '{key_id}' has too many versions. Make another key.")
        retired = [
            {**item, "state": "retired"} if item["state"] == "active" else item
            for item in old["versions"]
        ]
        return {**old, "versions": [*retired, _new_version(number, key_id, wrapping, act)]}

    return _record(key_id, documents.update(KIND, key_id, change))


def end_rotation(documents: Documents, key_id: str, *, act: KeyAction) -> KeyRecord:
    """Destroy the retired versions, after every cell was re-encrypted."""
    return _destroy_versions(documents, key_id, states=("retired",), act=act)


def destroy_key(documents: Documents, key_id: str, *, act: KeyAction) -> KeyRecord:
    """Destroy all versions: nothing encrypted under the key can ever be read again."""
    return _destroy_versions(documents, key_id, states=("active", "retired"), act=act)


def rewrap_key(documents: Documents, key_id: str, old: WrappingKey, new: WrappingKey) -> KeyRecord:
    """Wrap a key by another one; the cells do not change."""

    def change(body: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        if body is None or body["wrapped_by"] == new.fingerprint:
            return body
        versions = [_rewrap_version(item, key_id, old, new) for item in body["versions"]]
        return {**body, "wrapped_by": new.fingerprint, "versions": versions}

    record = _record(key_id, documents.update(KIND, key_id, change))
    _scrub_store(documents, key_id)
    return record


def rewrap_keys(documents: Documents, old: WrappingKey, new: WrappingKey) -> list[str]:
    """Wrap all keys in the server's custody by a new one; after an interruption, run it again."""
    changed: list[str] = []
    for record in list_keys(documents):
        if record.custody == "server" and record.wrapped_by != new.fingerprint:
            rewrap_key(documents, record.id, old, new)
            changed.append(record.id)
    return changed


def _destroy_versions(
    documents: Documents, key_id: str, *, states: tuple[State, ...], act: KeyAction
) -> KeyRecord:
    def ended(item: Mapping[str, Any]) -> Mapping[str, Any]:
        if item["state"] not in states:
            return item
        end = {"ended": act.at.isoformat(), "ended_by": act.by}
        return {**item, "state": "destroyed", "wrapped": None, **end}

    def change(old: Mapping[str, Any] | None) -> Mapping[str, Any] | None:
        return old and {**old, "versions": [ended(item) for item in old["versions"]]}

    record = _record(key_id, documents.update(KIND, key_id, change))
    _scrub_store(documents, key_id)
    return record


def _scrub_store(documents: Documents, key_id: str) -> None:
    """Make the store overwrite deleted data, which it does on every delete."""
    documents.delete("key-trace", key_id)


def _new_version(number: int, key_id: str, wrapping: WrappingKey, act: KeyAction) -> dict[str, Any]:
    fresh = secrets.token_bytes(KEY_BYTES)
    return {
        "number": number,
        "state": "active",
        "made": act.at.isoformat(),
        "made_by": act.by,
        "ended": None,
        "ended_by": None,
        "wrapped": _encode_base64(wrapping.wrap(fresh, about=_associated_data(key_id, number))),
    }


def _rewrap_version(
    item: Mapping[str, Any], key_id: str, old: WrappingKey, new: WrappingKey
) -> Mapping[str, Any]:
    if item["wrapped"] is None:
        return item
    about = _associated_data(key_id, item["number"])
    return {
        **item,
        "wrapped": _encode_base64(
            new.wrap(old.unwrap(_wrapped_bytes(item), about=about), about=about)
        ),
    }


def _associated_data(key_id: str, number: int) -> bytes:
    # A wrapped key moved to another name or version cannot be unwrapped.
    return frame_parts("column key", key_id, str(number))


def _is_living(body: Mapping[str, Any]) -> bool:
    return any(item["state"] == "active" for item in body["versions"])


def _record(key_id: str, body: Mapping[str, Any] | None) -> KeyRecord:
    if body is None:
        raise WrongUsage(f"There is no key '{key_id}'. See: discreet key list")
    versions = tuple(
        KeyVersion(
            item["number"],
            item["state"],
            item["made"],
            item["made_by"],
            item["ended"],
            item["ended_by"],
        )
        for item in body["versions"]
    )
    return KeyRecord(key_id, body["custody"], body["wrapped_by"], versions)


def _encode_base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")


def _wrapped_bytes(item: Mapping[str, Any]) -> bytes:
    return base64.b64decode(item["wrapped"])
