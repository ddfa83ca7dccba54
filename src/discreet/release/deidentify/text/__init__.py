"""Identifiers inside free text: found, told by Safe Harbor's letters, and redacted."""

from discreet.release.deidentify.text.find import Findings, find_identifiers
from discreet.release.deidentify.text.own_names import Names
from discreet.release.deidentify.text.redact import Redacted, redact
from discreet.release.deidentify.text.spans import Span

__all__ = ["Findings", "Names", "Redacted", "Span", "find_identifiers", "redact"]
