"""`discreet.synthesize`: a table that anybody may have, made of noisy counts."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from discreet.answer.catalog import CatalogTable, require_named_columns, require_policy
from discreet.answer.curator import Curator, open_curator
from discreet.answer.domain_search import DomainSearches, PrivateDomain
from discreet.answer.mechanism import (
    MechanismResult,
    MechanismTerms,
    find_protected_table,
    mechanism_terms,
    release_mechanism,
)
from discreet.answer.wording import format_amounts
from discreet.api.declarations import DECLARATIONS, declare_columns
from discreet.api.domain_searches import as_found_domains, caution_of_searches, divide_searches
from discreet.api.publication import choose_manifest_path, current_time, open_registry
from discreet.api.sample import require_drawable
from discreet.api.synthesis_evaluation import evaluate_model, require_evaluation
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.budget import Price
from discreet.errors import RiskNotTolerated, WrongUsage
from discreet.formatting import join_names
from discreet.policy.load import load_policy
from discreet.policy.model import Policy, TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.progress import Progress, follow_phases
from discreet.release.gate import Gate, GateResult
from discreet.release.output.target import Target
from discreet.release.registry import Registry, registry_of_table
from discreet.release.synthesize.gate import (
    Codes,
    RowCounter,
    SyntheticCandidate,
    attack_synthetic,
    limit_rows,
    list_attacks,
)
from discreet.release.synthesize.model_file import SavedModel, require_memory
from discreet.release.synthesize.planned_domain import PlannedDomain, plan_domain
from discreet.release.synthesize.publish import (
    keep_synthetic_record,
    synthetic_manifest,
    write_synthetic_manifest,
    write_synthetic_rows,
)
from discreet.release.synthesize.record import (
    MeasuredMarginal,
    SynthesisExplanation,
    SyntheticRelease,
    caution_of_gaps,
    describe_synthesis,
)
from discreet.release.synthesize.request import DEFAULT_DELTA, SynthesisRequest, require_method
from discreet.release.write import parse_target
from discreet.writing import require_writable_path, write_atomically

SynthesisMethod = Literal["full", "fast", "pure"]
_GATE = 1  # the stream of chance that attacks take, apart from that of rows


def synthesize(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    method: SynthesisMethod = "full",
    target: str | None = None,
    rows: int | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    find_domains: ExactNumber | None = None,
    leave_out: Sequence[str] | None = None,
    output: str | Path | None = None,
    model: str | Path | None = None,
    evaluate: ExactNumber | None = None,
    accept_risk: str | None = None,
    force: bool = False,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> SyntheticRelease:
    """Return a synthetic table that anybody may have, and charge it to the ledger.

    Counts of single columns and of groups of columns get noise, the table of greatest entropy is fitted
    to them, and rows are drawn from it. The domain comes from the policy, never from the data. The table
    is attacked before it is handed out. The same request on the same data gives the same table, free.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; what is given here is added to it.
        epsilon: What the table costs.
        delta: The chance that Gaussian noise does not cover; by default 1e-9, and 0 for `pure`.
        method: `full`, `fast` (about a fifth of the time), or `pure` (epsilon without delta).
        target: The column that a classifier is to predict: its relations are measured in any case.
        rows: How many rows; by default the noisy number of rows of the source.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn; attacks try to guess them.
        identifiers: The columns that name people: they get values that are made up.
        unit: The column that says whose rows they are; by default each row is a person.
        rows_per_unit: How many rows of a unit count; the others are left out by chance.
        bounds: Public bounds of numbers, such as `{"age": (0, 110)}`.
        values: Public values of categories, such as `{"sex": ["f", "m"]}`.
        find_domains: The share of the price that finds bounds and values that are not declared, such as
            0.1; without it they are refused.
        leave_out: Columns that the table is not to have, besides those that the policy leaves out.
        output: Where rows go, with a manifest beside them; without it they stay in memory.
        model: Where the model goes, a JSON file: `discreet.sample` draws more rows from it.
        evaluate: Also measure, for this epsilon more, how well a model that learns from synthetic rows
            predicts the target in the source.
        accept_risk: Why it is published even if attacks learn more than the policy tolerates.
        force: Replace what is at `output` and `model`.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        UndeclaredDomain: A column has neither values nor bounds; the message names all of them.
        BudgetExceeded: Too little is left; nothing was spent.
        RiskNotTolerated: Attacks on the table learn more than is tolerated; it was paid for and not
            published.

    >>> import pyarrow
    >>> people = pyarrow.table({"age": [30, 40, 50, 60] * 100, "sex": ["f", "m"] * 200})
    >>> made = synthesize(people, bounds={"age": (0, 110)}, values={"sex": ["f", "m"]}, method="fast")
    >>> made.frame.column_names, made.spent["epsilon"]
    (['age', 'sex'], 1.0)
    """
    given = dict(locals())
    places = _choose_places(output, model, force=force)
    if rows is not None:
        require_drawable(rows)
    price = None if evaluate is None else require_evaluation(target, evaluate)
    made = current_time()
    with (
        follow_phases(progress, first="opening") as step,
        _open_synthesis(source, policy, _pick_options(given)) as opened,
    ):
        registry = open_registry(
            source, policy=policy, table=table, made=made, remembers=output is not None
        )
        known = registry_of_table(registry, opened.policy.name, opened.policy)
        require_memory(rows or 1, opened.request.domain)
        paid = opened.pay(step, room=price)
        judged = None
        if target is not None and price is not None:
            judged, paid = evaluate_model(
                opened.curator, opened.held.name, paid, target=target, price=price
            )
        found = opened.publish(paid, places, known, rows=rows, accepted=accept_risk, step=step)
        return replace(found, evaluation=judged)


def explain_synthesis(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    epsilon: ExactNumber = 1,
    delta: ExactNumber | None = None,
    method: SynthesisMethod = "full",
    target: str | None = None,
    quasi: Sequence[str] | None = None,
    sensitive: Sequence[str] | None = None,
    identifiers: Sequence[str] | None = None,
    unit: str | None = None,
    rows_per_unit: int | None = None,
    bounds: Mapping[str, tuple[float, float]] | None = None,
    values: Mapping[str, Sequence[object]] | None = None,
    find_domains: ExactNumber | None = None,
    leave_out: Sequence[str] | None = None,
    ledger: str | Path | None = None,
    analyst: str | None = None,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
) -> SynthesisExplanation:
    """Return what `synthesize` with the same options would cost and measure; nothing is read or spent.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; what is given here is added to it.
        epsilon: What the table costs.
        delta: The chance that Gaussian noise does not cover; by default 1e-9, and 0 for `pure`.
        method: `full`, `fast` or `pure`.
        target: The column that a classifier is to predict.
        quasi: The columns outsiders may know.
        sensitive: The columns outsiders must not learn.
        identifiers: The columns that name people.
        unit: The column that says whose rows they are; by default each row is a person.
        rows_per_unit: How many rows of a unit count.
        bounds: Public bounds of numbers.
        values: Public values of categories.
        find_domains: The share of the price that finds what is not declared.
        leave_out: Columns that the table is not to have.
        ledger: A file or a `postgresql://` URL; `DISCREET_LEDGER`, the user's file, or memory for a frame.
        analyst: The analyst's name, if the policy has budgets of analysts.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.

    >>> import pyarrow
    >>> people = pyarrow.table({"sex": ["f", "m"] * 200})
    >>> found = explain_synthesis(people, values={"sex": ["f", "m"]}, epsilon=1)
    >>> found.epsilon, round(found.columns[0].standard_error, 1)
    (1.0, 5.8)
    """
    given = dict(locals())
    with _open_synthesis(source, policy, _pick_options(given)) as opened:
        return opened.explain()


@dataclass(frozen=True)
class _OutputPlaces:
    """Where rows, manifest and model go; None where they stay in memory."""

    rows: Target | None
    manifest: Path | None
    model: Path | None


def _choose_places(
    output: str | Path | None, model: str | Path | None, *, force: bool
) -> _OutputPlaces:
    target = None if output is None else parse_target(output, force=force)
    manifest = None if output is None else choose_manifest_path(output, manifest=None, force=force)
    if manifest is not None:
        require_writable_path(manifest, may_exist=force)
    if model is not None:
        require_writable_path(Path(model), may_exist=force)
    return _OutputPlaces(target, manifest, None if model is None else Path(model))


_READING = ("ledger", "analyst", "table", "delimiter", "encoding", "memory")
_ASKED = ("epsilon", "delta", "method", "target", "find_domains", "leave_out")


def _pick_options(given: Mapping[str, Any]) -> dict[str, Any]:
    known = (*DECLARATIONS, *_READING, *_ASKED)
    return {name: value for name, value in given.items() if name in known}


@contextmanager
def _open_synthesis(
    source: object, policy: Policy | str | Path | None, given: Mapping[str, Any]
) -> Generator[_Synthesis]:
    """Open the source with its policy; all that can be refused without data is refused here."""
    method = require_method(given["method"])
    loaded = load_policy(policy) if isinstance(policy, (str, Path)) else policy
    declared = declare_columns(source, loaded, given)
    reading: dict[str, Any] = {name: given.get(name) for name in _READING}
    with open_curator(source, declared, **reading) as curator:
        held = find_protected_table(curator.catalog, given.get("table"))
        asked = _leave_out(held, given.get("leave_out") or ())
        delta = given.get("delta")
        if delta is None:
            delta = 0 if method == "pure" else DEFAULT_DELTA
        share = to_fraction(given.get("find_domains") or 0)
        planned = plan_domain(asked, held.planned_columns, finds_domains=bool(share))
        request = SynthesisRequest(
            planned.domain,
            method,
            to_fraction(given["epsilon"]),
            to_fraction(delta),
            given.get("target"),
            planned.searched,
            share,
            planned.facts,
        )
        if not request.domain.columns and not planned.searched:
            raise WrongUsage(
                f"No column of '{held.name}' is left to synthesize. Declare `values` or `bounds` of some."
            )
        yield _Synthesis(source, curator, held, planned, request)


@dataclass(frozen=True)
class _Synthesis:
    """A table that is to be synthesized: its curator, its policy, and what is asked for."""

    source: object
    curator: Curator
    held: CatalogTable
    planned: PlannedDomain
    request: SynthesisRequest

    @property
    def policy(self) -> TablePolicy:
        """The table's policy, with what the call leaves out."""
        return self.planned.policy

    @property
    def terms(self) -> MechanismTerms:
        """What it would be charged to, and how many rows of a unit count."""
        codes = _column_codes(self.request)
        return mechanism_terms(self.curator, self.held.name, codes, searches=self._domain_searches)

    @property
    def _domain_searches(self) -> DomainSearches | None:
        """The domains that are found first, if there are any."""
        return divide_searches(self.request, [self.planned])[0]

    def _with_domains(self, found: Mapping[str, PrivateDomain]) -> SynthesisRequest:
        """Return the request with the domains that were found."""
        return replace(self.request, domain=self.planned.complete(as_found_domains(found)))

    @property
    def _price_words(self) -> dict[str, Any]:
        request = self.request
        return {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "unit": self.policy.unit_words,
            "method": request.method,
        }

    def explain(self) -> SynthesisExplanation:
        """Return price and expected errors; no row is read."""
        terms, request = self.terms, self.request
        errors = request.expected_errors(sensitivity=terms.rows_per_unit, one=1)
        columns = describe_synthesis(request.domain, dict(enumerate(errors)), request.searched)
        searched = [name for name, _ in request.searched]
        names = [one.column for one in columns if one.codes is not None or one.column in searched]
        return SynthesisExplanation(
            source=self.held.table.label,
            table=self.held.name,
            verdict=(
                f"A synthetic table of {join_names(names)} would cost {_format_price(request)}. Nothing was "
                "read or spent."
            ),
            method=request.method,
            epsilon=float(request.epsilon),
            delta=float(request.delta),
            rho=_float_rho(request),
            unit=self.policy.unit_words,
            rows_per_unit=terms.rows_per_unit,
            target=request.target,
            columns=columns,
            remaining=terms.remaining,
            cautions=(*caution_of_searches(request), *terms.cautions),
        )

    def pay(self, step: Progress, *, room: Price | None) -> MechanismResult:
        """Charge the request, and return its model: the same one whenever the same is asked for.

        A new request is refused unless `room` is left after it, for the evaluation of its model.
        """
        searched = [name for name, _ in self.request.searched]
        points = find_unsure(self.policy, among=(*self.request.domain.order, *searched))
        if points:
            raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        step("measuring", 0, 1)
        request = final = self.request

        def choose_columns(found: Mapping[str, PrivateDomain]) -> list[Any]:
            nonlocal final
            final = self._with_domains(found)
            return _column_codes(final)

        def fit(counter: Any) -> bytes:
            seed = secrets.randbits(63)
            fitted = final.fit(counter, seed=seed)
            return SavedModel(final.domain, fitted, seed, self._price_words).to_bytes()

        return release_mechanism(
            self.curator,
            self.held.name,
            choose_columns if request.searched else _column_codes(request),
            searches=self._domain_searches,
            price=request.price,
            room=room,
            request=request.key(),
            question=f"synthesize {self.held.name} ({request.method})",
            mechanism=fit,
        )

    def publish(
        self,
        paid: MechanismResult,
        places: _OutputPlaces,
        registry: Registry,
        *,
        rows: int | None,
        accepted: str | None,
        step: Progress,
    ) -> SyntheticRelease:
        """Draw rows, attack them, and write what passes; all of it follows from what was paid for."""
        saved = SavedModel.from_bytes(paid.content)
        final = replace(self, request=replace(self.request, domain=saved.domain))
        step("drawing", 0, 1)
        wanted = rows or max(1, round(saved.model.columns.total))
        codes, drawn = saved.draw(wanted, np.random.default_rng(saved.seed))
        place = None if places.rows is None else places.rows.place
        with registry.begin_release(place) as pending:
            gate = Gate(self.policy, pending.earlier, accepted)
            passed = final._attack_rows(saved, codes, gate, step)
            found = final._describe_release(paid, saved, passed, rows=wanted)
            gaps = caution_of_gaps(saved.domain.columns, saved.model, codes)
            found = replace(found, cautions=(*found.cautions, *gaps))
            tried = list_attacks(saved.domain, gate)
            found = replace(found, attacks=tried, _rows=drawn, _given=self.source)
            if places.rows is not None:
                written = write_synthetic_rows(drawn, places.rows, pending, progress=step)
                found = replace(found, output=written)
            if places.model is not None:
                write_atomically(places.model, saved.to_bytes().decode())
                found = replace(found, model_path=str(places.model))
            found = keep_synthetic_record(found, pending)
            content = synthetic_manifest(
                found, self.policy, made=registry.made or current_time(), accepted=accepted
            )
            return write_synthetic_manifest(places.manifest, found, content)

    def _attack_rows(
        self, saved: SavedModel, codes: Codes, gate: Gate, step: Progress
    ) -> GateResult:
        """Attack the rows; who is attacked follows from the model's seed, so that a second try finds the same."""
        request, most = self.request, self.terms.rows_per_unit
        chance = np.random.default_rng([saved.seed, _GATE])

        def make_table(rows: Codes, units: Any) -> Codes:
            kept = limit_rows(units, most, chance)
            counter = RowCounter(rows[kept], request.sizes, sensitivity=most)
            fitted = request.fit(counter, seed=int(chance.integers(2**62)))
            return fitted.sample(max(1, round(fitted.columns.total)), chance)

        candidate = SyntheticCandidate(
            request.domain,
            codes,
            self.held.table,
            lambda rows: saved.model.sample(rows, chance),
            self.held.name,
            self.policy.unit,
            make_table,
        )
        return attack_synthetic(candidate, gate, chance, progress=step)

    def _describe_release(
        self, paid: MechanismResult, saved: SavedModel, passed: GateResult, *, rows: int
    ) -> SyntheticRelease:
        request, fitted = self.request, saved.model
        errors = dict(zip(fitted.rules.places, fitted.columns.scales, strict=True))
        described = describe_synthesis(request.domain, errors, request.searched)
        names = [one.name for one in request.domain.columns]
        marginals = tuple(
            MeasuredMarginal(tuple(names[place] for place in places), one.cells, scale)
            for places, one, scale in zip(
                fitted.measured_columns, fitted.chosen, fitted.scales, strict=True
            )
        )
        return SyntheticRelease(
            rows=rows,
            source=self.held.table.label,
            table=self.held.name,
            verdict=(
                f"{rows:,} synthetic rows of '{self.held.name}', which anybody may have: "
                f"{_format_price(request)} for each {self.policy.unit_words}."
            ),
            method=request.method,
            epsilon=float(request.epsilon),
            delta=float(request.delta),
            rho=_float_rho(request),
            unit=self.policy.unit_words,
            rows_per_unit=self.terms.rows_per_unit,
            target=request.target,
            total=fitted.columns.total,
            columns=described,
            marginals=marginals,
            spent=paid.spent,
            remaining=paid.remaining,
            cached=paid.cached,
            findings=passed.findings,
            accepted_risk=passed.accepted,
            not_tried=passed.not_tried,
            cautions=(*caution_of_searches(request), *paid.cautions, *passed.cautions),
            _model=saved,
        )


def _float_rho(request: SynthesisRequest) -> float | None:
    rho = request.price.rho
    return None if rho is None else float(rho)


def _format_price(request: SynthesisRequest) -> str:
    return format_amounts(float(request.epsilon), float(request.delta))


def _leave_out(held: CatalogTable, names: Sequence[str]) -> TablePolicy:
    """Return the table's policy without the columns that the call leaves out, too."""
    policy = require_policy(held, "A synthetic table")
    require_named_columns(
        held, [name for name in names if name not in (held.table.undeclared or ())]
    )
    return policy.leave_out(names)


def _column_codes(request: SynthesisRequest) -> list[Any]:
    return [(one.name, one.code, one.size) for one in request.domain.columns]
