"""Several tables opened with their policies: what is asked of them together, and what it would cost."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.answer.catalog import CatalogTable
from discreet.answer.coded_counts import ColumnCode, counting_limit
from discreet.answer.curator import Curator, open_curator
from discreet.answer.mechanism import (
    MechanismResult,
    family_mechanism_terms,
    release_family_mechanism,
)
from discreet.answer.rows import Rows
from discreet.answer.table_family import TableFamily, find_family
from discreet.answer.wording import format_amounts
from discreet.api.publication import current_time, open_registry
from discreet.dp.accounting.exact import to_fraction
from discreet.errors import RiskNotTolerated, UndeclaredDomain, WrongUsage
from discreet.formatting import join_names
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.progress import Progress
from discreet.registry import find_engine
from discreet.release.gate import Gate
from discreet.release.registry import Registry, registry_of_table
from discreet.release.synthesize.domain import TableDomain, table_domain
from discreet.release.synthesize.family_file import ModeledTable, SavedTables
from discreet.release.synthesize.family_gate import FamilySource
from discreet.release.synthesize.family_request import FamilyChild, FamilyRequest, SavedFamily
from discreet.release.synthesize.record import (
    TableExplanation,
    TablesExplanation,
    describe_synthesis,
)
from discreet.release.synthesize.request import DEFAULT_DELTA, SynthesisRequest, require_method
from discreet.sql import build


@contextmanager
def open_family(
    source: object, policy: Policy | str | Path, given: Mapping[str, Any]
) -> Generator[FamilySynthesis]:
    """Open the tables with their policy; all that can be refused without data is refused here."""
    method = require_method(given["method"])
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    reading = {
        name: given[name] for name in ("ledger", "analyst", "delimiter", "encoding", "memory")
    }
    spec = find_engine(source)
    is_database = spec is not None and spec.list_tables is not None
    main = None if is_database else given["table"]
    with open_curator(source, loaded, table=main, **reading) as curator:
        parent = curator.catalog.find_named(given["table"])
        family = find_family(curator.catalog, parent.name, given["children"])
        domains = _find_domains((family.parent, *family.children))
        delta = given["delta"]
        if delta is None:
            delta = 0 if method == "pure" else DEFAULT_DELTA
        request = FamilyRequest(
            family.parent.name,
            SynthesisRequest(domains[0], method, to_fraction(given["epsilon"]), to_fraction(delta)),
            tuple(
                FamilyChild(held.name, domain, family.most_children(held))
                for held, domain in zip(family.children, domains[1:], strict=True)
            ),
        )
        yield FamilySynthesis(source, curator, family, request)


def policy_of(held: CatalogTable) -> TablePolicy:
    """Return the policy of a table.

    Raises:
        WrongUsage: It has none.
    """
    if held.policy is None:
        raise WrongUsage(f"'{held.name}' has no policy. Write one with `discreet init`.")
    return held.policy


def _find_domains(tables: Sequence[CatalogTable]) -> list[TableDomain]:
    """Return the domain of each table; what is not declared in any of them is in one message."""
    found: list[TableDomain] = []
    refused: list[UndeclaredDomain] = []
    for held in tables:
        try:
            found.append(table_domain(policy_of(held), held.planned_columns))
        except UndeclaredDomain as error:
            refused.append(error)
    if refused:
        columns = [name for error in refused for name in error.columns]
        raise UndeclaredDomain(" ".join(map(str, refused)), columns=columns)
    return found


@dataclass(frozen=True)
class FamilySynthesis:
    """Tables that are to be synthesized together: their curator, and what is asked for."""

    source: object
    curator: Curator
    family: TableFamily
    request: FamilyRequest

    @property
    def tables(self) -> tuple[CatalogTable, ...]:
        """All tables, the parent first."""
        return (self.family.parent, *self.family.children)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables."""
        return tuple(held.name for held in self.tables)

    @property
    def policies(self) -> tuple[TablePolicy, ...]:
        """The policies of all tables."""
        return tuple(policy_of(held) for held in self.tables)

    def counted_rows(self) -> list[Rows]:
        """Return the rows that are counted: parents, and the children of each table with their parents."""
        family = self.family
        return [family.parent_rows(), *(family.child_rows(held) for held in family.children)]

    def column_codes(self) -> list[list[ColumnCode]]:
        """Return the columns of `counted_rows`, with their codes."""
        own = [
            [(build.column(one.name, of=held.name), one.code, one.size) for one in domain.columns]
            for held, domain in zip(self.tables, self.request.domains, strict=True)
        ]
        numbers = [self.family.children_code(held) for held in self.family.children]
        return [[*own[0], *numbers], *([*own[0], *codes] for codes in own[1:])]

    def limits(self) -> list[int]:
        """Return how many rows of a unit count in each table."""
        return [counting_limit(rows).rows for rows in self.counted_rows()]

    def explain(self) -> TablesExplanation:
        """Return the price of all tables and expected errors; no row is read."""
        terms = family_mechanism_terms(self.curator, self.family, self.column_codes())
        request, limits = self.request.parent, self.limits()
        unit = self.policies[0].unit or "row"
        errors = self.request.expected_errors(limits)
        price = format_amounts(float(request.epsilon), float(request.delta))
        return TablesExplanation(
            source=self.family.parent.table.label,
            verdict=(
                f"Synthetic tables {join_names(self.names)} would cost {price} for each {unit} in all "
                "tables. Nothing was read or spent."
            ),
            method=request.method,
            epsilon=float(request.epsilon),
            delta=float(request.delta),
            rho=None if request.price.rho is None else float(request.price.rho),
            unit=unit,
            tables=tuple(
                TableExplanation(name, most, describe_synthesis(domain, dict(enumerate(found))))
                for name, most, domain, found in zip(
                    self.names, limits, self.request.domains, errors, strict=True
                )
            ),
            remaining=terms.remaining,
            cautions=terms.cautions,
        )

    def pay(self, step: Progress) -> MechanismResult:
        """Charge the request, and return its model: the same one whenever the same is asked for."""
        for policy, domain in zip(self.policies, self.request.domains, strict=True):
            points = find_unsure(policy, among=domain.order)
            if points:
                raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        step("measuring", 0, 1)

        def fit(counters: Sequence[Any]) -> bytes:
            seed = secrets.randbits(63)
            return SavedFamily(self.request.fit(counters, seed=seed), seed).to_bytes()

        return release_family_mechanism(
            self.curator,
            self.family,
            self.column_codes(),
            price=self.request.parent.price,
            request=self.request.key(),
            question=f"synthesize {', '.join(self.names)} ({self.request.parent.method})",
            mechanism=fit,
        )

    def saved_tables(self, paid: MechanismResult) -> SavedTables:
        """Return the model that was paid for, with all that its rows need."""
        kept, request = SavedFamily.from_bytes(paid.content), self.request.parent
        tables = [ModeledTable(self.names[0], request.domain, self.limits()[0])]
        tables += [ModeledTable(one.name, one.domain, one.most) for one in self.request.children]
        privacy = {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "unit": self.policies[0].unit or "row",
            "method": request.method,
        }
        return SavedTables(tuple(tables), kept.model, kept.seed, privacy)

    def open_registries(self, source: object, policy: object, *, remembers: bool) -> list[Registry]:
        """Return where releases of each table are remembered, all in the same folders."""
        made = current_time()
        first = open_registry(
            source, policy=policy, table=self.names[0], made=made, remembers=remembers
        )
        known = [registry_of_table(first, asked.name, asked) for asked in self.policies]
        if not isinstance(policy, (str, Path)):
            return known
        # The source is the parent's: a child table is known by its policy.
        others = [replace(one, subject=replace(one.subject, source=None)) for one in known[1:]]
        return [known[0], *others]

    def attacked_sources(self, gates: Sequence[Gate]) -> list[FamilySource]:
        """Return the rows of each table as attacks read them."""
        found: list[FamilySource] = []
        for held, rows, codes, domain, gate in zip(
            self.tables,
            self.counted_rows(),
            self.column_codes(),
            self.request.domains,
            gates,
            strict=True,
        ):
            kept = tuple(one.name for one in domain.columns) if gate.earlier else ()
            query = _attacked_query(rows, codes, held.name, kept)
            most = counting_limit(rows).rows
            found.append(FamilySource(held.table, query, kept, most, gate))
        return found


def _attacked_query(
    rows: Rows, codes: Sequence[ColumnCode], table: str, kept: Sequence[str]
) -> Any:
    def cell(column: Any) -> Any:
        return rows.resolve(column).tree.copy()

    wanted = [
        build.alias_as(code(cell(column)), f"c{place}")
        for place, (column, code, _) in enumerate(codes)
    ]
    wanted += [
        build.alias_as(cell(build.column(name, of=table)), f"r{place}")
        for place, name in enumerate(kept)
    ]
    unit = build.alias_as(rows.unit[0].copy(), "u")
    return rows.frame.copy().select(*wanted, unit, copy=False)
