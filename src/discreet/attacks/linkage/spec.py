"""What of a list and a release is joined: words of the user, else what a policy says of columns."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.formatting import join_names
from discreet.measure.roles import require_column
from discreet.policy import model
from discreet.policy.model import ColumnRole

_DAYS = {"": 1.0, "d": 1.0, "w": 7.0, "y": 365.25}


@dataclass(frozen=True)
class LinkageSpec:
    """What is joined, and what is wanted of it; the parameters of `link_people`."""

    on: Mapping[str, str]
    sensitive: tuple[str, ...] = ()
    identity: tuple[str, str] | None = None
    unit: str | None = None
    name: str | None = None
    within: Mapping[str, float] = field(default_factory=dict[str, float])


def make_linkage_spec(  # noqa: PLR0913 -- the words of the command
    release: Table,
    people: Table,
    *,
    policy: model.TablePolicy | None = None,
    on: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    truth: str | None = None,
    unit: str | None = None,
    name: str | None = None,
    within: Sequence[str] = (),
) -> LinkageSpec:
    """Return what is joined: the columns of `on`, else the quasi-identifiers that both sides have.

    Args:
        release: The published table.
        people: What is known.
        policy: What is said of the released columns.
        on: Columns of the list, each with `=` and the released column where that has another name.
        sensitive: Released columns to learn; the policy's when not given.
        truth: The column that says who is who on both sides, written as in `on`.
        unit: The released column that says whose row it is; the policy's when the release has it.
        name: The list's column of names.
        within: Tolerances such as `admitted=3d` or `age=1`.

    Raises:
        UnknownColumn: A named column is not there.
        WrongUsage: There is nothing to join by, or a tolerance is for no column that is joined.
    """
    pairs = (
        dict(_read_column_pair(word, people) for word in on)
        if on
        else _shared_quasi_identifiers(release, people, policy)
    )
    for mine, theirs in pairs.items():
        require_column(people, mine)
        require_column(release, theirs)
    taken = set(pairs.values())
    wanted = sensitive if sensitive is not None else _sensitive_columns(release, policy)
    for column in wanted:
        require_column(release, column)
    called = name or next(
        (one.name for one in people.columns if one.name.casefold() in ("name", "full_name")), None
    )
    return LinkageSpec(
        on=pairs,
        sensitive=tuple(column for column in wanted if column not in taken),
        identity=_read_column_pair(truth, people) if truth else None,
        unit=require_column(release, unit).name if unit else _unit_column(release, policy),
        name=called,
        within=dict(_read_tolerance(word, pairs) for word in within),
    )


def _read_column_pair(word: str, people: Table) -> tuple[str, str]:
    """Return the known and the released column of `known=released`, or of one name for both."""
    mine, sign, theirs = word.partition("=")
    if not sign or people.column(word) is not None:
        return word, word
    if not mine or not theirs:
        raise WrongUsage(
            f"'{word}' names no two columns. Write KNOWN=RELEASED, such as dob=birth_date."
        )
    return mine, theirs


def _shared_quasi_identifiers(
    release: Table, people: Table, policy: model.TablePolicy | None
) -> dict[str, str]:
    both = [one.name for one in people.columns if release.column(one.name) is not None]
    if policy is None:
        share = f"They share {join_names(both)}." if both else "They share no column by name."
        raise WrongUsage(
            f"Say by which columns {people.label} is joined with {release.label}: --on a,b. {share}"
        )
    quasi = {one.name for one in policy.columns if one.role is ColumnRole.QUASI_IDENTIFIER}
    if not quasi.intersection(both):
        raise WrongUsage(
            f"{people.label} has no quasi-identifier of {release.label} by name. Say which columns "
            "belong together: --on known=released."
        )
    return {name: name for name in both if name in quasi}


def _sensitive_columns(release: Table, policy: model.TablePolicy | None) -> list[str]:
    columns = policy.columns if policy is not None else ()
    return [
        one.name
        for one in columns
        if one.role is ColumnRole.SENSITIVE and release.column(one.name) is not None
    ]


def _unit_column(release: Table, policy: model.TablePolicy | None) -> str | None:
    unit = policy.unit if policy is not None else None
    return unit if unit is not None and release.column(unit) is not None else None


def _read_tolerance(word: str, on: Mapping[str, str]) -> tuple[str, float]:
    name, _, size = word.rpartition("=")
    found = re.fullmatch(r"(\d+(?:\.\d+)?) ?([dwy]?)", size.strip())
    if not name or found is None:
        raise WrongUsage(
            f"'{word}' is no tolerance. Write COLUMN=SIZE, such as age=1, or admitted=3d for days "
            "(w for weeks, y for years)."
        )
    if name not in on:
        raise WrongUsage(f"'{name}' has a tolerance but is not joined. Name it in --on as well.")
    return name, float(found[1]) * _DAYS[found[2]]
