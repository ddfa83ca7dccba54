"""Results in a notebook: each becomes a card of sentences, tables and a chart, aggregates only."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from math import isfinite
from typing import TYPE_CHECKING, Any

from discreet.answer.wording import (
    describe_price,
    format_amounts,
    format_answer_cell,
    format_key,
    format_ranks,
    format_share,
    format_short,
)
from discreet.formatting import format_percent
from discreet.report.notebook_html import (
    BarRow,
    Card,
    Chart,
    IntervalRow,
    TextTable,
    render_card,
)
from discreet.report.notebook_model import build_model_card
from discreet.report.statistics import statistic_card
from discreet.result import Result

# A class whose result is shown is loaded; the others are heavy and stay away.
if TYPE_CHECKING:
    from discreet.answer.answer import Answer, CellError
    from discreet.answer.explain import Explanation
    from discreet.answer.limits import LimitAdvice
    from discreet.answer.spending import Spending
    from discreet.attacks.all_attacks import AttackReport
    from discreet.attacks.finding import Finding
    from discreet.dp.calculate.coins import RandomizedResponse, ResponseEstimate
    from discreet.dp.calculate.compose import Composition
    from discreet.dp.local.collect import FrequencyEstimates
    from discreet.measure.assessment import Assessment, CriterionVerdict
    from discreet.measure.profile import PolicyDraft
    from discreet.release.deidentify.expert import Determination
    from discreet.release.deidentify.record import Deidentified
    from discreet.release.release import Release
    from discreet.release.synthesize.record import SyntheticRelease
    from discreet.release.weighted_release import WeightedRelease

CLASS_SIZES = ((1, 1), (2, 4), (5, 9), (10, 49), (50, None))  # the sizes of one bar


def render_result(found: Result) -> str:
    """Return a result as HTML for a notebook: no script, no cell of the source.

    >>> from discreet.api.epsilon import group
    >>> "0.1" in render_result(group("0.1", size=1))
    True
    """
    kinds = [kind.__name__ for kind in type(found).__mro__]
    build = next((_CARDS[kind] for kind in kinds if kind in _CARDS), _plain_card)
    return render_card(build(found))


def _plain_card(found: Result) -> Card:
    """Show scalar values; an epsilon first, and its reason in words."""
    values = {name: value for name, value in found.to_dict().items() if _is_scalar(value)}
    why, verdict = values.pop("why", None), values.pop("verdict", "")
    rows = [(name.replace("_", " "), _format_value(value)) for name, value in values.items()]
    caption = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(found).__name__).capitalize()
    return Card(str(verdict), tables=[TextTable(caption, rows)], notes=[why] if why else ())


def _is_scalar(value: object) -> bool:
    return value is not None and not isinstance(value, (dict, list))


def _format_value(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return str(value)
    return f"{value:,}" if isinstance(value, int) else format_short(value)


def assessment_card(found: Assessment) -> Card:
    """Return the card of an assessment."""
    from discreet.measure.describe import weighted_rows

    unique = format_percent(found.unique / found.people) if found.people else "no people"
    facts = [
        ("Rows", f"{found.rows:,}"),
        ("People", f"{found.people:,}"),
        ("Quasi-identifiers", ", ".join(found.quasi)),
        ("Classes", f"{found.classes:,}"),
        ("Smallest class (k)", "no classes" if found.k is None else f"{found.k:,}"),
        ("Unique people", f"{found.unique:,} ({unique})"),
    ]
    if found.suppressed:
        facts.append(("Suppressed rows", f"{found.suppressed:,}"))
    risk = found.risk.prosecutor
    if risk.worst is not None and risk.average is not None:
        facts.append(("Chance of being found, at worst", format_percent(risk.worst)))
        facts.append(("Chance of being found, on average", format_percent(risk.average)))
    for name, column in found.sensitive.items():
        facts.append((f"{name}: distinct l", f"{column.l.distinct:,}"))
        facts.append((f"{name}: equal t", f"{column.t.equal:.4g}"))
    exposures = [
        (
            one.attack if one.column is None else f"{one.attack} of {one.column}",
            f"{one.people:,} ({format_percent(one.share)})",
            format_percent(one.tolerance),
            "✗ exceeds" if one.exceeds else "✓ tolerated",
        )
        for one in found.exposures
    ]
    return Card(
        found.verdict,
        tables=[
            TextTable("Assessment", facts),
            TextTable(
                "By the sampling weights", weighted_rows(found.weighted) if found.weighted else ()
            ),
            _criteria_table(found.criteria, found.k),
            TextTable(
                "Exposed if published as it is",
                exposures,
                header=("Way", "People", "Tolerated", "Verdict"),
            ),
        ],
        charts=[_class_size_chart(found.class_sizes)],
        cautions=(*found.undecided, *found.cautions),
    )


def _criteria_table(criteria: Sequence[CriterionVerdict], k: int | None) -> TextTable:
    from discreet.measure.wording import CRITERIA_HEADER, criterion_rows

    header = (*CRITERIA_HEADER, "Verdict", "People failing", "Classes failing")
    rows = [
        (*row.texts, "✓ holds" if row.holds else "✗ fails", *row.counts)
        for row in criterion_rows(criteria, k=k)
    ]
    return TextTable("Criteria", rows, header=header)


def _class_size_chart(sizes: Mapping[int, int]) -> Chart:
    """Return how many people are in classes of each range of sizes."""
    rows: list[BarRow] = []
    for low, high in CLASS_SIZES:
        people = sum(
            people
            for size, people in sizes.items()
            if size >= low and (high is None or size <= high)
        )
        name = f"{low:,} or more" if high is None else f"{low} to {high}" if high > low else "alone"
        rows.append(BarRow(name, people, f"{people:,}", is_alert=high == 1 and people > 0))
    return Chart("People by the number of people who look alike", rows if sizes else ())


def _release_card(found: Release) -> Card:
    facts = [
        ("Rows", f"{found.rows:,}"),
        ("People", f"{found.people:,}"),
        ("Method", found.method),
        ("Classes", f"{found.classes:,}"),
        ("Smallest class (k)", "no classes" if found.k is None else f"{found.k:,}"),
        ("Suppressed rows", f"{found.suppressed:,}"),
        ("Lost", format_percent(found.loss)),
        *_weighted_facts(found.weighted),
        *((name, value) for name, value in _written_facts(found.output, found.manifest)),
    ]
    before, after = found.risk.before.prosecutor, found.risk.after.prosecutor
    risks = [
        BarRow(f"{when}, {what}", value, format_percent(value), is_alert=when == "before")
        for when, risk in (("before", before), ("after", after))
        for what, value in (("at worst", risk.worst), ("on average", risk.average))
        if value is not None
    ]
    losses = [BarRow(name, loss, format_percent(loss)) for name, loss in found.losses.items()]
    return Card(
        found.verdict,
        tables=[
            TextTable("Release", facts),
            _criteria_table(found.criteria, found.k),
            _findings_table(found.findings),
        ],
        charts=[
            Chart("Chance of being found", risks, most=1.0),
            Chart("Lost, by column", losses, most=1.0),
        ],
        cautions=(*found.undecided, *found.cautions),
    )


def _weighted_facts(found: WeightedRelease | None) -> list[tuple[str, str]]:
    if found is None:
        return []
    expected = (
        f"{found.before.expected_people:,.1f} before, {found.after.expected_people:,.1f} after"
    )
    return [
        (f"Lost, by {found.weight}", format_percent(found.loss)),
        ("People expected to be found", expected),
    ]


def _written_facts(output: str | None, manifest: str | None) -> list[tuple[str, str]]:
    written = [("Written to", output), ("Manifest", manifest)]
    return [(name, value) for name, value in written if value is not None] or [
        ("Written to", "nothing: the rows are in memory, or it was a dry run")
    ]


def _findings_table(findings: Sequence[Finding]) -> TextTable:
    rows = [
        (
            one.title,
            format_percent(one.rate),
            "–" if one.tolerance is None else format_percent(one.tolerance),
            "✗ exceeds" if one.exceeds else "✓ tolerated" if one.tolerance is not None else "–",
            one.verdict,
        )
        for one in findings
    ]
    header = ("Attack", "Exposed", "Tolerated", "Verdict", "Finding")
    return TextTable("Attacks", rows, header=header)


def _finding_card(found: Finding) -> Card:
    facts = [
        ("Target", found.target),
        ("Tried", f"{found.targets:,}"),
        ("Claims", f"{found.claimed:,}"),
        *([] if found.correct is None else [("Right claims", f"{found.correct:,}")]),
        *([] if found.tolerance is None else [("Tolerated", format_percent(found.tolerance))]),
        ("Needs to know", found.knowledge),
        ("Remedy", found.remedy),
    ]
    low, high = found.interval
    rates = [IntervalRow("exposed", low, found.rate, high, format_percent(found.rate))]
    for name, value in (("guessing", found.baseline), ("control", found.control)):
        if value is not None:
            rates.append(IntervalRow(name, value, value, value, format_percent(value)))
    return Card(
        found.verdict,
        tables=[TextTable(f"Attack: {found.title}", facts)],
        charts=[Chart("Share that is exposed, with its 95 % interval", rates, most=1.0)],
    )


def _attacks_card(found: AttackReport) -> Card:
    rates = [
        BarRow(one.title, one.rate, format_percent(one.rate), is_alert=one.exceeds)
        for one in found.findings
    ]
    return Card(
        tables=[_findings_table(found.findings)],
        charts=[Chart("Share that each attack exposes", rates, most=1.0)],
        notes=[f"Not tried: {name} – {reason}" for name, reason in found.not_tried.items()],
        cautions=found.cautions,
    )


def _deidentified_card(found: Deidentified) -> Card:
    rows = [
        (one.column, one.letter or "–", one.action, f"{one.changed:,}", f"{one.removed:,}")
        for one in found.columns
    ]
    header = ("Column", "Class", "Done", "Changed", "Removed")
    changed = [
        BarRow(one.column, one.changed + one.removed, f"{one.changed + one.removed:,}")
        for one in found.columns
        if one.changed + one.removed
    ]
    return Card(
        found.verdict,
        tables=[TextTable("Columns", rows, header=header), _findings_table(found.findings)],
        charts=[Chart("Cells that were changed or removed", changed)],
        cautions=(*found.warnings, *found.cautions),
    )


def _synthetic_card(found: SyntheticRelease) -> Card:
    facts = [
        ("Rows", f"{found.rows:,}"),
        ("Method", found.method),
        ("Protected unit", found.unit),
        ("Spent", format_amounts(found.spent["epsilon"], found.spent["delta"])),
        ("Left", format_amounts(found.remaining["epsilon"], found.remaining["delta"])),
    ]
    measured = [(" × ".join(one.columns), f"{one.cells:,}") for one in found.marginals]
    return Card(
        found.verdict,
        tables=[
            TextTable("Synthetic table", facts),
            TextTable("Relations that were measured", measured, header=("Columns", "Cells")),
            _findings_table(found.findings),
        ],
        cautions=found.cautions,
    )


def _determination_card(found: Determination) -> Card:
    facts = [
        ("People", f"{found.people:,}"),
        ("Threshold", format_percent(found.threshold)),
        ("Risk that is left", format_percent(found.residual_risk)),
        ("Smallest class (k)", "no classes" if found.k is None else f"{found.k:,}"),
    ]
    risks = [
        BarRow(one.adversary, one.worst, format_percent(one.worst), is_alert=one.is_above)
        for one in found.risks
        if one.worst is not None
    ]
    return Card(
        found.verdict,
        tables=[
            TextTable("Determination", facts),
            _criteria_table(found.criteria, found.k),
            _findings_table(found.findings),
        ],
        charts=[Chart("Chance of being found, at worst", risks, most=1.0)],
        cautions=found.cautions,
    )


def _answer_card(found: Answer) -> Card:
    rows, errors = found.rows, found.error
    noisy = [any(row[index] is not None for row in errors) for index in range(len(found.columns))]
    table = TextTable(
        "Answer",
        [
            tuple(map(_answer_cell, found.columns, values, mine, found.rank_error))
            for values, mine in zip(rows, errors, strict=True)
        ],
        header=found.columns,
    )
    spent = "nothing: this question was answered before"
    if not found.cached:
        spent = format_amounts(found.spent["epsilon"], found.spent["delta"])
    left = format_amounts(found.remaining["epsilon"], found.remaining["delta"])
    chart = _answer_chart(found, noisy.index(True)) if True in noisy else Chart("", ())
    return Card(
        "" if rows else "No group has enough people to be released.",
        tables=[table],
        charts=[chart],
        notes=[f"Spent {spent}. Left: {left}."],
        cautions=found.cautions,
    )


def _answer_cell(name: str, value: Any, error: CellError | None, ranks: float | None = None) -> str:
    if ranks is not None:
        return f"{format_answer_cell(name, value, None)} ± {format_ranks(ranks)}"
    if error is None:
        return format_key(name, value)
    half = error.high - value
    return f"{format_answer_cell(name, value, half)} ± {format_short(float(f'{half:.3g}'))}"


def _answer_chart(found: Answer, index: int) -> Chart:
    """Return the first noisy column with its errors, each row named by its exact columns."""
    errors = found.error
    names = [i for i in range(len(found.columns)) if all(row[i] is None for row in errors)]
    rows = [
        IntervalRow(
            ", ".join(str(values[i]) for i in names) or found.columns[index],
            error.low,
            float(values[index]),
            error.high,
            _answer_cell(found.columns[index], values[index], error),
        )
        for values, row in zip(found.rows, errors, strict=True)
        if (error := row[index]) is not None and isfinite(error.low) and isfinite(error.high)
    ]
    sure = format_share(found.confidence)
    return Chart(f"{found.columns[index]}, with {sure} confidence for the noise alone", rows)


def _explanation_card(found: Explanation) -> Card:
    rows = [
        (
            one.aggregate,
            "–" if one.standard_error is None else format_short(one.standard_error),
            f"{format_short(round(one.ranks))} ranks"
            if one.ranks is not None
            else format_short(one.within),
            "–" if one.relative is None else format_share(one.relative),
        )
        for one in found.expected
    ]
    header = ("Aggregate", "Standard error", "±", "± of the value")
    sure = format_share(found.confidence)
    caption = f"Expected error, at {sure} confidence, in a group of {found.size:,} rows"
    relative = [
        BarRow(one.aggregate, one.relative, format_share(one.relative))
        for one in found.expected
        if one.relative is not None and isfinite(one.relative)
    ]
    needed = found.needed_epsilon
    return Card(
        describe_price(found),
        tables=[TextTable(caption, rows, header=header)],
        charts=[Chart("Expected error, as a share of the value", relative)],
        notes=[] if needed is None else [f"The wanted error takes epsilon {format_short(needed)}."],
        cautions=found.cautions,
    )


def _spending_card(found: Spending) -> Card:
    accounts = [
        (
            item["account"],
            *(format_short(item["epsilon"][name]) for name in ("spent", "limit", "left")),
            format_short(item["delta"]["left"]),
        )
        for item in found.accounts
    ]
    shares = [
        BarRow(
            item["account"],
            item["epsilon"]["spent"] / item["epsilon"]["limit"],
            f"{format_short(item['epsilon']['spent'])} of {format_short(item['epsilon']['limit'])}",
            is_alert=not item["epsilon"]["left"],
        )
        for item in found.accounts
        if item["epsilon"]["limit"]
    ]
    entries = [
        (entry["at"], format_short(entry["epsilon"]), entry["state"], entry["question"] or "")
        for entry in found.entries
        if entry["state"] != "limit"
    ]
    header = ("Account", "ε spent", "of ε", "ε left", "δ left")
    checked = found.verified
    return Card(
        tables=[
            TextTable("Budgets", accounts, header=header),
            TextTable("Latest questions", entries, header=("When (UTC)", "ε", "State", "Question")),
        ],
        charts=[Chart("Epsilon spent", shares, most=1.0)],
        notes=[] if checked is None else [f"The ledger is intact: {checked:,} entries verified."],
    )


def _limits_card(found: LimitAdvice) -> Card:
    rows = [
        (
            f"{one.limit:,}",
            format_percent(one.cut_off),
            *(f"{value:,.0f}" for value in (one.bias, one.noise, one.error)),
        )
        for one in found.curve
    ]
    bars = [
        BarRow(
            f"{one.limit:,}",
            one.error,
            f"{one.error:,.0f}" + (" ← least" if one.limit == found.recommended else ""),
        )
        for one in found.curve
    ]
    advice = "There are too few people to see how many rows they have. Try a larger epsilon."
    if found.recommended is not None:
        advice = f"{found.recommended:,} rows per person err least."
    header = ("rows-per-unit", "Cut off", "Too low by", "± noise", "Together")
    spent = format_amounts(found.spent["epsilon"], found.spent["delta"])
    return Card(
        advice,
        tables=[TextTable("Error of a count, in rows", rows, header=header)],
        charts=[Chart("Error of a count by rows-per-unit", bars)],
        notes=[f"Spent {spent}."],
    )


def _frequencies_card(found: FrequencyEstimates) -> Card:
    rows = [
        (
            one.value,
            f"{one.count:,.1f}",
            f"{one.standard_error:,.1f}",
            f"{one.lower:,.1f} to {one.upper:,.1f}",
        )
        for one in found.values
    ]
    points = [
        IntervalRow(one.value, one.lower, one.count, one.upper, f"{one.count:,.0f}")
        for one in found.values
    ]
    sure = format_share(found.confidence)
    return Card(
        f"{found.reports:,} reports by {found.method}, each {format_short(found.epsilon)}-DP",
        tables=[
            TextTable(
                "People", rows, header=("Value", "People", "Standard error", f"{sure} interval")
            )
        ],
        charts=[Chart(f"People by value, with {sure} confidence", points)],
    )


def _reports_card(found: Any) -> Card:
    """Show how reports were made; their class lies above this package."""
    chances = [
        BarRow(
            "the person's own value", found.chance_if_true, format_percent(found.chance_if_true)
        ),
        BarRow("each other value", found.chance_if_other, format_percent(found.chance_if_other)),
    ]
    return Card(
        f"Each of {found.rows:,} people reports '{found.column}' by {found.method}: "
        f"{format_short(found.epsilon)}-DP for each report.",
        tables=[TextTable("Reports", _written_facts(found.output, found.manifest))],
        charts=[Chart("Chance that a report supports", chances, most=1.0)],
        notes=[f"The count of a rare value has a standard error of {format_short(found.error)}."],
    )


def _response_card(found: RandomizedResponse) -> Card:
    chances = [
        BarRow(f"truth {truth}, answer {answer}", chance, format_percent(chance))
        for truth, row in found.chances.items()
        for answer, chance in row.items()
    ]
    return _with_chart(found, Chart("Chance of each answer", chances, most=1.0))


def _estimate_card(found: ResponseEstimate) -> Card:
    text = format_percent(found.share)
    point = IntervalRow("share of yes", found.lower, found.share, found.upper, text)
    return _with_chart(found, Chart("People whose truth is yes", [point], most=1.0))


def _composition_card(found: Composition) -> Card:
    parts = [
        BarRow(str(part["what"]), float(part["epsilon"]), str(part["exact"]))
        for part in found.parts
        if isfinite(float(part["epsilon"]))
    ]
    accounts = [
        BarRow(name, value, format_short(value))
        for name, value in (vars(found.accounts) if found.accounts else {}).items()
        if value is not None
    ]
    card = _with_chart(found, Chart("Epsilon of each mechanism", parts))
    compared = Chart("Epsilon of all together, by ways to count", accounts)
    return Card(card.headline, card.tables, (*card.charts, compared), card.notes)


def _with_chart(found: Result, chart: Chart) -> Card:
    card = _plain_card(found)
    return Card(card.headline, card.tables, [chart], card.notes, card.cautions)


def _draft_card(found: PolicyDraft) -> Card:
    header = ("Column", "Role", "Sure", "Reason")
    return Card(
        "A draft: read every reason, and correct what is wrong.",
        tables=[
            TextTable(
                f"{table.name} ({table.rows:,} rows)",
                [
                    (
                        one.guess.column,
                        one.guess.role.value,
                        str(one.guess.confidence),
                        one.guess.reason,
                    )
                    for one in table.columns
                ],
                header=header,
            )
            for table in found.tables
        ],
        cautions=[doubt for table in found.tables for doubt in table.doubts],
    )


# By the names of classes, each of which exists once: looking one up must not load the others.
_CARDS: dict[str, Callable[[Any], Card]] = {
    "Answer": _answer_card,
    "Assessment": assessment_card,
    "AttackReport": _attacks_card,
    "CollectedReports": _reports_card,
    "Composition": _composition_card,
    "Deidentified": _deidentified_card,
    "Determination": _determination_card,
    "Explanation": _explanation_card,
    "Finding": _finding_card,
    "FrequencyEstimates": _frequencies_card,
    "LearnedModel": build_model_card,
    "LimitAdvice": _limits_card,
    "PolicyDraft": _draft_card,
    "RandomizedResponse": _response_card,
    "Release": _release_card,
    "ResponseEstimate": _estimate_card,
    "Spending": _spending_card,
    "StatisticResult": statistic_card,
    "SyntheticRelease": _synthetic_card,
}
