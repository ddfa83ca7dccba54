"""What was decided, in an order and with words that nobody can change unseen."""

from discreet.guard.journal.audit_policy import AuditPolicy, AuditRule
from discreet.guard.journal.event import Event
from discreet.guard.journal.journal import Journal
from discreet.guard.journal.search import EntryFilter, JournalEntry

__all__ = ["AuditPolicy", "AuditRule", "EntryFilter", "Event", "Journal", "JournalEntry"]
