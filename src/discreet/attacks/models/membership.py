"""Membership inference: was the model trained on this person?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.intervals import clopper_pearson
from discreet.attacks.membership.evaluation import (
    Hits,
    area_under_curve,
    auc_interval,
    best_threshold,
    hits_above,
)
from discreet.attacks.models.bounds import PermittedMembership
from discreet.attacks.models.likelihood import (
    ShadowConfidences,
    assign_shadows,
    likelihood_ratios,
    surprises,
    to_logits,
)
from discreet.attacks.models.trained_model import Recipe, confidences
from discreet.attacks.models.trial import ModelTrial, describe_row, draw_rows, draw_seed
from discreet.engines.engine import ArrowTable
from discreet.errors import WrongUsage
from discreet.formatting import format_percent

FALSE_ALARMS = {"at_1_percent": 0.01, "at_0_1_percent": 0.001}
FEWEST_SHADOWS = 8
MOST_SHADOWS = 256
LOSS, OFFLINE, ONLINE = "loss", "likelihood ratio, offline", "likelihood ratio"
REMEDY = (
    "Train the model under differential privacy. Larger leaves, less depth or more regularization make the "
    "attack weaker and promise nothing; so does answering with a class instead of chances."
)

PRIVATE_REMEDY = "Its guarantee limits it already; a smaller epsilon limits it further."


@dataclass(frozen=True)
class MembershipTrial:
    """Scores of people of whom half are members; `calibrates` says who sets thresholds, the rest tests them."""

    is_member: NDArray[np.bool_]
    calibrates: NDArray[np.bool_]
    scores: Mapping[str, NDArray[np.float64]]

    def threshold(self, name: str) -> float:
        """Return the threshold of the largest advantage among those who calibrate."""
        chosen = self.calibrates
        return best_threshold(self.scores[name][chosen], self.is_member[chosen])

    def threshold_at(self, name: str, false_alarms: float) -> float:
        """Return the lowest threshold with at most these false alarms among those who calibrate."""
        others = np.sort(self.scores[name][self.calibrates & ~self.is_member])[::-1]
        return float(others[int(false_alarms * len(others))])

    def hits(self, name: str, threshold: float) -> Hits:
        """Return the hits among those who do not calibrate."""
        tests = ~self.calibrates
        return hits_above(self.scores[name][tests], self.is_member[tests], threshold)

    def strongest(self) -> str:
        """Return the score with the largest advantage among those who calibrate."""
        chosen, truth = self.calibrates, self.is_member[self.calibrates]

        def advantage(name: str) -> float:
            hits = hits_above(self.scores[name][chosen], truth, self.threshold(name))
            return hits.rate - hits.false_rate

        return max(self.scores, key=advantage)


def find_model_membership(
    trial: ModelTrial,
    *,
    rng: np.random.Generator,
    shadows: int = 16,
    guesses: int = 10_000,
    permitted: PermittedMembership | None = None,
) -> Finding:
    """Return how often an adversary is right about who a model was trained on.

    Each person is scored by the chance that the model gives to their own outcome (Yeom et al. 2018), and,
    where models of its kind can be trained, by how that compares with shadow models that were and
    were not trained on the person (Carlini et al. 2022). One half of the people chooses score and
    thresholds, the other half tests them, so that the intervals are not of what was chosen by luck.

    Args:
        trial: The model, the people it was trained on, and others.
        rng: The source of chance.
        shadows: How many shadow models are trained, from 8 to 256; 0 for none.
        guesses: How many people are tried of each kind, at most.
        permitted: What the guarantee of the model permits, if it has one.

    Raises:
        WrongUsage: The number of shadow models is out of range.

    >>> import pyarrow
    >>> from discreet.attacks.models.trial import ModelTrial
    >>> class Memory:
    ...     feature_names, target, classes = ("age",), "ill", ("no", "yes")
    ...     def predict_proba(self, rows):
    ...         young = np.asarray(rows["age"]) < 100
    ...         return np.where(young[:, None], [1.0, 0.0], 0.5)
    >>> people = pyarrow.table({"age": list(range(200)), "ill": ["no"] * 200})
    >>> trial = ModelTrial(Memory(), people.slice(0, 100), people.slice(100), "memory")
    >>> found = find_model_membership(trial, rng=np.random.default_rng(1))
    >>> found.rate, found.baseline, found.advantage
    (1.0, 0.5, 1.0)
    """
    _require_shadows(shadows)
    many = min(guesses, trial.members.num_rows, trial.others.num_rows)
    places = [draw_rows(rows, many, rng) for rows in (trial.members, trial.others)]
    people = pa.concat_tables([trial.members.take(places[0]), trial.others.take(places[1])])
    chances = confidences(trial.model, people)
    scores = {LOSS: chances}
    trained = None
    if trial.recipe is not None and shadows:
        at = np.concatenate([places[0], trial.members.num_rows + places[1]])
        trained = _train_shadows(trial, trial.recipe, people, at, shadows=shadows, rng=rng)
        observed = to_logits(chances)
        scores[OFFLINE] = surprises(observed, trained)
        scores[ONLINE] = likelihood_ratios(observed, trained)
    # Drawn in chance order: the first half of each kind is a sample of it.
    scored = MembershipTrial(
        is_member=np.arange(2 * many) < many,
        calibrates=np.arange(2 * many) % many < many // 2,
        scores=scores,
    )
    example = _build_example(people, chances, trained, scored)
    return _make_finding(trial, scored, permitted, 0 if trained is None else shadows, example)


def _require_shadows(shadows: int) -> None:
    if shadows and not FEWEST_SHADOWS <= shadows <= MOST_SHADOWS:
        raise WrongUsage(
            f"{shadows:,} shadow models are too {'few' if shadows < FEWEST_SHADOWS else 'many'}: train from "
            f"{FEWEST_SHADOWS} to {MOST_SHADOWS}, or 0 for none."
        )


def _train_shadows(
    trial: ModelTrial,
    recipe: Recipe,
    people: ArrowTable,
    places: NDArray[np.int64],
    *,
    shadows: int,
    rng: np.random.Generator,
) -> ShadowConfidences:
    """Return what models say that are trained on about as many of all people as the model was."""
    pool = pa.concat_tables([trial.members, trial.others])
    share = min(0.75, max(0.25, trial.members.num_rows / pool.num_rows))
    is_in = assign_shadows(pool.num_rows, shadows=shadows, share=share, rng=rng)
    logits = np.empty((shadows, len(places)))
    for number in range(shadows):
        trial.progress("shadow models", number, shadows)
        shadow = recipe(pool.filter(pa.array(is_in[number])), draw_seed(rng))
        logits[number] = to_logits(confidences(shadow, people))
    return ShadowConfidences(logits, is_in[:, places])


def _make_finding(
    trial: ModelTrial,
    scored: MembershipTrial,
    permitted: PermittedMembership | None,
    shadows: int,
    example: tuple[str, ...],
) -> Finding:
    strongest = scored.strongest()
    hits = scored.hits(strongest, scored.threshold(strongest))
    right, people = _count_right(hits)
    interval = clopper_pearson(right, people)
    exceeded = permitted is not None and interval[0] > permitted.right
    details: dict[str, Any] = {
        "strongest": strongest,
        "shadow_models": shadows,
        "trained_on": trial.members.num_rows,
        "control_people": trial.others.num_rows,
        "true_positive_rate": hits.rate,
        "false_positive_rate": hits.false_rate,
        "scores": [_describe_score(scored, name, permitted) for name in scored.scores],
    }
    if permitted is not None:
        details["permitted"] = {
            "epsilon": permitted.epsilon,
            "delta": permitted.delta,
            "right": permitted.right,
            "advantage": permitted.advantage,
            "auc": permitted.auc,
            "is_exceeded": exceeded,
        }
    return make_finding(
        "model-membership",
        target=trial.label,
        verdict=_word_verdict(right / people, people, interval, permitted),
        targets=people,
        exposed=right,
        claimed=hits.found + hits.alarms,
        correct=hits.found,
        baseline=0.5,
        interval=interval,
        queries=len(scored.is_member),
        knowledge=_word_knowledge(trial, shadows),
        remedy=REMEDY if permitted is None or exceeded else PRIVATE_REMEDY,
        details=details,
        example=example,
    )


def _count_right(hits: Hits) -> tuple[int, int]:
    """Return how many guesses were right: members that are claimed, and others that are not."""
    return hits.found + hits.others - hits.alarms, hits.members + hits.others


def _describe_score(
    scored: MembershipTrial, name: str, permitted: PermittedMembership | None
) -> dict[str, Any]:
    """Return what one score reaches among those who test, with its intervals."""
    tests = ~scored.calibrates
    scores, truth = scored.scores[name][tests], scored.is_member[tests]
    hits = scored.hits(name, scored.threshold(name))
    low, high = clopper_pearson(*_count_right(hits))
    described: dict[str, Any] = {
        "score": name,
        "auc": area_under_curve(scores, truth),
        "auc_interval": auc_interval(scores, truth),
        "advantage": hits.rate - hits.false_rate,
        "advantage_interval": (2 * low - 1, 2 * high - 1),
    }
    for key, false_alarms in FALSE_ALARMS.items():
        few = scored.hits(name, scored.threshold_at(name, false_alarms))
        highest = clopper_pearson(few.alarms, few.others)[1]
        described[f"found_{key}"] = few.rate
        described[key] = few.to_dict() | {"false_positive_rate_at_most": highest}
        if permitted is not None:
            described[key]["permitted"] = permitted.true_positive_rate(highest)
    return described


def _word_verdict(
    right: float,
    people: int,
    interval: tuple[float, float],
    permitted: PermittedMembership | None,
) -> str:
    if interval[0] > 0.5:
        said = (
            f"By the model's answers an adversary is right for {format_percent(right)} of {people:,} people about "
            "whether it was trained on them; a blind guess is right for half."
        )
    else:
        said = (
            "The model's answers do not reveal who it was trained on: guesses by them are right for "
            f"{format_percent(right)} of {people:,} people, and blind ones for half."
        )
    if permitted is None:
        return said
    limit = f"epsilon {permitted.epsilon:g} permits {format_percent(permitted.right)} on average"
    if interval[0] > permitted.right:
        return f"{said} That is too often: {limit}."
    return f"{said} That is within its guarantee: {limit}."


def _word_knowledge(trial: ModelTrial, shadows: int) -> str:
    known = "All features and the outcome of a person, and the chances that the model answers"
    if not shadows:
        return f"{known}."
    pool = trial.members.num_rows + trial.others.num_rows
    return (
        f"{known}; {pool:,} people of the same population, to train {shadows} models of its kind."
    )


def _build_example(
    people: ArrowTable,
    chances: NDArray[np.float64],
    shadows: ShadowConfidences | None,
    scored: MembershipTrial,
) -> tuple[str, ...]:
    """Return the member that is recognized best, for the custodian only."""
    scores = scored.scores[scored.strongest()]
    best = int(np.argmax(np.where(scored.is_member, scores, -np.inf)))
    lines = [
        f"Trained on: {describe_row(people, best)}.",
        f"The model gives this outcome a chance of {format_percent(float(chances[best]))}.",
    ]
    if shadows is not None:
        means = [
            float(np.mean(1 / (1 + np.exp(-shadows.logits[chosen, best]))))
            for chosen in (shadows.is_in[:, best], ~shadows.is_in[:, best])
        ]
        lines.append(
            f"Models of its kind give it {format_percent(means[0])} on average if they were trained on the "
            f"person, and {format_percent(means[1])} if not."
        )
    return tuple(lines)
