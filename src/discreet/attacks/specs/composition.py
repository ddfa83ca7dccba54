"""The attack composition: what releases of overlapping people reveal together."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from discreet.attacks.options import RELEASE_CONTROL, RELEASE_ON, RELEASE_SENSITIVE
from discreet.registry import AttackSpec, OptionSpec

if TYPE_CHECKING:
    from discreet.attacks.all_attacks import AttackInput
    from discreet.attacks.finding import Finding

DESCRIPTION = """Join several RELEASES of overlapping people by all columns that they share.

Two hospitals publish their patients, each with k people in every class. A patient of both has a
class in each, and only rows that agree in every column that both publish can be the patient's.
This is the attack by which `anonymize` and `deidentify` try earlier releases.
"""


def _run(
    given: AttackInput,
    *,
    joined_by: Sequence[str] | None,
    sure: float,
    sensitive: Sequence[str] | None,
    control: object,
) -> Sequence[Finding]:
    from discreet.attacks.manifest import hierarchies_of, promised_k
    from discreet.attacks.releases.composition import Thresholds, find_composition, list_shared

    if given.known is None:
        return ()
    tables = (given.table, *given.earlier)
    learned = given.sensitive if given.binding else given.choose_sensitive(sensitive)
    return find_composition(
        given.known,
        tables,
        on=given.choose_join_columns(given.known, given.on, hidden=learned),
        sensitive=learned,
        kept=joined_by or [name for name in list_shared(tables) if name not in given.quasi],
        thresholds=Thresholds(k=promised_k(given.described), sure=sure),
        control=given.open_beside(control) if control is not None else None,
        hierarchies=hierarchies_of(given.described),
    )


SPEC = AttackSpec(
    name="composition",
    summary="what releases of overlapping people reveal together",
    description=DESCRIPTION,
    target="releases",
    needs=("known", "earlier"),
    options=(
        OptionSpec(
            "known",
            "source",
            "People believed to be in every release. A column called as the sensitive one is the "
            "truth, by which claims are judged.",
            required=True,
        ),
        OptionSpec(
            "joined_by",
            "names",
            "Columns by which rows of the releases are joined, beside the sensitive ones. Default: "
            "all that two releases publish.",
        ),
        OptionSpec(
            "sure",
            "share",
            "How sure the adversary must be for a partial breach.",
            default="90%",
        ),
        RELEASE_ON,
        RELEASE_SENSITIVE,
        RELEASE_CONTROL,
    ),
    run=_run,
    run_all=True,
    tolerance=0.05,
    examples=(
        """discreet attack composition north.csv south.csv --known people.csv --on age,sex,zip \\
    --sensitive diagnosis""",
        """discreet attack composition a.csv b.csv c.csv --known people.csv --policy policy.yaml \\
    --control others.csv""",
    ),
    position=80,
)
