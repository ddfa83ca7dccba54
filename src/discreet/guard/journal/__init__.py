"""What was decided, in an order and with words that nobody can change unseen."""

from discreet.guard.journal.audit_policy import AuditPolicy, AuditRule
from discreet.guard.journal.event import Event
from discreet.guard.journal.journal import Journal
from discreet.guard.journal.reading import Entry, Wanted

__all__ = ["AuditPolicy", "AuditRule", "Entry", "Event", "Journal", "Wanted"]
