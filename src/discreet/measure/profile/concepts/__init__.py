"""What columns are about: every concept, its names in eight languages, and its words in values."""

from discreet.measure.profile.concepts.catalog import CONCEPTS, SPECIAL_CATEGORIES
from discreet.measure.profile.concepts.concept import FREE_TEXT, Concept

__all__ = ["CONCEPTS", "FREE_TEXT", "SPECIAL_CATEGORIES", "Concept"]
