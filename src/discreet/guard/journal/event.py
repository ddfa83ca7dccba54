"""An event of the journal: who did what, as whom and from where, and the decision."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal, get_args

from discreet.errors import WrongUsage

Decision = Literal["allowed", "denied", "failed"]
DECISIONS: tuple[str, ...] = get_args(Decision)
# Kinds of entries; others may be added.
KINDS = (
    "login",
    "session",
    "statement",
    "question",
    "grant",
    "declassify",
    "key",
    "budget",
    "setting",
    "archive",
    "backup",
)


@dataclass(frozen=True)
class Event:
    """One decision. Empty values are left out of the written form.

    `reads` and `writes` are columns by relation, such as `{"public.patients": ("age", "zip")}`.
    `parameters` are hashes of the values, never values. `price` and `balance` are amounts by
    currency, such as `{"epsilon": 0.5, "delta": 0}`. `version` is that of the authority. `heads` are
    the heads of the control store and the ledger, if one of them changed before.
    """

    at: datetime
    kind: str
    decision: Decision = "allowed"
    session: str = ""
    user: str = ""
    role: str = ""
    clearance: str | None = None
    address: str = ""
    protocol: str = ""
    statement: str = ""
    parameters: tuple[str, ...] = ()
    reads: Mapping[str, Collection[str]] = field(
        default_factory=dict[str, "Collection[str]"], hash=False
    )
    writes: Mapping[str, Collection[str]] = field(
        default_factory=dict[str, "Collection[str]"], hash=False
    )
    reason: str | None = None
    sqlstate: str | None = None
    rows: int | None = None
    price: Mapping[str, Any] | None = field(default=None, hash=False)
    balance: Mapping[str, Any] | None = field(default=None, hash=False)
    version: int | None = None
    engine: str = ""
    duration_ms: float | None = None
    detail: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    heads: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)

    def to_plain(self) -> dict[str, Any]:
        """Return the written form, as plain JSON values."""
        values = vars(self)
        written = {
            name: value if type(value) is str else _to_plain(value)
            for name, value in values.items()
            if value or value == 0
        }
        written["at"] = format_event_time(self.at)
        if self.duration_ms is not None:
            written["duration_ms"] = f"{self.duration_ms:.3f}"
        return written


def from_plain(values: Mapping[str, Any]) -> Event:
    """Return the event written as `values`; fields of later versions are ignored."""
    known = {item.name for item in fields(Event)}
    found = {name: value for name, value in values.items() if name in known}
    found["at"] = datetime.fromisoformat(found["at"])
    for name in ("reads", "writes"):
        columns: Mapping[str, list[str]] = found.get(name, {})
        found[name] = {relation: tuple(names) for relation, names in columns.items()}
    found["parameters"] = tuple(found.get("parameters", ()))
    if "duration_ms" in found:
        found["duration_ms"] = float(found["duration_ms"])
    return Event(**found)


def format_event_time(at: datetime) -> str:
    """Return `at` in UTC as text."""
    if at.tzinfo is None:
        raise WrongUsage("A time in the journal needs a time zone. Give one, such as UTC.")
    return at.astimezone(UTC).isoformat(timespec="microseconds")


def _to_plain(value: Any) -> Any:
    if value is None or isinstance(value, (str, int, datetime)):
        return value
    if isinstance(value, Mapping):
        return {str(name): _to_plain(item) for name, item in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_to_plain(item) for item in value)
    if isinstance(value, (tuple, list)):
        return [_to_plain(item) for item in value]
    # Two programs may write one fraction in two ways: it is written as text.
    return str(value) if isinstance(value, (float, Decimal, Fraction)) else value
