"""Expert determination: measured risk against a threshold, what was tried, and what is assumed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Literal

from sqlglot import exp

from discreet.attacks.finding import Finding
from discreet.engines.engine import Table
from discreet.engines.scratch import innermost
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.assess import assess_binding, open_population
from discreet.measure.assessment import Assessment, CriterionVerdict
from discreet.measure.roles import RoleBinding, bind_roles
from discreet.policy import model
from discreet.progress import Progress
from discreet.release.deidentify.attacks import AttackAttempt, attacks_not_tried, attacks_tried
from discreet.release.deidentify.replace import UNIT, keep_rows, replace_values
from discreet.release.source import SourceTable
from discreet.release.write import WrittenOutput
from discreet.result import Result
from discreet.sql import build

METHOD = "expert"
Adversary = Literal["prosecutor", "journalist", "marketer"]
# One in eleven: the European Medicines Agency (Policy 0070, 2016) and Health Canada (2019) ask for
# it of clinical reports made public, and write it 0.09.
THRESHOLD = 1 / 11
_WRITTEN = 0.09


@dataclass(frozen=True)
class ExpertChoices:
    """What the expert decides before anything is measured."""

    threshold: float = THRESHOLD
    adversary: Adversary = "prosecutor"
    against: object = None
    fraction: float | None = None
    expert: str | None = None
    remove_identifiers: bool = False


@dataclass(frozen=True)
class AdversaryRisk(Result):
    """How likely one kind of adversary is right."""

    adversary: str
    worst: float | None
    average: float | None
    people_at_risk: int | None
    is_above: bool


@dataclass(frozen=True)
class Determination(Result):
    """A determination under 45 CFR 164.514(b)(1), ready for an expert's name and signature."""

    method: str
    source: str
    verdict: str
    holds: bool
    threshold: float
    adversary: str
    residual_risk: float
    rows: int
    people: int
    quasi: tuple[str, ...]
    k: int | None
    unique: int
    risks: tuple[AdversaryRisk, ...]
    attacks_tried: tuple[AttackAttempt, ...]
    attacks_not_tried: tuple[AttackAttempt, ...]
    criteria: tuple[CriterionVerdict, ...]
    assumptions: tuple[str, ...]
    removed: tuple[str, ...]
    cautions: tuple[str, ...]
    expert: str | None = None
    output: WrittenOutput | None = None
    findings: tuple[Finding, ...] = ()
    undecided: tuple[str, ...] = ()
    accepted_risk: str | None = None
    _assessment: Assessment | None = field(default=None, repr=False)

    @property
    def assessment(self) -> Assessment | None:
        """What was measured, with values of classes: for the custodian only."""
        return self._assessment


def determine(
    source: SourceTable, choices: ExpertChoices, *, progress: Progress
) -> tuple[Determination, Table]:
    """Return the determination on a table, and the rows it was made about.

    The residual risk is the worst prosecutor's or journalist's chance, or the marketer's expected
    share (El Emam 2013). A table that holds identifiers has the risk 1.
    """
    policy = _check_choices(source, choices)
    source.count_rows()
    threshold = THRESHOLD if math.isclose(choices.threshold, _WRITTEN) else choices.threshold
    held = _remaining_identifiers(source.table, policy)
    removed = _to_remove(source.table, policy) if choices.remove_identifiers else ()
    table, bound = _bind_without(source, policy, removed)
    # Beside the table itself, where both can be joined.
    beside = replace(table, engine=innermost(table.engine))
    population = open_population(choices.against, beside) if choices.against is not None else None
    found = assess_binding(
        bound,
        population=population,
        fraction=choices.fraction,
        depth=min(3, len(bound.subject.quasi)),
        threshold=threshold,
        progress=progress,
    )
    left = tuple(name for name in held if name not in removed)
    risks = _adversary_risks(found, threshold)
    residual = 1.0 if left else _residual_risk(risks, choices.adversary)
    holds = residual <= threshold
    determination = Determination(
        method=METHOD,
        source=found.source,
        verdict=_write_verdict(found, residual, threshold, left, choices.adversary),
        holds=holds,
        threshold=threshold,
        adversary=choices.adversary,
        residual_risk=residual,
        rows=found.rows,
        people=found.people,
        quasi=found.quasi,
        k=found.k,
        unique=found.unique,
        risks=risks,
        attacks_tried=attacks_tried(found),
        attacks_not_tried=attacks_not_tried(found),
        criteria=tuple(replace(verdict, worst=()) for verdict in found.criteria),
        assumptions=_list_assumptions(found, choices),
        removed=(*removed, *source.left_out),
        cautions=_list_cautions(found, policy, source.table),
        expert=choices.expert,
        _assessment=found,
    )
    return determination, table


def _check_choices(source: SourceTable, choices: ExpertChoices) -> model.TablePolicy:
    if source.policy is None:
        raise WrongUsage(
            "An expert says what outsiders know: give a policy with --policy. Draft one with "
            "`discreet init`."
        )
    if not 0 < choices.threshold < 1:
        raise WrongUsage(
            f"The threshold {choices.threshold} is no risk between 0 and 1. Give one such as 0.09."
        )
    if choices.adversary == "journalist" and choices.against is None:
        raise WrongUsage(
            "A journalist looks people up in a population. Give it with --against, or judge by the "
            "prosecutor, who is always more dangerous."
        )
    return source.policy


def _remaining_identifiers(table: Table, policy: model.TablePolicy) -> tuple[str, ...]:
    """Return the policy's identifiers that the table holds with any value in them."""
    named = [
        column.name
        for column in policy.columns
        if column.role.names_people and table.column(column.name)
    ]
    if not named:
        return ()
    counts = [
        build.alias_as(exp.Count(this=build.column(name)), f"c{index}")
        for index, name in enumerate(named)
    ]
    row = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return tuple(name for index, name in enumerate(named) if row[f"c{index}"])


def _to_remove(table: Table, policy: model.TablePolicy) -> tuple[str, ...]:
    """Return identifiers, and columns that the policy does not list: their risk is undecided."""
    return tuple(
        column.name
        for column in table.columns
        if policy.column(column.name) is None or column.name in policy.unpublished
    )


def _bind_without(
    source: SourceTable, policy: model.TablePolicy, removed: tuple[str, ...]
) -> tuple[Table, RoleBinding]:
    unit = policy.unit if policy.unit and source.table.column(policy.unit) else None
    query = replace_values(source.table, {}, drop=removed)
    table = keep_rows(source.table, query, unit=unit)
    counted_by = replace(policy, unit=None)  # the unit's own name may be gone
    bound = bind_roles(table, policy=counted_by, path=source.path, unit=UNIT if unit else None)
    return table, bound


def _adversary_risks(found: Assessment, threshold: float) -> tuple[AdversaryRisk, ...]:
    targeted = {"prosecutor": found.risk.prosecutor, "journalist": found.risk.journalist}
    marketer = found.risk.marketer.expected_share
    return (
        *(
            AdversaryRisk(
                name, risk.worst, risk.average, risk.people_at_risk, (risk.worst or 0.0) > threshold
            )
            for name, risk in targeted.items()
        ),
        AdversaryRisk("marketer", None, marketer, None, (marketer or 0.0) > threshold),
    )


def _residual_risk(risks: tuple[AdversaryRisk, ...], adversary: str) -> float:
    """Return the risk that counts; a table whose rows are all suppressed has none."""
    risk = next(risk for risk in risks if risk.adversary == adversary)
    return (risk.average if adversary == "marketer" else risk.worst) or 0.0


def _write_verdict(
    found: Assessment, residual: float, threshold: float, left: tuple[str, ...], adversary: str
) -> str:
    if left:
        names = join_names([f"'{name}'" for name in left[:5]])
        return f"{found.source} holds identifiers ({names}): anyone who reads it can identify the people."
    side = "is not above" if residual <= threshold else "is above"
    return (
        f"The residual risk of {found.source} is {format_percent(residual)} ({adversary}): it {side} the "
        f"threshold of {format_percent(threshold)}."
    )


def _list_assumptions(found: Assessment, choices: ExpertChoices) -> tuple[str, ...]:
    knows = {
        "prosecutor": "knows that a certain person is in the table",
        "journalist": "knows that a certain person is in the population, not whether in the table",
        "marketer": "wants as many people as possible, no matter whom",
    }
    people = format_count(found.people, "person", "people")
    if choices.against is not None and found.presence is not None:
        sample = f"The {people} are a sample of the {found.presence.population:,} in the population given."
    elif choices.fraction is not None:
        sample = f"The {people} are {format_percent(choices.fraction)} of the population they were drawn from."
    else:
        sample = "No population is given: the people in the table are assumed to be all there are."
    whose = "by the unit of the policy" if found.unit else "each row being one person"
    return (
        (
            f"The adversary {knows[choices.adversary]}, and tries for certain: no contract, control or "
            "penalty is counted."
        ),
        (
            f"The adversary knows {join_names(found.quasi)} of the people looked for, exactly, and none of the "
            "other columns."
        ),
        sample,
        f"People are counted {whose}.",
        (
            "The roles of the policy are right: what it calls sensitive or insensitive is not known to "
            "outsiders."
        ),
        "Nothing else about these people has been or will be released by the same custodian.",
    )


def _list_cautions(found: Assessment, policy: model.TablePolicy, source: Table) -> tuple[str, ...]:
    cautions = list(found.cautions)
    if policy.unit and source.column(policy.unit) is None:
        cautions.append(
            f"The unit '{policy.unit}' is not in the table, so each row counts as one person. If "
            "people have several rows, their risk is higher than measured."
        )
    failing = sum(not verdict.holds for verdict in found.criteria)
    if failing:
        cautions.append(
            f"The table fails {failing} of {len(found.criteria)} criteria of the policy."
        )
    return tuple(cautions)
