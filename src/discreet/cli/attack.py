"""`discreet attack`: the registered attacks, each imported when it runs."""

from __future__ import annotations

from importlib import import_module

import click

from discreet.errors import did_you_mean
from discreet.registry import ATTACKS

ALL = "all"
ALL_SUMMARY = "every attack that a published table admits, worst finding first"

EPILOG = """\b
Examples:
  discreet attack all released.csv --policy policy.yaml --known voters.csv
  discreet attack linkage patients.csv --known voters.csv --on birth_date,sex,postcode
  discreet attack tracker --help
Exit 3 when a finding exceeds the tolerance of the policy or of --tolerance.
"""


class AttackGroup(click.Group):
    """A group whose methods are the registered attacks; one is imported only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the methods in their order."""
        del ctx
        return [ALL, *ATTACKS.names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the method's command: its own module's, else the one of its specification."""
        if cmd_name != ALL and cmd_name not in ATTACKS:
            near = did_you_mean(cmd_name, self.list_commands(ctx))
            ctx.fail(f"There is no attack '{cmd_name}'.{near}")
        if cmd_name == ALL:
            return _import_command("discreet.cli.attacks.all:command", ALL)
        spec = ATTACKS.get(cmd_name)
        if spec.command is not None:
            return _import_command(spec.command, cmd_name)
        from discreet.cli.attacks.registered import make_attack_command

        return make_attack_command(spec)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the methods without importing what runs them."""
        del ctx
        listed = [(spec.name, spec.summary) for spec in ATTACKS.all()]
        with formatter.section("Methods"):
            formatter.write_dl([(ALL, ALL_SUMMARY), *listed, *ATTACKS.broken().items()])


def _import_command(place: str, name: str) -> click.Command:
    module, _, attribute = place.partition(":")
    command: click.Command = getattr(import_module(module), attribute)
    command.name = name
    return command


@click.group(cls=AttackGroup, epilog=EPILOG, subcommand_metavar="METHOD …")
def command() -> None:
    """Play the adversary against a published table or against whatever answers questions."""
