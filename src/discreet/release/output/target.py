"""The place the user named, refused before any work is done for it."""

from __future__ import annotations

import glob
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias
from urllib.parse import quote

from sqlglot import exp

from discreet.engines.address import POSTGRES, SPARK, take_parameter
from discreet.errors import OutputRefused, WrongUsage, did_you_mean
from discreet.registry import FORMATS, FormatSpec, find_format
from discreet.sql import build
from discreet.writing import require_writable_path

if TYPE_CHECKING:
    from discreet.engines.postgres import PostgreSQL


@dataclass(frozen=True)
class FileTarget:
    """One file; its suffix is the one of its format that its name ends in, such as `.csv.gz`."""

    path: Path
    format: FormatSpec
    suffix: str
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return str(self.path)

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        return str(self.path)


@dataclass(frozen=True)
class FolderTarget:
    """A folder of Parquet files, which several machines can write at once."""

    path: Path
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return f"{self.path}/"

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        return f"{glob.escape(str(self.path))}/*.parquet"


@dataclass(frozen=True)
class PostgresTarget:
    """A table of a PostgreSQL database; the address may hold a password and is never shown."""

    url: str = field(repr=False)
    schema: str
    table: str
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return f"table {self.schema}.{self.table}"

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        joint = "&" if "?" in self.url else "?"
        return f"{self.url}{joint}table={quote(f'{self.schema}.{self.table}')}"


@dataclass(frozen=True)
class SparkTarget:
    """A table of a Spark catalog."""

    table: str
    force: bool

    @property
    def place(self) -> str:
        """Return what messages call it."""
        return f"table {self.table}"

    @property
    def source(self) -> str:
        """Return what `open_table` reads it back from."""
        return f"{SPARK}{self.table}"


Target: TypeAlias = FileTarget | FolderTarget | PostgresTarget | SparkTarget


def parse_target(text: str | Path, *, force: bool) -> Target:
    """Return the place that `text` names; a place that cannot be written is refused now.

    >>> parse_target("released.csv", force=True).place
    'released.csv'
    """
    name = str(text)
    if name.startswith(POSTGRES):
        return _parse_postgres(name, force=force)
    if name.startswith(SPARK):
        return _parse_spark(name, force=force)
    if name.endswith(("/", os.sep)):
        return _parse_folder(Path(name), force=force)
    return _parse_file(Path(name), force=force)


def _parse_file(path: Path, *, force: bool) -> FileTarget:
    form, suffix = _find_format(path)
    require_writable_path(path, may_exist=force)
    if path.exists() and not path.is_file():
        raise OutputRefused(f"{path} is not a plain file. Choose another place.")
    return FileTarget(path, form, suffix, force)


def _find_format(path: Path) -> tuple[FormatSpec, str]:
    name, suffix = path.name.lower(), path.suffix.lower()
    for form in FORMATS.own():
        for ending in form.written_suffixes:
            if name.endswith(ending):
                return form, ending
    added = find_format(suffix)
    if added is not None and suffix in added.written_suffixes:
        return added, suffix
    written = [ending for form in FORMATS.all() for ending in form.written_suffixes]
    endings = [ending for ending in written if ending.count(".") == 1]
    if not path.suffix:
        raise OutputRefused(
            f"{path} has no ending that says how to write it.{did_you_mean('', endings)}"
        )
    raise OutputRefused(
        f"{path}: no file is written as '{path.suffix}'."
        f"{did_you_mean(path.suffix.lower(), endings)}"
    )


def _parse_folder(path: Path, *, force: bool) -> FolderTarget:
    if path.suffix.lower() != ".parquet":
        raise OutputRefused(
            f"A folder is written as Parquet files only: call it {path.name}.parquet/, or leave out "
            "the slash at the end to write one file."
        )
    if path.is_dir():
        require_writable_path(path.parent / f"{path.name}.new")
        _require_replaceable(path, force=force)
        return FolderTarget(path, force)
    require_writable_path(path)
    if path.exists():
        raise OutputRefused(f"{path} is a file. Leave out the slash at the end to replace it.")
    return FolderTarget(path, force)


def _require_replaceable(path: Path, *, force: bool) -> None:
    """Refuse to replace a folder, unless asked to and it holds nothing but such a release."""
    if not force:
        raise OutputRefused(f"{path}/ exists. Name another folder, or add --force to replace it.")
    if any(not _is_part(item) for item in path.iterdir()):
        raise OutputRefused(
            f"{path}/ holds other things than the parts of a table, which would be lost. "
            "Name another folder."
        )


def _is_part(path: Path) -> bool:
    return path.is_file() and (
        path.suffix == ".parquet" or path.name == "_SUCCESS" or path.suffix == ".crc"
    )


def _parse_postgres(text: str, *, force: bool) -> PostgresTarget:
    url, name = take_parameter(text, "table")
    if not name:
        raise WrongUsage("Say which table to write: postgresql://user@host/database?table=NAME.")
    schema, dot, table = name.rpartition(".")
    target = PostgresTarget(url, schema if dot else "public", table, force)
    require_creatable(target)
    return target


def _parse_spark(text: str, *, force: bool) -> SparkTarget:
    name, _ = take_parameter(text.removeprefix(SPARK), "master")  # the source names the cluster
    if not name or "/" in name:
        raise WrongUsage(
            "Say which table to write: spark:catalog.table. For files, name a folder: out.parquet/."
        )
    return SparkTarget(name, force)


def require_creatable(target: PostgresTarget) -> None:
    """Refuse a table that exists, or a schema that is missing or closed to this user."""
    from discreet.engines.postgres import PostgreSQL

    server = PostgreSQL(target.url)
    try:
        require_creatable_on(server, target)
    finally:
        server.close()


def require_creatable_on(server: PostgreSQL, target: PostgresTarget) -> None:
    """Refuse a table that exists on an open server, or a schema that is missing or closed."""
    may_create = exp.Anonymous(
        this="has_schema_privilege", expressions=[exp.column("nspname"), build.text("CREATE")]
    )
    rights = server.run(
        build.select(build.alias_as(may_create, "may"), source=exp.to_table("pg_namespace")).where(
            exp.column("nspname").eq(build.text(target.schema))
        )
    ).to_pylist()
    if not rights:
        raise OutputRefused(
            f"The database has no schema '{target.schema}'. Create it, or name another."
        )
    if not rights[0]["may"]:
        raise OutputRefused(
            f"This user may not create tables in the schema '{target.schema}'. Ask for the right, or "
            "name another."
        )
    if not target.force and (target.schema, target.table) in server.tables():
        raise OutputRefused(
            f"The {target.place} exists. Name another, or add --force to replace it."
        )
