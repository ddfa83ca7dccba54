"""`discreet attack`: the adversary inside; a table of methods, each imported when it runs."""

from __future__ import annotations

from importlib import import_module

import click

from discreet.errors import did_you_mean

# method -> its one line in --help; the module `discreet.cli.attacks.<method>` is imported to run it.
METHODS: dict[str, str] = {
    "all": "every attack that a published table admits, worst finding first",
    "linkage": "names put to rows by a list of known people",
    "uniqueness": "people alone on all that is published, whatever the roles of columns",
    "homogeneity": "classes in which all share one sensitive value",
    "background": "what classes tell somebody who can rule out some values",
    "skewness": "how far classes move the belief in a value",
    "similarity": "classes whose values mean nearly the same",
    "inference": "how often the best guess from a class is right",
    "composition": "what several releases of overlapping people tell together",
    "republication": "what successive releases of a changing table tell",
    "sparse": "histories found by a few ratings, purchases or places",
    "dictionary": "hashed identifiers undone by guessing",
    "membership": "who is among the people behind frequencies or a release",
    "singling-out": "descriptions read off synthetic data that fit one real person",
    "linkability": "two tables about the same people, joined through synthetic data",
    "attribute": "what the closest synthetic record gives away about a person",
    "closest": "who lies so near to a synthetic record that they must be its source",
    "differencing": "one person left over when published answers are subtracted",
    "tracker": "a forbidden sum put together from permitted ones",
    "counting": "one person's value by counts, halving what it may be",
    "averaging": "noise averaged away, in the same words and in others",
    "small-groups": "answers about one or two people, and dominated sums",
    "reconstruction": "everybody's secret from counts of groups, solved all at once",
    "census": "published tables turned back into the people they were made from",
    "audit": "whether outputs refute the epsilon that a mechanism claims",
    "distinguishing": "how often the best guess between two neighbors is wrong",
    "families": "how a guarantee weakens for people who share a secret",
}

EPILOG = """\b
Examples:
  discreet attack all released.csv --policy policy.yaml --known voters.csv
  discreet attack linkage patients.csv --known voters.csv --on birth_date,sex,postcode
  discreet attack tracker --help
Exit 3 when a finding exceeds the tolerance of the policy or of --tolerance.
"""


class AttackGroup(click.Group):
    """A group that knows its methods by name and imports one only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the methods in their order."""
        del ctx
        return list(METHODS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the method's command, importing its module."""
        if cmd_name not in METHODS:
            ctx.fail(f"There is no attack '{cmd_name}'.{did_you_mean(cmd_name, METHODS)}")
        module = import_module(f"discreet.cli.attacks.{cmd_name.replace('-', '_')}")
        command: click.Command = module.command
        command.name = cmd_name
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the methods without importing them."""
        del ctx
        with formatter.section("Methods"):
            formatter.write_dl(list(METHODS.items()))


@click.group(cls=AttackGroup, epilog=EPILOG, subcommand_metavar="METHOD …")
def command() -> None:
    """Play the adversary against a published table or against whatever answers questions."""
