"""The attack composition: what several releases of overlapping people tell together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.manifest import hierarchies_of, promised_k
    from discreet.attacks.releases.composition import Thresholds, find_composition, list_shared

    if given.known is None:
        return ()
    subject = given.release.subject
    tables = (subject.table, *given.earlier)
    quasi = [column.name for column in subject.quasi]
    names = given.on or [
        name
        for name in quasi
        if given.known.column(name) and any(each.column(name) for each in tables)
    ]
    on = {mine: theirs or mine for mine, _, theirs in (name.partition("=") for name in names)}
    return find_composition(
        given.known,
        tables,
        on=on,
        sensitive=[column.name for column in subject.sensitive],
        kept=[name for name in list_shared(tables) if name not in quasi],
        thresholds=Thresholds(k=promised_k(given.described)),
        hierarchies=hierarchies_of(given.described),
    )


SPEC = AttackSpec(
    name="composition",
    summary="what several releases of overlapping people tell together",
    target="release",
    needs=("known", "earlier"),
    run=_run,
    command="discreet.cli.attacks.composition:command",
    run_all=True,
    tolerance=0.05,
    position=80,
)
