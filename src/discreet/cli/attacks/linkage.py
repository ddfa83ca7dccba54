"""`discreet attack linkage`: who of a list is which row of a release?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.engines.engine import Table
from discreet.policy import model

EXAMPLES = """\b
Examples:
  discreet attack linkage released.csv --known voters.csv --on birth_date,sex,zip
  discreet attack linkage released.csv --known voters.csv --on dob=birth_date,zip --truth name
  discreet attack linkage visits.csv --known diary.csv --on admitted,ward --within admitted=3d
  discreet attack linkage patients.csv --known staff.csv --on name,birth_date,zip --fuzzy
"""


@click.command(epilog=EXAMPLES)
@click.argument("release", metavar="RELEASE", callback=options.require_name)
@click.option(
    "--known",
    metavar="SOURCE",
    required=True,
    callback=options.require_name,
    help="What the adversary has: a list of people, a row each.",
)
@click.option(
    "--on",
    type=options.NAMES,
    help="Columns of the list to join by; KNOWN=RELEASED where names differ.",
)
@click.option(
    "--within",
    type=options.NAMES,
    default=(),
    metavar="COLUMN=SIZE,…",
    help="How far values may be off: age=1, admitted=3d.",
)
@click.option(
    "--sensitive", type=options.NAMES, help="Released columns to learn; else as the policy says."
)
@click.option(
    "--truth",
    metavar="COLUMN",
    help="Says who is who on both sides, to tell right links from wrong ones.",
)
@click.option(
    "--unit", metavar="COLUMN", help="Tells which rows are of one person, such as a pseudonym."
)
@click.option("--name-column", "name", metavar="COLUMN", help="The list's column of names.")
@click.option("--fuzzy", is_flag=True, help="Allow typos and missing values (Splink).")
@click.option(
    "--threshold",
    type=click.FloatRange(0, 1),
    default=0.9,
    show_default=True,
    metavar="CHANCE",
    help="With --fuzzy: how likely a link must be to be claimed.",
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="With --fuzzy: repeat the same run."
)
@click.option(
    "--manifest",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The release's release.json: roles, and what group names mean. Found beside it.",
)
@options.reading_options
@finding_options
def command(
    release: str,
    known: str,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    memory: str | None,
    table: str | None,
    **choices: Any,
) -> None:
    """Put names to rows of RELEASE by columns that a list of known people shares.

    A person is linked when a row fits nobody else of the list and is likely theirs. Labels count for
    all they may stand for: [30, 40), 476**, 1970s, *, and group names of the policy's hierarchies.
    People of the list who are not in the release belong to the test: they show how often a link is
    wrong.
    """
    from discreet.attacks.manifest import describe_release
    from discreet.engines.connect import holds_tables, open_table
    from discreet.writing import require_writable_path

    if report is not None:
        require_writable_path(report)
    reading = {name: choices.pop(name) for name in ("delimiter", "encoding")}
    inside = table if holds_tables(release) else None
    opened = open_table(release, table=inside, memory_limit=memory, **reading)
    try:
        people = open_table(known, engine=opened.engine)
        described = describe_release(
            release,
            policy=policy,
            label=opened.label,
            table=table,
            manifest=choices.pop("manifest"),
        )
        allowed = tolerance_of(policy, tolerance=tolerance, table=table, label=opened.label)
        found = _link_people(opened, people, described, **choices)
    finally:
        opened.engine.close()
    judge_and_print([found], tolerance=allowed, as_json=as_json, report=report)


def _link_people(
    release: Table,
    people: Table,
    described: model.TablePolicy | None,
    *,
    fuzzy: bool,
    threshold: float,
    seed: int | None,
    **choices: Any,
) -> Finding:
    from discreet.attacks.linkage.link import link_people
    from discreet.attacks.linkage.spec import make_linkage_spec
    from discreet.attacks.manifest import hierarchies_of
    from discreet.errors import WrongUsage

    wish = make_linkage_spec(release, people, policy=described, **choices)
    if not fuzzy:
        return link_people(
            release,
            people,
            on=wish.on,
            identity=wish.identity,
            sensitive=wish.sensitive,
            unit=wish.unit,
            name=wish.name,
            within=wish.within,
            hierarchies=hierarchies_of(described),
        )
    if wish.within:
        raise WrongUsage("--fuzzy has its own tolerance. Leave --within out.")
    import numpy as np

    from discreet.attacks.linkage.fuzzy import link_fuzzily

    rng = np.random.default_rng(seed)
    return link_fuzzily(release, people, wish=wish, threshold=threshold, rng=rng)
