"""How much of an event is recorded: every event is, but not every text in full."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from discreet.guard.journal.redact import (
    leading_keywords,
    may_hold_secret,
    redact_statement,
    remove_quoted_words,
    without_literals,
    without_secrets,
)

if TYPE_CHECKING:
    from discreet.guard.journal.event import Event

_SYNTAX = "42601"
_DENIED = "42501"  # the reason is the denying rule, and quotes nothing
_NO_COLUMN = "42703"  # a text in double quotes, as in other databases, is a column here

Detail = Literal["full", "redacted", "hash"]


@dataclass(frozen=True)
class AuditRule:
    """How much is kept of events that match every non-empty list."""

    detail: Detail
    kinds: tuple[str, ...] = ()
    users: tuple[str, ...] = ()
    relations: tuple[str, ...] = ()  # such as `public.patients`; one used relation is enough

    def matches(self, event: Event) -> bool:
        """Return whether the rule matches `event`."""
        touched = {*event.reads, *event.writes}
        return (
            (not self.kinds or event.kind in self.kinds)
            and (not self.users or event.user in self.users or event.role in self.users)
            and (not self.relations or not touched.isdisjoint(self.relations))
        )


@dataclass(frozen=True)
class AuditPolicy:
    """The first rule that matches decides how a statement's text is kept.

    Guarantee: every event is recorded, whatever the rules. Of logins and of denied or failed
    statements, the text is kept at least without its literals, and so is the reason. Texts that may
    hold a password or a key never keep their literals, and their reasons quote nothing of them.
    """

    rules: tuple[AuditRule, ...] = ()
    default: Detail = "redacted"

    def detail(self, event: Event) -> Detail:
        """Return how much is kept of the statement's text."""
        fitting = next((rule for rule in self.rules if rule.matches(event)), None)
        found = self.default if fitting is None else fitting.detail
        if found == "hash" and (event.kind == "login" or event.decision != "allowed"):
            return "redacted"
        return found

    def apply(self, event: Event, fingerprint: Callable[[str], str]) -> Event:
        """Return `event` as it is recorded."""
        if not event.statement:
            return event
        if event.sqlstate == _SYNTAX:
            # It may be anything, such as a password typed at the wrong prompt.
            return replace(
                event,
                statement=leading_keywords(event.statement),
                reason=remove_quoted_words(event.reason),
            )
        is_misread = event.sqlstate == _NO_COLUMN and '"' in event.statement
        if is_misread or may_hold_secret(event.statement):
            event = replace(event, reason=remove_quoted_words(event.reason))
        detail = self.detail(event)
        if detail == "full":
            return replace(event, statement=without_secrets(event.statement))
        if event.decision != "allowed" and event.sqlstate != _DENIED:
            event = replace(event, reason=without_literals(event.reason, event.statement))
        if detail == "hash":
            return replace(event, statement=fingerprint(event.statement))
        hide_quoted = is_misread or event.detail.get("discreet.lenient") == "on"
        return replace(event, statement=redact_statement(event.statement, hide_quoted=hide_quoted))
