"""Trusted curator for sensitive tables: assess, release, answer, attack, guard."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import errors
    from discreet.answer.answer import Answer
    from discreet.answer.curator import Curator
    from discreet.answer.curator import open_curator as open  # noqa: A004
    from discreet.api.anonymize import anonymize
    from discreet.api.check import check
    from discreet.api.deidentify import deidentify
    from discreet.api.draft import draft_policy
    from discreet.engines.connect import open_table
    from discreet.measure.assess import assess
    from discreet.measure.assessment import Assessment
    from discreet.policy.load import load_policy
    from discreet.policy.model import Policy
    from discreet.release.release import Release

# Public names and where they live: imported on first use, so that `discreet --help` stays light.
_HOMES = {
    "Answer": "discreet.answer.answer",
    "Assessment": "discreet.measure.assessment",
    "Curator": "discreet.answer.curator",
    "Policy": "discreet.policy.model",
    "Release": "discreet.release.release",
    "anonymize": "discreet.api.anonymize",
    "assess": "discreet.measure.assess",
    "check": "discreet.api.check",
    "deidentify": "discreet.api.deidentify",
    "draft_policy": "discreet.api.draft",
    "errors": "discreet.errors",
    "load_policy": "discreet.policy.load",
    "open": "discreet.answer.curator",
    "open_table": "discreet.engines.connect",
}

# Names that differ in their module: a module-level `open` would shadow the builtin.
_CALLED = {"open": "open_curator"}

__all__ = [
    "Answer",
    "Assessment",
    "Curator",
    "Policy",
    "Release",
    "anonymize",
    "assess",
    "check",
    "deidentify",
    "draft_policy",
    "errors",
    "load_policy",
    "open",
    "open_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    home = import_module(_HOMES[name])
    return home if _HOMES[name] == f"discreet.{name}" else getattr(home, _CALLED.get(name, name))


def __dir__() -> list[str]:
    return sorted(__all__)
