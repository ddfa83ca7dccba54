"""`discreet attack`: a command for each registered attack, made from its specification."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from discreet.attacks.all_attacks import ALL
from discreet.attacks.options import attack_options
from discreet.cli import options, output
from discreet.cli.findings import finding_options, print_judged
from discreet.errors import did_you_mean
from discreet.option_values import read_single_value
from discreet.registry import ATTACKS, AttackSpec, OptionSpec

EPILOG = """\b
Examples:
  discreet attack all released.csv --policy policy.yaml --known voters.csv
  discreet attack linkage patients.csv --known voters.csv --on birth_date,sex,postcode
  discreet attack tracker --help
Exit 3 when a finding exceeds the tolerance of the policy or of --tolerance.
"""
METAVARS = {
    "amount": "NUMBER",
    "integer": "N",
    "names": "A,B,…",
    "number": "NUMBER",
    "path": "FILE",
    "share": "SHARE",
    "source": "SOURCE",
    "values": "COLUMN=VALUE,…",
}
ARGUMENTS = {
    "releases": "RELEASES…",
    "synthetic": "SYNTHETIC",
    "answers": "SOURCE",
    "model": "MODEL",
}


class AttackGroup(click.Group):
    """A group whose methods are the registered attacks; one is imported only to run it."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the methods in their order."""
        del ctx
        return [ALL.name, *ATTACKS.names()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of an attack, made from its specification."""
        if cmd_name == ALL.name:
            return make_attack_command(ALL)
        if cmd_name not in ATTACKS:
            near = did_you_mean(cmd_name, self.list_commands(ctx))
            ctx.fail(f"There is no attack '{cmd_name}'.{near}")
        return make_attack_command(ATTACKS.get(cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the methods without importing what runs them."""
        del ctx
        listed = [(spec.name, spec.summary) for spec in (ALL, *ATTACKS.all())]
        with formatter.section("Methods"):
            formatter.write_dl([*listed, *ATTACKS.broken().items()])


@click.group(cls=AttackGroup, epilog=EPILOG, subcommand_metavar="METHOD …")
def command() -> None:
    """Attack a published table, or an interface that answers questions."""


class SpecifiedType(click.ParamType[Any]):
    """A value that the specification of its option reads."""

    name = "text"

    def __init__(self, option: OptionSpec) -> None:
        self.option = option

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the value as the attack takes it."""
        try:
            return read_single_value(self.option, value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def make_attack_command(spec: AttackSpec) -> click.Command:
    """Return the command of an attack: its target, its options, and where findings go."""

    def run(
        target: Any = None,
        *,
        policy: Path | None,
        tolerance: float | None,
        as_json: bool,
        form: str | None,
        report: Path | None,
        **stated: Any,
    ) -> None:
        from discreet.api.attack import attack
        from discreet.writing import require_writable_path

        if report is not None:
            require_writable_path(report)
        with output.progress() as progress:
            found = attack(
                spec.name,
                target,
                policy=policy,
                tolerance=tolerance,
                progress=progress,
                notify=_print_caution,
                **{name: value for name, value in stated.items() if value is not None},
            )
        for name, reason in found.not_tried.items():
            _print_caution(f"Not tried: {name} – {reason}")
        print_judged(found, as_json=as_json, form=form, report=report, tables=spec.tables)

    decorated: Callable[..., Any] = finding_options(run)
    for option in reversed(attack_options(spec).values()):
        decorated = make_option(option)(decorated)
    if spec.source != "none":
        decorated = _target_argument(spec)(decorated)
    return click.command(
        name=spec.name,
        help=spec.description or f"{spec.summary[:1].upper()}{spec.summary[1:]}.",
        epilog=_make_epilog(spec),
    )(decorated)


def make_option(option: OptionSpec) -> Callable[..., Any]:
    """Return the option of the command line that a specification describes."""
    names = (f"--{option.name.replace('_', '-')}", option.name)
    words: dict[str, Any] = {"help": option.summary, "required": option.required}
    if option.kind == "flag":
        return click.option(*names, is_flag=True, **words)
    if option.default is not None:
        words |= {"default": option.default, "show_default": option.default_text or True}
    elif option.default_text is not None:
        words["help"] = f"{option.summary}  [default: {option.default_text}]"
    metavar = option.metavar or METAVARS.get(option.kind)
    kind = _option_type(option)
    return click.option(*names, type=kind, metavar=metavar, multiple=option.repeated, **words)


def _option_type(option: OptionSpec) -> click.ParamType[Any]:
    if option.kind == "choice":
        return options.SuggestingChoice(list(option.choices))
    if option.parse is not None or option.kind not in ("integer", "number"):
        return SpecifiedType(option)
    least: Any = option.minimum if option.minimum is not None else option.above
    most: Any = option.maximum if option.maximum is not None else option.below
    ends = {"min_open": option.above is not None, "max_open": option.below is not None}
    if option.kind == "integer":
        return click.IntRange(least, most, **ends)
    return click.FloatRange(least, most, **ends)


def _target_argument(spec: AttackSpec) -> Callable[..., Any]:
    word = spec.argument or ARGUMENTS.get(spec.target, "RELEASE")
    is_required = spec.source == "required"
    return click.argument(
        "target",
        metavar=word if is_required else f"[{word}]",
        nargs=-1 if spec.target == "releases" else 1,
        required=is_required,
        callback=options.require_name,
    )


def _make_epilog(spec: AttackSpec) -> str | None:
    examples = "\n".join(f"  {line}" for line in "\n".join(spec.examples).splitlines())
    parts = [f"\b\nExamples:\n{examples}"] if spec.examples else []
    parts += [f"\b\n{spec.notes}"] if spec.notes else []
    return "\n\n".join(parts) or None


def _print_caution(sentence: str) -> None:
    click.echo(sentence, err=True)
