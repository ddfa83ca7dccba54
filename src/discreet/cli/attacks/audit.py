"""`discreet attack audit`: does a mechanism keep the epsilon that it claims?"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.findings import finding_options, judge_and_print, tolerance_of
from discreet.cli.curator_options import AMOUNT
from discreet.engines.engine import Table

if TYPE_CHECKING:
    from discreet.attacks.audit.audit import Claim
    from discreet.attacks.audit.mechanism import Mechanism
    from discreet.attacks.audit.neighbors import NeighborPair

EXAMPLES = """\b
Examples:
  discreet attack audit outputs.csv --claims 1
  discreet attack audit outputs.csv --claims 0.5 --delta 1e-6 --json
  discreet attack audit --mechanism discreet:laplace --claims 1 --runs 200000
  discreet attack audit --mechanism mymodule:noisy_count --claims 1
  discreet attack audit people.csv --mechanism mymodule:noisy_mean --claims 1
\b
outputs.csv has the columns input,output: two inputs that differ in one person, and what came out in
many runs of each. A missing output is an output, too.
"""
OWN_PREFIX = "discreet:"


@click.command(epilog=EXAMPLES)
@click.argument("spec", required=False, metavar="[SPEC]", callback=options.require_name)
@click.option(
    "--claims",
    type=AMOUNT,
    required=True,
    metavar="EPSILON",
    help="The epsilon that is claimed, for neighbors that differ in one person.",
)
@click.option("--delta", type=AMOUNT, default="0", metavar="DELTA", help="The delta. Default: 0.")
@click.option(
    "--mechanism",
    metavar="NAME",
    help="Run this: discreet:laplace, discreet:gaussian, discreet:response, discreet:sum, or "
    "module:function, whose code is executed with your rights.",
)
@click.option(
    "--runs",
    type=click.IntRange(100),
    metavar="N",
    help="Runs on each input. Default: 20000.",
)
@click.option(
    "--sure",
    type=click.FloatRange(0.5, 1, max_open=True),
    default=0.95,
    show_default=True,
    metavar="SHARE",
    help="How sure a refutation is to be.",
)
@options.reading_options
@finding_options
def command(
    spec: str | None,
    *,
    claims: str,
    delta: str,
    mechanism: str | None,
    runs: int | None,
    sure: float,
    policy: Path | None,
    tolerance: float | None,
    as_json: bool,
    report: Path | None,
    **reading: Any,
) -> None:
    """Try to refute a claim of differential privacy by outputs on neighboring inputs.

    SPEC is a CSV file of outputs; with --mechanism it is the table that the mechanism is run on, with
    and without rows that a wrong one would betray. Without SPEC the mechanism is run on numbers that
    differ by one. The lower bound of epsilon is exact (Clopper & Pearson); the claim is refuted, and
    the command exits with 3, only if the bound exceeds it.
    """
    from discreet.attacks.audit.audit import Claim
    from discreet.errors import WrongUsage

    claim = Claim(float(claims), float(delta), sure)
    if mechanism is None and spec is None:
        raise WrongUsage("Say what is audited: a file of outputs, or --mechanism discreet:laplace.")
    if mechanism is None:
        found = _audit_file(str(spec), claim, reading)
    else:
        found = _audit_mechanism(mechanism, spec, claim, (claims, delta), runs, reading)
    # A claim tolerates nothing beyond itself.
    tolerated = tolerance_of(
        policy, tolerance=tolerance, table=reading["table"], label=found.target
    ) or {"default": 0.0}
    judge_and_print([found], tolerance=tolerated, as_json=as_json, report=report)


def _audit_file(spec: str, claim: Claim, reading: Mapping[str, Any]) -> Finding:
    from discreet.attacks.audit.audit import audit_outputs
    from discreet.attacks.audit.read import read_outputs

    with _open_source(spec, reading) as table:
        first, second = read_outputs(table)
    return audit_outputs(first, second, claim=claim, target=spec)


def _audit_mechanism(
    name: str,
    spec: str | None,
    claim: Claim,
    written: tuple[str, str],
    runs: int | None,
    reading: Mapping[str, Any],
) -> Finding:
    from discreet.attacks.audit.audit import RUNS, audit_mechanism, with_sessions
    from discreet.attacks.audit.reference import fresh_outputs

    found = audit_mechanism(
        _load_mechanism(name, written),
        _neighboring_pairs(spec, reading),
        claim=claim,
        target=name,
        runs=runs or RUNS,
        scale=1 / claim.epsilon if claim.epsilon else None,
    )
    if name.startswith(OWN_PREFIX) or spec is not None:
        return found
    sessions = [fresh_outputs(name, 0) for _ in range(2)]
    return with_sessions(found, sessions, claim=claim)


def _load_mechanism(name: str, written: tuple[str, str]) -> Mechanism:
    from fractions import Fraction

    from discreet.attacks.audit.mechanism import make_builtin_mechanism
    from discreet.attacks.audit.reference import load_mechanism

    if not name.startswith(OWN_PREFIX):
        return load_mechanism(name)
    epsilon, delta = (Fraction(text) for text in written)
    return make_builtin_mechanism(name.removeprefix(OWN_PREFIX), epsilon=epsilon, delta=delta)


def _neighboring_pairs(spec: str | None, reading: Mapping[str, Any]) -> list[NeighborPair]:
    from discreet.attacks.audit.neighbors import neighboring_counts, neighboring_tables
    from discreet.sql import build

    if spec is None:
        return list(neighboring_counts())
    with _open_source(spec, reading) as table:
        columns = [build.column(column.name) for column in table.columns]
        rows = table.engine.run(build.select(*columns, source=table.relation.copy()))
    return list(neighboring_tables(rows))


def _open_source(spec: str, reading: Mapping[str, Any]) -> AbstractContextManager[Table]:
    from discreet.engines.connect import opened_table

    return opened_table(
        spec,
        table=reading["table"],
        delimiter=reading["delimiter"],
        encoding=reading["encoding"],
        memory_limit=reading["memory"],
    )
