"""The attacks on several releases share their options, and how the tables are read for them."""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import options
from discreet.cli.attacks.findings import finding_options
from discreet.engines.engine import Table
from discreet.policy import model

if TYPE_CHECKING:
    from discreet.policy.hierarchy import Hierarchy


@dataclass(frozen=True)
class OpenReleases:
    """Releases and known people on one engine, and how the adversary joins them."""

    releases: tuple[Table, ...]
    known: tuple[Table, ...]
    control: Table | None
    on: Mapping[str, str]
    sensitive: tuple[str, ...]
    hierarchies: Mapping[str, Hierarchy]
    tolerance: Mapping[str, float]
    quasi: tuple[str, ...] = ()  # according to the policy or manifest
    k: int = 2


def release_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the releases, the people who are known, and where findings go."""
    command = options.reading_options(finding_options(command))
    for option in (
        click.option(
            "--control",
            metavar="FILE",
            help="People who are not in all releases: what is claimed of them was not learned there.",
        ),
        click.option(
            "--sensitive", type=options.NAMES, help="What is to be learned, such as diagnosis."
        ),
        click.option(
            "--on",
            type=options.NAMES,
            help="Columns by which people are found; `zip=postcode` where the releases call it "
            "postcode. Default: the policy's quasi-identifiers, or all that the tables share.",
        ),
    ):
        command = option(command)
    return click.argument("releases", nargs=-1, required=True, callback=options.require_name)(
        command
    )


@contextmanager
def open_releases(
    releases: Sequence[str],
    *,
    known: Sequence[str],
    control: str | None,
    on: Sequence[str] | None,
    sensitive: Sequence[str] | None,
    policy: Path | None,
    tolerance: float | None,
    table: str | None,
    memory: str | None,
    delimiter: str | None,
    encoding: str | None,
    name: str | None = None,
) -> Generator[OpenReleases]:
    """Open all tables on one engine; it is closed at the end."""
    from discreet.attacks.manifest import describe_release, hierarchies_of, promised_k
    from discreet.cli.attacks.findings import tolerance_of
    from discreet.engines.connect import open_table
    from discreet.policy.model import ColumnRole

    rule = describe_release(releases[0], policy=policy, label=releases[0], table=table)
    how: dict[str, Any] = {"delimiter": delimiter, "encoding": encoding}
    first = open_table(releases[0], memory_limit=memory, **how)
    try:
        others = [open_table(each, engine=first.engine, **how) for each in releases[1:]]
        people = [open_table(each, engine=first.engine, **how) for each in known]
        outside = open_table(control, engine=first.engine, **how) if control else None
        hidden = _sensitive_columns(sensitive, rule)
        yield OpenReleases(
            releases=(first, *others),
            known=tuple(people),
            control=outside,
            on=_join_columns(on, rule, (first, *others), people[0], hidden=(*hidden, name or "")),
            sensitive=hidden,
            hierarchies=hierarchies_of(rule),
            tolerance=tolerance_of(policy, tolerance=tolerance, table=table, label=first.label),
            quasi=rule.with_role(ColumnRole.QUASI_IDENTIFIER) if rule else (),
            k=promised_k(rule),
        )
    finally:
        first.engine.close()


def _sensitive_columns(
    named: Sequence[str] | None, rule: model.TablePolicy | None
) -> tuple[str, ...]:
    from discreet.errors import WrongUsage
    from discreet.policy.model import ColumnRole

    found = (
        tuple(named) if named is not None else rule.with_role(ColumnRole.SENSITIVE) if rule else ()
    )
    if not found:
        raise WrongUsage(
            "Say what is to be learned: --sensitive diagnosis, or a policy with a sensitive column."
        )
    return found


def _join_columns(
    named: Sequence[str] | None,
    rule: model.TablePolicy | None,
    releases: Sequence[Table],
    people: Table,
    *,
    hidden: Sequence[str],
) -> dict[str, str]:
    from discreet.errors import WrongUsage
    from discreet.policy.model import ColumnRole

    if named is not None:
        pairs = [each.partition("=") for each in named]
        return {mine: theirs or mine for mine, _, theirs in pairs}
    if rule is not None and (found := rule.with_role(ColumnRole.QUASI_IDENTIFIER)):
        return {name: name for name in found}
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
