"""The folder of a server: only its owner may read it or change what the server trusts."""

from __future__ import annotations

from pathlib import Path

from discreet.writing import make_private_folder, require_private

_SECRET_FOLDERS = ("keys", "tls", "backups")
_PUBLIC = (".crt", ".pub")  # public keys and certificates
_SECRET = (".sqlite", ".key", ".sqlite-wal", ".sqlite-shm", ".duckdb")


def make_folder(data: Path) -> None:
    """Create a server's folder, or refuse one that others can read.

    Raises:
        OutputRefused: it cannot be created.
        UnprotectedFile: others can read or change it, or something in it.
    """
    make_private_folder(data)
    make_private_folder(data / "keys")
    require_protected(data)


def require_protected(data: Path) -> None:
    """Refuse a server's folder if others can read it, or change anything in it.

    Raises:
        UnprotectedFile: they can; the message shows the command that protects it.
    """
    if not data.is_dir():
        return
    require_private(data)
    for path in sorted(data.rglob("*")):
        if not path.is_symlink():
            require_private(path, may_be_read=not _is_secret(path, data))


def _is_secret(path: Path, data: Path) -> bool:
    first = path.relative_to(data).parts[0]
    return path.suffix not in _PUBLIC and (first in _SECRET_FOLDERS or path.name.endswith(_SECRET))
