"""What an attack by questions is given: the table, the rules of the interface, and how to open it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.attacks.questions.domains import ColumnDomain, column_domains
from discreet.attacks.questions.interface import Interface
from discreet.attacks.questions.laboratory import LaboratoryNoise, LaboratoryRules
from discreet.attacks.questions.people import (
    TargetPerson,
    draw_people,
    name_person,
    read_person_condition,
)
from discreet.engines.engine import Column, Table
from discreet.errors import WrongUsage
from discreet.measure.roles import require_column
from discreet.policy import model
from discreet.policy.model import ColumnRole
from discreet.progress import Progress
from discreet.sql import build


@dataclass(frozen=True)
class QuestionInput:
    """A table behind an interface, and what its policy says of it.

    Attributes:
        table: The table itself, to draw people from and to judge claims by.
        policy: What the policy says of it.
        rules: What the interface does to answers.
        rng: The source of chance.
        is_priced: Whether each answer costs a part of an epsilon.
        open_interface: Opens the interface for so many questions, where no option says how many.
        progress: Called with a phase's name, what is done and what there is to do.
    """

    table: Table
    policy: model.TablePolicy | None
    rules: LaboratoryRules
    rng: np.random.Generator
    is_priced: bool
    open_interface: Callable[[int | None], AbstractContextManager[Interface]]
    progress: Progress | None = None

    @property
    def label(self) -> str:
        """What the table is called."""
        return self.table.label

    def choose_people(
        self,
        *,
        value: exp.Expr,
        person: str | None,
        people: int | None,
        by: Sequence[str] | None,
        group: int = 1,
    ) -> list[TargetPerson]:
        """Return the people that the options name, with some absent ones where they were drawn."""
        if (person is None) == (people is None):
            raise WrongUsage(
                "Say whom the adversary is after: --person \"name = 'Ann Lee'\", or --people 20 "
                "--by name."
            )
        if person is not None:
            where = read_person_condition(person, self.table)
            named = name_person(self.table, where, value=value, group=group)
            if not named.is_present:
                raise WrongUsage(
                    f"The condition of --person holds for no one in {self.table.label}. Check its "
                    "spelling; --people tries absent people as well."
                )
            return [named]
        unit = self.policy.unit if self.policy else None
        names = by or ((unit,) if unit else None)
        if names is None:
            raise WrongUsage("Say what identifies people: --by name.")
        return draw_people(
            self.table,
            by=[require_column(self.table, name) for name in names],
            value=value,
            people=people or 1,
            absent=absent_count(people),
            chance=self.rng,
        )

    def number_column(self, name: str) -> Column:
        """Return a column of numbers that can be summed."""
        column = require_column(self.table, name)
        if not column.kind.is_number:
            raise WrongUsage(
                f"'{name}' holds no numbers that can be summed. Use `discreet attack counting`, which "
                "learns any value by counts."
            )
        return column

    def public_domains(
        self, public: Sequence[str] | None, *, but: Sequence[str]
    ) -> list[ColumnDomain]:
        """Return the range of public columns: those named, those the policy lets outsiders know, or all."""
        if public is not None:
            names = [require_column(self.table, name).name for name in public]
        elif self.policy is not None:
            roles = (ColumnRole.QUASI_IDENTIFIER, ColumnRole.INSENSITIVE)
            names = [column.name for column in self.policy.columns if column.role in roles]
        else:
            names = [column.name for column in self.table.columns if column.name not in but]
        return column_domains(self.table, names=names, policy=self.policy)


def absent_count(people: int | None) -> int:
    """Return how many people who are not in the table are tried as well."""
    return 0 if people is None else max(1, people // 4)


def tried_count(people: int | None) -> int:
    """Return how many people are tried in all."""
    return (people or 1) + absent_count(people)


def make_rules(table: Table, options: Mapping[str, Any]) -> LaboratoryRules:
    """Return the rules of an interface that the options describe.

    Raises:
        WrongUsage: Noise is sticky, and there is none.
    """
    smallest = 0
    if options["restrict"] is not None:
        number, is_share = options["restrict"]
        smallest = int(number * (count_rows(table) if is_share else 1))
    if options["sticky"] and options["noise"] is None:
        raise WrongUsage("--sticky says that noise sticks to a text: add --noise laplace:10.")
    noise = options["noise"]
    return LaboratoryRules(
        smallest=smallest,
        allows_all=not options["no_all"],
        step=options["round"],
        noise=LaboratoryNoise(*noise, sticky=options["sticky"]) if noise else None,
        overlap=options["overlap"],
    )


def count_rows(table: Table) -> int:
    """Return how many rows a table has."""
    counted = table.engine.run(build.select(build.count_star(), source=table.relation.copy()))
    return int(counted.column(0)[0].as_py())
