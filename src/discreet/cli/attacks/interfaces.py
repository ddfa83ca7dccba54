"""What the attacks by questions share: whom they are after, and what answers them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.curator_options import AMOUNT
from discreet.engines.engine import Column, Table
from discreet.policy import model

if TYPE_CHECKING:
    import numpy as np
    from sqlglot import exp

    from discreet.attacks.questions.domains import ColumnDomain
    from discreet.attacks.questions.interface import Interface
    from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules
    from discreet.attacks.questions.people import TargetPerson


class GroupSizeType(click.ParamType[tuple[float, bool]]):
    """A number of people, or a share of all of them."""

    name = "k"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[float, bool]:
        """Return the number and whether it is a share."""
        text = str(value).strip()
        try:
            number = float(text.removesuffix("%"))
        except ValueError:
            number = -1.0
        if number < 0 or (text.endswith("%") and number > 50):
            self.fail("Write a number of people such as 100, or a share such as 10%.", param, ctx)
        return (number / 100, True) if text.endswith("%") else (number, False)


class NoiseType(click.ParamType[tuple[str, float]]):
    """A shape of noise and its scale, such as `laplace:10`."""

    name = "shape:scale"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, float]:
        """Return the shape and the scale."""
        shape, _, scale = str(value).partition(":")
        try:
            number = float(scale)
        except ValueError:
            number = -1.0
        if shape not in ("laplace", "gaussian", "uniform") or not number > 0:
            self.fail(
                "Write laplace:10, gaussian:10 or uniform:10, with a scale above 0.", param, ctx
            )
        return shape, number


knows_rule_option = click.option(
    "--knows-rule", is_flag=True, help="The adversary knows K and skips what is refused."
)


def interface_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say what stands between the adversary and the table."""
    for option in (
        click.option("--seed", type=int, help="Repeat a run: people, noise and crowds."),
        click.option(
            "--budget",
            type=click.IntRange(1),
            metavar="N",
            help="How many questions the adversary may ask in all.",
        ),
        click.option(
            "--epsilon",
            type=AMOUNT,
            metavar="NUMBER",
            help="Attack `discreet ask` itself: what all questions together may cost.",
        ),
        click.option(
            "--overlap",
            type=click.IntRange(0),
            metavar="N",
            help="Two answers may share at most N people.",
        ),
        click.option("--sticky", is_flag=True, help="The same text gets the same noise."),
        click.option(
            "--noise",
            type=NoiseType(),
            help="Answers are noisy: laplace:10, gaussian:10, uniform:10.",
        ),
        click.option(
            "--round",
            "step",
            type=click.FloatRange(0, min_open=True),
            metavar="STEP",
            help="Answers are rounded to multiples of STEP.",
        ),
        click.option("--no-all", is_flag=True, help="Not even questions about everybody."),
        click.option(
            "--restrict",
            type=GroupSizeType(),
            help="Answers are about at least K people and at most all but K: 100, or 10%.",
        ),
    ):
        command = option(command)
    return options.reading_options(command)


def people_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that say whom the adversary is after."""
    for option in (
        click.option(
            "--public",
            type=options.NAMES,
            help="Columns whose range everybody knows; crowds are looked for on them.",
        ),
        click.option(
            "--by",
            type=options.NAMES,
            help="What tells people apart, such as name. Default: the policy's unit.",
        ),
        click.option(
            "--people",
            type=click.IntRange(1),
            metavar="N",
            help="After N people drawn by chance, and some who are not in the table.",
        ),
        click.option(
            "--person",
            metavar="CONDITION",
            help="After the one person for whom this holds: \"name = 'Ann Lee'\".",
        ),
    ):
        command = option(command)
    return command


@dataclass(frozen=True)
class AttackTarget:
    """What is attacked: an interface, the table behind it, and what the policy says of it."""

    table: Table
    interface: Interface
    said: model.TablePolicy | None
    chance: np.random.Generator
    rules: LaboratoryRules


@contextmanager
def open_target(
    source: str,
    *,
    policy: Path | None,
    budget: int | Callable[[Table, model.TablePolicy | None], int] | None,
    choices: Mapping[str, Any],
) -> Generator[AttackTarget]:
    """Yield the interface that the options describe; `budget` counts where no option does."""
    import numpy as np

    from discreet.engines.connect import open_table
    from discreet.measure.roles import select_table
    from discreet.policy.load import load_policy

    reading = {name: choices[name] for name in ("delimiter", "encoding")}
    loaded = load_policy(policy) if policy is not None else None
    table = open_table(source, table=choices["table"], memory_limit=choices["memory"], **reading)
    try:
        said = select_table(loaded, label=table.label, name=choices["table"]) if loaded else None
        chance = np.random.default_rng(choices["seed"])
        asked = choices["budget"] or (budget(table, said) if callable(budget) else budget)
        rules = _interface_rules(choices, table)
        if choices["epsilon"] is None:
            from discreet.attacks.questions.laboratory import laboratory

            interface = laboratory(table, rules, chance=chance, budget=asked)
            yield AttackTarget(table, interface, said, chance, rules)
            return
        _require_alone(source, choices)
        with _private_interface(source, policy, table, choices, asked or 10) as interface:
            yield AttackTarget(table, interface, said, chance, rules)
    finally:
        table.engine.close()


def _interface_rules(choices: Mapping[str, Any], table: Table) -> LaboratoryRules:
    from discreet.attacks.questions.laboratory import LaboratoryRules
    from discreet.sql import build

    smallest = 0
    if choices["restrict"] is not None:
        number, is_share = choices["restrict"]
        query = build.select(build.count_star(), source=table.relation.copy())
        people = int(table.engine.run(query).column(0)[0].as_py()) if is_share else 1
        smallest = int(number * people)
    if choices["sticky"] and choices["noise"] is None:
        raise click.UsageError("--sticky says that noise sticks to a text: add --noise laplace:10.")
    return LaboratoryRules(
        smallest=smallest,
        allows_all=not choices["no_all"],
        step=choices["step"],
        noise=_interface_noise(choices),
        overlap=choices["overlap"],
    )


def _interface_noise(choices: Mapping[str, Any]) -> LaboratoryNoise | None:
    from discreet.attacks.questions.laboratory import LaboratoryNoise

    if choices["noise"] is None:
        return None
    shape, scale = choices["noise"]
    return LaboratoryNoise(shape, scale, sticky=choices["sticky"])


def _require_alone(source: str, choices: Mapping[str, Any]) -> None:
    if source == "-":
        raise click.UsageError("--epsilon reads SOURCE twice: write it to a file first.")
    others = ("restrict", "no_all", "step", "noise", "sticky", "overlap")
    if any(choices[name] for name in others):
        raise click.UsageError(
            "--epsilon attacks `discreet ask`, which neither restricts nor rounds. Leave out "
            "--restrict, --no-all, --round, --noise, --sticky and --overlap."
        )


@contextmanager
def _private_interface(
    source: str, policy: Path | None, table: Table, choices: Mapping[str, Any], questions: int
) -> Generator[Interface]:
    """Yield discreet's own answers, charged to a ledger that is thrown away."""
    import tempfile
    from decimal import ROUND_DOWN, Decimal
    from pathlib import Path, PurePath

    from discreet.answer.curator import open_curator
    from discreet.attacks.questions.interface import Interface

    price = str(
        (Decimal(choices["epsilon"]) / questions).quantize(Decimal("1e-12"), rounding=ROUND_DOWN)
    )
    click.echo(
        f"A rehearsal: up to {questions:,} answers for epsilon {float(price):.3g} each, charged to a "
        "ledger that is thrown away. Nothing of the real budget is spent.",
        err=True,
    )
    name = choices["table"] or PurePath(table.label).name.partition(".")[0]
    with tempfile.TemporaryDirectory(prefix="discreet-rehearsal-") as folder:
        curator = open_curator(
            source,
            policy,
            ledger=Path(folder) / "ledger.sqlite",
            table=choices["table"],
            **{name: choices[name] for name in ("delimiter", "encoding", "memory")},
        )
        with curator:
            yield Interface(
                lambda text: curator.ask(text, epsilon=price).rows,
                source=name,
                label=table.label,
                budget=questions,
            )


def choose_people(
    target: AttackTarget,
    *,
    value: exp.Expr,
    person: str | None,
    people: int | None,
    by: Sequence[str] | None,
    group: int = 1,
) -> list[TargetPerson]:
    """Return whom the options name, with some absent people where they were drawn by chance."""
    from discreet.attacks.questions.people import draw_people, name_person, read_person_condition
    from discreet.errors import WrongUsage
    from discreet.measure.roles import require_column

    if (person is None) == (people is None):
        raise click.UsageError(
            "Say whom the adversary is after: --person \"name = 'Ann Lee'\", or --people 20 --by name."
        )
    if person is not None:
        where = read_person_condition(person, target.table)
        named = name_person(target.table, where, value=value, group=group)
        if not named.is_present:
            raise WrongUsage(
                f"The condition of --person holds for nobody in {target.table.label}. Check its "
                "spelling; --people tries absent people as well."
            )
        return [named]
    unit = target.said.unit if target.said else None
    names = by or ((unit,) if unit else None)
    if names is None:
        raise click.UsageError("Say what tells people apart: --by name.")
    return draw_people(
        target.table,
        by=[require_column(target.table, name) for name in names],
        value=value,
        people=people or 1,
        absent=absent_count(people),
        chance=target.chance,
    )


def absent_count(people: int | None) -> int:
    """Return how many people who are not in the table are tried as well."""
    return 0 if people is None else max(1, people // 4)


def tried_count(people: int | None) -> int:
    """Return how many people are tried in all."""
    return (people or 1) + absent_count(people)


def value_column(target: AttackTarget, name: str, *, is_summed: bool = False) -> Column:
    """Return the column that is to be learned."""
    from discreet.engines.engine import Kind
    from discreet.errors import WrongUsage
    from discreet.measure.roles import require_column

    column = require_column(target.table, name)
    if is_summed and column.kind not in (Kind.INTEGER, Kind.DECIMAL, Kind.REAL):
        raise WrongUsage(
            f"'{name}' holds no numbers that can be summed. Use `discreet attack counting`, which finds "
            "out any value by counts."
        )
    return column


def public_domains(
    target: AttackTarget, public: Sequence[str] | None, *, but: Sequence[str]
) -> list[ColumnDomain]:
    """Return what everybody knows: the named columns, those of the policy that outsiders know, or all."""
    from discreet.attacks.questions.domains import column_domains
    from discreet.measure.roles import require_column
    from discreet.policy.model import ColumnRole

    if public is not None:
        names = [require_column(target.table, name).name for name in public]
    elif target.said is not None:
        roles = (ColumnRole.QUASI_IDENTIFIER, ColumnRole.INSENSITIVE)
        names = [column.name for column in target.said.columns if column.role in roles]
    else:
        names = [column.name for column in target.table.columns if column.name not in but]
    return column_domains(target.table, names=names, policy=target.said)
