"""Identifiers inside free text: found and classified by Safe Harbor's letters."""

from discreet.measure.text.find import TextIdentifiers, find_identifiers
from discreet.measure.text.own_names import PersonNames
from discreet.measure.text.spans import TextSpan

__all__ = [
    "PersonNames",
    "TextIdentifiers",
    "TextSpan",
    "find_identifiers",
]
