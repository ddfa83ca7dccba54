"""Classes and findings in words: keys become values, numbers become a sentence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from discreet.formatting import format_count, format_percent, join_names
from discreet.measure.assessment import Assessment, ClassView

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from discreet.measure.classes import Cells
    from discreet.measure.risk.weighted import WeightedRisk


SIZE_EDGES = (1, 2, 3, 4, 5, 10, 20, 50, 100, 1_000, 10_000)


def describe_classes(
    cells: Cells,
    keys: NDArray[np.int64],
    sizes: Sequence[int],
    levels: Sequence[float | None],
) -> tuple[ClassView, ...]:
    """Return classes with their quasi-identifiers as people know them."""
    codes = cells.packing.decode(keys)
    engine = cells.subject.table.engine
    columns = [
        domain.values(engine, [int(code) for code in codes[:, index]])
        for index, domain in enumerate(cells.packing.domains)
    ]
    names = [column.name for column in cells.subject.quasi]
    return tuple(
        ClassView(
            {name: column[row] for name, column in zip(names, columns, strict=True)},
            size=int(sizes[row]),
            level=None if levels[row] is None else float(levels[row] or 0.0),
        )
        for row in range(len(keys))
    )


def describe_assessment(found: Assessment) -> str:
    """Return the finding in words: who is unique, and what is worse than that.

    k covers neither columns that are no quasi-identifiers, nor what classes reveal.
    """
    more: list[str] = []
    worst = next((one for one in found.exposures if one.exceeds), None)
    if worst is not None and worst.people - found.unique > worst.tolerance * found.people:
        more.append(worst.words)
    if found.weighted is not None:
        more.append(weighted_sentence(found.weighted))
    more += found.undecided
    return " ".join([unique_sentence(found), *more])


def weighted_sentence(found: WeightedRisk) -> str:
    """Return how many people are expected to be found, by the weights of a survey."""
    share = format_percent(found.expected_share or 0.0)
    text = (
        f"By the weights in {found.weight}, which stand for {found.population:,.0f} people, "
        f"{_expected_people(found.expected_people)} expected to be found ({share})"
    )
    if found.household is not None:
        home = found.household
        text += (
            f", and {_expected_people(home.expected_people)} expected to share {home.column} with one who is, "
            f"or be it ({format_percent(home.expected_share)})"
        )
    return f"{text}."


def weighted_rows(found: WeightedRisk) -> tuple[tuple[str, str], ...]:
    """Return what the weights say, as lines of a table: terminal, page and notebook show the same ones."""
    rows = [
        ("People that the weights stand for", f"{found.population:,.0f}"),
        ("Risk of a person, at worst", _format_share(found.worst)),
        ("Risk of a person, on average", _format_share(found.average)),
        ("People expected to be found", f"{found.expected_people:,.1f}"),
        ("People expected to be alone in the population", f"{found.unique_in_population:,.1f}"),
    ]
    if found.household is not None:
        home = found.household
        rows += [
            (f"Groups by {home.column}", f"{home.households:,}"),
            ("Risk that one of a group is found, at worst", _format_share(home.worst)),
            (
                "People in groups of which one is expected to be found",
                f"{home.expected_people:,.1f}",
            ),
        ]
    return tuple(rows)


def _format_share(share: float | None) -> str:
    return "no rows" if share is None else format_percent(share)


def _expected_people(number: float) -> str:
    return f"{number:,.1f} people are" if number < 100 else f"{number:,.0f} people are"


def unique_sentence(found: Assessment) -> str:
    """Return who is unique on the quasi-identifiers, the number of people first."""
    on = (
        join_names(found.quasi)
        if len(found.quasi) <= 5
        else f"{len(found.quasi)} quasi-identifiers"
    )
    if found.suppressed == found.rows:
        return f"Every one of the {found.rows:,} rows of {found.source} is suppressed."
    if found.unique == 0:
        return (
            f"None of the {found.people:,} people is unique on {on}: the smallest class has "
            f"{found.k:,} people (k = {found.k})."
        )
    people = format_count(found.people, "person", "people")
    are = "is" if found.unique == 1 else "are"
    share = format_percent(found.unique / found.people)
    return f"{found.unique:,} of {people} {are} unique on {on} ({share})."


def bin_sizes(
    class_sizes: Mapping[int, int], edges: Sequence[int] = SIZE_EDGES
) -> tuple[tuple[int, int | None, int, int], ...]:
    """Return people by class size, as (first size, last size, people, classes), without a gap.

    `edges` are the first sizes of the bins; a bin reaches to the next one, the last has no end.

    >>> bin_sizes({1: 3, 6: 12})[0], bin_sizes({1: 3, 6: 12})[-1]
    ((1, 1, 3, 3), (5, 9, 12, 2))
    """
    found: list[tuple[int, int | None, int, int]] = []
    for first, after in zip(edges, (*edges[1:], None), strict=True):
        inside = {
            size: people
            for size, people in class_sizes.items()
            if size >= first and (after is None or size < after)
        }
        classes = sum(people // size for size, people in inside.items())
        found.append((first, after and after - 1, sum(inside.values()), classes))
    largest = max(class_sizes, default=1)
    return tuple(entry for entry in found if entry[0] <= largest)
