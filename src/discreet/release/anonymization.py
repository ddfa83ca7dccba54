"""`anonymize`: a table in, a table that meets its criteria out, read again before it is published."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any, Literal

import numpy as np

from discreet.criteria.criterion import PopulationCriterion
from discreet.engines.engine import Table
from discreet.errors import CriteriaUnreachable, EmptySource, WrongUsage
from discreet.measure.assess import open_population
from discreet.measure.assessment import Assessment
from discreet.measure.classes import group_cells
from discreet.measure.risk.sample import SampleRisk, sample_risk
from discreet.measure.roles import RoleBinding, bind_roles
from discreet.policy import model
from discreet.policy.model import Policy
from discreet.progress import Progress, follow_phases
from discreet.release.anonymize.dropped_rows import is_relative, solve_without_dropped
from discreet.release.anonymize.methods import solve_problem
from discreet.release.anonymize.problem import EncodedProblem, Problem
from discreet.release.anonymize.read import read_problem
from discreet.release.anonymize.recoding import SUPPRESSED, Recoding, attribute_losses, loss
from discreet.release.gate import Gate
from discreet.release.history import EarlierRelease, distinct_releases, earlier_releases
from discreet.release.homogeneous import homogeneous_classes
from discreet.release.options import AnonymizeOptions, apply_options, caution_set_aside
from discreet.release.outliers import advise_clipping
from discreet.release.output.target import FileTarget, FolderTarget, Target
from discreet.release.prediction import Goal
from discreet.release.publication import ChosenRecoding, write_and_measure
from discreet.release.registry import Registry, registry_of_table
from discreet.release.release import Release, Risks
from discreet.release.source import SourceOptions, SourceTable, open_source
from discreet.release.steps.apply import StepRecord
from discreet.release.suppressed import people_suppressed, suppressed_meet_criteria
from discreet.release.unlisted import unlisted_columns
from discreet.release.utility import measure_utility
from discreet.release.weighted_release import weigh_release
from discreet.release.wording import release_sentence, warn
from discreet.release.write import WrittenOutput, parse_target

Suppressed = Literal["keep", "drop"]


def anonymize_source(  # noqa: PLR0913 -- the flags of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    output: str | Path | None = None,
    options: AnonymizeOptions | None = None,
    table: str | None = None,
    against: object = None,
    suppressed: Suppressed = "keep",
    seconds: float | None = None,
    key: bytes | None = None,
    expected: str | None = None,
    earlier: Sequence[str | EarlierRelease] = (),
    manifest: Path | None = None,
    registry: Registry | None = None,
    accept_risk: str | None = None,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory_limit: str | None = None,
    frontier: bool = False,
    minimal: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Publish the rows of `source` so that they meet the criteria, with little loss.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; without one, `options` gives all settings.
        output: Where to write: a CSV or Parquet file, a folder, a table. None only searches.
        options: What wins over the policy: columns, criteria, method.
        table: The table's name in the policy or in the database.
        against: The population, for k-map and δ-presence.
        suppressed: Whether suppressed rows stay, as `*`, or are left out. They are always left out
            where together they do not meet the criteria: a person who fits no class is one of them.
        seconds: How long a search may take where the whole lattice is too large.
        key: The secret that makes steps with chance repeatable.
        expected: The SHA-256 that the file must have, or it is not published.
        earlier: Releases of the same people made before: they are attacked together.
        manifest: Where the manifest will go: releases that manifests there know are earlier ones.
        registry: Where releases of the same people are remembered: those in it are earlier ones, and
            this one is added to it. The command line names the one beside the policy.
        accept_risk: Why it is published even if attacks learn more than the policy tolerates.
        force: Replace what is at `output`.
        delimiter: What separates the columns of a CSV source.
        encoding: The encoding of a CSV source.
        memory_limit: How much memory the engine may use, such as `4GB`.
        frontier: Also report what other values of k would cost.
        minimal: Also list every minimal full-domain generalization.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria; the message shows what is reachable.
        ReleaseFailed: The written rows, read again, fail a criterion, or are not those expected;
            nothing was published.
        RiskNotTolerated: Attacks on the written rows learn more than the policy tolerates; nothing
            was published.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 47, 48], "ill": ["flu", "flu", "gout", "flu"]})
    >>> options = AnonymizeOptions(quasi=["age"], sensitive=["ill"], criteria=[model.KAnonymity(2)])
    >>> found = anonymize_source(people, options=options)
    >>> found.k, found.classes, found.suppressed
    (2, 2, 0)
    """
    target = parse_target(output, force=force) if output is not None else None
    options = options or AnonymizeOptions()
    reading = SourceOptions(
        table, delimiter, encoding, memory_limit, options.leave_out, options.unit
    )
    with (
        follow_phases(progress, first="opening") as step,
        open_source(source, policy, reading) as opened,
    ):
        asked = _settle_options(opened, options, against)
        plan = _AnonymizePlan(
            asked,
            opened,
            against,
            reading,
            suppressed,
            seconds,
            key,
            expected,
            caution_set_aside(opened.stated, asked),
            _make_gate(asked, target, earlier=earlier, manifest=manifest, accepted=accept_risk),
            registry_of_table(registry, asked.name, asked),
            frontier=frontier,
            minimal=minimal,
            progress=step,
        )
        return _publish_release(plan, target)


def _settle_options(
    opened: SourceTable, options: AnonymizeOptions, against: object
) -> model.TablePolicy:
    """Return what is to be done: the policy with what the call states instead."""
    asked = apply_options(opened.stated, options, name=PurePath(opened.table.label).stem)
    about_population = any(
        isinstance(criterion, PopulationCriterion) for criterion in asked.criteria
    )
    if about_population and against is None:
        raise WrongUsage(
            "k-map and delta-presence compare the release with its population. Name the "
            "population's table with --against."
        )
    if about_population and options.method is None and asked.release.method == "local":
        # Labels of classes that overlap have no number of people of the population.
        asked = replace(asked, release=replace(asked.release, method="full-domain"))
    return asked


def _make_gate(
    asked: model.TablePolicy,
    target: Target | None,
    *,
    earlier: Sequence[str | EarlierRelease],
    manifest: Path | None,
    accepted: str | None,
) -> Gate:
    output = target.path if isinstance(target, (FileTarget, FolderTarget)) else None
    known = (
        earlier_releases(manifest, table=asked.name, output=output) if manifest is not None else ()
    )
    named = tuple(
        one if isinstance(one, EarlierRelease) else EarlierRelease(one) for one in earlier
    )
    return Gate(asked, (*known, *named), accepted, refuses=target is not None)


@dataclass(frozen=True)
class _AnonymizePlan:
    """The work to do, and what it needs besides the table."""

    asked: model.TablePolicy
    source: SourceTable
    against: object
    reading: SourceOptions
    suppressed: Suppressed
    seconds: float | None
    key: bytes | None
    expected: str | None
    cautions: tuple[str, ...]
    gate: Gate
    registry: Registry
    frontier: bool
    minimal: bool
    progress: Progress


def _publish_release(plan: _AnonymizePlan, target: Target | None) -> Release:
    table = plan.source.table
    unlisted = unlisted_columns(table, plan.asked)
    plan.progress("reading", 0, 3)
    known, (table, done) = table, _perform_steps(plan, table)
    bound = bind_roles(table, policy=plan.asked)
    plan.progress("reading", 1, 3)
    reading = _read(plan, bound)
    plan.progress("reading", 2, 3)
    goal = _read_goal(plan, reading, bound)
    plan.progress("search", 0, 1)
    recoding, drops = _solve(plan, reading)
    leave_out = {*plan.asked.unpublished, *unlisted.left_out}
    leave_out |= {bound.subject.unit.name} if bound.subject.unit else set()
    chosen = ChosenRecoding(reading, recoding, frozenset(leave_out), drops)
    if chosen.drops and not len(recoding):
        raise CriteriaUnreachable(
            "No class meets the criteria: every row would be suppressed and left out, and nothing "
            "published. Ask for less, or keep suppressed rows."
        )
    plan.progress("recoding", 0, 1)
    with plan.registry.begin_release(target.place if target else None) as publishing:
        gate = replace(
            plan.gate, earlier=distinct_releases((*plan.gate.earlier, *publishing.earlier))
        )
        published = write_and_measure(
            chosen,
            plan.asked,
            target,
            expected=plan.expected,
            gate=lambda release, measured, people: gate.pass_through(
                release, known, measured, people=people, progress=plan.progress
            ),
            publishing=publishing,
            progress=plan.progress,
        )
    found, passed = published.found, published.passed
    plan.progress("utility", 0, 1)
    cautions = (
        *plan.cautions,
        *unlisted.cautions,
        *warn(reading, recoding, plan.asked, drops=chosen.drops),
        *passed.cautions,
    )
    result = replace(
        _build_release(plan, chosen, published.written, found),
        homogeneous=homogeneous_classes(reading.problem, recoding),
        utility=measure_utility(reading, recoding, goal=goal).to_dict(),
        frontier=_trace_frontier(plan, reading.problem) if plan.frontier else (),
        minimal=_minimal_generalizations(reading.problem) if plan.minimal else (),
        steps=tuple(step.to_dict() for step in done),
        left_out=tuple(
            name for name in plan.source.columns if name in {*leave_out, *plan.source.left_out}
        ),
        joint=found.joint,
        weighted=weigh_release(chosen),
        findings=passed.findings,
        undecided=passed.open_points,
        history=gate.earlier,
        not_tried=passed.not_tried,
        id=publishing.record.id if publishing.record else None,
        _record=publishing.record,
        accepted_risk=passed.accepted,
        cautions=(*cautions, *(c for c in found.cautions if c not in cautions)),
    )
    return replace(result, verdict=release_sentence(result))


def _read(plan: _AnonymizePlan, bound: RoleBinding) -> EncodedProblem:
    cells = group_cells(bound.subject, keeps_groups=True)
    if cells.rows == 0:
        label = bound.subject.table.label
        raise EmptySource(f"{label} has a header but no rows: there are no people to publish.")
    population = None
    if plan.against is not None:
        population = open_population(
            plan.against,
            bound.subject.table,
            delimiter=plan.reading.delimiter,
            encoding=plan.reading.encoding,
        )
    return read_problem(
        cells,
        bound,
        plan.asked.criteria,
        suppress=plan.asked.release.suppress,
        weights=plan.asked.release.weights,
        population=population,
    )


def _solve(plan: _AnonymizePlan, reading: EncodedProblem) -> tuple[Recoding, bool]:
    """Return the recoding, and whether suppressed rows are left out."""

    def solved(problem: Problem) -> Recoding:
        release = plan.asked.release
        return solve_problem(problem, release, seconds=plan.seconds, progress=plan.progress)

    recoding = solved(reading.problem)
    if not _drops_suppressed(plan, reading, recoding):
        return recoding, False
    if is_relative(reading.problem):
        recoding = solve_without_dropped(reading.problem, recoding, solved)
    return recoding, True


def _drops_suppressed(plan: _AnonymizePlan, reading: EncodedProblem, recoding: Recoding) -> bool:
    """Return whether suppressed rows are left out: always when together they would be no class."""
    if plan.suppressed == "drop":
        return True
    suppressed = people_suppressed(reading, recoding)
    return suppressed > 0 and not suppressed_meet_criteria(reading, recoding)


def _build_release(
    plan: _AnonymizePlan, chosen: ChosenRecoding, written: WrittenOutput | None, found: Assessment
) -> Release:
    problem, recoding = chosen.reading.problem, chosen.recoding
    lost = _with_source(chosen.reading, attribute_losses(problem, recoding))
    hidden = int(problem.table.rows[recoding.classes == SUPPRESSED].sum())
    hidden += chosen.reading.cells.suppressed
    return Release(
        source=chosen.reading.cells.subject.table.label,
        output=written.place if written else None,
        verdict="",
        method=plan.asked.release.method,
        rows=chosen.reading.cells.rows,
        people=found.people,
        unit=found.unit,
        k=found.k,
        classes=found.classes,
        suppressed=hidden,
        withheld=hidden if chosen.drops else 0,
        loss=_with_source(chosen.reading, loss(problem, recoding)),
        losses={a.name: float(lost[j]) for j, a in enumerate(problem.attributes)},
        criteria=found.criteria,
        risk=Risks(before=_sample_risk(chosen.reading), after=found.risk),
        search=recoding.notes,
        diversity={n: c.worst["distinct"] for n, c in found.sensitive.items()},
        outliers=tuple(one.words for one in advise_clipping(chosen.reading, recoding)),
        sha256=written.sha256 if written else None,
        bytes=written.bytes if written else None,
        _policy=plan.asked,
    )


def _with_source(reading: EncodedProblem, lost: Any) -> Any:
    """Return a mean loss over all rows: rows that the source suppresses reveal nothing."""
    before = reading.cells.suppressed
    rows = max(reading.problem.rows + before, 1)
    return (lost * reading.problem.rows + before) / rows


# What follows is imported when it is asked for: most releases need none of it.


def _perform_steps(plan: _AnonymizePlan, table: Table) -> tuple[Table, tuple[StepRecord, ...]]:
    if not plan.asked.release.steps:
        return table, ()
    from discreet.release.perform import perform_release_steps

    return perform_release_steps(table, plan.asked.release.steps, plan.asked, key=plan.key)


def _read_goal(plan: _AnonymizePlan, reading: EncodedProblem, bound: RoleBinding) -> Goal | None:
    if plan.asked.release.target is None:
        return None
    from discreet.release.prediction import read_goal

    return read_goal(reading, bound, plan.asked.release.target)


def _trace_frontier(plan: _AnonymizePlan, problem: Problem) -> tuple[dict[str, Any], ...]:
    from discreet.release.frontier import trace_frontier

    return trace_frontier(problem, plan.asked.release)


def _minimal_generalizations(problem: Problem) -> tuple[dict[str, int], ...]:
    from discreet.release.anonymize.minimal import minimal_nodes

    names = [attribute.name for attribute in problem.attributes]
    return tuple(dict(zip(names, node, strict=True)) for node in minimal_nodes(problem))


def _sample_risk(reading: EncodedProblem) -> SampleRisk:
    table = reading.problem.table
    sizes, classes = np.unique(table.sizes(np.arange(len(table)), len(table)), return_counts=True)
    return sample_risk(sizes, classes.astype(np.int64))
