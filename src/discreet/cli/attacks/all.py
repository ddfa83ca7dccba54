"""`discreet attack all`: every attack that a published table admits, worst finding first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.classes import attack_bound, class_options, open_beside

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

EXAMPLES = """\b
Examples:
  discreet attack all released.csv --policy policy.yaml
  discreet attack all released.csv --quasi age,zip --sensitive diagnosis --known voters.csv
  discreet attack all synthetic.csv --source people.csv --control others.csv --sensitive diagnosis
"""


@click.command(epilog=EXAMPLES)
@click.option(
    "--known",
    metavar="SOURCE",
    callback=options.require_name,
    help="A list of people, for linkage.",
)
@click.option("--on", type=options.NAMES, help="Columns of the list to find people by.")
@click.option(
    "--earlier",
    multiple=True,
    metavar="FILE",
    callback=options.require_name,
    help="A release of the same people made before, for composition.",
)
@click.option(
    "--source",
    metavar="SOURCE",
    callback=options.require_name,
    help="What synthetic data was made from.",
)
@click.option(
    "--control",
    metavar="SOURCE",
    callback=options.require_name,
    help="People of the same population who had no part in it.",
)
@click.option("--seed", type=click.IntRange(0), metavar="N", help="Repeat the same run.")
@class_options
def command(
    release: str,
    known: str | None,
    on: tuple[str, ...] | None,
    earlier: tuple[str, ...],
    source: str | None,
    control: str | None,
    seed: int | None,
    **choices: Any,
) -> None:
    """Run every attack that RELEASE admits, and tell the worst finding first.

    What an attack needs beside the release decides whether it can run: a list of people, earlier
    releases, the source of synthetic data and a control group. What was not tried is said on stderr.
    """
    if (source is None) != (control is None):
        raise click.UsageError("--source and --control go together. Add the other.")

    def attack(bound: RoleBinding) -> Sequence[Finding]:
        import numpy as np

        from discreet.attacks.all_attacks import AttackInput, attack_all
        from discreet.attacks.manifest import find_manifest, read_published
        from discreet.attacks.synthetic.trial import open_trial

        manifest = find_manifest(release) if bound.policy is None else None
        tried = attack_all(
            AttackInput(
                release=bound,
                rng=np.random.default_rng(seed),
                described=read_published(manifest) if manifest else bound.policy,
                known=open_beside(known, bound) if known else None,
                on=on,
                earlier=tuple(open_beside(each, bound) for each in earlier),
                trial=open_trial(release, source=source, control=control) if source else None,
            )
        )
        for name, reason in tried.not_tried.items():
            click.echo(f"Not tried: {name} – {reason}", err=True)
        return tried.findings

    attack_bound(release, attack, **choices)
