"""The command of an attack on a published table, made from its specification."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import click

from discreet.attacks.finding import Finding
from discreet.cli import options
from discreet.cli.attacks.classes import ValuesType, attack_bound, class_options, open_beside
from discreet.cli.attacks.findings import ToleranceType
from discreet.cli.curator_options import AMOUNT
from discreet.errors import WrongUsage
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.measure.roles import RoleBinding

METAVARS = {"share": "SHARE", "values": "COLUMN=VALUE,…", "integer": "N", "number": "NUMBER"}


class ParsedType(click.ParamType[Any]):
    """A text that an option's specification reads itself."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self.parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return what the specification makes of the text."""
        if not isinstance(value, str):
            return value
        try:
            return self.parse(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


def make_attack_command(spec: AttackSpec) -> click.Command:
    """Return the command of an attack: its typed options, what it needs, roles, and reading."""
    run = spec.run
    if run is None or spec.target not in ("release", "classes"):
        raise WrongUsage(
            f"The attack {spec.name} is not on a published table, and has no command. Run it from "
            "Python."
        )

    def command(
        release: str,
        known: str | None = None,
        on: tuple[str, ...] | None = None,
        earlier: tuple[str, ...] = (),
        seed: int | None = None,
        **choices: Any,
    ) -> None:
        stated = {option.name: choices.pop(option.name) for option in spec.options}

        def attack(bound: RoleBinding) -> Sequence[Finding]:
            import numpy as np

            from discreet.attacks.all_attacks import AttackInput

            given = AttackInput(
                release=bound,
                rng=np.random.default_rng(seed),
                described=bound.policy,
                known=open_beside(known, bound) if known else None,
                on=on,
                earlier=tuple(open_beside(each, bound) for each in earlier),
            )
            found = run(given, **stated)
            if not found and spec.no_finding:
                raise WrongUsage(spec.no_finding)
            return found

        attack_bound(release, attack, **choices)

    decorated: Callable[..., Any] = class_options(command)
    for option in reversed((*map(make_option, spec.options), *_input_options(spec))):
        decorated = option(decorated)
    examples = "\n".join(f"  {line}" for line in "\n".join(spec.examples).splitlines())
    return click.command(
        name=spec.name,
        help=spec.description or f"{spec.summary[:1].upper()}{spec.summary[1:]}.",
        epilog=f"\b\nExamples:\n{examples}\n" if spec.examples else None,
    )(decorated)


def make_option(option: OptionSpec) -> Callable[..., Any]:
    """Return the option of the command line that a specification describes."""
    words: dict[str, Any] = {"help": option.summary, "required": option.required}
    if option.kind == "flag":
        return click.option(
            f"--{option.name.replace('_', '-')}", option.name, is_flag=True, **words
        )
    if option.default is not None:
        words |= {"default": option.default, "show_default": option.default_text or True}
    elif option.default_text is not None:
        words["help"] = f"{option.summary}  [default: {option.default_text}]"
    return click.option(
        f"--{option.name.replace('_', '-')}",
        option.name,
        type=_option_type(option),
        metavar=option.metavar or METAVARS.get(option.kind),
        multiple=option.repeated,
        **words,
    )


def _option_type(option: OptionSpec) -> click.ParamType[Any]:
    if option.parse is not None:
        return ParsedType(option.parse)
    kinds: dict[str, click.ParamType[Any]] = {
        "text": click.STRING,
        "integer": click.IntRange(option.minimum),
        "number": click.FLOAT,
        "share": ToleranceType(),
        "names": options.NAMES,
        "values": ValuesType(),
        "amount": AMOUNT,
    }
    return kinds[option.kind]


def _input_options(spec: AttackSpec) -> list[Callable[..., Any]]:
    """Return the options by which the adversary is given what the attack needs."""
    found: list[Callable[..., Any]] = []
    if "known" in spec.needs:
        found += [
            click.option(
                "--known",
                required=True,
                metavar="SOURCE",
                callback=options.require_name,
                help="A list of people.",
            ),
            click.option("--on", type=options.NAMES, help="Columns of the list to find people by."),
        ]
    if "earlier" in spec.needs:
        found.append(
            click.option(
                "--earlier",
                multiple=True,
                required=True,
                metavar="FILE",
                callback=options.require_name,
                help="A release of the same people made before.",
            )
        )
    return found
