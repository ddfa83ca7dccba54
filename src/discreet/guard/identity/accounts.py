"""Accounts: the stored forms of a user's password, and an administrator's lock.

A `user` is the identity of a role here, which is not always its name: a password stays with a role that
is renamed, and does not pass to the next role of that name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, Any

from discreet.errors import WrongUsage
from discreet.guard.identity import certificates, passwords, scram, tokens

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

KIND = "credential"


@dataclass(frozen=True)
class UserAccount:
    """What is stored about a user besides their role.

    `verifier` and `hashed` are the two stored forms of one password; `is_in_directory` means that an
    LDAP server has it instead.
    """

    verifier: scram.Verifier | None = field(default=None, repr=False)
    hashed: str | None = field(default=None, repr=False)
    changed: datetime | None = None
    expires: datetime | None = None
    is_locked: bool = False
    is_in_directory: bool = False


def set_password(
    documents: Documents,
    user: str,
    password: str,
    *,
    now: datetime,
    expires: datetime | None = None,
    least_length: int = passwords.LEAST_LENGTH,
    iterations: int = scram.ITERATIONS,
) -> None:
    r"""Store a password as a SCRAM verifier and as an argon2id hash; all tokens of the user end.

    A verifier made by PostgreSQL or by `psql`'s `\password` is stored as it is.

    Raises:
        WrongUsage: the password is too short or cannot be one.
    """
    verifier, hashed = scram.read_verifier(password), None
    if verifier is None:
        if password.startswith(("SCRAM-SHA-256$", "md5")) and len(password) >= 35:
            raise WrongUsage("The verifier is not a complete SCRAM-SHA-256 one.")
        passwords.require_acceptable(password, user=user, least_length=least_length)
        verifier = scram.make_verifier(password, iterations=iterations)
        hashed = passwords.hash_password(password)
    elif verifier.iterations < scram.LEAST_ITERATIONS:
        raise WrongUsage(f"The verifier has fewer than {scram.LEAST_ITERATIONS:,} iterations.")
    body = {
        "scram": verifier.text(),
        "argon2": hashed,
        "changed": now.isoformat(),
        "expires": None if expires is None else expires.isoformat(),
    }
    documents.update(KIND, user, lambda old: {**_preserved_fields(old), **body})
    tokens.revoke_tokens_of(documents, user)


def renew_hash(documents: Documents, user: str, password: str, *, outdated: str) -> None:
    """Replace an argon2id hash whose parameters are outdated, unless it changed meanwhile."""
    hashed = passwords.hash_password(password)
    documents.update(
        KIND,
        user,
        lambda old: {**old, "argon2": hashed} if old and old.get("argon2") == outdated else old,
    )


def get_account(documents: Documents, user: str) -> UserAccount:
    """Return the account of a user; an empty one if nothing is stored."""
    body = documents.get(KIND, user) or {}
    written = body.get("scram")

    def moment(name: str) -> datetime | None:
        return datetime.fromisoformat(body[name]) if body.get(name) else None

    return UserAccount(
        verifier=None if written is None else scram.read_verifier(written),
        hashed=body.get("argon2"),
        changed=moment("changed"),
        expires=moment("expires"),
        is_locked=bool(body.get("is_locked")),
        is_in_directory=bool(body.get("is_in_directory")),
    )


def set_locked(documents: Documents, user: str, *, is_locked: bool) -> None:
    """Lock a user out, or unlock them."""
    documents.update(KIND, user, lambda old: {**(old or {}), "is_locked": is_locked})


def leave_to_directory(documents: Documents, user: str) -> None:
    """Let an LDAP server check this user's password; a password stored here is deleted."""
    documents.update(KIND, user, lambda old: {**_preserved_fields(old), "is_in_directory": True})


def remove_password(documents: Documents, user: str) -> None:
    """Delete a user's password and tokens; a lock and certificates stay."""
    documents.update(KIND, user, lambda old: old and _preserved_fields(old))
    tokens.revoke_tokens_of(documents, user)


def remove_account(documents: Documents, user: str) -> None:
    """Delete password, certificates and tokens of a user."""
    documents.delete(KIND, user)
    certificates.unmap_certificates(documents, user)
    tokens.revoke_tokens_of(documents, user)


def _preserved_fields(old: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the parts of an account that a new password keeps: a lock."""
    return {"is_locked": bool((old or {}).get("is_locked"))}
