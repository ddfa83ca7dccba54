"""`discreet.synthesize_tables`: a table of people and tables of what they have, such as visits, synthesized together."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from discreet.answer.catalog import CatalogTable
from discreet.answer.coded_counts import ColumnCode, counting_limit
from discreet.answer.curator import Curator, open_curator
from discreet.answer.mechanism import MechanismResult, release_family_mechanism
from discreet.answer.rows import Rows
from discreet.answer.table_family import TableFamily, find_family
from discreet.answer.wording import format_amounts
from discreet.api.publication import choose_manifest_path, current_time, open_registry
from discreet.api.sample import require_drawable
from discreet.api.synthesize import SynthesisMethod
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.engines.engine import ArrowTable
from discreet.errors import OutputRefused, RiskNotTolerated, UndeclaredDomain, WrongUsage
from discreet.formatting import join_names
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.progress import Progress, follow_phases
from discreet.registry import find_engine
from discreet.release.gate import Gate, GateResult
from discreet.release.manifest import program_version, write_json
from discreet.release.registry import PendingRelease, Registry, registry_of_table
from discreet.release.synthesize.domain import TableDomain, table_domain
from discreet.release.synthesize.family_gate import (
    FamilySource,
    attack_synthetic_family,
    attacked_domains,
)
from discreet.release.synthesize.family_request import FamilyChild, FamilyRequest, SavedFamily
from discreet.release.synthesize.gate import list_attacks
from discreet.release.synthesize.model import SyntheticModel
from discreet.release.synthesize.model_file import require_memory
from discreet.release.synthesize.publish import family_manifest, write_synthetic_rows
from discreet.release.synthesize.record import (
    FamilyTable,
    MeasuredMarginal,
    SyntheticTables,
    describe_synthesis,
)
from discreet.release.synthesize.request import DEFAULT_DELTA, SynthesisRequest, require_method
from discreet.release.write import parse_target
from discreet.sql import build
from discreet.writing import require_writable_path

_GATE = 1  # the stream of chance that attacks take, apart from that of rows
_ENDING = ".parquet"


def synthesize_tables(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path,
    *,
    children: Sequence[str],
    table: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    method: SynthesisMethod = "full",
    rows: int | None = None,
    output: str | Path | None = None,
    accept_risk: str | None = None,
    force: bool = False,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> SyntheticTables:
    """Return synthetic tables whose keys refer to each other, and charge them to the ledger once.

    A person with all rows in all tables is protected as one unit. The unit of each child table must be the
    column that refers to the parent's unit. All tables are attacked before any is handed out. The same
    request on the same data gives the same tables, free.

    Args:
        source: The parent table, or a PostgreSQL database with all tables; the policy says where others are.
        policy: A policy of all tables, or the path of its file.
        children: The names of the child tables.
        table: The name of the parent table; by default the one that the source is.
        epsilon: What all tables cost together.
        delta: The chance that Gaussian noise does not cover; by default 1e-9, and 0 for `pure`.
        method: `full`, `fast`, or `pure` (epsilon without delta).
        rows: How many parents; by default the noisy number of rows of the source.
        output: The folder that gets a Parquet file for each table, with a manifest beside it; without it
            they stay in memory.
        accept_risk: Why they are published even if attacks learn more than the policy tolerates.
        force: Replace the folder, if it holds such tables only.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        QuestionRefused: The unit of a child table does not refer to the parent's; nothing was spent.
        UndeclaredDomain: A column has neither values nor bounds; the message names all of them.
        BudgetExceeded: Too little is left; nothing was spent.
        RiskNotTolerated: Attacks learn more than is tolerated; the tables were paid for and not published.

    >>> from discreet.policy import parse_policy
    >>> policy = parse_policy('''
    ... tables:
    ...   patients:
    ...     source: patients.csv
    ...     unit: patient_id
    ...     limits: {rows-per-unit: 1}
    ...     columns: {patient_id: {role: identifier, kind: text}, sex: {role: sensitive, kind: text, values: [F, M, NB]}}
    ...   visits:
    ...     source: visits.csv
    ...     unit: patient_id
    ...     limits: {rows-per-unit: 4}
    ...     columns:
    ...       patient_id: {role: identifier, kind: text, references: patients.patient_id}
    ...       ward: {role: sensitive, kind: text, values: [cardiology, surgery]}
    ... ''')
    >>> made = synthesize_tables(
    ...     "patients.csv", policy, children=["visits"], method="fast", ledger=":memory:"
    ... )
    >>> patients, visits = made.frames["patients"], made.frames["visits"]
    >>> {*visits["patient_id"].to_pylist()} <= {*patients["patient_id"].to_pylist()}
    True
    """
    given = dict(locals())
    place = None if output is None else Path(output)
    manifest = None if place is None else _choose_manifest(place, force=force)
    if rows is not None:
        require_drawable(rows)
    with (
        follow_phases(progress, first="opening") as step,
        _open_family(source, policy, given) as opened,
    ):
        if place is not None:
            _require_folder(place, opened.names, force=force)
        require_memory(rows or 1, opened.request.parent.domain)
        paid = opened.pay(step)
        known = opened.open_registries(source, policy, remembers=output is not None)
        publication = _FamilyPublication(opened, paid, place, manifest, accept_risk, step)
        return publication.publish(known, parents=rows)


def _choose_manifest(place: Path, *, force: bool) -> Path:
    path = choose_manifest_path(place, manifest=None, force=force)
    require_writable_path(path, may_exist=force)
    return path


def _require_folder(place: Path, names: Sequence[str], *, force: bool) -> None:
    """Refuse a folder that cannot be made, or that holds anything else than these tables."""
    require_writable_path(place.parent / f".{place.name}.new")
    if not place.exists() and not place.is_symlink():
        return
    if not force:
        raise OutputRefused(f"{place} exists. Name another folder, or add --force to replace it.")
    expected = {f"{name}{_ENDING}" for name in names}
    if not place.is_dir() or any(
        one.name not in expected or not one.is_file() for one in place.iterdir()
    ):
        raise OutputRefused(
            f"{place} holds other things than these tables, which would be lost. Name another folder."
        )


@contextmanager
def _open_family(
    source: object, policy: Policy | str | Path, given: Mapping[str, Any]
) -> Generator[_FamilySynthesis]:
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
        yield _FamilySynthesis(source, curator, family, request)


def _policy_of(held: CatalogTable) -> TablePolicy:
    if held.policy is None:
        raise WrongUsage(f"'{held.name}' has no policy. Write one with `discreet init`.")
    return held.policy


def _find_domains(tables: Sequence[CatalogTable]) -> list[TableDomain]:
    """Return the domain of each table; what is not declared in any of them is in one message."""
    found: list[TableDomain] = []
    refused: list[UndeclaredDomain] = []
    for held in tables:
        try:
            found.append(table_domain(_policy_of(held), held.planned_columns))
        except UndeclaredDomain as error:
            refused.append(error)
    if refused:
        columns = [name for error in refused for name in error.columns]
        raise UndeclaredDomain(" ".join(map(str, refused)), columns=columns)
    return found


@dataclass(frozen=True)
class _FamilySynthesis:
    """Tables that are to be synthesized together: their curator, and what is asked for."""

    source: object
    curator: Curator
    family: TableFamily
    request: FamilyRequest

    @property
    def tables(self) -> tuple[CatalogTable, ...]:
        return (self.family.parent, *self.family.children)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(held.name for held in self.tables)

    @property
    def policies(self) -> tuple[TablePolicy, ...]:
        return tuple(_policy_of(held) for held in self.tables)

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


@dataclass(frozen=True)
class _FamilyPublication:
    """Tables that were paid for, on their way to a folder."""

    opened: _FamilySynthesis
    paid: MechanismResult
    place: Path | None
    manifest: Path | None
    accepted: str | None
    step: Progress

    def publish(self, registries: Sequence[Registry], *, parents: int | None) -> SyntheticTables:
        """Draw rows, attack them, and write what passes; all of it follows from what was paid for."""
        opened, request = self.opened, self.opened.request
        saved = SavedFamily.from_bytes(self.paid.content)
        self.step("drawing", 0, 1)
        rows, drawn = saved.draw(request.domains, parents=parents)
        place = None if self.place is None else str(self.place)
        # All tables have the same folders: the first holds them for the others.
        with registries[0].begin_release(place) as first, _forget_unpublished() as pendings:
            pendings += [first, *(_join_release(one, place) for one in registries[1:])]
            gates = [
                Gate(asked, pending.earlier, self.accepted)
                for asked, pending in zip(opened.policies, pendings, strict=True)
            ]
            passed = attack_synthetic_family(
                request,
                opened.attacked_sources(gates),
                rows,
                saved.model,
                np.random.default_rng([saved.seed, _GATE]),
                progress=self.step,
            )
            tables = self._describe_tables(saved, drawn, passed)
            tables = [
                replace(one, attacks=list_attacks(domain, gate))
                for one, domain, gate in zip(tables, attacked_domains(request), gates, strict=True)
            ]
            if self.place is not None:
                tables = self._write_tables(self.place, tables, pendings)
            found = self._describe_release(saved, tables, passed)
            _keep_records(found, pendings)
            content = family_manifest(
                found,
                opened.policies,
                made=registries[0].made or current_time(),
                accepted=self.accepted,
            )
            if self.manifest is None:
                return replace(found, _manifest_content=content)
            write_json(self.manifest, content)
            return replace(found, manifest=str(self.manifest), _manifest_content=content)

    def _write_tables(
        self, place: Path, tables: Sequence[FamilyTable], pendings: Sequence[PendingRelease]
    ) -> list[FamilyTable]:
        """Write all tables, or none: the folder appears with all of them."""
        beside = place.parent / f".discreet-{secrets.token_hex(8)}"
        beside.mkdir(mode=0o700)
        made: list[FamilyTable] = []
        try:
            folder = beside / "new"
            folder.mkdir()
            for one, pending in zip(tables, pendings, strict=True):
                target = parse_target(folder / f"{one.table}{_ENDING}", force=False)
                written = write_synthetic_rows(one.to_arrow(), target, pending, progress=self.step)
                pending.is_published = False
                final = str(place / f"{one.table}{_ENDING}")
                identity = pending.record.id if pending.record is not None else None
                made.append(replace(one, output=replace(written, place=final), id=identity))
            _replace_folder(place, folder, beside / "old")
        except OSError as error:
            raise OutputRefused(
                f"{place} cannot be written: {error.strerror}. Choose another place."
            ) from None
        finally:
            shutil.rmtree(beside, ignore_errors=True)
        for pending in pendings:
            pending.is_published = True
        return made

    def _describe_tables(
        self, saved: SavedFamily, drawn: Sequence[ArrowTable], passed: Sequence[GateResult]
    ) -> list[FamilyTable]:
        opened, request = self.opened, self.opened.request
        models = (saved.model.parent, *saved.model.children)
        limits = [counting_limit(rows).rows for rows in opened.counted_rows()]
        return [
            FamilyTable(
                len(rows),
                _rows=rows,
                _given=opened.source,
                table=name,
                rows_per_unit=limits[place],
                columns=describe_synthesis(
                    request.domains[place], _own_errors(models[place], saved.model.given, place)
                ),
                marginals=_name_marginals(models[place], self._fitted_names(place)),
                findings=passed[place].findings,
                accepted_risk=passed[place].accepted,
                not_tried=passed[place].not_tried,
            )
            for place, (name, rows) in enumerate(zip(opened.names, drawn, strict=True))
        ]

    def _fitted_names(self, place: int) -> list[str]:
        request = self.opened.request
        own = [one.name for one in request.domains[place].columns]
        if not place:
            return [*own, *(f"number of {one.name}" for one in request.children)]
        return [*(f"{request.name}.{one.name}" for one in request.parent.domain.columns), *own]

    def _describe_release(
        self, saved: SavedFamily, tables: Sequence[FamilyTable], passed: Sequence[GateResult]
    ) -> SyntheticTables:
        opened, request = self.opened, self.opened.request.parent
        numbers = join_names([f"{one.rows:,} of '{one.table}'" for one in tables])
        price = format_amounts(float(request.epsilon), float(request.delta))
        unit = opened.policies[0].unit or "row"
        cautions = dict.fromkeys(one for result in passed for one in result.cautions)
        return SyntheticTables(
            source=opened.family.parent.table.label,
            verdict=f"Synthetic rows, which anybody may have: {numbers}. {price} for each {unit} in all tables.",
            method=request.method,
            epsilon=float(request.epsilon),
            delta=float(request.delta),
            rho=None if request.price.rho is None else float(request.price.rho),
            unit=unit,
            total=saved.model.parent.columns.total,
            tables=tuple(tables),
            spent=self.paid.spent,
            remaining=self.paid.remaining,
            cached=self.paid.cached,
            cautions=(*self.paid.cautions, *cautions),
            output=None if self.place is None else str(self.place),
        )


def _replace_folder(place: Path, new: Path, old: Path) -> None:
    """Put a folder in its place; what was there stays if that fails."""
    if place.exists():
        place.rename(old)
    try:
        new.rename(place)
    except OSError:
        if old.exists():
            old.rename(place)
        raise


def _own_errors(fitted: SyntheticModel, given: int, place: int) -> dict[int, float]:
    """Return the standard errors of a table's own columns, by their place in it."""
    errors = dict(zip(fitted.rules.places, fitted.columns.scales, strict=True))
    return {one - given: error for one, error in errors.items()} if place else errors


def _name_marginals(fitted: SyntheticModel, names: Sequence[str]) -> tuple[MeasuredMarginal, ...]:
    return tuple(
        MeasuredMarginal(tuple(names[place] for place in places), one.cells, scale)
        for places, one, scale in zip(
            fitted.measured_columns, fitted.chosen, fitted.scales, strict=True
        )
    )


def _join_release(registry: Registry, place: str | None) -> PendingRelease:
    return PendingRelease(registry, place, registry.earlier())


@contextmanager
def _forget_unpublished() -> Generator[list[PendingRelease]]:
    """Forget what was remembered of tables that are not published after all."""
    pendings: list[PendingRelease] = []
    try:
        yield pendings
    except BaseException:
        for pending in pendings:
            if pending.record is not None and not pending.is_published:
                pending.record.forget()
        raise


def _keep_records(found: SyntheticTables, pendings: Sequence[PendingRelease]) -> None:
    """Keep for the custodian what attacks found of each table."""
    for table, pending in zip(found.tables, pendings, strict=True):
        if pending.record is not None:
            pending.record.amend(program=program_version(), release=table.to_dict())
