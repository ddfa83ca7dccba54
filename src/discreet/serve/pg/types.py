"""PostgreSQL's types in the protocol: their OIDs, sizes and readable names."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.engines.databases.database import ResultField


@dataclass(frozen=True)
class WireType:
    """A type with its OID; `size` is negative where it varies."""

    name: str
    oid: int
    size: int
    array: int  # the OID of its array type; 0 for none
    words: str  # its name in PostgreSQL's messages


# From pg_type.dat of PostgreSQL 16.
_KNOWN = (
    WireType("bool", 16, 1, 1000, "boolean"),
    WireType("bytea", 17, -1, 1001, "bytea"),
    WireType("char", 18, 1, 1002, '"char"'),
    WireType("name", 19, 64, 1003, "name"),
    WireType("int8", 20, 8, 1016, "bigint"),
    WireType("int2", 21, 2, 1005, "smallint"),
    WireType("int4", 23, 4, 1007, "integer"),
    WireType("regproc", 24, 4, 1008, "regproc"),
    WireType("text", 25, -1, 1009, "text"),
    WireType("oid", 26, 4, 1028, "oid"),
    WireType("xid", 28, 4, 1011, "xid"),
    WireType("json", 114, -1, 199, "json"),
    WireType("float4", 700, 4, 1021, "real"),
    WireType("float8", 701, 8, 1022, "double precision"),
    WireType("bpchar", 1042, -1, 1014, "character"),
    WireType("varchar", 1043, -1, 1015, "character varying"),
    WireType("date", 1082, 4, 1182, "date"),
    WireType("time", 1083, 8, 1183, "time without time zone"),
    WireType("timestamp", 1114, 8, 1115, "timestamp without time zone"),
    WireType("timestamptz", 1184, 8, 1185, "timestamp with time zone"),
    WireType("interval", 1186, 16, 1187, "interval"),
    WireType("numeric", 1700, -1, 1231, "numeric"),
    WireType("regclass", 2205, 4, 2210, "regclass"),
    WireType("regtype", 2206, 4, 2211, "regtype"),
    WireType("void", 2278, 4, 0, "void"),
    WireType("uuid", 2950, 16, 2951, "uuid"),
    WireType("jsonb", 3802, -1, 3807, "jsonb"),
)
_ARRAYS = tuple(
    WireType(f"{each.name}[]", each.array, -1, 0, f"{each.words}[]")
    for each in _KNOWN
    if each.array
)
BY_NAME = {each.name: each for each in (*_KNOWN, *_ARRAYS)}
BY_OID = {each.oid: each for each in (*_KNOWN, *_ARRAYS)}
TEXT = BY_NAME["text"]

INTEGERS = {
    "int2": (-(2**15), 2**15 - 1),
    "int4": (-(2**31), 2**31 - 1),
    "int8": (-(2**63), 2**63 - 1),
    "oid": (0, 2**32 - 1),
    "xid": (0, 2**32 - 1),
}


def type_named(name: str) -> WireType:
    """Return a type by PostgreSQL's name; unknown types are reported as text.

    >>> type_named("int8").oid, type_named("int8[]").oid, type_named("geometry").name
    (20, 1016, 'text')
    """
    return BY_NAME.get(name, TEXT)


def type_name_of(oid: int) -> str | None:
    """Return the name of a type that a client declared; None when it left that to the server."""
    known = BY_OID.get(oid)
    return known.name if known else None


def modifier(field: ResultField) -> int:
    """Return the type modifier of a RowDescription for precision and scale; -1 for none."""
    if field.type != "numeric" or field.precision is None:
        return -1
    return (field.precision << 16 | (field.scale or 0)) + 4


def element_of(name: str) -> str:
    """Return the type of an array's elements."""
    return name.removesuffix("[]")
