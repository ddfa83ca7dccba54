"""The journal of decisions: ordered, and protected against unnoticed changes."""

from discreet.guard.journal.audit_policy import AuditPolicy, AuditRule
from discreet.guard.journal.event import Event
from discreet.guard.journal.journal import Journal
from discreet.guard.journal.search import EntryFilter, JournalEntry

__all__ = ["AuditPolicy", "AuditRule", "EntryFilter", "Event", "Journal", "JournalEntry"]
