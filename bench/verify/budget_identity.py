"""One table, reached in every way, asked each time: whatever the way, its budget is spent once.

Run with `python -m bench.verify.budget_identity [--seed 1] [--examples 1] [--postgres URL]`. A table of
people is written as a file, and then copied, linked, packed, converted, cut, shuffled and matched by
patterns; with `--postgres` it is also read through other users, hosts, ports, schemas, views and copies.
Questions go to all of these in a random order, in four modes: under a policy with an id, under one
without, without a policy, and with and without in turn. It prints what was spent in each mode, and fails
if that is more than the budget.
"""

from __future__ import annotations

import argparse
import gzip
import io
import os
import random
import shutil
import sys
import tempfile
from contextlib import contextmanager
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, quote, urlsplit

import pyarrow as pa
from pyarrow import csv, feather, parquet

from discreet.answer.curator import open_curator
from discreet.answer.register import register_table
from discreet.errors import BudgetExceeded
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Callable, Generator

ROWS = 400
BUDGET = Fraction(1)
DEFAULT = Fraction(10)  # what a table has that no policy gives a budget
POLICY = """
tables:
  people:
    {id}
    budget: {{epsilon: 1}}
    unit: word
    limits: {{rows-per-unit: 1}}
    columns:
      word: {{role: identifier, kind: text}}
      age: {{role: quasi-identifier, kind: integer, bounds: [0, 120]}}
      zip: {{role: quasi-identifier, kind: text}}
      joined: {{role: quasi-identifier, kind: date}}
      pay: {{role: sensitive, kind: number, bounds: [0, 9000]}}
"""
WITH_ID = POLICY.format(id="id: people-1f2e3d4c")
WITHOUT_ID = POLICY.format(id="public: false")


@dataclass(frozen=True)
class Way:
    """One way to reach the table: what is named as the source, and how it is opened."""

    name: str
    source: Any
    options: dict[str, Any] = field(default_factory=dict[str, Any])
    piped: Path | None = None


@dataclass
class Outcome:
    """What happened in one mode."""

    mode: str
    limit: Fraction
    spent: Fraction = Fraction(0)
    answered: list[str] = field(default_factory=list[str])
    refused: int = 0

    @property
    def holds(self) -> bool:
        """Whether the budget was kept, and anything was answered at all."""
        return 0 < self.spent <= self.limit


def people(chance: random.Random) -> pa.Table:
    """Return a table of people, each of whom is different."""
    return pa.table(
        {
            "word": [f"p{number:06d}" for number in chance.sample(range(10**6), ROWS)],
            "age": [chance.randrange(100) for _ in range(ROWS)],
            "zip": [f"{chance.randrange(10**5):05d}" for _ in range(ROWS)],
            "joined": [
                f"20{chance.randrange(10, 25)}-0{chance.randrange(1, 9)}-15" for _ in range(ROWS)
            ],
            "pay": [round(chance.uniform(0, 9000), 2) for _ in range(ROWS)],
        }
    )


def file_ways(folder: Path, table: pa.Table, chance: random.Random) -> list[Way]:
    """Write the table in many forms below `folder`, which is the current one and the home; return all ways."""
    base = folder / "people.csv"
    csv.write_csv(table, base)
    (folder / "deep" / "er").mkdir(parents=True)
    ways = [
        Way("its path", str(base)),
        Way("a relative path", "people.csv"),
        Way("a path with dots", "deep/../deep/er/../../people.csv"),
        Way("a path with slashes", f"{folder}//.///people.csv"),
        Way("a Path", base),
        Way("the home", "~/people.csv"),
        Way("a pattern", "peop*.csv"),
        Way("a bracket", "[p]eople.csv"),
        Way("a deep pattern", "**/people.csv"),
        Way("standard input", "-", piped=base),
        Way("a frame", table),
        Way("a pandas frame", table.to_pandas()),
    ]
    return ways + [
        Way(name, str(made))
        for name, make in _COPIES.items()
        for made in [make(folder, table, chance)]
    ]


def _symbolic(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    made = folder / "link.csv"
    made.symlink_to("people.csv")
    return made


def _hard(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    made = folder / "hard.csv"
    os.link(folder / "people.csv", made)
    return made


def _linked_folder(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    (folder / "other").symlink_to(folder)
    return folder / "other" / "people.csv"


def _copied(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    return Path(shutil.copy(folder / "people.csv", folder / "deep" / "PEOPLE.CSV"))


def _packed(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    made = folder / "people.csv.gz"
    made.write_bytes(gzip.compress((folder / "people.csv").read_bytes()))
    return made


def _encoded(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    made = folder / "wide.csv"
    made.write_text((folder / "people.csv").read_text(), encoding="utf-16")
    return made


def _separated(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    return _csv(folder / "semicolons.csv", table, delimiter=";")


def _csv(path: Path, table: pa.Table, **options: Any) -> Path:
    csv.write_csv(table, path, csv.WriteOptions(**options))
    return path


def _shuffled(folder: Path, table: pa.Table, chance: random.Random) -> Path:
    order = chance.sample(range(ROWS), ROWS)
    return _csv(folder / "shuffled.csv", table.take(order))


def _turned(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    return _csv(folder / "turned.csv", table.select(table.column_names[::-1]))


def _renamed(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    names = [*table.column_names[:-1], "euros"]
    return _csv(folder / "renamed.csv", table.rename_columns(names))


def _changed(folder: Path, table: pa.Table, chance: random.Random) -> Path:
    gone = chance.randrange(ROWS)
    return _csv(folder / "changed.csv", table.take([n for n in range(ROWS) if n != gone]))


def _halved(folder: Path, table: pa.Table, chance: random.Random) -> Path:
    return _csv(folder / "half.csv", table.take(sorted(chance.sample(range(ROWS), ROWS // 2))))


def _enlarged(folder: Path, table: pa.Table, chance: random.Random) -> Path:
    """Return a pattern of two files, one of which is the table."""
    (folder / "all").mkdir()
    _csv(folder / "all" / "p1.csv", table)
    _csv(folder / "all" / "p2.csv", people(chance))
    return folder / "all" / "p*.csv"


def _parquet(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    parquet.write_table(table, folder / "people.parquet")
    return folder / "people.parquet"


def _typed(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    """Return a Parquet file with dates as dates and numbers as decimals."""
    typed = table.set_column(3, "joined", table["joined"].cast(pa.date32()))
    typed = typed.set_column(4, "pay", table["pay"].cast(pa.decimal128(12, 2), safe=False))
    parquet.write_table(typed, folder / "typed.parquet")
    return folder / "typed.parquet"


def _arrow(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    feather.write_feather(table, str(folder / "people.arrow"))
    return folder / "people.arrow"


def _json(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    table.to_pandas().to_json(folder / "people.ndjson", orient="records", lines=True)
    return folder / "people.ndjson"


def _database(folder: Path, table: pa.Table, _chance: random.Random) -> Path:
    import duckdb

    with duckdb.connect(str(folder / "people.duckdb")) as made:
        made.register("incoming", table)
        made.execute("CREATE TABLE people AS SELECT * FROM incoming")
    return folder / "people.duckdb"


def _registered(folder: Path, _table: pa.Table, _chance: random.Random) -> Path:
    made = folder / "registered.parquet"
    register_table(folder / "people.csv", parse_policy(WITHOUT_ID), output=made, table="people")
    return made


_COPIES: dict[str, Callable[[Path, pa.Table, random.Random], Path]] = {
    "a symbolic link": _symbolic,
    "a hard link": _hard,
    "a linked folder": _linked_folder,
    "a copy": _copied,
    "a packed copy": _packed,
    "another encoding": _encoded,
    "another delimiter": _separated,
    "other order of rows": _shuffled,
    "other order of columns": _turned,
    "another header": _renamed,
    "one person less": _changed,
    "half of the people": _halved,
    "a pattern of more files": _enlarged,
    "Parquet": _parquet,
    "Parquet with other types": _typed,
    "Arrow": _arrow,
    "JSON": _json,
    "a DuckDB file": _database,
    "a registered copy": _registered,
}


def postgres_ways(url: str, table: pa.Table) -> Generator[list[Way]]:
    """Put the table on a server; yield the ways to it, and drop it again."""
    import psycopg

    parts, schema = urlsplit(url), "budget_identity"
    with psycopg.connect(url, autocommit=True) as server:
        server.execute(f"CREATE SCHEMA {schema}")
        server.execute("CREATE ROLE budget_analyst LOGIN SUPERUSER PASSWORD 'x'")
        try:
            _fill(server, table, schema)
            database = parts.path.lstrip("/") or "postgres"
            named = {**{key: found[0] for key, found in parse_qs(parts.query).items()}}
            host = named.get("host", parts.hostname or "localhost")
            user = parts.username or "postgres"
            socket = quote(host, safe="")
            addresses = {
                "its URL": url,
                "postgres://": url.replace("postgresql://", "postgres://", 1),
                "another user": f"postgresql://budget_analyst:x@/{database}?host={socket}",
                "parameters": f"postgresql:///{database}?host={socket}&user={user}&application_name=x",
                "the database as a parameter": f"postgresql://{user}@/?dbname={database}&host={socket}",
                "the host written out": f"postgresql://{user}@{socket}/{database}",
            }
            tables = ["people", "copied", "viewed", f"{schema}.elsewhere"]
            yield [
                Way(f"PostgreSQL, {how}, {name}", address, {"table": name})
                for how, address in addresses.items()
                for name in (tables if how == "its URL" else tables[:1])
            ]
        finally:
            server.execute("DROP VIEW IF EXISTS viewed")
            server.execute("DROP TABLE IF EXISTS people, copied CASCADE")
            server.execute(f"DROP SCHEMA {schema} CASCADE")
            server.execute("DROP ROLE budget_analyst")


def _fill(server: Any, table: pa.Table, schema: str) -> None:
    server.execute("CREATE TABLE people (word text, age int, zip text, joined date, pay float8)")
    with server.cursor() as cursor, cursor.copy("COPY people FROM STDIN") as copy:
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            copy.write_row(row)
    server.execute("CREATE TABLE copied AS SELECT * FROM people")
    server.execute("CREATE VIEW viewed AS SELECT * FROM people")
    server.execute(f"CREATE TABLE {schema}.elsewhere AS SELECT * FROM people ORDER BY pay")


def ask_all(mode: str, ways: list[Way], ledger: Path, chance: random.Random) -> Outcome:
    """Ask once by each way, in a random order, and return what was spent in all."""
    texts = {"id": [WITH_ID], "no id": [WITHOUT_ID], "no policy": [None], "mixed": [WITH_ID, None]}[
        mode
    ]
    outcome = Outcome(mode, DEFAULT if mode == "no policy" else BUDGET)
    epsilon = outcome.limit * Fraction(3, 10)
    for number, way in enumerate(chance.sample(ways, len(ways))):
        text = texts[number % len(texts)]
        if mode == "mixed" and number == 0:
            text = WITH_ID  # what nobody declared first has the default budget first
        try:
            if _asked(way, text, ledger, epsilon=float(epsilon), number=number):
                outcome.spent += epsilon
                outcome.answered.append(way.name)
        except BudgetExceeded:
            outcome.refused += 1
    return outcome


def _asked(way: Way, text: str | None, ledger: Path, *, epsilon: float, number: int) -> bool:
    """Ask a question of its own, and return whether it was paid for."""
    policy = parse_policy(text) if text else None
    with (
        _piped(way.piped),
        open_curator(way.source, policy, ledger=ledger, **_options(way, text)) as curator,
    ):
        name = next(iter(curator.catalog.openers)) if text is None else "people"
        found = curator.ask(f'SELECT count(*) + {number} AS n FROM "{name}"', epsilon=epsilon)
        return not found.cached


def _options(way: Way, text: str | None) -> dict[str, Any]:
    """Return how a way is opened: a server's table has its name, whatever the policy calls it."""
    return way.options if text is None or way.options else {"table": "people"}


@contextmanager
def _piped(path: Path | None) -> Generator[None]:
    before = sys.stdin
    if path is not None:
        sys.stdin = SimpleNamespace(buffer=io.BytesIO(path.read_bytes()))
    try:
        yield
    finally:
        sys.stdin = before


@contextmanager
def _inside(folder: Path) -> Generator[None]:
    before, home = Path.cwd(), os.environ.get("HOME", "")
    os.chdir(folder)
    os.environ["HOME"] = str(folder)
    try:
        yield
    finally:
        os.chdir(before)
        os.environ["HOME"] = home


def run(seed: int, *, postgres: str | None = None, modes: tuple[str, ...] = ()) -> list[Outcome]:
    """Return what was spent in every mode, each with a ledger of its own."""
    chance = random.Random(seed)
    table = people(chance)
    with tempfile.TemporaryDirectory(prefix="discreet-identity-") as name, _inside(Path(name)):
        folder = Path(name).resolve()
        ways = file_ways(folder, table, chance)
        server = postgres_ways(postgres, table) if postgres else iter([[]])
        found = next(server)
        try:
            return [
                ask_all(mode, ways + found, folder / f"{number}.ledger", chance)
                for number, mode in enumerate(modes or ("id", "no id", "no policy", "mixed"))
            ]
        finally:
            next(server, None)


def main() -> int:
    """Print what each mode spent, and return whether one spent too much."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--examples", type=int, default=1, help="how many random orders are tried")
    parser.add_argument("--postgres", metavar="URL", help="a server where the table may be put")
    options = parser.parse_args()
    outcomes = [
        outcome
        for seed in range(options.seed, options.seed + options.examples)
        for outcome in run(seed, postgres=options.postgres)
    ]
    for outcome in outcomes:
        verdict = "kept" if outcome.holds else "BROKEN"
        print(
            f"{outcome.mode:<10} spent {float(outcome.spent):g} of {float(outcome.limit):g}: {verdict}; "
            f"refused {outcome.refused}; answered {', '.join(outcome.answered)}"
        )
    return 0 if all(outcome.holds for outcome in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
