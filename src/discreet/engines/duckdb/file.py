"""Served DuckDB files: attached for writing, encrypted when there is a key, never downgraded."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import re
import secrets
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import duckdb
from sqlglot import exp

from discreet.engines.duckdb.failures import locked_source
from discreet.errors import InvalidKey, OutputRefused, StoreFailed, UnreadableSource
from discreet.sql import build

KEY_BYTES = 32
_MODULE = "duckdb_extension_httpfs"  # DuckDB writes encrypted files only with its OpenSSL


def attach_for_writing(
    connection: duckdb.DuckDBPyConnection, path: Path | None, *, alias: str, key: bytes | None
) -> None:
    """Open or create the file at `path`, or a database in memory when None, as the catalog `alias`.

    Guarantee: with a key, every page of the file and of its log is sealed by AES-256-GCM, or nothing
    is opened. The key is passed as a parameter, so that it is in no statement's text.
    """
    if path is None and key is not None:
        raise InvalidKey("A database in memory has no file to encrypt. Leave out the key.")
    if key is not None:
        if len(key) < KEY_BYTES:
            raise InvalidKey(f"The key of the database has fewer than {KEY_BYTES} bytes.")
        load_cryptography(connection)
    where = exp.alias_(
        build.text(str(path) if path else ":memory:"), exp.to_identifier(alias, quoted=True)
    )
    options: list[exp.Expr] = []
    values: list[str] = []
    if key is not None:
        options.append(
            exp.AttachOption(this=exp.var("ENCRYPTION_KEY"), expression=exp.Placeholder())
        )
        values.append(key.hex())
    text = exp.Attach(this=where, expressions=options).sql(dialect="duckdb")
    _execute_attach(connection, text, values, path)
    if path is not None:
        with contextlib.suppress(OSError):
            path.chmod(0o600)


def copy_file(opened: BinaryIO, log: Path, target: Path) -> None:
    """Copy a database file without writers, with its log if there is one, whole or not at all.

    `opened` stays open: closing any handle of a file would end the lock that DuckDB has on it.
    """
    if target.exists():
        raise OutputRefused(f"{target} exists. Choose another name for the copy.")
    beside = target.with_name(f".{target.name}.{secrets.token_hex(4)}")
    try:
        opened.seek(0)
        _write_out(opened, beside)
        if log.exists() and log.stat().st_size:
            with log.open("rb") as source:
                _write_out(source, target.with_name(f"{target.name}.wal"))
        beside.rename(target)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise OutputRefused(f"The copy cannot be written: {error.strerror}.") from None


def _write_out(source: BinaryIO, path: Path) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(handle, "wb") as out:  # noqa: PTH123 -- a handle with its mode
        shutil.copyfileobj(source, out, 1 << 20)
        out.flush()
        os.fsync(out.fileno())


def load_cryptography(connection: duckdb.DuckDBPyConnection) -> None:
    """Load the module that DuckDB encrypts with.

    Raises:
        StoreFailed: the module is missing.
    """
    found = importlib.util.find_spec(_MODULE)
    folders: Sequence[str] = (found.submodule_search_locations or []) if found else []
    wanted = f"extensions/v{duckdb.__version__}/httpfs.duckdb_extension"
    files = [Path(folder) / wanted for folder in folders]
    module = next((file for file in files if file.is_file()), None)
    if module is not None:
        text = f"LOAD {build.text(str(module)).sql(dialect='duckdb')}"
        with contextlib.suppress(duckdb.Error):
            connection.execute(text)
            return
    raise StoreFailed(
        "The database cannot be encrypted: DuckDB's module for it is missing or of another version. "
        f"Run: pip install 'duckdb-extension-httpfs=={duckdb.__version__}'. Nothing was opened."
    )


def _execute_attach(
    connection: duckdb.DuckDBPyConnection, text: str, values: list[str], path: Path | None
) -> None:
    try:
        connection.execute(text, values)
    except duckdb.Error as error:
        failure = _translate_error(path.name if path else "memory", str(error))
    else:
        return
    raise failure


def _translate_error(name: str, words: str) -> Exception:
    if "without a key" in words:
        return InvalidKey(f"{name} is encrypted. Give the key it was made with.")
    if "is not encrypted" in words:
        return InvalidKey(
            f"{name} is not encrypted, but a key was given. Leave out the key, or move its tables "
            "into a new, encrypted database."
        )
    if re.search(r"[Ww]rong encryption key|AES tag", words):
        return InvalidKey(f"{name} was encrypted with another key, or is damaged.")
    if "crypto module" in words:
        return StoreFailed("The database cannot be encrypted: DuckDB's module for it is missing.")
    return locked_source(name, words, "Stop it first, or serve a copy.") or UnreadableSource(
        f"{name} is damaged, cannot be written here, or is no DuckDB database of a version that can "
        "be read."
    )
