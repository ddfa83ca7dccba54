"""Model inversion: a feature that is not known of a person, guessed by what a model answers for each value."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import pc
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.models.trained_model import confidences
from discreet.attacks.models.trial import ModelTrial, describe_row, draw_rows
from discreet.attacks.synthetic.risk import compare_with_control, reference_of
from discreet.engines.engine import ArrowTable
from discreet.errors import WrongUsage, did_you_mean
from discreet.formatting import format_count, format_percent, join_names

MOST_VALUES = (
    50  # of a secret that are tried; more numbers are tried as ranges, more words are left out
)
RANGES = 10
LEAST_CHANCE = 1e-9


@dataclass(frozen=True)
class SecretValues:
    """The values of a secret that are tried, by what the population has.

    Attributes:
        values: The values, as the model takes them; the middle one of each range.
        prior: How frequent each value, or range, is in the population.
        edges: The upper ends of the ranges but the last; None where values are tried one by one.
    """

    values: Any
    prior: NDArray[np.float64]
    edges: NDArray[np.float64] | None

    def find_places(self, column: Any) -> NDArray[np.int64]:
        """Return which value or range each cell of a column is, -1 for one that is not tried."""
        if self.edges is not None:
            return np.searchsorted(self.edges, _to_numbers(column), side="left")
        found = pc.index_in(column, value_set=self.values)
        return pc.fill_null(found, -1).to_numpy().astype(np.int64)


def find_model_inversion(
    trial: ModelTrial, secret: str, *, rng: np.random.Generator, guesses: int = 2000
) -> Finding:
    """Return of how many people a model reveals `secret`, a feature, to those who know all the rest.

    The adversary knows the other features and the outcome of a person, how frequent each value of the
    secret is in the population, and guesses the value for which frequency times the model's chance of
    the outcome is largest (Fredrikson et al. 2014, 2015). What is reached on people who had no part in the
    training follows from the population; only what is reached beyond it is about members.

    Args:
        trial: The model, the people it was trained on, and others.
        secret: A feature of the model.
        rng: The source of chance.
        guesses: How many people are tried of each kind, at most.

    Raises:
        WrongUsage: The secret is no feature, or has fewer than two values.

    >>> import pyarrow
    >>> from discreet.attacks.models.trial import ModelTrial
    >>> class Table:
    ...     feature_names, target, classes = ("age", "smokes"), "ill", ("no", "yes")
    ...     def predict_proba(self, rows):
    ...         smokes = np.asarray(rows["smokes"]) == "yes"
    ...         return np.where(smokes[:, None], [0.1, 0.9], [0.9, 0.1])
    >>> people = pyarrow.table(
    ...     {"age": [20, 40] * 20, "smokes": ["yes", "no"] * 20, "ill": ["yes", "no"] * 20})
    >>> trial = ModelTrial(Table(), people, people, "table")
    >>> found = find_model_inversion(trial, "smokes", rng=np.random.default_rng(1))
    >>> found.rate, found.control, found.baseline, found.advantage
    (1.0, 1.0, 0.5, 0.0)
    """
    _require_feature(trial, secret)
    tables = [rows.filter(pc.is_valid(rows[secret])) for rows in (trial.members, trial.others)]
    tried = list_secret_values(tables[1][secret], secret)
    people, others = (rows.take(draw_rows(rows, guesses, rng)) for rows in tables)
    guessed = guess_secrets(trial, people, secret, tried)
    truth = tried.find_places(people[secret])
    elsewhere = guess_secrets(trial, others, secret, tried) == tried.find_places(others[secret])
    control = reference_of(int(elsewhere.sum()), len(elsewhere))
    right = int((guessed == truth).sum())
    compared = compare_with_control(right, len(truth), control)
    baseline = float(np.mean(truth == int(np.argmax(tried.prior))))
    known = [name for name in trial.model.feature_names if name != secret]
    return make_finding(
        "model-inversion",
        target=trial.label,
        verdict=_word_verdict(
            secret, right, len(truth), control.share, baseline, compared.interval
        ),
        targets=len(truth),
        exposed=right,
        claimed=len(truth),
        correct=right,
        baseline=baseline,
        control=control.share,
        interval=compared.interval,
        queries=len(tried.prior) * (len(truth) + len(elsewhere)),
        knowledge=(
            f"{join_names([*known, trial.model.target])} of a person, and how frequent each value of "
            f"'{secret}' is."
        ),
        remedy=(
            "For members, training under differential privacy. What the model says of everyone is its use: leave "
            f"'{secret}' out of its features, or answer with a class instead of chances."
        ),
        details={
            "secret": secret,
            "known": known,
            "outcome": trial.model.target,
            "values": len(tried.prior),
            "are_ranges": tried.edges is not None,
            "control_targets": len(elsewhere),
            "risk_interval": compared.risk,
            "population_gain": control.share - baseline,
        },
        example=_build_example(people, secret, guessed, truth, int(np.argmax(tried.prior))),
    )


def choose_secrets(
    trial: ModelTrial, named: Sequence[str] | None, sensitive: Sequence[str]
) -> tuple[str, ...]:
    """Return the features to guess: those named, else those that the policy calls sensitive.

    Raises:
        WrongUsage: There is none.
    """
    features = trial.model.feature_names
    found = tuple(named) if named else tuple(name for name in sensitive if name in features)
    if not found:
        raise WrongUsage(
            "Say which feature is to be guessed: --secret occupation, or a policy in which a feature of the "
            "model is sensitive."
        )
    return found


def list_secret_values(column: Any, secret: str) -> SecretValues:
    """Return the values of a secret to try, as frequent as they are in a column without gaps.

    Numbers and dates of many values are tried as ranges of about as many people, words by frequency.

    Raises:
        WrongUsage: There are fewer than two.

    >>> tried = list_secret_values(pa.chunked_array([["flu", "flu", "gout", "flu"]]), "ill")
    >>> tried.values.to_pylist(), tried.prior.tolist()
    (['flu', 'gout'], [0.75, 0.25])
    """
    counted = pc.value_counts(column)
    values, counts = counted.field("values"), counted.field("counts").to_numpy()
    if len(values) < 2:
        raise WrongUsage(f"'{secret}' has one value in --control: there is nothing to guess.")
    if len(values) > MOST_VALUES and _is_ordered(column.type):
        return _list_ranges(column)
    order = np.argsort(-counts, kind="stable")[:MOST_VALUES]
    return SecretValues(values.take(order), counts[order] / counts.sum(), None)


def guess_secrets(
    trial: ModelTrial, people: ArrowTable, secret: str, tried: SecretValues
) -> NDArray[np.int64]:
    """Return the place of the value that is most likely for each person, by prior and the model's answer."""
    place = people.column_names.index(secret)
    best = np.full(people.num_rows, -np.inf)
    guessed = np.zeros(people.num_rows, dtype=np.int64)
    # By descending prior: of equally likely values the more frequent one is guessed.
    for number in np.argsort(-tried.prior, kind="stable"):
        value = tried.values.take([number]).cast(people.schema.field(place).type)
        asked = people.set_column(place, secret, value.take(np.zeros(people.num_rows, np.int64)))
        chance = np.maximum(confidences(trial.model, asked), LEAST_CHANCE)
        score = np.log(chance) + np.log(tried.prior[number])
        guessed = np.where(score > best, number, guessed)
        best = np.maximum(score, best)
    return guessed


def _require_feature(trial: ModelTrial, secret: str) -> None:
    features = trial.model.feature_names
    if secret == trial.model.target:
        raise WrongUsage(f"'{secret}' is what the model predicts. Name a feature that it takes.")
    if secret not in features:
        near = did_you_mean(secret, features)
        raise WrongUsage(f"'{secret}' is no feature of the model.{near}")


def _is_ordered(kind: Any) -> bool:
    return pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_temporal(kind)


def _list_ranges(column: Any) -> SecretValues:
    whole = pa.chunked_array(column).combine_chunks()
    numbers = _to_numbers(whole)
    order = np.argsort(numbers, kind="stable")
    ends = np.unique(numbers[order[[len(order) * i // RANGES for i in range(1, RANGES)]]])
    places = np.searchsorted(ends, numbers, side="left")
    counts = np.bincount(places, minlength=len(ends) + 1)
    kept = np.flatnonzero(counts)  # above the largest end there may be no one
    first = np.concatenate([[0], np.cumsum(counts)[:-1]])
    middle = order[(first + counts // 2)[kept]]
    return SecretValues(whole.take(middle), counts[kept] / len(numbers), ends[: len(kept) - 1])


def _to_numbers(column: Any) -> NDArray[np.float64]:
    if pa.types.is_temporal(column.type):
        column = pc.cast(column, pa.int32() if column.type.bit_width == 32 else pa.int64())
    return np.asarray(pc.cast(column, pa.float64(), safe=False).to_numpy(zero_copy_only=False))


def _word_verdict(
    secret: str,
    right: int,
    people: int,
    control: float,
    baseline: float,
    interval: tuple[float, float],
) -> str:
    counted = format_count(people, "person", "people")
    said = (
        f"By the model's answers '{secret}' is guessed rightly for {format_percent(right / people)} of {counted} it "
        f"was trained on, for {format_percent(control)} of others, and for {format_percent(baseline)} without the model."
    )
    if interval[0] > control:
        return said
    return f"{said} What it reveals follows from the population."


def _build_example(
    people: ArrowTable,
    secret: str,
    guessed: NDArray[np.int64],
    truth: NDArray[np.int64],
    usual: int,
) -> tuple[str, ...]:
    """Return a person whose secret is not the usual one and was guessed, for the custodian only."""
    hits = np.flatnonzero((guessed == truth) & (truth != usual))
    if not len(hits):
        return ()
    known = people.drop_columns([secret])
    value = people[secret][int(hits[0])].as_py()
    return (
        f"Known of a person: {describe_row(known, int(hits[0]))}.",
        f"The model is surest of this outcome where {secret} is {value}, or near it: right.",
    )
