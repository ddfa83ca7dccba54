"""What a release lost, as parts of a page: detail by column, measures before and after, the frontier."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.formatting import format_count, format_percent
from discreet.release.release import Release
from discreet.report import charts
from discreet.report.assessment import COLUMNS_DRAWN, PageSection
from discreet.report.page import Figure, PageTable


def detail_section(found: Release) -> PageSection:
    """Return what each quasi-identifier lost, the most first."""
    ranked = sorted(found.losses, key=lambda name: -found.losses[name])
    drawn = [
        charts.Bar(name, found.losses[name], format_percent(found.losses[name]))
        for name in ranked[:COLUMNS_DRAWN]
    ]
    svg = charts.bars(
        drawn,
        title="Detail lost, by column",
        axis="Share of the column's domain that a label covers",
        form=".0%",
        most=_axis_end(max(found.losses.values(), default=0.0)),
    )
    end = f"; the {COLUMNS_DRAWN} columns that lost most." if len(ranked) > COLUMNS_DRAWN else "."
    figure = Figure(svg, f"Detail lost, by column: 0 % keeps every value, 100 % hides all{end}")
    most = ranked[0]
    sentence = (
        f"{format_percent(found.loss)} of the detail of the quasi-identifiers is lost. "
        f"{most} lost most: {format_percent(found.losses[most])}."
        if found.losses[most]
        else "No quasi-identifier had to be changed."
    )
    return PageSection(sentence, figure, _loss_by_column(found, ranked))


def _axis_end(largest: float) -> float:
    """Return where the axis ends: small losses are enlarged, within limits."""
    return next((end for end in (0.1, 0.2, 0.4) if largest <= end), 1.0)


def _loss_by_column(found: Release, ranked: list[str]) -> PageTable:
    columns: Mapping[str, Any] = found.utility.get("columns", {})
    node: Mapping[str, int] = found.search.get("node", {})
    header = ("Column", *(("Level",) if node else ()), "Loss", "Bits lost", "Rows misplaced")
    rows = tuple(
        (
            name,
            *((_level_text(found, name, node[name]),) if node else ()),
            format_percent(found.losses[name]),
            *(
                format_percent(columns[name][measure]) if name in columns else "–"
                for measure in ("entropy", "distance")
            ),
        )
        for name in ranked
    )
    numbers = frozenset(range(1, len(header)))
    return PageTable("What each column lost", header=header, rows=rows, numbers=numbers)


def _level_text(found: Release, name: str, level: int) -> str:
    column = found.policy.column(name)
    height = column.hierarchy.height if column and column.hierarchy else None
    return f"{level}" if height is None else f"{level} of {height}"


def utility_measures(found: Release) -> PageTable | None:
    """Return the measures of the literature, before and after."""
    utility = found.utility
    if not utility:
        return None
    rows = [
        (
            "Loss (NCP, GCP)",
            "0 %",
            format_percent(utility["gcp"]),
            "share of a domain that a label covers",
        ),
        (
            "Granularity",
            "0 %",
            format_percent(utility["granularity"]),
            "the same, wide columns weigh more",
        ),
        (
            "Non-uniform entropy",
            "0 %",
            format_percent(utility["entropy"]),
            "share of all bits that are gone",
        ),
        (
            "Generalization intensity",
            "0 %",
            format_percent(utility["intensity"]),
            "height in the hierarchies",
        ),
        _change_row("Discernibility", utility["discernibility"], "pairs of rows that look alike"),
        _change_row(
            "Average class size", utility["class_size"], "rows that look alike, on average"
        ),
        _change_row("C_avg", utility["c_avg"], "average class size over the k required"),
        (
            "Marginal distance",
            "0 %",
            format_percent(utility["marginal_distance"]),
            "rows that a count by one column misplaces",
        ),
    ]
    pairs = utility["pairwise"]
    if pairs["mean"] is not None:
        rows.append(
            (
                "Pairwise distance",
                "0 %",
                format_percent(pairs["mean"]),
                "the same, for two columns at once",
            )
        )
    aim = utility.get("classification")
    if aim is not None:
        rows.append(
            (
                f"Accuracy predicting {aim['target']}",
                format_percent(aim["before"]),
                format_percent(aim["after"]),
                f"logistic regression, 5 folds; always guessing reaches {format_percent(aim['majority'])}",
            )
        )
    return PageTable(
        caption="Measures before and after",
        header=("Measure", "Before", "After", "What it is"),
        rows=tuple(rows),
        numbers=frozenset({1, 2}),
    )


def _change_row(name: str, change: Mapping[str, float], meaning: str) -> tuple[str, str, str, str]:
    return name, _number_text(change["before"]), _number_text(change["after"]), meaning


def _number_text(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:,.2f}"


def worst_pairs(found: Release) -> PageSection | None:
    """Return the pairs of columns whose table of counts suffers most."""
    utility = found.utility.get("pairwise")
    if not utility or not utility["worst"] or not utility["worst"][0]["distance"]:
        return None
    rows = tuple(
        (" × ".join(one["columns"]), format_percent(one["distance"])) for one in utility["worst"]
    )
    table = PageTable(
        "Tables of counts that suffer most",
        header=("Columns", "Rows misplaced"),
        rows=rows,
        numbers=frozenset({1}),
    )
    left = utility["pairs"] - utility["measured"]
    note = f" Not measured, for too many values: {format_count(left, 'pair', 'pairs')}." * (
        left > 0
    )
    sentence = (
        "Who counts rows by two columns, and spreads each label evenly over the values it covers, "
        f"puts this share of rows in the wrong place.{note}"
    )
    return PageSection(sentence, None, table)


def frontier_section(found: Release) -> PageSection | None:
    """Return what other values of k would cost, by the same method."""
    if not found.frontier:
        return None
    points = [
        charts.Point(
            float(one["k"]), one["loss"], format_percent(one["loss"]), is_marked=one["asked"]
        )
        for one in found.frontier
    ]
    text = "; ".join(
        f"k = {one['k']:,}{' (asked for)' if one['asked'] else ''}: {format_percent(one['loss'])}"
        for one in found.frontier
    )
    asked = [one["k"] for one in found.frontier if one["asked"]]
    title = "Detail lost, over k"
    figure = (
        Figure(
            charts.curve(
                points,
                title=title,
                axes=("k, the least number of people who look alike", "Detail lost"),
                words=f"Detail lost by k. {text}.",
                mark="asked for",
            ),
            "Detail lost over k, on a logarithmic scale."
            + (f" The line marks k = {asked[0]:,}, which was asked for." if asked else ""),
        )
        if len(points) > 1
        else None
    )
    table = PageTable(
        "What other values of k would cost",
        header=("k", "Detail lost", "Classes", "Suppressed"),
        rows=tuple(
            (
                f"{one['k']:,}{' (asked for)' if one['asked'] else ''}",
                format_percent(one["loss"]),
                f"{one['classes']:,}",
                f"{one['suppressed']:,}",
            )
            for one in found.frontier
        ),
        numbers=frozenset({1, 2, 3}),
    )
    sentence = (
        "The same table, method and other criteria, for other values of k: more privacy to the "
        "right, more detail below."
    )
    return PageSection(sentence, figure, table)
