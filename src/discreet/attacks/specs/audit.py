"""The attack audit: whether outputs refute the epsilon that a mechanism claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.audit.mechanism import Mechanism
    from discreet.attacks.audit.neighbors import NeighborPair
    from discreet.attacks.finding import Finding

DESCRIPTION = """Try to refute a claim of differential privacy by outputs on neighboring inputs.

SPEC is a CSV file of outputs; with --mechanism it is the table that the mechanism is run on, with
and without rows that would expose a wrong one. Without SPEC the mechanism is run on numbers that
differ by one. The lower bound of epsilon is exact (Clopper & Pearson); the claim is refuted, and
the command exits with 3, only if the bound exceeds it.
"""
OWN_PREFIX = "discreet:"


def _run(
    given: AttackInput,
    *,
    claims: str,
    delta: str,
    mechanism: str | None,
    runs: int | None,
    sure: float,
) -> Sequence[Finding]:
    from discreet.attacks.audit.audit import (
        RUNS,
        Claim,
        audit_mechanism,
        audit_outputs,
        with_sessions,
    )
    from discreet.attacks.audit.read import read_outputs
    from discreet.attacks.audit.reference import fresh_outputs
    from discreet.errors import WrongUsage

    claim = Claim(float(claims), float(delta), sure)
    if mechanism is None:
        if given.opened is None:
            raise WrongUsage(
                "Say what is audited: a file of outputs, or --mechanism discreet:laplace."
            )
        return [audit_outputs(*read_outputs(given.opened), claim=claim, target=given.label)]
    found = audit_mechanism(
        _load_mechanism(mechanism, claims, delta),
        _neighboring_pairs(given),
        claim=claim,
        target=mechanism,
        runs=runs or RUNS,
        scale=1 / claim.epsilon if claim.epsilon else None,
    )
    if mechanism.startswith(OWN_PREFIX) or given.opened is not None:
        return [found]
    sessions = [fresh_outputs(mechanism, 0) for _ in range(2)]
    return [with_sessions(found, sessions, claim=claim)]


def _load_mechanism(name: str, epsilon: str, delta: str) -> Mechanism:
    from fractions import Fraction

    from discreet.attacks.audit.mechanism import make_builtin_mechanism
    from discreet.attacks.audit.reference import load_mechanism

    if not name.startswith(OWN_PREFIX):
        return load_mechanism(name)
    return make_builtin_mechanism(
        name.removeprefix(OWN_PREFIX), epsilon=Fraction(epsilon), delta=Fraction(delta)
    )


def _neighboring_pairs(given: AttackInput) -> list[NeighborPair]:
    from discreet.attacks.audit.neighbors import neighboring_counts, neighboring_tables
    from discreet.sql import build

    table = given.opened
    if table is None:
        return list(neighboring_counts())
    columns = [build.column(column.name) for column in table.columns]
    rows = table.engine.run(build.select(*columns, source=table.relation.copy()))
    return list(neighboring_tables(rows))


SPEC = AttackSpec(
    name="audit",
    summary="whether outputs refute the epsilon that a mechanism claims",
    description=DESCRIPTION,
    target="table",
    argument="SPEC",
    source="optional",
    options=(
        OptionSpec(
            "claims",
            "amount",
            "The epsilon that is claimed, for neighbors that differ in one person.",
            required=True,
            metavar="EPSILON",
        ),
        OptionSpec("delta", "amount", "The delta.", default="0", metavar="DELTA"),
        OptionSpec(
            "mechanism",
            "text",
            "Run this: discreet:laplace, discreet:gaussian, discreet:response, discreet:sum, or "
            "module:function, whose code is executed with your rights.",
            metavar="NAME",
        ),
        OptionSpec("runs", "integer", "Runs on each input.", minimum=100, default_text="20000"),
        OptionSpec(
            "sure",
            "number",
            "How sure a refutation is to be.",
            default=0.95,
            minimum=0.5,
            below=1,
            metavar="SHARE",
        ),
    ),
    run=_run,
    tests_claim=True,
    examples=(
        "discreet attack audit outputs.csv --claims 1",
        "discreet attack audit outputs.csv --claims 0.5 --delta 1e-6 --json",
        "discreet attack audit --mechanism discreet:laplace --claims 1 --runs 200000",
        "discreet attack audit --mechanism mymodule:noisy_count --claims 1",
        "discreet attack audit people.csv --mechanism mymodule:noisy_mean --claims 1",
    ),
    notes="""outputs.csv has the columns input,output: two inputs that differ in one person, and what came out in
many runs of each. A missing output is an output, too.""",
    position=240,
)
