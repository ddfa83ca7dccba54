"""By which columns people are found in several releases, and what is learned there."""

from __future__ import annotations

from collections.abc import Sequence

from discreet.attacks.all_attacks import AttackInput
from discreet.engines.engine import Table
from discreet.errors import WrongUsage


def choose_sensitive(given: AttackInput, named: Sequence[str] | None) -> tuple[str, ...]:
    """Return the columns to learn: those named, else those that roles, policy or manifest say.

    Raises:
        WrongUsage: There is none.
    """
    found = tuple(named) if named is not None else given.sensitive
    if not found:
        raise WrongUsage(
            "Say what is to be learned: --sensitive diagnosis, or a policy with a sensitive column."
        )
    return found


def choose_join_columns(
    given: AttackInput, people: Table, named: Sequence[str] | None, *, hidden: Sequence[str]
) -> dict[str, str]:
    """Return the released column of each known column that people are found by.

    It is what the user names, else the quasi-identifiers, else all columns that the list and every
    release share, without `hidden` ones.

    Raises:
        WrongUsage: There is none.
    """
    releases = (given.table, *given.earlier)
    if named is not None:
        pairs = [each.partition("=") for each in named]
        return {mine: theirs or mine for mine, _, theirs in pairs}
    if given.binding is not None:  # one of all attacks, where the list may be about other columns
        return {
            name: name
            for name in given.quasi
            if people.column(name) and any(release.column(name) for release in releases)
        }
    if given.quasi:
        return {name: name for name in given.quasi}
    shared = [
        column.name
        for column in people.columns
        if column.name not in hidden and all(release.column(column.name) for release in releases)
    ]
    if not shared:
        raise WrongUsage(
            f"{people.label} shares no column with all releases. Say which columns belong together: "
            "--on age,zip=postcode."
        )
    return {name: name for name in shared}
