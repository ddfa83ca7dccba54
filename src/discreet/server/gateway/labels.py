"""Clearances and labels of a database: its levels, and who may work at which."""

from __future__ import annotations

from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.authority import Authority, Relation
from discreet.guard.levels.lattice import Label, LabelLattice
from discreet.guard.levels.read import ClearanceView, NullLabel


class ClearanceLabels:
    """Reads the levels of an authority; each lattice is parsed once."""

    def __init__(self, null_label: NullLabel) -> None:
        self._null_label: NullLabel = null_label
        self._lattices: dict[str, LabelLattice] = {}

    def lattice(self, authority: Authority) -> LabelLattice:
        """Return the levels of this database."""
        if authority.lattice is None:
            raise StatementFailed(
                "55000",
                "no levels are defined",
                hint="Define them first: SECURITY LABEL FOR mls ON DATABASE IS 'U < C < S'",
            )
        if authority.lattice not in self._lattices:
            self._lattices[authority.lattice] = LabelLattice.parse(authority.lattice)
        return self._lattices[authority.lattice]

    def label(self, authority: Authority, clearance: str | None) -> Label:
        """Return a clearance as a label; a user without one sees no labeled data."""
        if clearance is None:
            raise AccessDenied("you have no clearance for labeled data")
        return self.lattice(authority).label(clearance)

    def require_clearance(self, authority: Authority, user: str, wanted: str) -> None:
        """Refuse a session's clearance that is above the user's."""
        role = authority.roles.get(user)
        own = self.label(authority, role.clearance if role is not None else None)
        lattice = self.lattice(authority)
        if not lattice.dominates(own, lattice.label(wanted)):
            raise AccessDenied("your clearance does not dominate this label")

    def is_cleared(self, authority: Authority, own: str, wanted: str) -> bool:
        """Whether a user with one clearance may work at another one."""
        try:
            lattice = self.lattice(authority)
            return lattice.dominates(lattice.label(own), lattice.label(wanted))
        except StatementFailed:
            return False

    def view(
        self, authority: Authority, clearance: str | None, relation: Relation
    ) -> ClearanceView:
        """Return how a multi-level relation is read at a clearance."""
        return ClearanceView(
            relation,
            self.lattice(authority),
            self.label(authority, clearance),
            self._null_label,
        )
