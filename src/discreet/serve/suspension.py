"""Nobody enters a server whose rights may be older than what was revoked, until its custodian says so."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from discreet.guard.control import ControlStore

_KIND, _NAME = "state", "suspended"


def suspend_logins(control: ControlStore, why: str, *, at: datetime) -> None:
    """Let nobody enter from now on."""
    control.put(_KIND, _NAME, {"why": why, "at": at.isoformat()})


def resume_logins(control: ControlStore) -> bool:
    """Let everybody with a right to it enter again; return whether that was not so before."""
    was_suspended = control.get(_KIND, _NAME) is not None
    control.delete(_KIND, _NAME)
    return was_suspended


def refuse_suspended(control: ControlStore) -> None:
    """Refuse to let anybody enter while that is suspended.

    Raises:
        StatementFailed: 57P03, it is.
    """
    found = control.get(_KIND, _NAME)
    if found is not None:
        raise StatementFailed(
            "57P03",
            f"nobody may enter yet: {found['why']}",
            hint="Its custodian says who may: discreet user confirm DIR --reason TEXT",
        )
