"""How types and names are written in trees of PostgreSQL's SQL."""

from __future__ import annotations

import re

from sqlglot import exp

from discreet.sql.types import parse_known_type


def type_name(to: exp.Expr) -> str:
    """Return pg_type's name for the type of a cast; arrays have a `_` before it.

    >>> import sqlglot
    >>> text = 'SELECT a::pg_catalog.int2[], b::regclass, c::varchar(3), d::"char"'
    >>> casts = sqlglot.parse_one(text, dialect="postgres")
    >>> [type_name(each.to) for each in casts.expressions]
    ['_int2', 'regclass', 'varchar', 'char']
    """
    text = to.sql(dialect="postgres")
    if text.strip('"') == "char" and text != "CHAR":
        return "char"
    bare = re.sub(r'^"?pg_catalog"?\.', "", text, flags=re.IGNORECASE).lower()
    known = parse_known_type(bare)
    return known.name if known else bare


def is_array(name: str) -> bool:
    """Whether pg_type's name is that of an array."""
    return name.startswith("_")


def array_items(text: str) -> list[str | None] | None:
    """Return the elements of an array literal, or None when it is not one, or nested.

    >>> array_items('{a,"b,c",NULL}'), array_items("{}"), array_items("x")
    (['a', 'b,c', None], [], None)
    """
    text = text.strip()
    if not (text.startswith("{") and text.endswith("}")):
        return None
    inside = text[1:-1].strip()
    if not inside:
        return []
    pattern = re.compile(r'\s*(?:"((?:[^"\\]|\\.)*)"|([^",{}]*?))\s*(?:,|$)')
    found: list[str | None] = []
    place = 0
    while place <= len(inside):
        match = pattern.match(inside, place)
        if match is None:
            return None
        exact, plain = match.groups()
        found.append(_array_item(exact, plain))
        if match.end() == len(inside) and not match[0].endswith(","):
            return found
        place = match.end()
    return found


def _array_item(exact: str | None, plain: str) -> str | None:
    if exact is not None:
        return re.sub(r"\\(.)", r"\1", exact)
    return None if plain.upper() == "NULL" else plain


def fold_identifiers(tree: exp.Query) -> exp.Query:
    """Return a copy with unquoted names in lower case, as PostgreSQL folds them."""
    copy = tree.copy()
    for name in copy.find_all(exp.Identifier):
        if not name.args.get("quoted") and isinstance(name.this, str):
            name.set("this", name.this.lower())
    return copy
