"""Access control lists as PostgreSQL writes them: `{alice=arwd/alice,bob=r*/alice}`."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.guard.access.authority import AclEntry, Privilege
from discreet.server.catalog.constraints import quote_identifier

# In PostgreSQL's order; AGGREGATE, which is our own, has a letter that PostgreSQL does not use.
_LETTERS = {
    Privilege.INSERT: "a",
    Privilege.SELECT: "r",
    Privilege.UPDATE: "w",
    Privilege.DELETE: "d",
    Privilege.TRUNCATE: "D",
    Privilege.REFERENCES: "x",
    Privilege.TRIGGER: "t",
    Privilege.USAGE: "U",
    Privilege.CREATE: "C",
    Privilege.AGGREGATE: "g",
}


def items(entries: Iterable[AclEntry] | None) -> list[str] | None:
    """Return the entries of an access control list, or None without any grant.

    >>> from discreet.guard.access.authority import AclEntry
    >>> items([AclEntry("bob", "ann", Privilege.SELECT, True), AclEntry("", "ann", Privilege.INSERT)])
    ['bob=r*/ann', '=a/ann']
    """
    held: dict[tuple[str, str], dict[Privilege, bool]] = {}
    for entry in entries or ():
        rights = held.setdefault((entry.grantee, entry.grantor), {})
        rights[entry.privilege] = entry.grantable or rights.get(entry.privilege, False)
    written = [
        f"{quote_identifier(grantee) if grantee else ''}={_privilege_letters(rights)}/{quote_identifier(grantor)}"
        for (grantee, grantor), rights in held.items()
    ]
    return written or None


def _privilege_letters(rights: dict[Privilege, bool]) -> str:
    return "".join(
        letter + ("*" if rights[privilege] else "")
        for privilege, letter in _LETTERS.items()
        if privilege in rights
    )
