"""The attack linkage: names put to rows by a list of known people."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.linkage.link import link_people
    from discreet.attacks.linkage.spec import make_linkage_spec
    from discreet.attacks.manifest import hierarchies_of

    if given.known is None:
        return ()
    subject = given.release.subject
    shared = [column.name for column in subject.quasi if given.known.column(column.name)]
    on = given.on or (shared if given.described is None else None)
    sensitive = [column.name for column in subject.sensitive]
    request = make_linkage_spec(
        subject.table, given.known, policy=given.described, on=on, sensitive=sensitive or None
    )
    return [
        link_people(
            subject.table,
            given.known,
            on=request.on,
            sensitive=request.sensitive,
            hierarchies=hierarchies_of(given.described),
        )
    ]


SPEC = AttackSpec(
    name="linkage",
    summary="names put to rows by a list of known people",
    target="release",
    needs=("known",),
    run=_run,
    command="discreet.cli.attacks.linkage:command",
    run_all=True,
    # k-anonymity leaves nothing or nearly nothing of it.
    tolerance=0.05,
    position=10,
)
