"""The policy as data: roles, units, hierarchies and criteria of protected tables."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from discreet.policy.answer_model import (
        BudgetPolicy,
        ContributionLimits,
        UnitPeriod,
        WorkloadPolicy,
    )
    from discreet.policy.hierarchies.calendar import Calendar
    from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
    from discreet.policy.hierarchies.lookup import Lookup, read_lookup
    from discreet.policy.hierarchies.prefix import Prefix
    from discreet.policy.hierarchies.tree import Taxonomy, build_taxonomy
    from discreet.policy.json_schema import policy_schema
    from discreet.policy.load import load_policy, parse_policy, save_policy, validate_policy
    from discreet.policy.model import (
        AddNoise,
        AlphaK,
        BetaLikeness,
        BottomCode,
        Clip,
        ColumnPolicy,
        ColumnRole,
        DeltaDisclosure,
        DeltaPresence,
        KAnonymity,
        KMap,
        LDiversity,
        Microaggregate,
        Policy,
        Pram,
        RankSwap,
        ReleasePolicy,
        RoundNumbers,
        SuppressCells,
        Swap,
        TablePolicy,
        TCloseness,
        TopCode,
    )
    from discreet.policy.rules import (
        DeclaredDependency,
        DeclaredImpossible,
        DeclaredOrder,
        DeclaredSum,
        ValueCondition,
    )
    from discreet.policy.text_format import CellFormat, TextFormat
    from discreet.policy.write import dump_policy

# Names of other modules than `model`: hierarchies and the reader are imported on first use.
_HOMES = {
    "BudgetPolicy": "answer_model",
    "Calendar": "hierarchies.calendar",
    "CellFormat": "text_format",
    "ContributionLimits": "answer_model",
    "Cuts": "hierarchies.intervals",
    "DeclaredDependency": "rules",
    "DeclaredImpossible": "rules",
    "DeclaredOrder": "rules",
    "DeclaredSum": "rules",
    "Extremes": "hierarchies.intervals",
    "Intervals": "hierarchies.intervals",
    "Lookup": "hierarchies.lookup",
    "Prefix": "hierarchies.prefix",
    "Taxonomy": "hierarchies.tree",
    "TextFormat": "text_format",
    "UnitPeriod": "answer_model",
    "ValueCondition": "rules",
    "WorkloadPolicy": "answer_model",
    "build_taxonomy": "hierarchies.tree",
    "dump_policy": "write",
    "load_policy": "load",
    "parse_policy": "load",
    "policy_schema": "json_schema",
    "read_lookup": "hierarchies.lookup",
    "save_policy": "load",
    "validate_policy": "load",
}

__all__ = [
    "AddNoise",
    "AlphaK",
    "BetaLikeness",
    "BottomCode",
    "BudgetPolicy",
    "Calendar",
    "CellFormat",
    "Clip",
    "ColumnPolicy",
    "ColumnRole",
    "ContributionLimits",
    "Cuts",
    "DeclaredDependency",
    "DeclaredImpossible",
    "DeclaredOrder",
    "DeclaredSum",
    "DeltaDisclosure",
    "DeltaPresence",
    "Extremes",
    "Intervals",
    "KAnonymity",
    "KMap",
    "LDiversity",
    "Lookup",
    "Microaggregate",
    "Policy",
    "Pram",
    "Prefix",
    "RankSwap",
    "ReleasePolicy",
    "RoundNumbers",
    "SuppressCells",
    "Swap",
    "TCloseness",
    "TablePolicy",
    "Taxonomy",
    "TextFormat",
    "TopCode",
    "UnitPeriod",
    "ValueCondition",
    "WorkloadPolicy",
    "build_taxonomy",
    "dump_policy",
    "load_policy",
    "parse_policy",
    "policy_schema",
    "read_lookup",
    "save_policy",
    "validate_policy",
]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'discreet.policy' has no attribute '{name}'")
    return getattr(import_module(f"discreet.policy.{_HOMES.get(name, 'model')}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
