"""Files by their ending: each becomes a lazy view on DuckDB, never a Python object."""

from __future__ import annotations

import glob
from pathlib import Path
from typing import TYPE_CHECKING

from sqlglot import exp

from discreet.engines.delimited import open_delimited, table_function
from discreet.engines.engine import Table
from discreet.errors import SourceNotFound, UnreadableSource, did_you_mean
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.engines.duckdb import DuckDB

DELIMITED = (".csv", ".tsv", ".txt", ".tab", ".psv")
PARQUET = (".parquet", ".pq", ".parq")


def open_file(
    source: str,
    *,
    engine: DuckDB,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
) -> Table:
    """Return a file, or the files of a glob, as a table on `engine`."""
    paths = find_files(source)
    suffixes = {_suffix(path) for path in paths}
    if suffixes <= set(PARQUET):
        relation = engine.view(
            build.select(exp.Star(), source=table_function("read_parquet", paths)), hint="parquet"
        )
    else:
        relation = open_delimited(paths, engine=engine, delimiter=delimiter, encoding=encoding)
    relation = engine.plain(relation)
    label = Path(source).name
    return Table(engine=engine, relation=relation, columns=engine.columns(relation), label=label)


def find_files(source: str) -> list[Path]:
    """Return the files that `source` names, sorted; refuse what is not there."""
    path = Path(source).expanduser()
    if path.is_dir():
        inside = sorted(item.name for item in path.iterdir())
        raise UnreadableSource(
            f"{source} is a folder, not a table. It holds: {', '.join(inside[:12])}"
        )
    if path.exists():
        return [path]
    found = sorted(Path(item) for item in glob.glob(str(path), recursive=True))
    if found:
        return found
    folder = path.parent
    near = [item.name for item in folder.iterdir()] if folder.is_dir() else []
    raise SourceNotFound(f"There is no file {source}.{did_you_mean(path.name, near)}")


def _suffix(path: Path) -> str:
    suffixes = [suffix.lower() for suffix in path.suffixes if suffix.lower() not in (".gz", ".zst")]
    return suffixes[-1] if suffixes else ""
