"""Several tables opened with their policies: what is asked of them together, and what it would cost."""

from __future__ import annotations

import secrets
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from discreet.answer.catalog import CatalogTable, require_policy
from discreet.answer.coded_counts import ColumnCode, counting_limit
from discreet.answer.curator import Curator, open_curator
from discreet.answer.domain_search import DomainSearches, PrivateDomain
from discreet.answer.mechanism import (
    MechanismResult,
    family_mechanism_terms,
    release_family_mechanism,
)
from discreet.answer.rows import Rows
from discreet.answer.table_family import TableFamily, find_family
from discreet.answer.wording import format_amounts
from discreet.api.domain_searches import as_found_domains, caution_of_searches, divide_searches
from discreet.api.publication import current_time, open_registry
from discreet.domain.declared import Need
from discreet.dp.accounting.exact import to_fraction
from discreet.dp.budget import Price
from discreet.errors import (
    RiskNotTolerated,
    UndeclaredDomain,
    UnknownColumn,
    WrongUsage,
    did_you_mean,
)
from discreet.formatting import join_names
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.progress import Progress
from discreet.registry import find_engine
from discreet.release.gate import Gate
from discreet.release.registry import Registry, registry_of_table
from discreet.release.synthesize.domain import TableDomain
from discreet.release.synthesize.family import FamilyModel
from discreet.release.synthesize.family_file import ModeledTable, SavedTables
from discreet.release.synthesize.family_gate import FamilySource
from discreet.release.synthesize.family_request import FamilyChild, FamilyRequest
from discreet.release.synthesize.planned_domain import PlannedDomain, plan_domain
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
        tables = (family.parent, *family.children)
        is_searched = bool(to_fraction(given["find_domains"] or 0))
        planned = _plan_domains(tables, given["leave_out"] or (), finds_domains=is_searched)
        yield FamilySynthesis(
            source, curator, family, tuple(planned), _make_request(family, planned, given)
        )


def _make_request(
    family: TableFamily, planned: Sequence[PlannedDomain], given: Mapping[str, Any]
) -> FamilyRequest:
    method, delta = require_method(given["method"]), given["delta"]
    if delta is None:
        delta = 0 if method == "pure" else DEFAULT_DELTA
    tables = (family.parent, *family.children)
    named: list[tuple[str, Need]] = [
        (f"{held.name}.{column}", need)
        for held, one in zip(tables, planned, strict=True)
        for column, need in one.searched
    ]
    for held, one, owner in zip(family.children, planned[1:], family.owners, strict=True):
        if owner and one.searched:
            # A search bounds the rows of a table's own unit, which is no person here.
            listed = join_names([f"{held.name}.{column}" for column, _ in one.searched])
            raise WrongUsage(
                f"The domain of {listed} cannot be found privately: the rows of '{held.name}' belong to people only by "
                f"those of another table. Declare `values` or `bounds`, or leave it out."
            )
    target = None if given["target"] is None else _find_target(tables, given["target"])
    domains = link_keys(family, [one.domain for one in planned])
    return FamilyRequest(
        family.parent.name,
        SynthesisRequest(
            domains[0],
            method,
            to_fraction(given["epsilon"]),
            to_fraction(delta),
            searched=tuple(named),
            search_share=to_fraction(given["find_domains"] or 0),
            search_facts=tuple(fact for one in planned for fact in one.facts),
        ),
        tuple(
            FamilyChild(held.name, domain, family.most_children(held), owner)
            for held, domain, owner in zip(family.children, domains[1:], family.owners, strict=True)
        ),
        tuple(one.searched for one in planned),
        target,
    )


def link_keys(family: TableFamily, domains: Sequence[TableDomain]) -> list[TableDomain]:
    """Return the domains with the keys numbered by their rows that rows of other child tables refer to.

    Raises:
        WrongUsage: Such a key is left out, or is no identifier.
    """
    linked = list(domains)
    for child, owner in zip(family.children, family.owners, strict=True):
        if not owner:
            continue
        held, key = family.children[owner - 1], family.key_of_owner(child)
        domain = linked[owner]
        if key not in [one.name for one in domain.surrogates]:
            raise WrongUsage(
                f"'{key}' of '{held.name}' is left out or is no identifier, and rows of '{child.name}' refer to it. "
                "List it with `role: identifier`, and do not leave it out."
            )
        surrogates = tuple(
            replace(one, form="key", references=(held.name, key)) if one.name == key else one
            for one in domain.surrogates
        )
        linked[owner] = replace(domain, surrogates=surrogates)
    return linked


def _find_target(tables: Sequence[CatalogTable], name: str) -> tuple[str, str]:
    """Return the one table that has a column, and its name there."""
    found = _find_column(tables, name)
    if len(found) > 1:
        listed = join_names([f"{held.name}.{column}" for held, column in found])
        raise WrongUsage(f"Several tables have a column '{name}'. Name one of {listed}.")
    held, column = found[0]
    return held.name, column


def _find_column(tables: Sequence[CatalogTable], name: str) -> list[tuple[CatalogTable, str]]:
    """Return the tables that have a column, which is called `COLUMN` or `TABLE.COLUMN`."""
    known = [(held, column.name) for held in tables for column in held.planned_columns]
    exact = [(held, column) for held, column in known if f"{held.name}.{column}" == name]
    found = exact or [(held, column) for held, column in known if column == name]
    if not found:
        near = did_you_mean(name, [f"{held.name}.{column}" for held, column in known])
        raise UnknownColumn(f"None of the tables has a column '{name}'.{near}")
    return found


def _plan_domains(
    tables: Sequence[CatalogTable], leave_out: Sequence[str], *, finds_domains: bool
) -> list[PlannedDomain]:
    """Return the domain of each table; what is not declared in any of them is in one message."""
    left = [found for name in leave_out for found in _find_column(tables, name)]
    planned: list[PlannedDomain] = []
    refused: list[UndeclaredDomain] = []
    for held in tables:
        policy = require_policy(held, f"A synthetic table of '{held.name}'")
        policy = policy.leave_out([column for of, column in left if of is held])
        try:
            planned.append(plan_domain(policy, held.planned_columns, finds_domains=finds_domains))
        except UndeclaredDomain as error:
            refused.append(error)
    if refused:
        columns = [name for error in refused for name in error.columns]
        raise UndeclaredDomain(" ".join(map(str, refused)), columns=columns)
    return planned


@dataclass(frozen=True)
class FamilySynthesis:
    """Tables that are to be synthesized together: their curator, and what is asked for."""

    source: object
    curator: Curator
    family: TableFamily
    planned: tuple[PlannedDomain, ...]
    request: FamilyRequest

    @property
    def tables(self) -> tuple[CatalogTable, ...]:
        """All tables, the parent first."""
        return (self.family.parent, *self.family.children)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all tables."""
        return self.request.names

    @property
    def policies(self) -> tuple[TablePolicy, ...]:
        """The policies of all tables, with what the call leaves out."""
        return tuple(one.policy for one in self.planned)

    @property
    def _table_searches(self) -> list[DomainSearches | None]:
        """The domains that are found first in each table."""
        return divide_searches(self.request.parent, self.planned)

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
        tree = self.request.tree
        return [tree.join_columns(place, own, numbers) for place in range(len(own))]

    def limits(self) -> list[int]:
        """Return how many rows of a unit count in each table."""
        return [counting_limit(rows).rows for rows in self.counted_rows()]

    def sensitivities(self) -> list[int]:
        """Return how many rows one unit changes at most in each table."""
        found = [counting_limit(rows) for rows in self.counted_rows()]
        return [one.rows * one.change for one in found]

    def explain(self) -> TablesExplanation:
        """Return the price of all tables and expected errors; no row is read."""
        terms = family_mechanism_terms(
            self.curator, self.family, self.column_codes(), searches=self._table_searches
        )
        request, limits = self.request.parent, self.limits()
        unit = self.policies[0].unit_words
        errors = self.request.expected_errors(self.sensitivities())
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
            target=self.target_words,
            tables=tuple(
                TableExplanation(
                    name, most, describe_synthesis(one.domain, dict(enumerate(found)), one.searched)
                )
                for name, most, one, found in zip(
                    self.names, limits, self.planned, errors, strict=True
                )
            ),
            remaining=terms.remaining,
            cautions=(*caution_of_searches(request), *terms.cautions),
        )

    @property
    def target_words(self) -> str | None:
        """The column that others are to predict, with its table."""
        return None if self.request.target is None else ".".join(self.request.target)

    def pay(self, step: Progress, *, room: Price | None) -> MechanismResult:
        """Charge the request, and return its model: the same one whenever the same is asked for.

        A new request is refused unless `room` is left after it, for the evaluation of its model.
        """
        for one in self.planned:
            named = (*one.domain.order, *(name for name, _ in one.searched))
            points = find_unsure(one.policy, among=named)
            if points:
                raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        step("measuring", 0, 1)
        final = self

        def choose_columns(found: Sequence[Mapping[str, PrivateDomain]]) -> list[list[ColumnCode]]:
            nonlocal final
            domains = [
                one.complete(as_found_domains(mine))
                for one, mine in zip(self.planned, found, strict=True)
            ]
            final = self.with_domains(domains)
            return final.column_codes()

        def fit(counters: Sequence[Any]) -> bytes:
            seed = secrets.randbits(63)
            return final.save_model(final.request.fit(counters, seed=seed), seed).to_bytes()

        has_searches = any(one.searched for one in self.planned)
        return release_family_mechanism(
            self.curator,
            self.family,
            choose_columns if has_searches else self.column_codes(),
            searches=self._table_searches,
            price=self.request.parent.price,
            room=room,
            request=self.request.key(),
            question=f"synthesize {', '.join(self.names)} ({self.request.parent.method})",
            mechanism=fit,
        )

    def with_domains(self, domains: Sequence[TableDomain]) -> FamilySynthesis:
        """Return the same with the domains of all tables, after they were found."""
        linked = link_keys(self.family, domains)
        return replace(self, request=self.request.with_domains(linked))

    def save_model(self, model: FamilyModel, seed: int) -> SavedTables:
        """Return a model with all that its rows need."""
        request, limits = self.request.parent, self.limits()
        tables = [ModeledTable(self.names[0], request.domain, limits[0])]
        tables += [ModeledTable(one.name, one.domain, one.most) for one in self.request.children]
        privacy = {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "unit": self.policies[0].unit_words,
            "method": request.method,
        }
        return SavedTables(tuple(tables), model, seed, privacy)

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
            limit = counting_limit(rows)
            sensitivity = limit.rows * limit.change
            found.append(FamilySource(held.table, query, kept, limit.rows, sensitivity, gate))
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
