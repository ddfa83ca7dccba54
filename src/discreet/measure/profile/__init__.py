"""WHAT KIND of columns these are, guessed with reasons."""

from discreet.measure.profile.draft import PolicyDraft, TableDraft, draft_tables, guess_roles
from discreet.measure.profile.guess import RoleGuess

__all__ = ["PolicyDraft", "RoleGuess", "TableDraft", "draft_tables", "guess_roles"]
