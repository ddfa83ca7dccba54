"""Trusted curator for sensitive tables: assess, release, answer, attack, guard."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet import errors, policy
    from discreet.answer.answer import Answer
    from discreet.answer.curator import Curator
    from discreet.answer.curator import open_curator as open  # noqa: A004
    from discreet.answer.workload_answer import WorkloadAnswer
    from discreet.api import epsilon
    from discreet.api.anonymize import anonymize
    from discreet.api.attack import attack
    from discreet.api.budget import budget
    from discreet.api.check import check
    from discreet.api.choose_factor import choose_factor, explain_factor
    from discreet.api.collect import CollectedReports, collect, estimate_reports
    from discreet.api.deidentify import deidentify
    from discreet.api.draft import draft_policy
    from discreet.api.learn import explain_learning, learn, load_model
    from discreet.api.progress import show_progress
    from discreet.api.reidentify import reidentify
    from discreet.api.report import write_report
    from discreet.api.sample import sample, sample_tables
    from discreet.api.sample_and_aggregate import sample_and_aggregate
    from discreet.api.serve import RunningServer, serve
    from discreet.api.statistics import explain_statistics, statistics
    from discreet.api.synthesize import explain_synthesis, synthesize
    from discreet.api.synthesize_tables import explain_tables, synthesize_tables
    from discreet.engines.connect import open_table
    from discreet.measure.assess import assess
    from discreet.measure.assessment import Assessment
    from discreet.policy.load import load_policy
    from discreet.policy.model import Policy
    from discreet.release.release import Release

    __version__: str

# Public names and where they live: imported on first use, so that `discreet --help` stays light.
_HOMES = {
    "Answer": "discreet.answer.answer",
    "Assessment": "discreet.measure.assessment",
    "CollectedReports": "discreet.api.collect",
    "Curator": "discreet.answer.curator",
    "Policy": "discreet.policy.model",
    "Release": "discreet.release.release",
    "RunningServer": "discreet.api.serve",
    "WorkloadAnswer": "discreet.answer.workload_answer",
    "anonymize": "discreet.api.anonymize",
    "assess": "discreet.measure.assess",
    "attack": "discreet.api.attack",
    "budget": "discreet.api.budget",
    "check": "discreet.api.check",
    "choose_factor": "discreet.api.choose_factor",
    "collect": "discreet.api.collect",
    "deidentify": "discreet.api.deidentify",
    "draft_policy": "discreet.api.draft",
    "epsilon": "discreet.api.epsilon",
    "errors": "discreet.errors",
    "estimate_reports": "discreet.api.collect",
    "explain_factor": "discreet.api.choose_factor",
    "explain_learning": "discreet.api.learn",
    "explain_statistics": "discreet.api.statistics",
    "explain_synthesis": "discreet.api.synthesize",
    "explain_tables": "discreet.api.synthesize_tables",
    "learn": "discreet.api.learn",
    "load_ipython_extension": "discreet.notebook.magics",
    "load_model": "discreet.api.learn",
    "load_policy": "discreet.policy.load",
    "open": "discreet.answer.curator",
    "open_table": "discreet.engines.connect",
    "policy": "discreet.policy",
    "reidentify": "discreet.api.reidentify",
    "sample": "discreet.api.sample",
    "sample_and_aggregate": "discreet.api.sample_and_aggregate",
    "sample_tables": "discreet.api.sample",
    "serve": "discreet.api.serve",
    "show_progress": "discreet.api.progress",
    "statistics": "discreet.api.statistics",
    "synthesize": "discreet.api.synthesize",
    "synthesize_tables": "discreet.api.synthesize_tables",
    "write_report": "discreet.api.report",
}

# Names that differ in their module: a module-level `open` would shadow the builtin.
_CALLED = {"open": "open_curator"}

# Names that are modules.
_MODULES = {"epsilon", "errors", "policy"}

__all__ = [
    "Answer",
    "Assessment",
    "CollectedReports",
    "Curator",
    "Policy",
    "Release",
    "RunningServer",
    "WorkloadAnswer",
    "__version__",
    "anonymize",
    "assess",
    "attack",
    "budget",
    "check",
    "choose_factor",
    "collect",
    "deidentify",
    "draft_policy",
    "epsilon",
    "errors",
    "estimate_reports",
    "explain_factor",
    "explain_learning",
    "explain_statistics",
    "explain_synthesis",
    "explain_tables",
    "learn",
    "load_model",
    "load_policy",
    "open",
    "open_table",
    "policy",
    "reidentify",
    "sample",
    "sample_and_aggregate",
    "sample_tables",
    "serve",
    "show_progress",
    "statistics",
    "synthesize",
    "synthesize_tables",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("discreet")
    if name not in _HOMES:
        raise AttributeError(f"module 'discreet' has no attribute '{name}'")
    home = import_module(_HOMES[name])
    return home if name in _MODULES else getattr(home, _CALLED.get(name, name))


def __dir__() -> list[str]:
    return sorted(__all__)
