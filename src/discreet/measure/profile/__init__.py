"""WHAT KIND of columns these are, guessed with reasons."""

from discreet.measure.profile.draft import Draft, TableDraft, draft_policy, guess_roles
from discreet.measure.profile.guess import Guess

__all__ = ["Draft", "Guess", "TableDraft", "draft_policy", "guess_roles"]
