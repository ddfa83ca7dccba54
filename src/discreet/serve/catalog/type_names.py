"""PostgreSQL's names of types: their OIDs and modifiers, and how both are written."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from discreet.serve.catalog.standard import types, types_by_oid

# Names that people write, by pg_type's name.
_SYNONYMS = {
    "boolean": "bool",
    "smallint": "int2",
    "integer": "int4",
    "int": "int4",
    "bigint": "int8",
    "smallserial": "int2",
    "serial": "int4",
    "bigserial": "int8",
    "real": "float4",
    "double precision": "float8",
    "float": "float8",
    "decimal": "numeric",
    "character varying": "varchar",
    "character": "bpchar",
    "char": "bpchar",
    '"char"': "char",
    "timestamp without time zone": "timestamp",
    "timestamp with time zone": "timestamptz",
    "time without time zone": "time",
    "time with time zone": "timetz",
    "bit varying": "varbit",
}
# Names that PostgreSQL shows, by pg_type's name.
_SHOWN = {
    "bool": "boolean",
    "int2": "smallint",
    "int4": "integer",
    "int8": "bigint",
    "float4": "real",
    "float8": "double precision",
    "varchar": "character varying",
    "bpchar": "character",
    "char": '"char"',
    "timestamp": "timestamp without time zone",
    "timestamptz": "timestamp with time zone",
    "time": "time without time zone",
    "timetz": "time with time zone",
    "varbit": "bit varying",
}
_WRITTEN = re.compile(
    r"""\s*(?P<name>"?[a-z_][a-z0-9_ ]*?"?)\s*
        (?:\((?P<modifier>[\d\s,-]+)\))?\s*
        (?P<zone>with(?:out)?\s+time\s+zone)?\s*
        (?P<array>(?:\[\d*\])*)\s*""",
    re.VERBOSE,
)
_SECONDS = {"timestamp", "timestamptz", "time", "timetz"}


@dataclass(frozen=True)
class ModifiedType:
    """A type with its modifier: `numeric(10,2)` is 1700 and 655366."""

    oid: int
    modifier: int = -1


def parse_modified_type(written: str) -> ModifiedType:
    """Return the OID and modifier of a type; unknown types are reported as text.

    >>> parse_modified_type("numeric(10,2)"), parse_modified_type("varchar(5)[]").oid, parse_modified_type("timestamp(3) with time zone")
    (ModifiedType(oid=1700, modifier=655366), 1015, ModifiedType(oid=1184, modifier=3))
    """
    return parse_known_type(written) or ModifiedType(types()["text"].oid)


@lru_cache(maxsize=1024)
def parse_known_type(written: str) -> ModifiedType | None:
    """Return the OID and modifier of a type that PostgreSQL has, or None."""
    match = _WRITTEN.fullmatch(written.lower().removeprefix("pg_catalog."))
    if match is None:
        return None
    words = " ".join(f"{match['name']} {match['zone'] or ''}".split())
    known = types().get(_SYNONYMS.get(words, words))
    if known is None:
        return None
    given = [int(word) for word in (match["modifier"] or "").split(",") if word.strip()]
    if words in ("character", "char", "bit") and not given:
        given = [1]
    oid = known.array if match["array"] and known.array else known.oid
    return ModifiedType(oid, _type_modifier(known.name, given))


def _type_modifier(name: str, given: list[int]) -> int:
    match name, given:
        case "numeric", [precision, scale]:
            return (precision << 16 | scale & 0x7FF) + 4
        case "numeric", [precision]:
            return (precision << 16) + 4
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
    known = types_by_oid().get(oid)
    if known is None:
        return "-" if oid == 0 else "???"
    if known.category == "A" and known.length == -1:
        return f"{format_type(known.element, modifier)}[]"
    # Without a modifier, "bpchar" and not "character": the latter would mean one character.
    if known.name == "bpchar" and modifier == -1:
        return "bpchar"
    name = _SHOWN.get(known.name, known.name)
    digits = _format_modifier(known.name, modifier)
    if known.name in _SECONDS:
        first, _, rest = name.partition(" ")
        return f"{first}{digits} {rest}"
    return f"{name}{digits}"


def _format_modifier(name: str, modifier: int | None) -> str:
    if modifier is None or modifier < 0:
        return ""
    if name == "numeric":
        return f"({(modifier - 4) >> 16},{(modifier - 4) & 0x7FF})"
    if name in ("varchar", "bpchar"):
        return f"({modifier - 4})"
    return f"({modifier})"


def length_limit(of: ModifiedType) -> int | None:
    """Return the largest number of characters or bits of a value, if it is limited."""
    name = types_by_oid()[of.oid].name
    if of.modifier < 0 or name not in ("varchar", "bpchar", "bit", "varbit"):
        return None
    return of.modifier - 4 if name in ("varchar", "bpchar") else of.modifier


def precision(of: ModifiedType) -> tuple[int | None, int | None, int | None]:
    """Return precision, base and scale of a number, as in information_schema."""
    name = types_by_oid()[of.oid].name
    binary = {"int2": 16, "int4": 32, "int8": 64}
    if name in binary:
        return binary[name], 2, 0
    if name in ("float4", "float8"):
        return {"float4": 24, "float8": 53}[name], 2, None
    if name != "numeric":
        return None, None, None
    if of.modifier < 0:
        return None, 10, None
    return (of.modifier - 4) >> 16, 10, (of.modifier - 4) & 0x7FF


def seconds_precision(of: ModifiedType) -> int | None:
    """Return the fractional digits of a second in a timestamp."""
    name = types_by_oid()[of.oid].name
    if name == "date":
        return 0
    if name in _SECONDS or name == "interval":
        return of.modifier if of.modifier >= 0 else 6
    return None
