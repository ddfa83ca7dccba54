"""Curators for tests: tables on any engine under a policy, with a ledger in memory and no noise."""

from __future__ import annotations

import datetime as dt
from typing import TYPE_CHECKING, Any

from tests.statistics.runs import NoNoise

from discreet.answer import payment
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.answer.curator import Curator
from discreet.dp.ledger.ledger import Ledger
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import Table
from discreet.policy.load import parse_policy

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pyarrow as pa
    import pytest

    from discreet.engines.engine import Engine
    from discreet.policy.model import Policy

NOON = dt.datetime(2024, 5, 17, 12, tzinfo=dt.UTC)


class Watched:
    """An engine that remembers which queries it was asked to run."""

    def __init__(self, engine: Any) -> None:
        self._engine, self.queries = engine, []

    def run(self, query: Any) -> Any:
        self.queries.append(query)
        return self._engine.run(query)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._engine, name)


def hold(
    tables: Mapping[str, pa.Table],
    policy: Policy | str | None = None,
    *,
    engine: Engine | None = None,
    ranks: Mapping[str, str] | None = None,
    **options: Any,
) -> Curator:
    """Return a curator of `tables`; what the engine runs is remembered in `curator.engine.queries`."""
    loaded = parse_policy(policy) if isinstance(policy, str) else policy
    watched = Watched(engine if engine is not None else DuckDB())
    held: dict[str, CatalogTable] = {}
    for name, table in tables.items():
        relation = watched.load(table.to_reader())
        opened = Table(watched, relation, watched.columns(relation), name)
        known = loaded.tables.get(name) if loaded else None
        rank = (ranks or {}).get(name)
        held[name] = CatalogTable(name, opened, known, f"table:{name}", "1", rank)
    options = {"clock": lambda: NOON, "policy": loaded, **options}
    openers = {name: lambda one=one: one for name, one in held.items()}
    return Curator(Catalog(openers), watched, Ledger(":memory:"), **options)


def without_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let every answer be exact."""
    monkeypatch.setattr(payment, "system_noise", NoNoise)
