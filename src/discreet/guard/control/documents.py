"""What the rest of Guard asks of the control store: small JSON documents by kind and name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol


class Documents(Protocol):
    """Documents that outlive the process; each change is durable when the call returns.

    Raises:
        StoreFailed: the store cannot be read or written; nothing may be allowed without it.
    """

    def get(self, kind: str, name: str) -> Mapping[str, Any] | None:
        """Return a document, None if there is none."""
        ...

    def put(self, kind: str, name: str, body: Mapping[str, Any]) -> None:
        """Keep `body` under this kind and name, whatever was there before."""
        ...

    def delete(self, kind: str, name: str) -> None:
        """Forget a document; nothing happens if there is none."""
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
        """Replace a document by what `change` makes of it, in one step that nobody can come between.

        `change` gets the document, or None, and returns the new one, or None to delete it. It may be
        called again after a lost connection, so it must do nothing but compute.
        """
        ...
