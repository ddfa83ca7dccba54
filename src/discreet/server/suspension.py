"""Suspension of logins: a server whose rights may be outdated waits for its custodian."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from discreet.guard.control import ControlStore

_KIND, _NAME = "state", "suspended"


def suspend_logins(control: ControlStore, why: str, *, at: datetime) -> None:
    """Suspend logins from now on."""
    control.put(_KIND, _NAME, {"why": why, "at": at.isoformat()})


def resume_logins(control: ControlStore) -> bool:
    """Allow logins again; return whether they were suspended."""
    was_suspended = control.get(_KIND, _NAME) is not None
    control.delete(_KIND, _NAME)
    return was_suspended


def refuse_suspended(control: ControlStore) -> None:
    """Refuse a login while logins are suspended.

    Raises:
        StatementFailed: 57P03, logins are suspended.
    """
    found = control.get(_KIND, _NAME)
    if found is not None:
        raise StatementFailed(
            "57P03",
            f"logins are suspended: {found['why']}",
            hint="The custodian must confirm the rights: discreet user confirm DIR --reason TEXT",
        )
