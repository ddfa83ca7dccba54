"""Random small databases of people with nasty values and ids, and random questions about them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tests.answer.expressions.grammar import Grammar

from bench.verify import extremes
from bench.verify.databases import SqlTable
from discreet.engines.engine import Kind

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from random import Random

    from bench.verify.databases import Row

PEOPLE = 6
# The columns of visits, each with the kind that questions take it for.
COLUMNS: Mapping[str, Kind] = {
    "i": Kind.INTEGER,
    "n": Kind.INTEGER,
    "r": Kind.REAL,
    "m": Kind.DECIMAL,
    "t": Kind.TEXT,
    "c": Kind.TEXT,
    "b": Kind.BOOLEAN,
    "d": Kind.DATE,
    "w": Kind.TIMESTAMP,
    "o": Kind.OTHER,
}
_WORDS: Mapping[Kind, str] = {
    Kind.INTEGER: "integer",
    Kind.REAL: "number",
    Kind.DECIMAL: "number",
    Kind.TEXT: "text",
    Kind.BOOLEAN: "boolean",
    Kind.DATE: "date",
    Kind.TIMESTAMP: "timestamp",
    Kind.OTHER: "text",
}
_USUAL: Mapping[Kind, Sequence[str]] = {
    Kind.INTEGER: ("0", "1", "2", "3", "7"),
    Kind.REAL: ("0", "1.5", "2.5", "-3", "9.75"),
    Kind.DECIMAL: ("0", "0.25", "0.5"),
    Kind.TEXT: ("'a'", "'b'", "'c'"),
    Kind.BOOLEAN: ("true", "false"),
    Kind.DATE: ("'2024-01-01'", "'2024-01-31'", "'2024-02-01'"),
    Kind.TIMESTAMP: ("'2024-01-01 12:00:00'", "'2024-02-29 23:59:59'"),
    Kind.OTHER: (),
}
_FAMILIES: Mapping[str, Mapping[Kind, Sequence[str]]] = {
    "duckdb": {
        Kind.INTEGER: (
            *("TINYINT", "SMALLINT", "INTEGER", "BIGINT", "UTINYINT", "UINTEGER", "UBIGINT"),
            *("HUGEINT", "UHUGEINT"),
        ),
        Kind.REAL: ("FLOAT", "DOUBLE"),
        Kind.DECIMAL: ("DECIMAL(4,2)", "DECIMAL(9,9)", "DECIMAL(38,19)", "DECIMAL(38,38)"),
        Kind.TEXT: ("VARCHAR", "VARCHAR COLLATE NOCASE"),
        Kind.BOOLEAN: ("BOOLEAN",),
        Kind.DATE: ("DATE",),
        Kind.TIMESTAMP: ("TIMESTAMP", "TIMESTAMPTZ", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        Kind.OTHER: ("BLOB", "BIT", "INTERVAL", "INTEGER[]", "TIMETZ", "STRUCT(a INT, b VARCHAR)"),
    },
    "postgresql": {
        Kind.INTEGER: ("SMALLINT", "INTEGER", "BIGINT", "OID"),
        Kind.REAL: ("REAL", "DOUBLE PRECISION"),
        Kind.DECIMAL: ("NUMERIC", "NUMERIC(5,2)", "NUMERIC(76,38)", "NUMERIC(1000,500)"),
        Kind.TEXT: ("TEXT", "CHAR(5)", "VARCHAR(3)"),
        Kind.BOOLEAN: ("BOOLEAN",),
        Kind.DATE: ("DATE",),
        Kind.TIMESTAMP: ("TIMESTAMP", "TIMESTAMPTZ"),
        Kind.OTHER: ("BYTEA", "MONEY", "INTERVAL", "INTEGER[]", "TIMETZ", "JSONB"),
    },
}
_TYPES = {"duckdb": extremes.DUCKDB, "postgresql": extremes.POSTGRES}
_NEAR = tuple(str(2**53 + n) for n in range(PEOPLE))
_FAR = tuple(f"'{10**25 + n}'" for n in range(PEOPLE))
_SPELLED = ("'a'", "'A'", "'a '", "' a'", "''", "'0'")
# Ids that one reader or another might take for the same.
_TEXT_IDS = (
    _SPELLED,
    ("'\u00e9'", "'e\u0301'", "'\u00e9 '", "'E\u0301'", "'\u212b'", "'\u00c5'"),
    ("'1'", "'1.0'", "'1.00'", "'01'", "'+1'", "'1e0'"),
    ("'a|b'", "'a,b'", "'a;b'", "'a/b'", "'a-1'", "'a-01'"),
    tuple(f"'{10**25 + n}'" for n in range(PEOPLE)),
)
_REFUSED = ("DOUBLE", "UHUGEINT", "DOUBLE PRECISION")
# Ids by the type of the unit.
_IDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "duckdb": {
        "BIGINT": _NEAR,
        "UBIGINT": _NEAR,
        "HUGEINT": _FAR,
        "DECIMAL(38,0)": _FAR,
        "DECIMAL(30,2)": _FAR,
        "VARCHAR": _SPELLED,
        "VARCHAR COLLATE NOCASE": _SPELLED,
        "DATE": tuple(f"'{day}'" for day in ("infinity", "2024-01-01", *("9999-12-31",) * 4)),
        "DOUBLE": ("'-0.0'", "'0.0'", "'nan'", "1e300", "1e301", "5"),
        "UHUGEINT": _FAR,
        "UUID": tuple(f"'00000000-0000-0000-0000-{n:012}'" for n in range(PEOPLE)),
    },
    "postgresql": {
        "BIGINT": _NEAR,
        "NUMERIC": (*_FAR[:3], "'NaN'", "1.0", "1.5"),
        "NUMERIC(38,0)": _FAR,
        "TEXT": _SPELLED,
        "CHAR(3)": ("'a'", "'A'", "'b'", "' a'", "''", "'0'"),
        "DOUBLE PRECISION": ("'-0'", "'0'", "'nan'", "1e300", "1e301", "5"),
    },
}


@dataclass(frozen=True)
class World:
    """Three tables of the same people, the policy for them, and who leaves."""

    tables: Mapping[str, SqlTable]
    policy: str
    leaver: str
    leaves: str  # a person, a family or a child
    others: tuple[str, ...] = ()  # ids that leave as well: then these are no neighbors

    def leaving(self, name: str) -> list[bool]:
        """Return which rows of a table the neighbor lacks."""
        table = self.tables[name]
        if self.leaves == "child":
            return [name == "kids" and number == 0 for number in range(len(table.rows))]
        goes = ("pid", "parent") if self.leaves == "family" else ("pid",)
        own = next(iter(table.columns)) in goes
        return [own and row[0] in (self.leaver, *self.others) for row in table.rows]

    def neighbor(self) -> dict[str, SqlTable]:
        """Return the tables without the leaver."""
        return {
            name: replace(
                table,
                rows=[
                    row
                    for row, goes in zip(table.rows, self.leaving(name), strict=True)
                    if not goes
                ],
            )
            for name, table in self.tables.items()
        }


def make_world(chance: Random, dialect: str, *, is_typed: bool = True) -> World:
    """Return a random database; without types, all ids are of a kind that a policy can declare."""
    types, values = _types(chance, dialect)
    ids = _IDS[dialect]
    exact = [one for one in ids if one not in _REFUSED]
    own = chance.choice(exact if is_typed else ["BIGINT", "VARCHAR"])
    if is_typed and chance.random() < 0.1:
        own = chance.choice(_REFUSED[:1] if dialect == "duckdb" else _REFUSED[-1:])
    other = own if chance.random() < 0.9 or not is_typed else chance.choice([*ids])
    people = ids[own]
    if people is _SPELLED:
        people = chance.choice(_TEXT_IDS)

    def rows(most: int, *cells: Sequence[str], person: Sequence[str]) -> list[Row]:
        return [
            (chance.choice(person), *(chance.choice(cell) for cell in cells))
            for _ in range(chance.randint(1, most))
        ]

    leaver = people[0]
    visits = rows(14, *values.values(), person=(*people, leaver, leaver, leaver, "NULL"))
    patients = [
        (one, chance.choice(values["n"]))
        for one in (*(people if other == own else ids[other]), "NULL")
    ]
    kids = rows(6, values["n"], person=(*people, leaver))
    kinds = {name: _WORDS[kind] for name, kind in COLUMNS.items()}
    unit = {"VARCHAR": "text", "DATE": "date"}.get(own.partition(" ")[0], "integer")
    return World(
        {
            "visits": SqlTable({"pid": own, **types}, visits),
            "patients": SqlTable({"pid": other, "age": types["n"]}, patients),
            "kids": SqlTable({"parent": own, "toys": types["n"]}, kids),
        },
        _policy(chance, kinds, unit, is_typed=is_typed),
        leaver,
        chance.choice((*("person",) * 5, "family", "child")),
    )


def _types(chance: Random, dialect: str) -> tuple[dict[str, str], dict[str, list[str]]]:
    """Return a type for each column, and values that it can hold."""
    families, known = _FAMILIES[dialect], _TYPES[dialect]
    types = {name: chance.choice(families[kind]) for name, kind in COLUMNS.items()}
    usual = {
        name: [] if kind is Kind.DECIMAL and "(9,9)" in types[name] else list(_USUAL[kind])
        for name, kind in COLUMNS.items()
    }
    values = {
        name: [*usual[name], *known.get(types[name], ()), "NULL"]
        if chance.random() < 0.7
        else [*(usual[name] or known[types[name]]), "NULL"]
        for name in COLUMNS
    }
    return types, values


def _policy(chance: Random, kinds: Mapping[str, str], unit: str, *, is_typed: bool) -> str:
    def column(name: str, role: str, kind: str, more: str = "") -> str:
        said = "" if is_typed else f", kind: {kind}"
        return f"      {name}: {{role: {role}{said}{more}}}\n"

    bounds = chance.choice((", bounds: [0, 10]", ", bounds: [-5, 5]", ", bounds: [0.1, 0.3]"))
    more = {
        "i": bounds,
        "n": chance.choice(("", ", bounds: [0, 5]")),
        "r": bounds,
        "m": bounds,
        "c": ", values: [a, b, c]",
    }
    rows = chance.choice((1, 2, 3, 7))
    groups = chance.choice(("", "", ", groups-per-unit: 1", ", groups-per-unit: 2"))
    weight = None if "-" in bounds else "r"  # weights are not negative
    visits = "".join(
        column(name, "weight" if name == weight else "sensitive", kinds[name], more.get(name, ""))
        for name in COLUMNS
    )
    return f"""
tables:
  visits:
    unit: pid
    limits: {{rows-per-unit: {rows}{groups}}}
    columns:
{column("pid", "identifier", unit)}{visits}
  patients:
    unit: pid
    limits: {{rows-per-unit: 1}}
    columns:
{column("pid", "identifier", unit)}{column("age", "sensitive", "integer", ", bounds: [0, 5]")}
  kids:
    unit: row
    columns:
{column("parent", "identifier", unit, ", references: patients.pid")}{column("toys", "sensitive", "integer", ", bounds: [0, 5]")}
"""


_SOURCES = (
    *("visits v", "visits v", "visits v", "visits v JOIN patients p ON v.pid = p.pid"),
    "visits v LEFT JOIN patients p ON v.pid = p.pid AND v.n > 1",
    "patients p JOIN visits v USING (pid)",
    "visits v JOIN (SELECT pid, max(n) AS top, count(*) AS k FROM visits GROUP BY pid) x ON v.pid = x.pid",
    "(SELECT * FROM visits UNION ALL SELECT * FROM visits WHERE n > 0) v",
    "(SELECT pid, n FROM visits UNION ALL SELECT pid, age FROM patients) v",
    "(SELECT pid, sum(i) AS i, count(DISTINCT t) AS n, max(r) AS r FROM visits GROUP BY pid) v",
    "kids k JOIN patients p ON k.parent = p.pid",
    "kids k LEFT JOIN patients p ON k.parent = p.pid JOIN visits v ON v.pid = p.pid",
    "(SELECT v.pid, max(v.n) AS n, sum(p.age) AS i FROM visits v JOIN patients p ON v.pid = p.pid GROUP BY v.pid) v",
    "visits v JOIN patients p ON v.pid = p.pid JOIN (SELECT pid, count(*) AS k FROM visits GROUP BY pid) x ON x.pid = p.pid",
    "patients p LEFT JOIN (SELECT pid, sum(n) AS n, min(i) AS i FROM visits GROUP BY pid) v ON v.pid = p.pid",
    "visits v JOIN visits u ON v.pid = u.pid",
    "(SELECT pid, n, max(i) AS i FROM visits GROUP BY pid, n) v",
    "(SELECT v.pid, v.n, v.i FROM visits v WHERE v.pid IN (SELECT pid FROM patients WHERE age > 1)) v",
)


def make_question(chance: Random, *, is_alone: bool = False) -> str:
    """Return a question; with `is_alone` there is one table only."""
    grammar = Grammar(chance, {name: (kind, None, None) for name, kind in COLUMNS.items()})
    source = _SOURCES[0] if is_alone else chance.choice(_SOURCES)
    depth = chance.choice((0, 1, 2))
    wanted = [_aggregate(chance, grammar, depth) for _ in range(chance.choice((1, 1, 2, 3)))]
    if chance.random() < 0.2 and "(" not in source:
        wanted.append("count(DISTINCT v.pid)")
    text = f"SELECT {', '.join(wanted)} FROM {source}"
    if source == _SOURCES[0] and chance.random() < 0.1:
        text = f"WITH w AS (SELECT * FROM visits WHERE n > 0) SELECT {', '.join(wanted)} FROM w v"
    if chance.random() < 0.3:
        text += f" WHERE {grammar.truth(depth)}"
    if chance.random() < 0.6:
        key = chance.choice((*COLUMNS, *COLUMNS, grammar.anything(depth), grammar.anything(depth)))
        text += f" GROUP BY {key}"
    return text


def make_weighted_question(chance: Random) -> str:
    """Return a question whose rows may count as their weights: one SELECT, with counts, sums and means."""
    grammar = Grammar(chance, {name: (kind, None, None) for name, kind in COLUMNS.items()})
    column, number = chance.choice([*COLUMNS]), chance.choice(("i", "r", "m"))
    wanted = chance.sample(
        (
            *("count(*)", f"count({column})", f"sum({number})", f"avg({number})"),
            f"sum(least(greatest({grammar.number(1)}, 0), 5))",
            f"count(*) FILTER (WHERE {grammar.truth(1)})",
            f"avg({number}) FILTER (WHERE {grammar.truth(1)})",
        ),
        chance.choice((1, 2, 3)),
    )
    group = chance.choice(("", " GROUP BY c", " GROUP BY i"))
    return f"SELECT {', '.join(wanted)} FROM visits v{group}"


def _aggregate(chance: Random, grammar: Grammar, depth: int) -> str:
    column = chance.choice([*COLUMNS])
    number = chance.choice(("i", "r", "m", grammar.number(depth)))
    return chance.choice(
        (
            *("count(*)", f"count({column})", f"count(DISTINCT {column})", f"sum({number})"),
            f"count(DISTINCT {grammar.anything(depth)})",
            f"sum(least(greatest({number}, 0), 5))",
            f"avg(least(greatest({number}, -1), 3))",
            f"{chance.choice(('avg', 'variance', 'median', 'min', 'max'))}({chance.choice('irm')})",
            f"count(*) FILTER (WHERE {grammar.truth(depth)})",
        )
    )
