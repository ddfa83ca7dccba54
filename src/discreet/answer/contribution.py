"""How much one unit can contribute at most: what the policy's limits mean for sensitivities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from discreet.errors import QuestionRefused

if TYPE_CHECKING:
    from discreet.answer.rows import Rows

Method = Literal["none", "rank", "rescale", "truncate"]
ONE = 2**15  # the factor of a row that counts in full, where others count for less


@dataclass(frozen=True)
class Contribution:
    """The most that one unit adds to all groups together.

    `rows` bounds the L1 norm of its row counts over the groups, `squared` the square of their L2
    norm, `groups` how many groups it is in (None where nothing bounds it), and `per_group` its
    rows in one group. Every row counts `one` times, or less if its unit has more rows than may
    count: all sums are in these units. `change` is 2 where one row more can push out another, so that
    a person who is one row changes both.
    """

    method: Method
    rows: int
    squared: int
    groups: int | None
    per_group: int
    one: int = 1
    change: int = 1


def contribution_limits(
    rows: Rows, *, has_keys: bool, needs_groups: bool, by_squares: bool = False
) -> Contribution:
    """Return what bounds a unit's contribution to a grouping of `rows`.

    A bound on the groups is enforced only where it is needed: where groups are released by
    how many people they have, or `by_squares`, for Gaussian noise. Otherwise the rows are bounded by
    the product, which costs less and leaves no group out.

    Raises:
        QuestionRefused: The unit may have any number of rows, and the policy sets no limit.
    """
    if not rows.unit or rows.is_single:
        fan = rows.fan
        return Contribution("none", fan, fan * fan, fan, fan)
    limits = rows.limits
    most, groups, per_group = limits.rows_per_unit, limits.groups_per_unit, limits.rows_per_group
    if not has_keys:
        groups, per_group, most = 1, None, most or per_group
    if groups is not None and per_group is not None:
        most = min(most or groups * per_group, groups * per_group)
    if most is None:
        raise QuestionRefused(
            "A person may have any number of rows, and nothing limits how many of them count. Add "
            "`limits: {rows-per-unit: 10}` to the table in the policy: more rows are scaled down."
        )
    if rows.rank is not None:
        return Contribution("rank", most, most * most, most if has_keys else 1, most)
    truncates = has_keys and (needs_groups or (by_squares and groups is not None))
    is_pushed = rows.has_children and (truncates or rows.fan > 1)
    change = 2 if is_pushed else 1
    if not truncates:
        return Contribution(
            "rescale", most, most * most, None if has_keys else 1, most, ONE, change
        )
    groups = min(groups or most, most)
    per_group = min(per_group or most, most)
    total = min(most, groups * per_group)
    full, left = divmod(total, per_group)
    return Contribution(
        "truncate", total, full * per_group**2 + left**2, groups, per_group, ONE, change
    )
