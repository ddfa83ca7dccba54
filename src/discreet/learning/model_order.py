"""A model that is asked for: its request, its terms, and its payment from the account of a curator's table."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from discreet.answer.cancellation import CancelToken
from discreet.answer.catalog import CatalogTable, require_named_columns, require_policy
from discreet.answer.coded_counts import ColumnCode
from discreet.answer.curator import Curator
from discreet.answer.mechanism import (
    MechanismResult,
    MechanismTerms,
    find_protected_table,
    mechanism_terms,
    release_mechanism,
)
from discreet.answer.wording import format_amounts
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.budget import Price
from discreet.errors import RiskNotTolerated, WrongUsage
from discreet.formatting import join_names
from discreet.learning.features import choose_features
from discreet.learning.model_file import SavedPredictor
from discreet.learning.request import (
    DEFAULT_DELTA,
    LearningRequest,
    choose_learner,
    read_candidates,
    read_learner_options,
)
from discreet.policy.model import TablePolicy
from discreet.policy.undecided import find_unsure
from discreet.registry import LEARNERS


@dataclass(frozen=True)
class ModelTerms:
    """What a model is asked for with, beside the table.

    Attributes:
        target: The column that is predicted, None where nothing is.
        epsilon: What it costs; `delta` the chance that noise does not cover, None for the usual one.
        learner: How it is learned, None for the learner of the task.
        features: The columns that predict, None for all that may; `leave_out` those that do not.
        options: Options of the learner.
        candidates: Among which the best is selected privately, None for one learner.
    """

    target: str | None
    epsilon: ExactNumber
    delta: ExactNumber | None = None
    learner: str | None = None
    features: Sequence[str] | None = None
    leave_out: Sequence[str] = ()
    options: Mapping[str, object] | None = None
    candidates: Any = None


@dataclass(frozen=True)
class ModelOrder:
    """A model that is to be learned: its curator, its table, and what is asked for."""

    curator: Curator
    held: CatalogTable
    policy: TablePolicy
    request: LearningRequest

    @cached_property
    def terms(self) -> MechanismTerms:
        """What it would be charged to, and how many rows of a unit count."""
        return mechanism_terms(self.curator, self.held.name, self._column_codes)

    @property
    def _column_codes(self) -> list[ColumnCode]:
        return [(one.name, one.code, one.size) for one in self.request.space.columns]

    @property
    def title(self) -> str:
        """What is learned and how; where the best is selected, among how many, in how many runs, and for what each."""
        request, target = self.request, self.request.space.target
        what = "A model" if target is None else f"A model of '{target.name}'"
        if not request.candidates:
            return f"{what} by {request.learner.name}"
        price = request.selection
        return (
            f"{what} by the best of {len(request.candidates)} candidates, in about "
            f"{float(price.expected_runs_above):.0f} runs of epsilon {float(price.run_epsilon):.3g} each,"
        )

    @property
    def price_words(self) -> str:
        """What it costs."""
        return format_amounts(float(self.request.epsilon), float(self.request.delta))

    def explain(self) -> list[str]:
        """Return sentences with the price, what is left, and cautions; no row is read."""
        request, terms = self.request, self.terms
        target = request.space.target
        left = format_amounts(terms.remaining["epsilon"], terms.remaining["delta"])
        return [
            f"{self.title} costs {self.price_words}. Left: {left}.",
            f"It predicts from {join_names([one.name for one in request.space.features])}."
            if target is not None
            else f"It is learned from {join_names([one.name for one in request.space.features])}.",
            *terms.cautions,
        ]

    def pay(self, *, room: Price | None = None, stop: CancelToken | None = None) -> MechanismResult:
        """Charge the request, and return its model: the same one whenever the same is asked for.

        A model that is charged anew is refused unless `room` is left after it.

        Raises:
            RiskNotTolerated: The policy leaves the role of a column undecided; nothing was spent.
            BudgetExceeded: Too little is left; nothing was spent.
        """
        request = self.request
        points = find_unsure(self.policy, among=[one.name for one in request.space.columns])
        if points:
            raise RiskNotTolerated(f"Nothing was read or spent. {points[0]}", findings=())
        privacy = {
            "epsilon": str(request.epsilon),
            "delta": str(request.delta),
            "unit": self.policy.unit_words,
            "rows_per_unit": self.terms.rows_per_unit,
            "table": self.held.name,
        }

        def fit(counter: Any) -> bytes:
            found = request.fit_model(counter, seed=secrets.randbits(63))
            learner, options = found.candidate.learner.name, found.candidate.options
            return SavedPredictor(
                request.space, learner, options, found.predictor, privacy
            ).to_bytes()

        return release_mechanism(
            self.curator,
            self.held.name,
            self._column_codes,
            price=request.price,
            request=request.key(),
            question=f"learn {self.held.name} ({request.learner.name})",
            mechanism=fit,
            room=room,
            stop=stop,
        )


def order_model(curator: Curator, table: str | None, asked: ModelTerms) -> ModelOrder:
    """Return what would be learned of a table; all that can be refused without rows is refused here.

    Raises:
        WrongUsage: Nothing is to be predicted, or the table has no policy.
        UndeclaredDomain: The values or bounds of some columns are not declared; all are named.
    """
    wanted = None if asked.learner is None else LEARNERS.get(asked.learner)
    if asked.target is None and (
        wanted is None or not {"clustering", "components"} & set(wanted.tasks)
    ):
        raise WrongUsage("Name what is to be predicted, the `target`.")
    held = find_protected_table(curator.catalog, table)
    policy = require_policy(held, "A model")
    left_out = [name for name in asked.leave_out if name not in (held.table.undeclared or ())]
    require_named_columns(held, [*filter(None, [asked.target]), *(asked.features or ()), *left_out])
    task = None
    if wanted is not None and (asked.target is None or len(wanted.tasks) == 1):
        task = wanted.tasks[0]
    space = choose_features(
        policy,
        held.planned_columns,
        target=asked.target,
        features=asked.features,
        leave_out=asked.leave_out,
        task=task,
    )
    chosen = choose_learner(asked.learner, space.task)
    options, tried = asked.options or {}, ()
    if asked.candidates is not None:
        tried = read_candidates(asked.candidates, space, asked.learner, options)
    request = LearningRequest(
        space,
        chosen,
        to_fraction(asked.epsilon),
        to_fraction(DEFAULT_DELTA if asked.delta is None else asked.delta),
        {} if tried else read_learner_options(chosen, options),
        tried,
    )
    return ModelOrder(curator, held, policy, request)
