"""Write `src/discreet/data/catalog` from running PostgreSQL servers: what their catalogs look like.

Run with the addresses of servers, the most wanted first: relations and columns that only a later
one has are added at the end, so that a client of either version finds what it asks for.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import psycopg

FIRST_OF_USERS = 16384
FOLDER = Path(__file__).parents[1] / "src" / "discreet" / "data" / "catalog"

# Types that clients are told of, and those that a client expects to find by name.
TYPES = [
    "bool",
    "bytea",
    "char",
    "name",
    "int8",
    "int2",
    "int2vector",
    "int4",
    "regproc",
    "text",
    "oid",
    "tid",
    "xid",
    "cid",
    "oidvector",
    "json",
    "xml",
    "pg_node_tree",
    "float4",
    "float8",
    "money",
    "unknown",
    "macaddr",
    "inet",
    "cidr",
    "bpchar",
    "varchar",
    "date",
    "time",
    "timestamp",
    "timestamptz",
    "interval",
    "timetz",
    "bit",
    "varbit",
    "numeric",
    "refcursor",
    "regprocedure",
    "regoper",
    "regoperator",
    "regclass",
    "regtype",
    "regrole",
    "regnamespace",
    "uuid",
    "jsonb",
    "aclitem",
    "void",
    "record",
    "anyarray",
    "anyelement",
    "cstring",
    "trigger",
    "pg_lsn",
    "pg_ndistinct",
    "pg_dependencies",
    "pg_mcv_list",
]

RELATIONS = """
SELECT n.nspname, c.relname, c.relkind, c.oid,
       string_agg(a.attname || ' ' || t.typname || CASE WHEN a.attnotnull THEN '!' ELSE '' END, ' '
                  ORDER BY a.attnum)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
JOIN pg_type t ON t.oid = a.atttypid
WHERE n.nspname IN ('pg_catalog', 'information_schema') AND c.relkind IN ('r', 'v')
GROUP BY 1, 2, 3, 4 ORDER BY 1 DESC, 2
"""

ROWS = {
    "types": """
        SELECT oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typdelim,
               typelem, typarray, typinput::oid AS typinput, typoutput::oid AS typoutput,
               typreceive::oid AS typreceive, typsend::oid AS typsend, typmodin::oid AS typmodin,
               typmodout::oid AS typmodout, typalign, typstorage, typcollation
        FROM pg_type t
        WHERE typnamespace = 'pg_catalog'::regnamespace AND (typname = ANY(%(types)s)
              OR typelem <> 0 AND typlen = -1
                 AND typelem IN (SELECT oid FROM pg_type WHERE typname = ANY(%(types)s)))
        ORDER BY oid""",
    "functions": """
        SELECT DISTINCT p.oid, proname, prokind, proretset, provolatile, proisstrict, pronargs,
               prorettype, proargtypes, prosrc
        FROM pg_proc p
        JOIN pg_type t ON p.oid IN (typinput, typoutput, typreceive, typsend, typmodin, typmodout)
        WHERE typname = ANY(%(types)s) OR typname = ANY(%(arrays)s) ORDER BY 1""",
    "keywords": "SELECT word, catcode, barelabel FROM pg_get_keywords() ORDER BY word",
    "operator_classes": """
        SELECT c.oid, opcname, opcmethod, opcfamily, opcintype, opcdefault, opckeytype
        FROM pg_opclass c JOIN pg_type t ON t.oid = c.opcintype JOIN pg_am m ON m.oid = opcmethod
        WHERE amname = 'btree' AND typname = ANY(%(types)s) ORDER BY 1""",
}


def read_relations(addresses: list[str]) -> dict[tuple[str, str], tuple[str, int, list[str]]]:
    """Return kind, OID and columns of every relation that one of the servers has."""
    found: dict[tuple[str, str], tuple[str, int, list[str]]] = {}
    free = iter(range(15000, FIRST_OF_USERS))  # views have other numbers on every server
    for address in addresses:
        with psycopg.connect(address) as connection:
            for schema, name, kind, oid, text in connection.execute(RELATIONS):
                words = text.split(" ")
                taken = oid in {each[1] for each in found.values()}
                own = next(free) if taken and (schema, name) not in found else oid
                columns = [" ".join(words[at : at + 2]) for at in range(0, len(words), 2)]
                known = found.setdefault((schema, name), (kind, own, columns))[2]
                names = {column.split(" ")[0] for column in known}
                known += [column for column in columns if column.split(" ")[0] not in names]
    return found


def write(name: str, header: list[str], rows: list[tuple[object, ...]]) -> None:
    """Write one file of the folder."""
    with (FOLDER / f"{name}.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def main(addresses: list[str]) -> None:
    """Write all files."""
    FOLDER.mkdir(exist_ok=True)
    relations = read_relations(addresses)
    rows = [(*key, kind, oid, " ".join(columns)) for key, (kind, oid, columns) in relations.items()]
    write("relations", ["schema", "relation", "kind", "oid", "columns"], rows)
    wanted = {"types": TYPES, "arrays": [f"_{name}" for name in TYPES]}
    with psycopg.connect(addresses[0]) as connection:
        for name, query in ROWS.items():
            cursor = connection.execute(query, wanted)
            header = [column.name for column in cursor.description or ()]
            write(name, header, [tuple(map(_text, row)) for row in cursor])


def _text(value: object) -> object:
    return {True: "t", False: "f"}[value] if isinstance(value, bool) else value


if __name__ == "__main__":
    main(sys.argv[1:])
