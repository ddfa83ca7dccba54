"""All concepts. Where two explain a name equally well, the first one counts."""

from __future__ import annotations

from discreet.measure.profile.concepts.identifying import IDENTIFYING
from discreet.measure.profile.concepts.known import KNOWN
from discreet.measure.profile.concepts.private import PRIVATE, TECHNICAL

# Articles 9 and 10 of the GDPR.
SPECIAL_CATEGORIES = frozenset(one.name for one in PRIVATE if "GDPR" in one.reason)
CONCEPTS = (*IDENTIFYING, *KNOWN, *PRIVATE, TECHNICAL)
