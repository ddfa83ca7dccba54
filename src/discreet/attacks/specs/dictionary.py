"""The attack dictionary: hashed identifiers undone by guessing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.registry import AttackSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding


def _run(given: AttackInput) -> Sequence[Finding]:
    from discreet.attacks.hashes.dictionary import attack_table

    known = (given.known,) if given.known is not None else ()
    return attack_table(given.release.subject.table, known=known)


SPEC = AttackSpec(
    name="dictionary",
    summary="hashed identifiers undone by guessing",
    target="release",
    run=_run,
    command="discreet.cli.attacks.dictionary:command",
    run_all=True,
    # A pseudonym that is undone names its person.
    tolerance=0.0,
    position=110,
)
