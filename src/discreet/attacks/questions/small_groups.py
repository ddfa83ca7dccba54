"""Small groups: answers about one or two people, and sums that one person dominates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.questions.interface import Interface
from discreet.engines.engine import Table
from discreet.formatting import format_percent
from discreet.sql import build

Key = tuple[Any, ...]


@dataclass(frozen=True)
class Dominance:
    """The (n, k) rule: a sum is unsafe when its n largest numbers are more than the share k of it."""

    n: int = 1
    k: float = 0.85


def find_small_groups(
    interface: Interface,
    table: Table,
    *,
    by: Sequence[str],
    value: str | None = None,
    dominance: Dominance | None = None,
) -> list[Finding]:
    """Return what a GROUP BY reveals about groups of one or two people; with a value, of dominated sums.

    `table` is what the interface answers about: it has the truth. A group of one reveals its member's
    value to everyone, a group of two to the other member, who subtracts the own value.
    """
    answered = _ask_groups(interface, by, value)
    truth = _fetch_true_groups(table, by, value)
    findings = [_find_groups_of_few(interface, table, answered, truth, value)]
    if value is not None:
        rule = dominance or Dominance()
        findings.append(_find_dominated_sums(interface, table, by, value, rule, answered))
    return findings


def _ask_groups(
    interface: Interface, by: Sequence[str], value: str | None
) -> Mapping[Key, tuple[float, float | None]]:
    """Return the count and the sum that the interface returns for each group."""
    reply = interface.recall(_groups_query(interface.source, by, value))
    width = len(by)
    return {
        row[:width]: (
            float(row[width] or 0),
            None if value is None or row[width + 1] is None else float(row[width + 1]),
        )
        for row in reply.rows or ()
    }


def _fetch_true_groups(
    table: Table, by: Sequence[str], value: str | None
) -> Mapping[Key, tuple[int, float | None]]:
    rows = table.engine.run(_groups_query(table.relation, by, value)).to_pylist()
    width = len(by)
    found: dict[Key, tuple[int, float | None]] = {}
    for row in rows:
        cells = list(row.values())
        total = None if value is None or cells[-1] is None else float(cells[-1])
        found[tuple(cells[:width])] = (int(cells[width]), total)
    return found


def _groups_query(source: exp.Table, by: Sequence[str], value: str | None) -> exp.Select:
    keys = [build.column(name) for name in by]
    wanted: list[exp.Expr] = [*keys, build.alias_as(build.count_star(), "discreet_n")]
    if value is not None:
        wanted.append(build.alias_as(exp.Sum(this=build.column(value)), "discreet_sum"))
    query = build.select(*wanted, source=source.copy())
    return query.group_by(*(key.copy() for key in keys))


def _find_groups_of_few(
    interface: Interface,
    table: Table,
    answered: Mapping[Key, tuple[float, float | None]],
    truth: Mapping[Key, tuple[int, float | None]],
    value: str | None,
) -> Finding:
    people = sum(count for count, _ in truth.values())
    claimed = {key: answered[key] for key in answered if 0.5 <= answered[key][0] < 2.5}
    right = {key for key in claimed if _is_right(claimed[key], truth.get(key))}
    exposed = sum(truth[key][0] for key in right)
    sizes = [round(count) for count, _ in claimed.values()]
    details = {
        "groups": len(answered),
        "groups_of_one": sizes.count(1),
        "groups_of_two": sizes.count(2),
        "right_groups": len(right),
        "true_groups_of_one_or_two": sum(count <= 2 for count, _ in truth.values()),
        "refusals": interface.refusals,
    }
    if exposed:
        verdict = (
            f"{exposed:,} of {people:,} people are alone or with one other in a group that is released"
            + ("." if value is None else f", and so is their '{value}'.")
        )
    else:
        verdict = f"No group of one or two among {people:,} people is released as it is."
    return make_finding(
        "small-groups",
        target=table.label,
        verdict=verdict,
        targets=people,
        exposed=exposed,
        claimed=sum(sizes),
        correct=exposed,
        queries=interface.questions,
        knowledge="Which group a person is in; for groups of two, one's own value.",
        remedy=(
            "Leave small groups out together with a second one, so that totals do not bring them back; "
            "make groups coarser (`discreet anonymize`); or answer with noise (`discreet ask`)."
        ),
        details=details,
        example=_build_example(claimed, right, value),
    )


def _is_right(answered: tuple[float, float | None], true: tuple[int, float | None] | None) -> bool:
    if true is None or round(answered[0]) != true[0]:
        return False
    if answered[1] is None or true[1] is None:
        return answered[1] is true[1]
    return abs(answered[1] - true[1]) < 0.5 or abs(answered[1] - true[1]) <= 1e-9 * abs(true[1])


def _build_example(
    claimed: Mapping[Key, tuple[float, float | None]], right: set[Key], value: str | None
) -> tuple[str, ...]:
    key = min((key for key in right), key=lambda key: (claimed[key][0], str(key)), default=None)
    if key is None:
        return ()
    count, total = claimed[key]
    tail = "" if total is None else f", '{value}' in all {total:,.10g}"
    return (f"The group {', '.join(map(str, key))} has {count:g} people{tail}.",)


def _find_dominated_sums(
    interface: Interface,
    table: Table,
    by: Sequence[str],
    value: str,
    rule: Dominance,
    answered: Mapping[Key, object],
) -> Finding:
    """Return the sums in which few people have nearly all, of those that are released."""
    rows = table.engine.run(_dominance_query(table, by, value, rule)).to_pylist()
    cells = [tuple(row.values()) for row in rows]
    groups = [cell for cell in cells if cell[: len(by)] in answered and cell[-2] > rule.n]
    unsafe = [cell for cell in groups if cell[-3] > 0 and cell[-1] > rule.k * cell[-3]]
    people = "largest number is" if rule.n == 1 else f"{rule.n} largest numbers are"
    return make_finding(
        "small-groups",
        target=table.label,
        verdict=(
            f"In {len(unsafe):,} of {len(groups):,} groups the {people} more than {format_percent(rule.k)} of "
            f"the sum of '{value}': the sum nearly reveals it."
        ),
        targets=len(groups),
        exposed=len(unsafe),
        queries=interface.questions,
        knowledge="That a person has by far the largest number of a group.",
        remedy="Leave such sums out, make groups coarser, or bound what one person adds to a sum.",
        details={"n": rule.n, "k": rule.k, "groups": len(groups), "dominated": len(unsafe)},
    )


def _dominance_query(table: Table, by: Sequence[str], value: str, rule: Dominance) -> exp.Select:
    """Return for each group its sum, its size, and what its n largest numbers add up to."""
    keys = [build.column(name) for name in by]
    size = exp.Abs(this=build.column(value))
    rank = exp.Window(
        this=exp.RowNumber(),
        partition_by=[key.copy() for key in keys],
        order=exp.Order(expressions=[exp.Ordered(this=size.copy(), desc=True, nulls_first=False)]),
    )
    inner = build.select(
        *keys,
        build.alias_as(exp.cast(size, "DOUBLE"), "discreet_v"),
        build.alias_as(rank, "discreet_r"),
        source=table.relation.copy(),
    )
    number = build.column("discreet_v")
    top = exp.LTE(this=build.column("discreet_r"), expression=build.number(rule.n))
    largest = exp.Case(ifs=[exp.If(this=top, true=number.copy())], default=build.number(0))
    totals: list[exp.Expr] = [exp.Sum(this=number), build.count_star(), exp.Sum(this=largest)]
    totals = [exp.func("COALESCE", total, build.number(0)) for total in totals]
    return build.select(
        *(key.copy() for key in keys),
        *(build.alias_as(total, f"discreet_{place}") for place, total in enumerate(totals)),
        source=build.subquery(inner, "ranked"),
    ).group_by(*(key.copy() for key in keys))
