"""What is left is warned of, but not what outsiders cannot know."""

from __future__ import annotations

import pyarrow as pa

from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices
from discreet.release.deidentify.deidentify import pseudonymize_source
from discreet.release.deidentify.kinds import RandomToken

TABLE = pa.table({"patient_id": [f"P{n}" for n in range(30)], "sex": ["F"] * 29 + ["M"]})


def test_no_warning_names_a_pseudonym_or_a_rule_that_was_not_asked_for():
    found = pseudonymize_source(TABLE, choices=PseudonymChoices({"patient_id": RandomToken()}))
    result = " ".join(found.warnings)
    assert "'sex' by itself singles out 1 person" in result
    assert "patient_id" not in result
    assert "CFR" not in result
