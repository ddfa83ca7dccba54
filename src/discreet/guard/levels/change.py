"""Checks of a change of the authority against labels: stored labels keep their meaning."""

from __future__ import annotations

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Authority
from discreet.guard.levels.lattice import LabelLattice


def check_labels(before: Authority, after: Authority) -> None:
    """Refuse a change that would alter the meaning of a label, a clearance or a reference.

    Raises:
        StatementFailed: 22023 for an invalid lattice or label; 2BP01 for a lattice in which
            labels that are in use change meaning; 0A000 for a plain table that refers to
            a multi-level one, as its errors would reveal which keys exist.
    """
    lattice = LabelLattice.parse(after.lattice) if after.lattice is not None else None
    if before.lattice is not None and before.lattice != after.lattice:
        _check_lattice(LabelLattice.parse(before.lattice), lattice, after)
    for role in after.roles.values():
        known = before.roles.get(role.name)
        if role.clearance is None or (known is not None and known.clearance == role.clearance):
            continue
        if lattice is None:
            raise StatementFailed(
                "55000",
                "no levels are defined",
                hint="Define them first: SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'",
            )
        lattice.label(role.clearance)
    _check_references(after)


def _check_lattice(before: LabelLattice, lattice: LabelLattice | None, after: Authority) -> None:
    if lattice is not None and lattice.extends(before):
        return
    if any(relation.multilevel for relation in after.relations.values()):
        raise StatementFailed(
            "2BP01",
            "cannot change the levels because multi-level tables depend on them",
            hint="Levels may be added above the others, and compartments after the others.",
        )
    for role in after.roles.values():
        if role.clearance is None:
            continue
        if lattice is None:
            raise StatementFailed(
                "2BP01", f'cannot drop the levels because the clearance of "{role.name}" needs them'
            )
        lattice.label(role.clearance)


def _check_references(after: Authority) -> None:
    for relation in after.relations.values():
        for key in relation.foreign_keys if not relation.multilevel else ():
            target = after.relations.get(key.target)
            if target is not None and target.multilevel:
                raise StatementFailed(
                    "0A000",
                    f'plain table "{relation.name}" cannot refer to multi-level table "{target.name}"',
                    hint=f'Make "{relation.name}" multi-level first.',
                )
