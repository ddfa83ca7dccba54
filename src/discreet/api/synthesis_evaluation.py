"""How well a synthetic table serves prediction: measured in the source for a price of its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from discreet.answer.coded_counts import CodedCounter
from discreet.answer.curator import Curator
from discreet.answer.mechanism import (
    MechanismResult,
    release_family_mechanism,
    release_mechanism,
)
from discreet.api.family_synthesis import FamilySynthesis
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.budget import Price
from discreet.errors import Bug, InvalidBudget, WrongUsage
from discreet.release.synthesize.evaluate import (
    MOST_ROWS,
    Evaluation,
    ScoringModel,
    judge_scores,
    train_scores,
)
from discreet.release.synthesize.family_file import SavedTables
from discreet.release.synthesize.model_file import SavedModel

_STREAM = 2  # of chance, apart from those of rows and of attacks


def require_evaluation(target: str | None, epsilon: ExactNumber) -> Price:
    """Return the price of an evaluation.

    Raises:
        WrongUsage: It is not said which column is predicted.
        InvalidBudget: The price is not above 0.
    """
    if target is None:
        raise WrongUsage(
            "An evaluation needs the column that is predicted. Name it: --target COLUMN."
        )
    exact = to_fraction(epsilon)
    if exact <= 0:
        raise InvalidBudget("An evaluation costs an epsilon above 0, such as 0.1.")
    return Price(exact, Fraction(0), exact**2 / 2, Fraction(0))


@dataclass(frozen=True)
class _Trial:
    """A model that learned from synthetic rows and is to be judged in the source, after `paid` made them."""

    model: ScoringModel
    target: str
    price: Price
    paid: MechanismResult

    @property
    def request(self) -> str:
        """All that decides the judgement."""
        content = {
            "evaluate": 1,
            "model": hashlib.sha256(self.paid.content).hexdigest(),
            "target": self.target,
            "epsilon": str(self.price.epsilon),
        }
        return json.dumps(content, sort_keys=True)

    def judge(self, counter: CodedCounter) -> bytes:
        """Return how well it predicts in the rows that are counted, with noise."""
        epsilon = self.price.epsilon or Fraction(0)
        found = judge_scores(self.model, counter, target=self.target, epsilon=epsilon)
        return json.dumps(found.to_dict()).encode()

    def read(self, result: MechanismResult) -> tuple[Evaluation, MechanismResult]:
        """Return the judgement, and what was spent in all."""
        spent = {name: self.paid.spent[name] + amount for name, amount in result.spent.items()}
        found = Evaluation(**json.loads(result.content))
        return found, replace(self.paid, spent=spent, remaining=result.remaining)


def evaluate_model(
    curator: Curator, table: str, paid: MechanismResult, *, target: str, price: Price
) -> tuple[Evaluation, MechanismResult]:
    """Return how well a model of synthetic rows predicts in the source, and what was spent in all.

    The same evaluation of the same model is free again.
    """
    saved = SavedModel.from_bytes(paid.content)
    columns = saved.domain.columns
    place = saved.domain.place(target)
    if place is None:
        raise WrongUsage(f"The target '{target}' is not among the synthesized columns.")
    codes, _ = saved.draw(MOST_ROWS, np.random.default_rng([saved.seed, _STREAM]))
    trial = _Trial(train_scores(codes, columns, place), target, price, paid)
    result = release_mechanism(
        curator,
        table,
        [(one.name, one.code, one.size) for one in columns],
        price=price,
        request=trial.request,
        question=f"evaluate a synthetic table of {table}: {target}",
        mechanism=trial.judge,
    )
    return trial.read(result)


def evaluate_tables(
    opened: FamilySynthesis, saved: SavedTables, paid: MechanismResult, *, price: Price
) -> tuple[Evaluation, MechanismResult]:
    """Return how well a model of synthetic rows of one of several tables predicts in the source, as `evaluate_model`.

    A column of a child table is predicted by its other columns and those of the tables above it.
    """
    asked, target = opened.request.fitted_target(), opened.target_words
    if asked is None or target is None:
        raise Bug("An evaluation has lost its target.")
    domains = [one.domain for one in saved.tables]
    parents = max(1, min(MOST_ROWS, round(saved.model.parent.columns.total)))
    rows, _ = saved.draw(parents, np.random.default_rng([saved.seed, _STREAM]))
    above = saved.model.tree.list_ancestors(asked.table)
    columns = [column for place in (*above, asked.table) for column in domains[place].columns]
    target_place = saved.model.count_above(asked.table) + asked.column
    model = train_scores(rows.join_ancestors(asked.table), columns, target_place)
    fitted = opened.column_codes()
    # Numbers of children predict nothing: they are no columns of the table.
    others = [np.zeros(size, np.int64) for _, _, size in fitted[asked.table][len(columns) :]]
    trial = _Trial(replace(model, weights=(*model.weights, *others)), target, price, paid)
    result = release_family_mechanism(
        opened.curator,
        opened.family,
        fitted,
        price=price,
        request=trial.request,
        question=f"evaluate synthetic tables: {target}",
        mechanism=lambda counters: trial.judge(counters[asked.table]),
    )
    return trial.read(result)
