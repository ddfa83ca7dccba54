"""`anonymize`: a table in, a table that meets its criteria out, read again before it is published."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Literal

import numpy as np

from discreet.engines.connect import open_table
from discreet.engines.engine import Table
from discreet.engines.scratch import Scratch
from discreet.errors import Bug, CriteriaUnreachable, EmptySource, WrongUsage
from discreet.measure.assess import load, names_its_table, open_population
from discreet.measure.classes import group, suppressed_people
from discreet.measure.risk.sample import sample_risk
from discreet.measure.subject import bind, select_table
from discreet.policy import model
from discreet.release.anonymize.dropping import is_relative, solve_without_dropped
from discreet.release.anonymize.methods import solve
from discreet.release.anonymize.population import generalized_population
from discreet.release.anonymize.read import read_problem
from discreet.release.anonymize.recoding import SUPPRESSED, attribute_losses, loss
from discreet.release.blame import blamed
from discreet.release.frontier import trace_frontier
from discreet.release.homogeneous import homogeneous_classes
from discreet.release.output.target import FileTarget, FolderTarget
from discreet.release.perform import perform
from discreet.release.prediction import read_goal
from discreet.release.recode import recode
from discreet.release.release import Release, Risks
from discreet.release.settings import Wishes, settle
from discreet.release.stage import staged
from discreet.release.unlisted import unlisted_columns
from discreet.release.utility import measure_utility
from discreet.release.verify import measure_table, measure_written, require_holds, require_same
from discreet.release.words import sentence, warn
from discreet.release.write import parse_target, repeats
from discreet.sql import build

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from pathlib import Path

    from discreet.measure.assessment import Assessment
    from discreet.measure.risk.sample import SampleRisk
    from discreet.measure.subject import Bound
    from discreet.policy.model import Policy
    from discreet.release.anonymize.problem import Problem
    from discreet.release.anonymize.read import Reading
    from discreet.release.anonymize.recoding import Recoding
    from discreet.release.output.target import Target
    from discreet.release.write import Written

    Progress = Callable[[str, int, int], None]

Suppressed = Literal["keep", "drop"]


@dataclass(frozen=True)
class Input:
    """Where rows come from and how they are read."""

    source: object
    policy: Policy | str | Path | None = None
    table: str | None = None
    against: object = None
    delimiter: str | None = None
    encoding: str | None = None
    memory_limit: str | None = None


def anonymize(  # noqa: PLR0913 -- the flags of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    output: str | Path | None = None,
    wishes: Wishes | None = None,
    table: str | None = None,
    against: object = None,
    suppressed: Suppressed = "keep",
    seconds: float | None = None,
    key: bytes | None = None,
    expected: str | None = None,
    force: bool = False,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory_limit: str | None = None,
    frontier: bool = False,
    minimal: bool = False,
    progress: Progress | None = None,
) -> Release:
    """Publish the rows of `source` so that they meet the criteria, with the least loss.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; without one, `wishes` says everything.
        output: Where to write: a CSV or Parquet file, a folder, a table. None only searches.
        wishes: What wins over the policy: columns, criteria, method.
        table: The table's name in the policy or in the database.
        against: The population, for k-map and δ-presence.
        suppressed: Whether suppressed rows stay, as `*`, or are left out. Fewer than k of them are
            always left out: whoever fits no class would be one of them.
        seconds: How long a search may take where the whole lattice is too large.
        key: The secret that makes steps with chance repeatable.
        expected: The SHA-256 that the file must have, or it is not published.
        force: Replace what is at `output`.
        delimiter: What separates the columns of a CSV source.
        encoding: The encoding of a CSV source.
        memory_limit: How much memory the engine may use, such as `4GB`.
        frontier: Also tell what other values of k would cost.
        minimal: Also list every minimal full-domain generalization.
        progress: Called with a step's name, what is done and what there is to do.

    Raises:
        CriteriaUnreachable: No recoding meets the criteria; the message says how far one can get.
        ReleaseFailed: The written rows, read again, fail a criterion, or are not those expected;
            nothing was published.

    >>> import pyarrow as pa
    >>> people = pa.table({"age": [31, 32, 47, 48], "ill": ["flu", "flu", "gout", "flu"]})
    >>> wishes = Wishes(quasi=["age"], sensitive=["ill"], criteria=[model.KAnonymity(2)])
    >>> found = anonymize(people, wishes=wishes)
    >>> found.k, found.classes, found.suppressed
    (2, 2, 0)
    """
    target = parse_target(output, force=force) if output is not None else None
    given = Input(source, policy, table, against, delimiter, encoding, memory_limit)
    is_ours = not isinstance(source, Table)
    opened = (
        open_table(
            source,
            table=None if names_its_table(source) else table,
            delimiter=delimiter,
            encoding=encoding,
            memory_limit=memory_limit,
        )
        if is_ours
        else source
    )
    try:
        asked = _settle(given, opened, wishes or Wishes())
        with Scratch(opened.engine) as scratch:
            plan = _Plan(
                asked,
                given,
                suppressed,
                seconds,
                key,
                expected,
                frontier=frontier,
                minimal=minimal,
                progress=progress or (lambda *_: None),
            )
            return _publish(plan, replace(opened, engine=scratch), target)
    finally:
        if is_ours:
            opened.engine.close()


def _settle(given: Input, opened: Table, wishes: Wishes) -> model.Table:
    loaded = load(given.policy)
    policy = select_table(loaded, label=opened.label, name=given.table) if loaded else None
    asked = settle(policy, wishes, name=PurePath(opened.label).stem)
    about_population = any(
        isinstance(criterion, (model.KMap, model.DeltaPresence)) for criterion in asked.criteria
    )
    if about_population and given.against is None:
        raise WrongUsage(
            "k-map and delta-presence compare the release with its population. Name the "
            "population's table with --against."
        )
    if about_population and wishes.method is None and asked.release.method == "local":
        # Labels of classes that overlap have no number of people of the population.
        asked = replace(asked, release=replace(asked.release, method="full-domain"))
    return asked


@dataclass(frozen=True)
class _Plan:
    """What is done, and whatever it needs besides the table."""

    asked: model.Table
    given: Input
    suppressed: Suppressed
    seconds: float | None
    key: bytes | None
    expected: str | None
    frontier: bool
    minimal: bool
    progress: Progress


@dataclass(frozen=True)
class _Chosen:
    """A recoding of a table, what is left out, and whether suppressed rows are as well."""

    reading: Reading
    recoding: Recoding
    leave_out: frozenset[str]
    drops: bool


def _publish(plan: _Plan, table: Table, target: Target | None) -> Release:
    unlisted = unlisted_columns(table, plan.asked)
    plan.progress("classes", 0, 1)
    table, done = perform(table, plan.asked.release.steps, plan.asked, key=plan.key)
    bound = bind(table, policy=plan.asked)
    reading = _read(plan, bound)
    predicted = plan.asked.release.target
    goal = read_goal(reading, bound, predicted) if predicted is not None else None
    plan.progress("classes", 1, 1)
    recoding, drops = _solve(plan, reading)
    leave_out = {*plan.asked.with_role(model.Role.IDENTIFIER), *unlisted.left_out}
    leave_out |= {bound.subject.unit.name} if bound.subject.unit else set()
    chosen = _Chosen(reading, recoding, frozenset(leave_out), drops)
    if chosen.drops and not len(recoding):
        raise CriteriaUnreachable(
            "No class meets the criteria: every row would be suppressed and left out, and nothing "
            "published. Ask for less, or keep suppressed rows."
        )
    plan.progress("writing", 0, 1)
    written, found = _write(plan, chosen, target)
    plan.progress("writing", 1, 1)
    cautions = (*unlisted.cautions, *warn(reading, recoding, plan.asked, drops=chosen.drops))
    result = _result(plan, chosen, written, found)
    return replace(
        result,
        homogeneous=homogeneous_classes(reading.problem, recoding),
        utility=measure_utility(reading, recoding, goal=goal).to_dict(),
        frontier=trace_frontier(reading.problem, plan.asked.release) if plan.frontier else (),
        minimal=_minimal(reading.problem) if plan.minimal else (),
        steps=tuple(step.to_dict() for step in done),
        left_out=tuple(c.name for c in table.columns if c.name in leave_out),
        cautions=(*cautions, *(c for c in found.cautions if c not in cautions)),
    )


def _read(plan: _Plan, bound: Bound) -> Reading:
    cells = group(bound.subject, keeps_groups=True)
    if cells.rows == 0:
        label = bound.subject.table.label
        raise EmptySource(f"{label} has a header but no rows: there is nobody to publish.")
    population = None
    if plan.given.against is not None:
        population = open_population(
            plan.given.against,
            bound.subject.table,
            delimiter=plan.given.delimiter,
            encoding=plan.given.encoding,
        )
    return read_problem(
        cells,
        bound,
        plan.asked.criteria,
        suppress=plan.asked.release.suppress,
        weights=plan.asked.release.weights,
        population=population,
    )


def _solve(plan: _Plan, reading: Reading) -> tuple[Recoding, bool]:
    """Return the recoding, and whether suppressed rows are left out."""

    def solved(problem: Problem) -> Recoding:
        release = plan.asked.release
        return solve(problem, release, seconds=plan.seconds, progress=plan.progress)

    recoding = solved(reading.problem)
    if not _drops(plan, reading, recoding):
        return recoding, False
    if is_relative(reading.problem):
        recoding = solve_without_dropped(reading.problem, recoding, solved)
    return recoding, True


def _drops(plan: _Plan, reading: Reading, recoding: Recoding) -> bool:
    """Return whether suppressed rows are left out: always when they are too few to hide each other."""
    if plan.suppressed == "drop":
        return True
    hidden = reading.problem.table.take(recoding.classes == SUPPRESSED)
    people = int(hidden.sizes(np.zeros(len(hidden), dtype=np.int64), 1)[0]) if len(hidden) else 0
    before = suppressed_people(reading.cells)
    # With a unit, those who were suppressed before may be the same people.
    together = people + before if reading.cells.subject.unit is None else max(people, before)
    return 0 < together < reading.problem.judge.k


def _write(
    plan: _Plan, chosen: _Chosen, target: Target | None
) -> tuple[Written | None, Assessment]:
    """Write the rows and measure them afresh; what fails its criteria is not published."""
    subject = chosen.reading.cells.subject
    engine = subject.table.engine
    unit = {subject.unit.name} if subject.unit else frozenset[str]()
    is_read_again = isinstance(target, (FileTarget, FolderTarget)) and not unit
    is_counted_first = not is_read_again or chosen.reading.problem.population is not None
    recoded = recode(
        chosen.reading,
        chosen.recoding,
        leave_out=chosen.leave_out - unit,
        drop_suppressed=chosen.drops,
        may_count=not is_counted_first and target is not None and repeats(engine, target),
    )
    query, found = recoded.query, None
    if is_counted_first:
        # The unit is not published, so that people are counted here, before it goes; and columns are
        # compared with the population's while they have their types, which a CSV file forgets.
        relation = engine.keep(query)
        columns = engine.columns(relation)
        told = tuple(column for column in columns if column.name != recoded.order)
        kept = Table(engine, relation, told, subject.table.label)
        population = _population(chosen, recoded.labeled)
        found = measure_table(kept, plan.asked, population=population)
        require_holds(found)
        names = [column.name for column in columns if column.name not in unit]
        query = build.select(*map(build.column, names), source=relation)
    if target is None:
        return None, found or _unmeasured()
    with staged(
        engine,
        query,
        target,
        order=[recoded.order],
        settled=recoded.settled,
        repeat=recoded.repeat,
    ) as (place, written):
        if is_read_again:
            again = measure_written(place, _alone(plan.asked), engine=engine)
            require_holds(again)
            found = found or again
        require_same(written.sha256, plan.expected)
    return written, found or _unmeasured()


def _alone(asked: model.Table) -> model.Table:
    """Return what is asked of a release by itself, without its population."""
    others = (model.KMap, model.DeltaPresence)
    return replace(asked, criteria=tuple(c for c in asked.criteria if not isinstance(c, others)))


def _population(chosen: _Chosen, labeled: Collection[str]) -> Table | None:
    if chosen.reading.problem.population is None or "node" not in chosen.recoding.notes:
        return None
    node = list(chosen.recoding.notes["node"].values())
    return open_table(generalized_population(chosen.reading, node, labeled=labeled))


def _unmeasured() -> Assessment:
    raise Bug("A release was neither written nor measured.")


def _result(plan: _Plan, chosen: _Chosen, written: Written | None, found: Assessment) -> Release:
    problem, recoding = chosen.reading.problem, chosen.recoding
    lost = attribute_losses(problem, recoding)
    hidden = int(problem.table.rows[recoding.classes == SUPPRESSED].sum())
    hidden += chosen.reading.cells.suppressed
    # Everybody in one class of `*` is read again as nobody in a class.
    is_one_class = found.k is None and hidden == 0
    result = Release(
        source=chosen.reading.cells.subject.table.label,
        output=written.place if written else None,
        verdict="",
        method=plan.asked.release.method,
        rows=chosen.reading.cells.rows,
        people=found.people,
        unit=found.unit,
        k=found.people if is_one_class else found.k,
        classes=1 if is_one_class else found.classes,
        suppressed=hidden,
        withheld=hidden if chosen.drops else 0,
        loss=loss(problem, recoding),
        losses={a.name: float(lost[j]) for j, a in enumerate(problem.attributes)},
        criteria=found.criteria,
        risk=Risks(before=_risk(chosen.reading), after=found.risk),
        search=recoding.notes,
        diversity={n: c.worst["distinct"] for n, c in found.sensitive.items()},
        outliers=tuple(one.words for one in blamed(chosen.reading, recoding)),
        sha256=written.sha256 if written else None,
        bytes=written.bytes if written else None,
        _policy=plan.asked,
    )
    return replace(result, verdict=sentence(result))


def _minimal(problem: Problem) -> tuple[dict[str, int], ...]:
    from discreet.release.anonymize.minimal import minimal_nodes

    names = [attribute.name for attribute in problem.attributes]
    return tuple(dict(zip(names, node, strict=True)) for node in minimal_nodes(problem))


def _risk(reading: Reading) -> SampleRisk:
    table = reading.problem.table
    sizes, classes = np.unique(table.sizes(np.arange(len(table)), len(table)), return_counts=True)
    return sample_risk(sizes, classes.astype(np.int64))
