"""`discreet.synthesize_tables`: a table of people and tables of what they have, such as visits, synthesized together."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from discreet.answer.mechanism import MechanismResult
from discreet.answer.wording import format_amounts
from discreet.api.domain_searches import caution_of_searches
from discreet.api.family_synthesis import FamilySynthesis, open_family
from discreet.api.publication import choose_manifest_path, current_time
from discreet.api.sample import require_drawable
from discreet.api.synthesis_evaluation import evaluate_tables, require_evaluation
from discreet.api.synthesize import SynthesisMethod
from discreet.dp.accounting.exact import ExactNumber
from discreet.engines.engine import ArrowTable
from discreet.formatting import join_names
from discreet.policy.model import Policy
from discreet.progress import Progress, follow_phases
from discreet.release.gate import Gate, GateResult
from discreet.release.manifest import program_version, write_json
from discreet.release.registry import PendingRelease, Registry
from discreet.release.synthesize.family import FamilyRows
from discreet.release.synthesize.family_file import SavedTables
from discreet.release.synthesize.family_gate import attack_synthetic_family, attacked_domains
from discreet.release.synthesize.gate import list_attacks
from discreet.release.synthesize.model import SyntheticModel
from discreet.release.synthesize.model_file import require_memory
from discreet.release.synthesize.publish import family_manifest
from discreet.release.synthesize.record import (
    FamilyTable,
    MeasuredMarginal,
    SyntheticTables,
    TablesExplanation,
    caution_of_gaps,
    describe_synthesis,
)
from discreet.release.synthesize.table_folder import (
    DEFAULT_FORMAT,
    require_file_format,
    require_table_folder,
    write_table_folder,
)
from discreet.writing import require_writable_path, write_atomically

_GATE = 1  # the stream of chance that attacks take, apart from that of rows


def synthesize_tables(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path,
    *,
    children: Sequence[str],
    table: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    method: SynthesisMethod = "full",
    target: str | None = None,
    rows: int | None = None,
    find_domains: ExactNumber | None = None,
    leave_out: Sequence[str] | None = None,
    output: str | Path | None = None,
    file_format: str | None = None,
    model: str | Path | None = None,
    evaluate: ExactNumber | None = None,
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
    column that refers to the parent's unit, or to a key of another child table. All tables are attacked before
    any is handed out. The same request on the same data gives the same tables, free.

    Args:
        source: The parent table, or a PostgreSQL database with all tables; the policy says where others are.
        policy: A policy of all tables, or the path of its file.
        children: The names of the child tables.
        table: The name of the parent table; by default the one that the source is.
        epsilon: What all tables cost together.
        delta: The chance that Gaussian noise does not cover; by default 1e-9, and 0 for `pure`.
        method: `full`, `fast`, or `pure` (epsilon without delta).
        target: The column that others of its table are to predict, as `visits.ward`: its relations with them, and
            with the columns of the parent, are measured in any case.
        rows: How many parents; by default the noisy number of rows of the source.
        find_domains: The share of the price that finds bounds and values that are not declared, such as
            0.1; without it they are refused.
        leave_out: Columns that the tables are not to have, as `ward` or `visits.ward`, besides those that the
            policy leaves out.
        output: The folder that gets a file for each table, with a manifest beside it; without it they
            stay in memory.
        file_format: The format of the files, by its ending, such as `csv`; by default `parquet`.
        model: Where the model goes, a JSON file: `discreet.sample_tables` draws more rows from it.
        evaluate: Also measure, for this epsilon more, how well a model that learns from synthetic rows
            predicts the target in the source.
        accept_risk: Why they are published even if attacks learn more than the policy tolerates.
        force: Replace the folder, if it holds such tables only, and the model.
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
    places = _choose_places(output, file_format, model, force=force)
    if rows is not None:
        require_drawable(rows)
    price = None if evaluate is None else require_evaluation(target, evaluate)
    with (
        follow_phases(progress, first="opening") as step,
        open_family(source, policy, given) as opened,
    ):
        if places.folder is not None:
            require_table_folder(places.folder, opened.names, force=force)
        require_memory(rows or 1, opened.request.parent.domain)
        paid = opened.pay(step, room=price)
        saved = SavedTables.from_bytes(paid.content)
        final = opened.with_domains([one.domain for one in saved.tables])
        judged = None
        if price is not None:
            judged, paid = evaluate_tables(final, saved, paid, price=price)
        known = final.open_registries(source, policy, remembers=output is not None)
        publication = _FamilyPublication(final, paid, saved, places, accept_risk, step)
        return replace(publication.publish(known, parents=rows), evaluation=judged)


def explain_tables(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path,
    *,
    children: Sequence[str],
    table: str | None = None,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    method: SynthesisMethod = "full",
    target: str | None = None,
    find_domains: ExactNumber | None = None,
    leave_out: Sequence[str] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> TablesExplanation:
    """Return what `synthesize_tables` with the same options would cost and measure; nothing is read or spent.

    Args:
        source: The parent table, or a database with all tables; the policy says where others are.
        policy: A policy of all tables, or the path of its file.
        children: The names of the child tables.
        table: The name of the parent table; by default the one that the source is.
        epsilon: What all tables cost together.
        delta: The chance that Gaussian noise does not cover; by default 1e-9, and 0 for `pure`.
        method: `full`, `fast` or `pure`.
        target: The column that others of its table are to predict, as `visits.ward`.
        find_domains: The share of the price that finds what is not declared.
        leave_out: Columns that the tables are not to have, as `ward` or `visits.ward`.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

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
    >>> found = explain_tables("patients.csv", policy, children=["visits"], ledger=":memory:")
    >>> [one.table for one in found.tables], found.epsilon
    (['patients', 'visits'], 1.0)
    """
    with open_family(source, policy, dict(locals())) as opened:
        return opened.explain()


@dataclass(frozen=True)
class _FamilyPlaces:
    """Where tables, manifest and model go; None where they stay in memory."""

    folder: Path | None
    ending: str
    manifest: Path | None
    model: Path | None


def _choose_places(
    output: str | Path | None, form: str | None, model: str | Path | None, *, force: bool
) -> _FamilyPlaces:
    ending = require_file_format(form or DEFAULT_FORMAT)
    folder = None if output is None else Path(output)
    manifest = None
    if folder is not None:
        manifest = choose_manifest_path(folder, manifest=None, force=force)
        require_writable_path(manifest, may_exist=force)
    if model is not None:
        require_writable_path(Path(model), may_exist=force)
    return _FamilyPlaces(folder, ending, manifest, None if model is None else Path(model))


@dataclass(frozen=True)
class _FamilyPublication:
    """Tables that were paid for, on their way to a folder."""

    opened: FamilySynthesis
    paid: MechanismResult
    saved: SavedTables
    places: _FamilyPlaces
    accepted: str | None
    step: Progress

    def publish(self, registries: Sequence[Registry], *, parents: int | None) -> SyntheticTables:
        """Draw rows, attack them, and write what passes; all of it follows from what was paid for."""
        opened, request, folder = self.opened, self.opened.request, self.places.folder
        saved = self.saved
        self.step("drawing", 0, 1)
        count = parents or max(1, round(saved.model.parent.columns.total))
        rows, drawn = saved.draw(count, np.random.default_rng(saved.seed))
        place = None if folder is None else str(folder)
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
            if folder is not None:
                tables = self._write_tables(folder, tables, pendings)
            if self.places.model is not None:
                write_atomically(self.places.model, saved.to_bytes().decode())
            found = self._describe_release(saved, tables, passed)
            found = replace(found, cautions=(*found.cautions, *_caution_of_gaps(saved, rows)))
            _keep_records(found, pendings)
            content = family_manifest(
                found,
                opened.policies,
                made=registries[0].made or current_time(),
                accepted=self.accepted,
            )
            manifest = self.places.manifest
            if manifest is None:
                return replace(found, _manifest_content=content)
            write_json(manifest, content)
            return replace(found, manifest=str(manifest), _manifest_content=content)

    def _write_tables(
        self, place: Path, tables: Sequence[FamilyTable], pendings: Sequence[PendingRelease]
    ) -> list[FamilyTable]:
        """Write all tables, or none; each is remembered before it is visible."""
        rows = {one.table: one.to_arrow() for one in tables}
        written = write_table_folder(
            place, rows, self.places.ending, pendings=pendings, progress=self.step
        )
        return [
            replace(one, output=output, id=None if pending.record is None else pending.record.id)
            for one, output, pending in zip(tables, written, pendings, strict=True)
        ]

    def _describe_tables(
        self, saved: SavedTables, drawn: Sequence[ArrowTable], passed: Sequence[GateResult]
    ) -> list[FamilyTable]:
        opened, request = self.opened, self.opened.request
        models = saved.model.models
        limits = opened.limits()
        return [
            FamilyTable(
                len(rows),
                _rows=rows,
                _given=opened.source,
                table=name,
                rows_per_unit=limits[place],
                columns=describe_synthesis(
                    request.domains[place],
                    _own_errors(models[place], saved.model.count_above(place)),
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
        names = [
            [one.name if of == place else f"{name}.{one.name}" for one in domain.columns]
            for of, (name, domain) in enumerate(zip(request.names, request.domains, strict=True))
        ]
        numbers = [f"number of {one.name}" for one in request.children]
        return request.tree.join_columns(place, names, numbers)

    def _describe_release(
        self, saved: SavedTables, tables: Sequence[FamilyTable], passed: Sequence[GateResult]
    ) -> SyntheticTables:
        opened, request = self.opened, self.opened.request.parent
        numbers = join_names([f"{one.rows:,} of '{one.table}'" for one in tables])
        price = format_amounts(float(request.epsilon), float(request.delta))
        unit = opened.policies[0].unit_words
        cautions = dict.fromkeys(one for result in passed for one in result.cautions)
        return SyntheticTables(
            source=opened.family.parent.table.label,
            verdict=f"Synthetic rows, which anybody may have: {numbers}. {price} for each {unit} in all tables.",
            method=request.method,
            epsilon=float(request.epsilon),
            delta=float(request.delta),
            rho=None if request.price.rho is None else float(request.price.rho),
            unit=unit,
            target=opened.target_words,
            total=saved.model.parent.columns.total,
            tables=tuple(tables),
            spent=self.paid.spent,
            remaining=self.paid.remaining,
            cached=self.paid.cached,
            cautions=(*caution_of_searches(request), *self.paid.cautions, *cautions),
            output=None if self.places.folder is None else str(self.places.folder),
            model_path=None if self.places.model is None else str(self.places.model),
            _model=saved,
        )


def _caution_of_gaps(saved: SavedTables, rows: FamilyRows) -> list[str]:
    """Return cautions about missing values that noise may have put into the tables."""
    codes = (rows.parents, *(one.rows for one in rows.children))
    return [
        f"'{table.name}': {caution}"
        for place, (table, fitted, drawn) in enumerate(
            zip(saved.tables, saved.model.models, codes, strict=True)
        )
        for caution in caution_of_gaps(
            table.domain.columns, fitted, drawn, first=saved.model.count_above(place)
        )
    ]


def _own_errors(fitted: SyntheticModel, above: int) -> dict[int, float]:
    """Return the standard errors of a table's own columns, by their place in it."""
    errors = zip(fitted.rules.places, fitted.columns.scales, strict=True)
    return {one - above: error for one, error in errors}


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
