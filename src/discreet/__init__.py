"""Trusted curator for sensitive tables: assess, release, answer, attack, guard."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.engines.connect import open_table
    from discreet.measure.assess import assess
    from discreet.measure.assessment import Assessment
    from discreet.policy.load import load_policy
    from discreet.policy.model import Policy
    from discreet.release.anonymization import anonymize
    from discreet.release.release import Release
    from discreet.release.settings import Wishes

# Public names and where they live: imported on first use, so that `discreet --help` stays light.
_HOMES = {
    "Assessment": "discreet.measure.assessment",
    "Policy": "discreet.policy.model",
    "Release": "discreet.release.release",
    "Wishes": "discreet.release.settings",
    "anonymize": "discreet.release.anonymization",
    "assess": "discreet.measure.assess",
    "load_policy": "discreet.policy.load",
    "open_table": "discreet.engines.connect",
}

__all__ = [
    "Assessment",
    "Policy",
    "Release",
    "Wishes",
    "anonymize",
    "assess",
    "load_policy",
    "open_table",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    return getattr(import_module(_HOMES[name]), name)
