"""Keys unlocked by a client: in the memory of one session, and wiped when it ends."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING

from discreet.errors import InvalidKey, StatementFailed, WrongUsage
from discreet.guard.vault.keys import get_key, open_key
from discreet.guard.vault.open_key import OpenKey
from discreet.guard.vault.wrapping import WrappingKey, parse_wrapping_key

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents


class UnlockedKeys:
    """The opened keys of one session, by id.

    Those in a client's custody are unlocked by their bytes, which arrive as a bind parameter and
    are not stored: `SELECT discreet_unlock('employee.sin', $1)`. Those in the server's custody are
    opened by its own key when they are first needed.
    """

    def __init__(self, documents: Documents, server: WrappingKey | None = None) -> None:
        self._documents, self._server = documents, server
        self._keys: dict[str, OpenKey] = {}

    def __repr__(self) -> str:
        return f"Unlocked({sorted(self._keys)})"

    def __enter__(self) -> UnlockedKeys:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the open keys, for the journal."""
        return tuple(sorted(self._keys))

    @property
    def handles(self) -> frozenset[str]:
        """An identifier of these opened keys, different in every session and after every change."""
        return frozenset(opened.handle for opened in self._keys.values())

    def unlock(self, key_id: str, secret: str | bytes) -> None:
        """Open a key with the client's own; the one that was open under this id is closed.

        Raises:
            StatementFailed: it is not the right key; whether the key exists is not revealed.
        """
        try:
            wrapping = parse_wrapping_key(secret, where="The parameter")
            try:
                opened = open_key(self._documents, key_id, wrapping)
            finally:
                wrapping.wipe()
        except (InvalidKey, WrongUsage):
            raise StatementFailed("28000", "the key does not unlock anything here") from None
        self.lock(key_id)
        self._keys[key_id] = opened

    def lock(self, key_id: str) -> None:
        """Close a key before the session ends."""
        opened = self._keys.pop(key_id, None)
        if opened is not None:
            opened.close()

    def get(self, key_id: str) -> OpenKey | None:
        """Return an open key, None if the client must unlock it first.

        Raises:
            StatementFailed: it was destroyed, or the server's own key is not the right one.
        """
        if key_id not in self._keys and self._server is not None:
            try:
                if get_key(self._documents, key_id).custody == "server":
                    self._keys[key_id] = open_key(self._documents, key_id, self._server)
            except (InvalidKey, WrongUsage):
                raise StatementFailed(
                    "22000", "an encrypted value cannot be read with this key"
                ) from None
        return self._keys.get(key_id)

    def require(self, key_id: str) -> OpenKey:
        """Return an open key.

        Raises:
            StatementFailed: it is locked; the hint shows how to unlock it.
        """
        found = self.get(key_id)
        if found is None:
            raise locked_key_failure(key_id)
        return found

    def refresh(self) -> None:
        """Close keys that were rotated or destroyed since; a client must unlock its own again.

        A session that kept an old version would encrypt under a key that `end_rotation` destroys.
        """
        for key_id, opened in list(self._keys.items()):
            try:
                versions = get_key(self._documents, key_id).versions
            except WrongUsage:
                versions = ()
            if opened.versions != {one.number for one in versions if one.state != "destroyed"}:
                self.lock(key_id)

    def close(self) -> None:
        """Wipe all keys."""
        for key_id in self.ids:
            self.lock(key_id)


def locked_key_failure(key_id: str) -> StatementFailed:
    """Return the error for data under a key that the session does not have."""
    return StatementFailed(
        "42501",
        f'the key "{key_id}" is locked in this session',
        hint=f"Unlock it: SELECT discreet_unlock('{key_id}', $1)",
    )
