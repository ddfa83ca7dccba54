"""Identifiers inside free text: found, classified by Safe Harbor's letters, and redacted."""

from discreet.release.deidentify.text.find import TextIdentifiers, find_identifiers
from discreet.release.deidentify.text.own_names import PersonNames
from discreet.release.deidentify.text.redact import Redacted, redact_texts
from discreet.release.deidentify.text.spans import TextSpan

__all__ = [
    "PersonNames",
    "Redacted",
    "TextIdentifiers",
    "TextSpan",
    "find_identifiers",
    "redact_texts",
]
