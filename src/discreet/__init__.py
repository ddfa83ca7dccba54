"""Trusted curator for sensitive tables: assess, release, answer, attack, guard."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.answer.answer import Answer
    from discreet.answer.curator import Curator
    from discreet.answer.curator import open_curator as open  # noqa: A004
    from discreet.engines.connect import open_table
    from discreet.measure.assess import assess
    from discreet.measure.assessment import Assessment
    from discreet.policy.load import load_policy
    from discreet.policy.model import Policy
    from discreet.release.anonymization import anonymize
    from discreet.release.options import AnonymizeOptions
    from discreet.release.release import Release

# Public names and where they live: imported on first use, so that `discreet --help` stays light.
_HOMES = {
    "AnonymizeOptions": "discreet.release.options",
    "Answer": "discreet.answer.answer",
    "Assessment": "discreet.measure.assessment",
    "Curator": "discreet.answer.curator",
    "Policy": "discreet.policy.model",
    "Release": "discreet.release.release",
    "anonymize": "discreet.release.anonymization",
    "assess": "discreet.measure.assess",
    "load_policy": "discreet.policy.load",
    "open": "discreet.answer.curator",
    "open_table": "discreet.engines.connect",
}

# Names that differ in their module: a module-level `open` would shadow the builtin.
_CALLED = {"open": "open_curator"}

__all__ = [
    "AnonymizeOptions",
    "Answer",
    "Assessment",
    "Curator",
    "Policy",
    "Release",
    "anonymize",
    "assess",
    "load_policy",
    "open",
    "open_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), _CALLED.get(name, name))
