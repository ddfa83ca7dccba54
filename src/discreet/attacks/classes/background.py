"""Background knowledge: values the adversary can rule out leave fewer in each class."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.attacks.classes.histograms import SensitiveHistogram, read_classes
from discreet.attacks.classes.homogeneity import average_score, word_people_share
from discreet.attacks.classes.inference import SURE
from discreet.attacks.classes.person import find_person
from discreet.attacks.finding import Finding, make_finding
from discreet.criteria.criterion import TOLERANCE
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.classes import ClassHistograms
from discreet.measure.roles import RoleBinding, require_column
from discreet.sql import build
from discreet.sql.bounded import parse_bounded

SHOWN_DEPTHS = (0, 1, 2)
IMPLIES = re.compile(r"\s+implies\s+", re.IGNORECASE)
# A condition compares columns with literals; it asks no other table and calls no function.
_PARTS = (
    exp.And,
    exp.Or,
    exp.Not,
    exp.Paren,
    exp.Predicate,
    exp.Tuple,
    exp.Literal,
    exp.Null,
    exp.Boolean,
    exp.Neg,
    exp.Column,
    exp.Identifier,
)


@dataclass(frozen=True)
class Narrowed:
    """What ruling out values leaves.

    Attributes:
        of_class: The adversary's certainty in each class when it rules out the values in its way.
        of_entry: Its certainty of the truth, for the people with each value of each class.
    """

    of_class: NDArray[np.float64]
    of_entry: NDArray[np.float64]


def rule_out(groups: ClassHistograms, m: int) -> Narrowed:
    """Return how sure an adversary gets who rules out `m` values that are not the person's.

    For counts r1 ≥ r2 ≥ … of n people the class's worst case is r1 / (n - (r2 + … + r_{m+1})), and
    a person with the value of count r is inferred with r / (n - the m largest others)
    (Machanavajjhala et al. 2006, section 3).

    >>> from discreet.measure.classes import ClassHistograms
    >>> groups = ClassHistograms(np.zeros((1, 1)), np.array([0, 3]), np.arange(3), np.array([50, 49, 1]),
    ...                 np.array([100]))
    >>> [round(float(rule_out(groups, m).of_class[0]), 4) for m in (0, 1, 2)]
    [0.5, 0.9804, 1.0]
    """
    order = np.lexsort((-groups.counts, groups.owners))
    counts, first = groups.counts[order], np.repeat(groups.first, groups.lengths)
    place = np.arange(len(counts)) - first
    top, more = (_sum_by_class(groups, np.where(place < depth, counts, 0)) for depth in (m, m + 1))
    # For a person with one of the m most frequent values the next one is ruled out.
    ruled_out = np.where(place < m, more[groups.owners] - counts, top[groups.owners])
    # With several values per person what is left may seem fewer than have the value.
    left = np.maximum(groups.sizes[groups.owners] - ruled_out, counts)
    certainty = np.empty(len(counts))
    certainty[order] = counts / left
    of_class = counts[groups.first] / left[groups.first]
    return Narrowed(of_class, certainty)


def find_background(
    histogram: SensitiveHistogram,
    *,
    rules_out: int = 1,
    sure: float = SURE,
    prior: ClassHistograms | None = None,
    knows: str | None = None,
) -> Finding:
    """Return whose value an adversary infers that can rule out some values for each person.

    Args:
        histogram: The release, without the rows that contradict what the adversary `knows`.
        rules_out: How many values it can rule out for a person, the most helpful ones.
        sure: How sure it must be to count.
        prior: The groups in which it believes without the quasi-identifiers; by default the whole
            release is one.
        knows: What else it knows, in words.
    """
    narrowed = rule_out(histogram.groups, rules_out)
    is_exposed = narrowed.of_entry >= sure - TOLERANCE
    exposed = histogram.people_with(is_exposed)
    believed = histogram.whole if prior is None else prior
    knowing = _word_knowledge(histogram, rules_out, knows)
    return make_finding(
        "background",
        target=histogram.target,
        verdict=_word_verdict(histogram, exposed, sure=sure, knowing=knowing),
        targets=histogram.people,
        exposed=exposed,
        correct=exposed,
        certainty=_mean_certainty(histogram, narrowed, is_exposed),
        baseline=_exposed_share(believed, rules_out, sure, histogram.people),
        knowledge=f"A person's {histogram.known}, that the person is in the table, and {knowing}.",
        remedy=f"Recursive (c, l)-diversity for {histogram.label} with l of {rules_out + 2} or more, or "
        "t-closeness; fewer quasi-identifiers help as well.",
        details={
            "columns": histogram.names,
            "rules_out": rules_out,
            "sure": sure,
            "classes": len(histogram.groups),
            "exposed_classes": int(np.count_nonzero(narrowed.of_class >= sure - TOLERANCE)),
            "worst": float(narrowed.of_class.max(initial=0.0)),
            "average": average_score(histogram.groups, narrowed.of_class),
            "by_values_ruled_out": [
                _measure_depth(histogram, m, sure) for m in sorted({*SHOWN_DEPTHS, rules_out})
            ],
        },
        example=_build_example(histogram, narrowed),
    )


def find_all(
    bound: RoleBinding, *, knows: Sequence[str] = (), rules_out: int = 1, sure: float = SURE
) -> tuple[Finding, ...]:
    """Return one finding per sensitive column for an adversary with this knowledge.

    Args:
        bound: The release and the parts of its columns.
        knows: Columns and conditions, as `read_knowledge` reads them; the people attacked are those
            for whom the conditions hold.
        rules_out: How many more values the adversary can rule out for each person.
        sure: How sure it must be of the truth for a person to count.
    """
    known = read_knowledge(knows, bound.subject.table)
    seen = with_knowledge(bound, known)
    if not seen.subject.sensitive:
        raise WrongUsage("Every sensitive column is known already: nothing is left to learn.")
    classes = read_classes(seen)
    # Without the quasi-identifiers, the knowledge may reveal as much: that is no breach.
    priors: Sequence[ClassHistograms | None] = [None] * len(classes.columns)
    if known.columns:
        only = read_classes(knowing_only(seen, known))
        priors = [histogram.groups for histogram in only.columns]
    return tuple(
        find_background(histogram, rules_out=rules_out, sure=sure, prior=prior, knows=known.words)
        for histogram, prior in zip(classes.columns, priors, strict=True)
    )


def find_one(
    bound: RoleBinding, person: Mapping[str, str], *, knows: Sequence[str] = (), sure: float = SURE
) -> tuple[Finding, ...]:
    """Return what the release and this knowledge reveal about one person, by sensitive column."""
    known = read_knowledge(knows, bound.subject.table)
    if missing := [name for name in known.columns if name not in person]:
        raise WrongUsage(
            f"The person's {join_names(missing)} is known, and --person does not say it. Add it there."
        )
    seen = with_knowledge(bound, known)
    return find_person(seen, person, attack="background", sure=sure, knows=known.words)


def _sum_by_class(groups: ClassHistograms, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.add.reduceat(numbers, groups.first) if len(groups) else np.empty(0, np.int64)


def _measure_depth(histogram: SensitiveHistogram, m: int, sure: float) -> dict[str, float]:
    narrowed = rule_out(histogram.groups, m)
    return {
        "ruled_out": m,
        "exposed": histogram.people_with(narrowed.of_entry >= sure - TOLERANCE),
        "worst": float(narrowed.of_class.max(initial=0.0)),
        "average": average_score(histogram.groups, narrowed.of_class),
    }


def _exposed_share(groups: ClassHistograms, m: int, sure: float, people: int) -> float:
    is_exposed = rule_out(groups, m).of_entry >= sure - TOLERANCE
    return min(1.0, float(groups.counts[is_exposed].sum()) / max(people, 1))


def _mean_certainty(
    histogram: SensitiveHistogram, narrowed: Narrowed, chosen: NDArray[np.bool_]
) -> float | None:
    if not chosen.any():
        return None
    return float(np.average(narrowed.of_entry[chosen], weights=histogram.groups.counts[chosen]))


def _word_knowledge(histogram: SensitiveHistogram, rules_out: int, knows: str | None) -> str:
    values = format_count(rules_out, "value", "values")
    ruled_out = f"{values} of {histogram.label} that the person does not have"
    if knows is None:
        return ruled_out
    return f"{knows}, and {ruled_out}" if rules_out else knows


def _word_verdict(histogram: SensitiveHistogram, exposed: int, *, sure: float, knowing: str) -> str:
    if not exposed:
        return (
            f"Knowing {histogram.known}, and {knowing}, the adversary is at least {format_percent(sure)} sure of "
            f"no one's {histogram.label}."
        )
    return (
        f"Knowing {histogram.known}, and {knowing}, the adversary is at least {format_percent(sure)} sure of the "
        f"{histogram.label} of {word_people_share(histogram, exposed)}."
    )


def _build_example(histogram: SensitiveHistogram, narrowed: Narrowed) -> tuple[str, ...]:
    groups = histogram.groups
    if not len(groups):
        return ()
    place = int(np.lexsort((groups.sizes, narrowed.of_class))[-1])
    entries = np.arange(groups.starts[place], groups.starts[place + 1])
    best = int(entries[np.argmax(groups.counts[entries])])
    count, size = int(groups.counts[best]), int(groups.sizes[place])
    left = round(count / float(narrowed.of_class[place]))
    return (
        (
            f"A person has {histogram.describe(place)}: {size:,} people fit, {count:,} of them with "
            f"{histogram.label} {histogram.values([int(groups.codes[best])])[0]}."
        ),
        f"What the adversary rules out leaves {left:,}: it is {format_percent(count / left)} sure.",
    )


@dataclass(frozen=True)
class Knowledge:
    """Columns whose value the adversary knows for a target, and conditions that hold for it."""

    columns: tuple[str, ...] = ()
    conditions: tuple[exp.Expr, ...] = ()

    @property
    def words(self) -> str | None:
        """What is known, in words that name columns and no value; None when nothing is."""
        phrases = [f"the person's {join_names(self.columns)}"] if self.columns else []
        if self.conditions:
            about = {
                column.name for item in self.conditions for column in item.find_all(exp.Column)
            }
            phrases.append(f"what is said of {join_names(sorted(about))}")
        return join_names(phrases) if phrases else None


def read_knowledge(texts: Sequence[str], table: Table) -> Knowledge:
    """Return what texts say: each is a column's name or a condition on columns of the table.

    `a implies b` stands for `not a or b`.

    Raises:
        WrongUsage: A text is no condition.
        UnknownColumn: It names a column that the table does not have.
    """
    columns = tuple(text for text in texts if table.column(text) is not None)
    conditions = tuple(_read_condition(text, table) for text in texts if text not in columns)
    return Knowledge(columns, conditions)


def with_knowledge(bound: RoleBinding, known: Knowledge) -> RoleBinding:
    """Return the release as seen by an adversary who knows this about the person sought.

    Rows that contradict a condition are gone: they are not the person's. A condition about a missing
    value is not contradicted. Known columns are among those that make classes.
    """
    subject = bound.subject
    table = subject.table
    if known.conditions:
        # Unknown is not false: COALESCE keeps rows whose value is missing.
        holds = [
            exp.Coalesce(this=exp.paren(c), expressions=[exp.true()]) for c in known.conditions
        ]
        names = [build.column(column.name) for column in table.columns]
        kept = build.select(*names, source=table.relation).where(build.all_of(holds))
        table = replace(table, relation=table.engine.keep(kept))
    added = tuple(require_column(table, name) for name in known.columns)
    sensitive = tuple(column for column in subject.sensitive if column not in added)
    quasi = (*(column for column in subject.quasi if column not in added), *added)
    return replace(bound, subject=replace(subject, table=table, quasi=quasi, sensitive=sensitive))


def knowing_only(bound: RoleBinding, known: Knowledge) -> RoleBinding:
    """Return the same release for an adversary who knows the columns and not the quasi-identifiers."""
    columns = tuple(require_column(bound.subject.table, name) for name in known.columns)
    return replace(bound, subject=replace(bound.subject, quasi=columns))


def _read_condition(text: str, table: Table) -> exp.Expr:
    first, *rest = IMPLIES.split(text.strip())
    if len(rest) > 1:
        raise WrongUsage(f"'{text}' says `implies` twice. Give two conditions, each with --knows.")
    parts = [_parse(part, whole=text) for part in (first, *rest)]
    for part in parts:
        _require_plain(part, whole=text)
        for column in list(part.find_all(exp.Column)):
            found = require_column(table, column.name)
            column.replace(build.column(found.name))
    if not rest:
        return parts[0]
    return exp.or_(exp.not_(exp.paren(parts[0])), exp.paren(parts[1]))


def _parse(text: str, *, whole: str) -> exp.Expr:
    try:
        # Within parentheses a lone column stays the root's child, and can be replaced.
        trees = parse_bounded(f"({text})", dialect="duckdb")
    except SqlglotError:
        trees = ()
    found = trees[0] if len(trees) == 1 else None
    if found is None or found.find(exp.Column) is None:
        raise WrongUsage(
            f"'{whole}' is neither a column nor a condition. Write it as in SQL, such as "
            "\"diagnosis <> 'flu'\" or \"sex = 'M' implies diagnosis <> 'ovarian cyst'\"."
        )
    return found


def _require_plain(condition: exp.Expr, *, whole: str) -> None:
    for node in condition.walk():
        if not isinstance(node, _PARTS) or isinstance(node, (exp.SubqueryPredicate, exp.Query)):
            raise WrongUsage(
                f"'{whole}' does more than compare columns with values. Use =, <>, <, >, IN, BETWEEN, "
                "LIKE, IS NULL, AND, OR and NOT."
            )
