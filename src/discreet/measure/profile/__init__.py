"""WHAT KIND of columns these are, guessed with reasons."""

from discreet.measure.profile.draft import draft_tables, guess_roles
from discreet.measure.profile.evidence import RoleGuess
from discreet.measure.profile.policy_draft import PolicyDraft, TableDraft

__all__ = ["PolicyDraft", "RoleGuess", "TableDraft", "draft_tables", "guess_roles"]
