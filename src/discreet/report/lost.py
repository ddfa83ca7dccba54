"""What a release lost, as parts of a page: detail by column, measures before and after, the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.measure.describe import counted, percent
from discreet.report import charts
from discreet.report.assessment import COLUMNS_DRAWN, Chapter
from discreet.report.page import Figure, Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from discreet.release.release import Release


def detail(found: Release) -> Chapter:
    """Return what each quasi-identifier lost, the most first."""
    ranked = sorted(found.losses, key=lambda name: -found.losses[name])
    drawn = [
        charts.Bar(name, found.losses[name], percent(found.losses[name]))
        for name in ranked[:COLUMNS_DRAWN]
    ]
    svg = charts.bars(
        drawn,
        title="Detail lost, by column",
        axis="Share of the column's domain that a label covers",
        form=".0%",
        most=_scale(max(found.losses.values(), default=0.0)),
    )
    end = f"; the {COLUMNS_DRAWN} columns that lost most." if len(ranked) > COLUMNS_DRAWN else "."
    figure = Figure(svg, f"Detail lost, by column: 0 % keeps every value, 100 % hides all{end}")
    most = ranked[0]
    saying = (
        f"{percent(found.loss)} of the detail of the quasi-identifiers is lost. "
        f"{most} lost most: {percent(found.losses[most])}."
        if found.losses[most]
        else "No quasi-identifier had to be changed."
    )
    return Chapter(saying, figure, _by_column(found, ranked))


def _scale(largest: float) -> float:
    """Return where the axis ends: small losses are drawn large, but never for more than they are."""
    return next((end for end in (0.1, 0.2, 0.4) if largest <= end), 1.0)


def _by_column(found: Release, ranked: list[str]) -> Table:
    columns: Mapping[str, Any] = found.utility.get("columns", {})
    node: Mapping[str, int] = found.search.get("node", {})
    header = ("Column", *(("Level",) if node else ()), "Loss", "Bits lost", "Rows misplaced")
    rows = tuple(
        (
            name,
            *((_level(found, name, node[name]),) if node else ()),
            percent(found.losses[name]),
            *(
                percent(columns[name][measure]) if name in columns else "–"
                for measure in ("entropy", "distance")
            ),
        )
        for name in ranked
    )
    numbers = frozenset(range(1, len(header)))
    return Table("What each column lost", header=header, rows=rows, numbers=numbers)


def _level(found: Release, name: str, level: int) -> str:
    column = found.policy.column(name)
    height = column.hierarchy.height if column and column.hierarchy else None
    return f"{level}" if height is None else f"{level} of {height}"


def measures(found: Release) -> Table | None:
    """Return the measures of the literature, before and after."""
    told = found.utility
    if not told:
        return None
    rows = [
        ("Loss (NCP, GCP)", "0 %", percent(told["gcp"]), "share of a domain that a label covers"),
        ("Granularity", "0 %", percent(told["granularity"]), "the same, wide columns weigh more"),
        ("Non-uniform entropy", "0 %", percent(told["entropy"]), "share of all bits that are gone"),
        (
            "Generalization intensity",
            "0 %",
            percent(told["intensity"]),
            "height in the hierarchies",
        ),
        _change("Discernibility", told["discernibility"], "pairs of rows that look alike"),
        _change("Average class size", told["class_size"], "rows that look alike, on average"),
        _change("C_avg", told["c_avg"], "average class size over the k required"),
        (
            "Marginal distance",
            "0 %",
            percent(told["marginal_distance"]),
            "rows that a count by one column misplaces",
        ),
    ]
    pairs = told["pairwise"]
    if pairs["mean"] is not None:
        rows.append(
            (
                "Pairwise distance",
                "0 %",
                percent(pairs["mean"]),
                "the same, for two columns at once",
            )
        )
    aim = told.get("classification")
    if aim is not None:
        rows.append(
            (
                f"Accuracy predicting {aim['target']}",
                percent(aim["before"]),
                percent(aim["after"]),
                f"logistic regression, 5 folds; always guessing reaches {percent(aim['majority'])}",
            )
        )
    return Table(
        caption="Measures before and after",
        header=("Measure", "Before", "After", "What it is"),
        rows=tuple(rows),
        numbers=frozenset({1, 2}),
    )


def _change(name: str, told: Mapping[str, float], meaning: str) -> tuple[str, str, str, str]:
    return name, _number(told["before"]), _number(told["after"]), meaning


def _number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 or value == int(value) else f"{value:,.2f}"


def pairs(found: Release) -> Chapter | None:
    """Return the pairs of columns whose table of counts suffers most."""
    told = found.utility.get("pairwise")
    if not told or not told["worst"] or not told["worst"][0]["distance"]:
        return None
    rows = tuple((" × ".join(one["columns"]), percent(one["distance"])) for one in told["worst"])
    table = Table(
        "Tables of counts that suffer most",
        header=("Columns", "Rows misplaced"),
        rows=rows,
        numbers=frozenset({1}),
    )
    left = told["pairs"] - told["measured"]
    note = f" Not measured, for too many values: {counted(left, 'pair', 'pairs')}." * (left > 0)
    saying = (
        "Who counts rows by two columns, and spreads each label evenly over the values it covers, "
        f"puts this share of rows in the wrong place.{note}"
    )
    return Chapter(saying, None, table)


def frontier(found: Release) -> Chapter | None:
    """Return what other values of k would cost, by the same method."""
    if not found.frontier:
        return None
    points = [
        charts.Point(float(one["k"]), one["loss"], percent(one["loss"]), is_marked=one["asked"])
        for one in found.frontier
    ]
    told = "; ".join(
        f"k = {one['k']:,}{' (asked for)' if one['asked'] else ''}: {percent(one['loss'])}"
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
                words=f"Detail lost by k. {told}.",
                mark="asked for",
            ),
            "Detail lost over k, on a logarithmic scale."
            + (f" The line marks k = {asked[0]:,}, which was asked for." if asked else ""),
        )
        if len(points) > 1
        else None
    )
    table = Table(
        "What other values of k would cost",
        header=("k", "Detail lost", "Classes", "Suppressed"),
        rows=tuple(
            (
                f"{one['k']:,}{' (asked for)' if one['asked'] else ''}",
                percent(one["loss"]),
                f"{one['classes']:,}",
                f"{one['suppressed']:,}",
            )
            for one in found.frontier
        ),
        numbers=frozenset({1, 2, 3}),
    )
    saying = (
        "The same table, method and other criteria, for other values of k: more privacy to the "
        "right, more detail below."
    )
    return Chapter(saying, figure, table)
