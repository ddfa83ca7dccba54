"""Attribute inference: the closest synthetic record reveals an unknown value of a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.synthetic.neighbors import find_nearest
from discreet.attacks.synthetic.risk import (
    compare_with_control,
    draw,
    reference_of,
    require_guesses,
)
from discreet.attacks.synthetic.trial import Feature, Records, SyntheticTrial, row_keys
from discreet.errors import WrongUsage, did_you_mean
from discreet.formatting import format_count, format_percent, join_names

REMEDY = (
    "make the synthetic table under differential privacy, or publish it without '{secret}'; records that "
    "repeat a real person must go."
)


@dataclass(frozen=True)
class _AttributeGuesses:
    """What was guessed of people, whether it was right, and the share of the truth in their class."""

    guesses: NDArray[np.float64]
    right: NDArray[np.bool_]
    shares: NDArray[np.float64]


def infer_attribute(
    trial: SyntheticTrial,
    secret: str,
    *,
    known: Sequence[str] | None = None,
    rng: np.random.Generator,
    guesses: int = 2000,
    within: float = 0.05,
) -> Finding:
    """Return of how many people the closest synthetic record has the right `secret`.

    The adversary knows `known` of them, by default every other column. A number is right when it is
    off by a share `within` of itself, or of the column's span, at most. `details` also has CAP, the correct attribution probability: the share of
    the true value among synthetic records that agree on all of `known` (Elliot 2014).

    >>> import pyarrow
    >>> from discreet.attacks.synthetic.trial import open_trial
    >>> people = pyarrow.table({"age": [20, 40, 60], "ill": ["no", "yes", "no"]})
    >>> others = pyarrow.table({"age": [20, 40, 60], "ill": ["yes", "no", "yes"]})
    >>> trial = open_trial(people, source=people, control=others)
    >>> found = infer_attribute(trial, "ill", rng=np.random.default_rng(1))
    >>> found.rate, found.control
    (1.0, 0.0)
    """
    require_guesses(guesses)
    names = _require_known_columns(trial, secret, known)
    people = draw(trial.source, guesses, rng)
    others = draw(trial.control, guesses, rng)
    found = _guess_secrets(trial, trial.source.take(people), secret, names, within)
    elsewhere = _guess_secrets(trial, trial.control.take(others), secret, names, within)
    control = reference_of(int(np.sum(elsewhere.right)), len(others))
    right = int(np.sum(found.right))
    compared = compare_with_control(right, len(people), control)
    counted = format_count(len(people), "person", "people")
    return make_finding(
        "attribute",
        target=trial.label,
        verdict=(
            f"The closest synthetic record has the right '{secret}' of {right:,} of {counted}, and "
            f"of {format_percent(control.share)} of people who are not in the source."
        ),
        targets=len(people),
        exposed=right,
        claimed=len(people),
        correct=right,
        knowledge=f"of a person {join_names(names)}.",
        remedy=REMEDY.format(secret=secret),
        baseline=_by_chance(trial, secret, within),
        control=control.share,
        interval=compared.interval,
        details={
            "secret": secret,
            "known": list(names),
            "risk_interval": compared.risk,
            "control_targets": len(others),
            "cap": _mean_present(found.shares),
            "cap_control": _mean_present(elsewhere.shares),
            "matched": int(np.sum(~np.isnan(found.shares))),
            "matched_control": int(np.sum(~np.isnan(elsewhere.shares))),
        },
        example=_build_example(trial, people, found, secret, names),
    )


def _require_known_columns(
    trial: SyntheticTrial, secret: str, known: Sequence[str] | None
) -> tuple[str, ...]:
    if secret not in trial.names:
        raise WrongUsage(
            f"The secret '{secret}' is not among the shared columns.{did_you_mean(secret, trial.names)}"
        )
    if known is None:
        known = [name for name in trial.names if name != secret]
    for name in known:
        if name not in trial.names:
            raise WrongUsage(
                f"'{name}' is not among the shared columns.{did_you_mean(name, trial.names)}"
            )
    if secret in known:
        raise WrongUsage(f"'{secret}' is both known and to be guessed. Name it once.")
    if not known:
        raise WrongUsage(
            "An adversary who knows nothing cannot choose a record. Name a column more."
        )
    return tuple(known)


def _guess_secrets(
    trial: SyntheticTrial, targets: Records, secret: str, names: Sequence[str], within: float
) -> _AttributeGuesses:
    places, place = trial.positions(names), trial.positions([secret])[0]
    asked, held = Records(targets.values[places]), Records(trial.synthetic.values[places])
    nearest = find_nearest(asked, held, [trial.features[item] for item in places])
    secrets, truth = trial.synthetic.values[place], targets.values[place]
    guesses = secrets[nearest.rows[:, 0]]
    right = correct_guesses(guesses, truth, trial.features[place], within)
    return _AttributeGuesses(guesses, right, attribution_probability(held, asked, secrets, truth))


def correct_guesses(
    guesses: NDArray[np.float64], truth: NDArray[np.float64], feature: Feature, within: float
) -> NDArray[np.bool_]:
    """Return which guesses are right: the same word, or a number off by a share of the truth at most.

    Where numbers are large and their span is not, such as years or postcodes, the share is of the span.
    """
    both_missing = np.isnan(guesses) & np.isnan(truth)
    if not feature.is_ordered:
        return (guesses == truth) | both_missing
    return (np.abs(guesses - truth) <= _allowed_error(truth, feature, within)) | both_missing


def _allowed_error(
    truth: NDArray[np.float64], feature: Feature, within: float
) -> NDArray[np.float64]:
    return within * np.minimum(np.abs(truth), feature.span)


def attribution_probability(
    held: Records,
    asked: Records,
    secrets: NDArray[np.float64],
    truth: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Return CAP: the share of the truth among records that agree with a person, NaN without any.

    >>> attribution_probability(
    ...     Records(np.array([[1.0, 1.0, 2.0]])), Records(np.array([[1.0, 3.0]])),
    ...     np.array([7.0, 8.0, 7.0]), np.array([7.0, 7.0])).tolist()
    [0.5, nan]
    """
    many = len(held)
    keys = row_keys(np.hstack([held.values, asked.values]))
    full = row_keys(
        np.hstack([np.vstack([held.values, secrets]), np.vstack([asked.values, truth])])
    )
    class_sizes = np.bincount(keys[:many], minlength=keys.max(initial=0) + 1)[keys[many:]]
    same = np.bincount(full[:many], minlength=full.max(initial=0) + 1)[full[many:]]
    return np.where(class_sizes > 0, same / np.maximum(class_sizes, 1), np.nan)


def _by_chance(trial: SyntheticTrial, secret: str, within: float) -> float:
    """Return how often the secret of a synthetic record drawn blindly is right."""
    place = trial.positions([secret])[0]
    feature = trial.features[place]
    drawn, truth = trial.synthetic.values[place], trial.source.values[place]
    missing = float(np.mean(np.isnan(drawn)) * np.mean(np.isnan(truth)))
    present = np.sort(drawn[~np.isnan(drawn)])
    wanted = truth[~np.isnan(truth)]
    reach = _allowed_error(wanted, feature, within) if feature.is_ordered else np.zeros(len(wanted))
    hits = np.searchsorted(present, wanted + reach, side="right")
    hits -= np.searchsorted(present, wanted - reach, side="left")
    return missing + float(np.sum(hits)) / (len(drawn) * len(truth))


def _mean_present(shares: NDArray[np.float64]) -> float | None:
    found = shares[~np.isnan(shares)]
    return float(np.mean(found)) if len(found) else None


def _build_example(
    trial: SyntheticTrial,
    people: NDArray[np.int64],
    found: _AttributeGuesses,
    secret: str,
    names: Sequence[str],
) -> list[str]:
    hits = np.flatnonzero(found.right)
    if not len(hits):
        return []
    person = trial.source.values[:, people[hits[0]]]
    described_values = ", ".join(
        f"{name} {trial.features[place].spell(float(person[place]))}"
        for name, place in zip(names, trial.positions(names), strict=True)
    )
    feature = trial.features[trial.positions([secret])[0]]
    guess = feature.spell(float(found.guesses[hits[0]]))
    return [
        f"Known of a person: {described_values}.",
        f"The closest record says {secret} {guess}: right.",
    ]
