"""How well a synthetic table serves prediction: measured in the source for a price of its own."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from discreet.answer.curator import Curator
from discreet.answer.mechanism import MechanismResult, release_mechanism
from discreet.dp.accounting.exact import ExactNumber, to_fraction
from discreet.dp.budget import Price
from discreet.errors import InvalidBudget, WrongUsage
from discreet.release.synthesize.evaluate import MOST_ROWS, Evaluation, judge_scores, train_scores
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


def evaluate_model(
    curator: Curator, table: str, paid: MechanismResult, *, target: str, price: Price
) -> tuple[Evaluation, MechanismResult]:
    """Return how well a model of synthetic rows predicts in the source, and what was spent in all.

    The same evaluation of the same model is free again.
    """
    saved = SavedModel.from_bytes(paid.content)
    columns = saved.domain.columns
    place, epsilon = saved.domain.place(target), price.epsilon or Fraction(0)
    if place is None:
        raise WrongUsage(f"The target '{target}' is not among the synthesized columns.")
    codes, _ = saved.draw(MOST_ROWS, np.random.default_rng([saved.seed, _STREAM]))
    model = train_scores(codes, columns, place)
    request = {
        "evaluate": 1,
        "model": hashlib.sha256(paid.content).hexdigest(),
        "target": target,
        "epsilon": str(epsilon),
    }

    def judge(counter: Any) -> bytes:
        found = judge_scores(model, counter, target=target, epsilon=epsilon)
        return json.dumps(found.to_dict()).encode()

    result = release_mechanism(
        curator,
        table,
        [(one.name, one.code, one.size) for one in columns],
        price=price,
        request=json.dumps(request, sort_keys=True),
        question=f"evaluate a synthetic table of {table}: {target}",
        mechanism=judge,
    )
    spent = {name: paid.spent[name] + amount for name, amount in result.spent.items()}
    found = Evaluation(**json.loads(result.content))
    return found, replace(paid, spent=spent, remaining=result.remaining)
