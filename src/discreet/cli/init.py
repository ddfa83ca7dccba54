"""`discreet init`: draft a policy, each guess with its reason."""

from __future__ import annotations

from pathlib import Path

import click

from discreet.cli import options, output

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


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
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
@click.option("--encoding", metavar="NAME", help="Such as cp1252; found by itself if not given.")
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
    from discreet.api.draft import draft_policy

    draft = draft_policy(
        *sources, output=target, force=force, dry_run=dry_run, table=names, **reading
    )
    text = draft.to_yaml()
    if target is not None and not dry_run:
        columns = sum(len(table.columns) for table in draft.tables)
        click.echo(f"Wrote {target}: {columns} columns guessed. Read every reason.", err=True)
    if as_json:
        output.print_json(draft)
    elif target is None or dry_run:
        click.echo(text, nl=False)
