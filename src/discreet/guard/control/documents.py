"""The control store as the rest of Guard uses it: small JSON documents by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Documents(Protocol):
    """Durable documents; each change is durable when the call returns.

    Raises:
        StoreFailed: the store cannot be read or written; nothing may be allowed without it.
    """

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """Return a document, None if there is none."""
        ...

    def put(self, kind: str, name: str, body: Mapping[str, Any]) -> None:
        """Store `body` under this kind and name, replacing any previous one."""
        ...

    def delete(self, kind: str, name: str) -> None:
        """Delete a document, if it exists."""
        ...

    def names(self, kind: str) -> list[str]:
        """Return the names of all documents of a kind, in order."""
        ...

    def update(
        self,
        kind: str,
        name: str,
        change: Callable[[Mapping[str, Any] | None], Mapping[str, Any] | None],
    ) -> Mapping[str, Any] | None:
        """Replace a document by the result of `change`, atomically.

        `change` gets the document, or None, and returns the new one, or None to delete it. It may be
        called again after a lost connection, so it must have no side effects.
        """
        ...
