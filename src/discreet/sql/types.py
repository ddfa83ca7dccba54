"""PostgreSQL's types, one table: names, OIDs and sizes, and the type that holds each one elsewhere.

The numbers are rows of pg_type, in `data/catalog/types.csv`. What is written here is what pg_type
does not have: names that people write, and the types of Arrow, DuckDB, Spark and sqlglot.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib.resources import files
from typing import Any

from sqlglot import exp

_T = exp.DType


@dataclass(frozen=True)
class TypeEquivalents:
    """A type in other vocabularies; the first of several is the one that holds all its values.

    The others are types that PostgreSQL lacks, whose values it reports as this type.
    """

    long_name: str = ""  # in messages and in format_type; pg_type's name if empty
    aliases: tuple[str, ...] = ()  # other names that people write
    arrow: str | None = None  # as Arrow writes it; None where it depends on the modifier
    duckdb: tuple[str, ...] = ()
    spark: tuple[str, ...] = ()
    trees: tuple[exp.DType, ...] = ()


@dataclass(frozen=True)
class PostgresType:
    """A type: its row of pg_type, and its names elsewhere."""

    oid: int
    name: str  # that of an array begins with `_`
    size: int  # negative where it varies
    category: str
    array: int  # the OID of its array type, 0 for none
    element: int  # the OID of an array's elements, 0 for none
    collation: int
    by_value: bool
    alignment: str
    storage: str
    long_name: str
    elsewhere: TypeEquivalents


_OIDS = TypeEquivalents(arrow="uint32", duckdb=("UINTEGER",))
_TEXTS = TypeEquivalents(arrow="string", duckdb=("VARCHAR",))
_ELSEWHERE: Mapping[str, TypeEquivalents] = {
    "bool": TypeEquivalents("boolean", (), "bool", ("BOOLEAN",), ("boolean",), (_T.BOOLEAN,)),
    "int2": TypeEquivalents(
        "smallint",
        arrow="int16",
        duckdb=("SMALLINT", "TINYINT", "UTINYINT"),
        spark=("smallint", "tinyint"),
        trees=(_T.SMALLINT,),
    ),
    "int4": TypeEquivalents(
        "integer", ("int",), "int32", ("INTEGER", "USMALLINT"), ("int",), (_T.INT,)
    ),
    "int8": TypeEquivalents(
        "bigint", (), "int64", ("BIGINT", "UINTEGER"), ("bigint",), (_T.BIGINT,)
    ),
    "float4": TypeEquivalents("real", (), "float", ("FLOAT",), ("float",), (_T.FLOAT,)),
    "float8": TypeEquivalents(
        "double precision", ("float",), "double", ("DOUBLE",), ("double",), (_T.DOUBLE,)
    ),
    "numeric": TypeEquivalents(
        aliases=("decimal", "dec"), duckdb=("DECIMAL",), spark=("decimal",), trees=(_T.DECIMAL,)
    ),
    "text": TypeEquivalents("", (), "string", ("VARCHAR",), ("string",), (_T.TEXT,)),
    "varchar": TypeEquivalents(
        "character varying", (), "string", ("VARCHAR",), ("varchar",), (_T.VARCHAR,)
    ),
    "bpchar": TypeEquivalents(
        "character", ("char",), "string", ("VARCHAR",), ("char",), (_T.CHAR, _T.BPCHAR)
    ),
    "date": TypeEquivalents("", (), "date32[day]", ("DATE",), ("date",), (_T.DATE,)),
    "time": TypeEquivalents(
        "time without time zone", (), "time64[us]", ("TIME",), ("time(6)", "time"), (_T.TIME,)
    ),
    "timestamp": TypeEquivalents(
        "timestamp without time zone",
        arrow="timestamp[us]",
        duckdb=("TIMESTAMP", "TIMESTAMP_S", "TIMESTAMP_MS", "TIMESTAMP_NS"),
        spark=("timestamp_ntz",),
        trees=(_T.TIMESTAMP,),
    ),
    "timestamptz": TypeEquivalents(
        "timestamp with time zone",
        arrow="timestamp[us, tz=UTC]",
        duckdb=("TIMESTAMP WITH TIME ZONE",),
        spark=("timestamp",),
        trees=(_T.TIMESTAMPTZ,),
    ),
    "interval": TypeEquivalents(duckdb=("INTERVAL",), trees=(_T.INTERVAL,)),
    "uuid": TypeEquivalents("", (), "string", ("UUID",), (), (_T.UUID,)),
    "json": TypeEquivalents("", (), "string", ("JSON",), (), (_T.JSON,)),
    "jsonb": TypeEquivalents(arrow="string", trees=(_T.JSONB,)),
    "bytea": TypeEquivalents("", (), "binary", ("BLOB",), ("binary",), (_T.VARBINARY,)),
    "char": TypeEquivalents('"char"', ('"char"',), "string", ("VARCHAR",)),
    "name": TypeEquivalents("", (), "string", ("VARCHAR",), (), (_T.NAME,)),
    **dict.fromkeys(("cstring", "unknown", "pg_node_tree", "aclitem"), _TEXTS),
    **dict.fromkeys(("oid", "xid", "cid", "regclass", "regtype", "regnamespace"), _OIDS),
    **dict.fromkeys(("regrole", "regproc", "regprocedure", "regoper", "regoperator"), _OIDS),
    "int2vector": TypeEquivalents(duckdb=("SMALLINT[]",)),
    "oidvector": TypeEquivalents(duckdb=("UINTEGER[]",)),
    "timetz": TypeEquivalents("time with time zone"),
    "varbit": TypeEquivalents("bit varying"),
}
# Names of integer types in definitions whose numbers PostgreSQL gives itself.
SERIALS: Mapping[str, str] = {
    **dict.fromkeys(("smallserial", "serial2"), "int2"),
    **dict.fromkeys(("serial", "serial4"), "int4"),
    **dict.fromkeys(("bigserial", "serial8"), "int8"),
}
LETTERS = (_T.VARCHAR, _T.CHAR, _T.BPCHAR)  # texts that may have a limit of letters
INTEGERS: Mapping[str, tuple[int, int]] = {
    "int2": (-(2**15), 2**15 - 1),
    "int4": (-(2**31), 2**31 - 1),
    "int8": (-(2**63), 2**63 - 1),
    "oid": (0, 2**32 - 1),
    "xid": (0, 2**32 - 1),
}
# Types that clients send and receive as themselves; they get values of any other type as text.
_SENT = frozenset(
    {"bool", "bytea", "char", "name", "int2", "int4", "int8", "float4", "float8", "numeric"}
    | {"text", "varchar", "bpchar", "json", "jsonb", "uuid", "oid", "xid", "void"}
    | {"date", "time", "timestamp", "timestamptz", "interval", "regproc", "regclass", "regtype"}
)
_SECONDS = frozenset({"timestamp", "timestamptz", "time", "timetz"})


def _read_types() -> dict[str, PostgresType]:
    text = (files("discreet") / "data" / "catalog" / "types.csv").read_text("utf-8")
    rows = list(csv.DictReader(text.splitlines()))
    names = {int(row["oid"]): row["typname"] for row in rows}
    return {row["typname"]: _parse_row(row, names) for row in rows}


def _parse_row(row: Mapping[str, str], names: Mapping[int, str]) -> PostgresType:
    name, element = row["typname"], int(row["typelem"])
    is_array = name.startswith("_")
    bare = names[element] if is_array else name
    elsewhere = _ELSEWHERE.get(bare, TypeEquivalents())
    return PostgresType(
        oid=int(row["oid"]),
        name=name,
        size=int(row["typlen"]),
        category=row["typcategory"],
        array=int(row["typarray"]),
        element=element,
        collation=int(row["typcollation"]),
        by_value=row["typbyval"] == "t",
        alignment=row["typalign"],
        storage=row["typstorage"],
        long_name=(elsewhere.long_name or bare) + ("[]" if is_array else ""),
        elsewhere=TypeEquivalents() if is_array else elsewhere,
    )


TYPES: Mapping[str, PostgresType] = _read_types()  # by pg_type's name
BY_OID: Mapping[int, PostgresType] = {each.oid: each for each in TYPES.values()}
TEXT = TYPES["text"]
# pg_type's name of a type by each name that people write.
ALIASES: Mapping[str, str] = {
    alias: name
    for name, each in _ELSEWHERE.items()
    for alias in (each.long_name, *each.aliases)
    if alias
}
# The type that a client gets, by its name; that of an array is `int4[]`.
CLIENT_TYPES: Mapping[str, PostgresType] = {
    **{name: TYPES[name] for name in _SENT},
    **{f"{name}[]": BY_OID[array] for name in _SENT if (array := TYPES[name].array)},
}
_CLIENT_NAMES = {each.oid: name for name, each in CLIENT_TYPES.items()}
# The type of PostgreSQL that reports values of a type of DuckDB, or of Spark.
FROM_DUCKDB: Mapping[str, str] = {
    held: name
    for name, each in reversed(_ELSEWHERE.items())
    for held in each.duckdb
    if not held.endswith("[]")
}
FROM_SPARK: Mapping[str, str] = {
    held: name for name, each in reversed(_ELSEWHERE.items()) for held in each.spark
}
# The type of PostgreSQL that holds values of an Arrow type.
FROM_ARROW: Mapping[str, str] = {
    each.arrow: name for name, each in reversed(_ELSEWHERE.items()) if each.arrow
}


def client_type(name: str) -> PostgresType:
    """Return a type as clients get it; unknown types are reported as text.

    >>> client_type("int8").oid, client_type("int8[]").oid, client_type("geometry").name
    (20, 1016, 'text')
    """
    return CLIENT_TYPES.get(name, TEXT)


def client_type_name(oid: int) -> str | None:
    """Return the name of a type that a client declared; None when it left that to the server."""
    return _CLIENT_NAMES.get(oid)


def arrow_type(name: str) -> Any:
    """Return the Arrow type of a type's values; None where it depends on the modifier.

    >>> arrow_type("int8"), arrow_type("timestamptz"), arrow_type("numeric")
    (DataType(int64), TimestampType(timestamp[us, tz=UTC]), None)
    """
    known = TYPES.get(name)
    written = known.elsewhere.arrow if known else None
    return _arrow_types()[written] if written else None


@cache
def _arrow_types() -> Mapping[str, Any]:
    import pyarrow as pa

    held = (
        *(pa.bool_(), pa.int16(), pa.int32(), pa.int64(), pa.uint32(), pa.float32(), pa.float64()),
        *(pa.string(), pa.binary(), pa.date32(), pa.time64("us")),
        *(pa.timestamp("us"), pa.timestamp("us", "UTC")),
    )
    return {str(each): each for each in held}


def decimal_type(precision: int, scale: int) -> Any:
    """Return the Arrow type of a numeric with a declared size of at most 76 digits."""
    import pyarrow as pa

    return (pa.decimal128 if precision <= 38 else pa.decimal256)(precision, scale)


@dataclass(frozen=True)
class ModifiedType:
    """A type with its modifier: `numeric(10,2)` is 1700 and 655366."""

    oid: int
    modifier: int = -1

    @property
    def name(self) -> str:
        """pg_type's name of the type."""
        return BY_OID[self.oid].name

    @property
    def length_limit(self) -> int | None:
        """The largest number of characters or bits of a value, if it is limited."""
        if self.modifier < 0 or self.name not in ("varchar", "bpchar", "bit", "varbit"):
            return None
        return self.modifier - 4 if self.name in ("varchar", "bpchar") else self.modifier

    @property
    def precision(self) -> tuple[int | None, int | None, int | None]:
        """Precision, base and scale of a number, as in information_schema."""
        match self.name:
            case "int2" | "int4" | "int8":
                return 8 * BY_OID[self.oid].size, 2, 0
            case "float4" | "float8":
                return (24 if self.name == "float4" else 53), 2, None
            case "numeric":
                precision, scale = numeric_size(self.modifier) or (None, None)
                return precision, 10, scale
            case _:
                return None, None, None

    @property
    def seconds_precision(self) -> int | None:
        """The fractional digits of a second in a timestamp."""
        if self.name == "date":
            return 0
        if self.name in _SECONDS or self.name == "interval":
            return self.modifier if self.modifier >= 0 else 6
        return None


def numeric_modifier(precision: int, scale: int) -> int:
    """Return the modifier of `numeric(precision,scale)`."""
    return (precision << 16 | scale & 0x7FF) + 4


def numeric_size(modifier: int) -> tuple[int, int] | None:
    """Return precision and scale of a numeric by its modifier; None when it declares none.

    >>> numeric_size(numeric_modifier(10, 2)), numeric_size(-1)
    ((10, 2), None)
    """
    return ((modifier - 4) >> 16, (modifier - 4) & 0x7FF) if modifier >= 4 else None


_WRITTEN = re.compile(
    r"""\s*(?P<name>"?[a-z_][a-z0-9_ ]*?"?)\s*
        (?:\((?P<modifier>[\d\s,-]+)\))?\s*
        (?P<zone>with(?:out)?\s+time\s+zone)?\s*
        (?P<array>(?:\[\d*\])*)\s*""",
    re.VERBOSE,
)


def parse_modified_type(written: str) -> ModifiedType:
    """Return the OID and modifier of a type; unknown types are reported as text.

    >>> parse_modified_type("numeric(10,2)"), parse_modified_type("varchar(5)[]").oid, parse_modified_type("timestamp(3) with time zone")
    (ModifiedType(oid=1700, modifier=655366), 1015, ModifiedType(oid=1184, modifier=3))
    """
    return parse_known_type(written) or ModifiedType(TEXT.oid)


@lru_cache(maxsize=1024)
def parse_known_type(written: str) -> ModifiedType | None:
    """Return the OID and modifier of a type that PostgreSQL has, or None."""
    match = _WRITTEN.fullmatch(written.lower().removeprefix("pg_catalog."))
    if match is None:
        return None
    words = " ".join(f"{match['name']} {match['zone'] or ''}".split())
    known = TYPES.get(ALIASES.get(words) or SERIALS.get(words, words))
    if known is None:
        return None
    given = [int(word) for word in (match["modifier"] or "").split(",") if word.strip()]
    if words in ("character", "char", "bit") and not given:
        given = [1]
    oid = known.array if match["array"] and known.array else known.oid
    return ModifiedType(oid, _type_modifier(known.name, given))


def _type_modifier(name: str, given: list[int]) -> int:
    match name, given:
        case "numeric", [precision, *scale] if len(scale) <= 1:
            return numeric_modifier(precision, *(scale or [0]))
        case (("varchar" | "bpchar"), [length]):
            return length + 4
        case (("bit" | "varbit"), [length]):
            return length
        case _, [digits] if name in _SECONDS:
            return digits
        case _:
            return -1


def format_type(oid: int | None, modifier: int | None) -> str | None:
    """Return a type as PostgreSQL's format_type writes it.

    >>> format_type(1700, 655366), format_type(1009, -1), format_type(1184, 3), format_type(99, None)
    ('numeric(10,2)', 'text[]', 'timestamp(3) with time zone', '???')
    """
    if oid is None:
        return None
    known = BY_OID.get(oid)
    if known is None:
        return "-" if oid == 0 else "???"
    if known.category == "A" and known.size == -1:
        return f"{format_type(known.element, modifier)}[]"
    # Without a modifier, "bpchar" and not "character": the latter would mean one character.
    if known.name == "bpchar" and modifier == -1:
        return "bpchar"
    digits = _format_modifier(known.name, modifier)
    if known.name in _SECONDS:
        first, _, rest = known.long_name.partition(" ")
        return f"{first}{digits} {rest}"
    return f"{known.long_name}{digits}"


def _format_modifier(name: str, modifier: int | None) -> str:
    if modifier is None or modifier < 0:
        return ""
    if name == "numeric":
        size = numeric_size(modifier)
        return f"({size[0]},{size[1]})" if size else ""
    return f"({modifier - 4})" if name in ("varchar", "bpchar") else f"({modifier})"
