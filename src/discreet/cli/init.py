"""`discreet init`: draft a policy, each guess with its reason."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from discreet.cli import options, output
from discreet.engines.engine import Table
from discreet.errors import EmptySource, WrongUsage
from discreet.writing import require_writable_path, write_atomically

EXAMPLES = """\b
Examples:
  discreet init patients.csv
  discreet init patients.csv visits.csv -o policy.yaml
  discreet init postgresql://localhost/clinic --table patients --table visits
  discreet init --schema > policy.schema.json
"""


def _print_schema(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    del param
    if not value or ctx.resilient_parsing:
        return
    import json

    from discreet.policy.json_schema import policy_schema

    click.echo(json.dumps(policy_schema(), indent=2, ensure_ascii=False))
    ctx.exit()


@click.command(epilog=EXAMPLES)
@click.argument(
    "sources", metavar="SOURCE...", nargs=-1, required=True, callback=options.require_name
)
@click.option(
    "-o",
    "--output",
    "target",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Write the policy to FILE instead of stdout.",
)
@click.option("--force", is_flag=True, help="Replace FILE if it exists.")
@click.option("--dry-run", is_flag=True, help="Print the policy and write nothing.")
@click.option(
    "--table", "names", multiple=True, metavar="NAME", help="A table of SOURCE; may be repeated."
)
@click.option(
    "--schema",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=_print_schema,
    help="Print the JSON Schema of policies, for editors, and stop.",
)
@click.option(
    "--delimiter",
    metavar="CHAR",
    help="What separates a CSV file's columns.",
)
@click.option("--encoding", metavar="NAME", help="utf-8 (default), utf-16 or latin-1.")
@click.option(
    "--memory", type=options.MEMORY, metavar="SIZE", help="Memory limit of DuckDB, such as 4GB."
)
@options.json_option
def command(
    sources: tuple[str, ...],
    *,
    target: Path | None,
    force: bool,
    dry_run: bool,
    names: tuple[str, ...],
    as_json: bool,
    **reading: str | None,
) -> None:
    """Draft a policy for one or more tables: the role of each column, and why.

    All rows are read, by the engine that holds them. The draft is a start: read every reason,
    correct what is wrong, and keep the file with the data.
    """
    if len(sources) > 1 and names:
        raise WrongUsage("--table belongs to one source. Name one SOURCE with --table.")
    if target is not None:
        require_writable_path(target, may_exist=force)
    from discreet.measure.profile import draft_tables
    from discreet.measure.profile.ids import with_ids

    wanted = _tables_of(sources, names)
    tables = _open_tables(wanted, **reading)
    try:
        draft = draft_tables(tables, sources=[_source_path(*item, target) for item in wanted])
    finally:
        for engine in {id(table.engine): table.engine for table in tables}.values():
            engine.close()
    # Drafted again, a table keeps its account: otherwise it would have a second budget.
    draft = with_ids(draft, before=target)
    text = draft.to_yaml()
    if target is not None and not dry_run:
        write_atomically(target, text)
        columns = sum(len(table.columns) for table in draft.tables)
        click.echo(f"Wrote {target}: {columns} columns guessed. Read every reason.", err=True)
    if as_json:
        output.print_json(draft)
    elif target is None or dry_run:
        click.echo(text, nl=False)


def _tables_of(sources: Sequence[str], names: Sequence[str]) -> list[tuple[str, str | None]]:
    """Return each source with the name of a table in it, if it holds several."""
    if names:
        return [(sources[0], name) for name in names]
    found: list[tuple[str, str | None]] = []
    for source in sources:
        if _is_database(source) and "table=" not in source:
            found += [(source, name) for name in _list_tables(source)]
        else:
            found.append((source, None))
    return found


def _is_database(source: str) -> bool:
    return source.startswith(("postgresql://", "postgres://"))


def _list_tables(url: str) -> list[str]:
    from discreet.engines.connect import list_tables

    listed = list_tables(url)
    if not listed:
        raise EmptySource("The database has no table that this user may read. Name another one.")
    return listed


def _open_tables(
    wanted: Sequence[tuple[str, str | None]],
    *,
    delimiter: str | None,
    encoding: str | None,
    memory: str | None,
) -> list[Table]:
    """Open every table, files together on one engine so that their keys can be compared."""
    from discreet.engines.connect import open_table

    tables: list[Table] = []
    shared = None
    for source, name in wanted:
        is_file = "://" not in source and not source.startswith("spark:")
        table = open_table(
            source,
            table=name,
            engine=shared if is_file else None,
            delimiter=delimiter,
            encoding=encoding,
            memory_limit=memory,
        )
        shared = table.engine if is_file else shared
        tables.append(table)
    return tables


def _source_path(source: str, table: str | None, target: Path | None) -> str:
    """Return where a table is, as the policy says it: files as seen from the policy."""
    if _is_database(source) and table is not None:
        return f"{source}{'&' if '?' in source else '?'}table={table}"
    if target is None or not Path(source).exists() or Path(source).is_absolute():
        return source
    return Path(os.path.relpath(source, target.parent)).as_posix()
