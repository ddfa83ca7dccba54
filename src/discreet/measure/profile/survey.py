"""Survey files: which column holds sampling weights, which one the household, and which is body weight."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal

from discreet.measure.profile.vocabulary import is_id_name, list_words, split_words

if TYPE_CHECKING:
    from discreet.measure.profile.statistics import ColumnStatistics


_WEIGHTS = list_words(
    """
    weight weighting wght wgt wt poid gewicht gew gewichtung gewichtungsfaktor peso waga wagi gewichten
    """
)
# These mean weights of a survey whatever stands beside them.
_FACTORS = list_words(
    """
    hochrechnungsfaktor hochrechnung gewichtungsfaktor ponderation ponderacion ponderacao ponderador
    ponderatore pondera fexp facexp fexpan
    """
)
# Beside a word for weight, or grown together with one, they make it a weight of a survey.
_SURVEY = list_words(
    """
    sampling sample samp psp d an survey svy design desg final fnl finl afnl marsupwt pop population base analytic
    analysis calibrated calibration cal raked rake rep repl replicate jackknife bootstrap household hh
    hhld hog longitudinal cross sectional interview mec asec earn lnkfw expansion stichproben stichprobe
    haushalt sondage enquete redressement menage muestral muestra hogar encuesta campionario
    campionaria campione amostral amostra steekproef huishouden proby gospodarstwa
    """
)
# A person's weight is one of a survey unless it looks like kilograms or pounds.
_PERSONS = list_words("person per pers p individual ind individu individuel persona pessoa")
_BODIES = list_words(
    """
    kg kgs kilo kilogram lb lbs pound gram gramm body birth korper geburt corporel corporal corporea
    corporeo naissance nacer nacimiento nascita nascer ciala lichaam lichaams current goal target
    bodyweight birthweight gross net vehicle car curb truck parcel package shipping item product load
    cargo dry wet seed tare
    """
)
_HEIGHTS = list_words(
    "height hgt ht bmi grosse korpergrosse taille estatura altura altezza lengte wzrost statura"
)
_HOUSEHOLDS = list_words(
    """
    household hh hhld haushalt menage foyer hogar vivienda famiglia familia family huishouden
    domicilio agregado gospodarstwo gospodarstwa dwelling
    """
)
_HOUSEHOLD_IDS = list_words(
    "hhid hid hhnr hhno hhnum hhserial hhldid idhh idhog idhogar idmenage householdid haushaltid"
)
_CLUSTER_IDS = list_words("serial psu upm ea cluster clusterid psuid conglomerado klumpen grappe")
_STRATA = list_words("strata stratum strat schicht estrato strate strato warstwa psu cluster")
_MEMBERS = list_words("member size person child children kid line mitglied membre miembro")
# Least and greatest value and bounds of the mean: people in kilograms or pounds, newborn children in grams.
_BODY_VALUES, _BODY_MEANS = (2, 700), (20, 260)
_NEWBORN_VALUES, _NEWBORN_MEANS = (200, 7000), (2000, 4500)
_MISSING = 0.05  # the share of rows without a value that a sampling weight may have

WeightName = Literal["survey", "person", "bare"]


def weight_name(name: str) -> WeightName | None:
    """Return in which way a name says weight: of a survey, of a person, or nothing more; None if not.

    >>> weight_name("fnlwgt"), weight_name("PERWT"), weight_name("weight"), weight_name("weight_kg")
    ('survey', 'person', 'bare', None)
    """
    words = tuple(word for word in split_words(name) if not word.isdigit())
    if any(word in _FACTORS for word in words):
        return "survey"
    parts = [part for word in words for part in _split_compound(word)]
    others = [part for part in parts if part not in _WEIGHTS]
    if len(others) == len(parts) or name.lower().rstrip("0123456789_").endswith("pesos"):
        return "bare" if words == ("w",) else None
    if any(part in _BODIES for part in others):
        return None
    if any(part in _SURVEY for part in others):
        return "survey"
    if any(part in _PERSONS for part in others):
        return "person"
    return None if others else "bare"


def _split_compound(word: str) -> tuple[str, ...]:
    """Return a word grown together with one for weight as both, another word as it is."""
    known = _SURVEY | _PERSONS | _BODIES
    for weight in sorted(_WEIGHTS, key=len, reverse=True):
        rest = word.removesuffix(weight) if word.endswith(weight) else word.removeprefix(weight)
        rest = rest.removesuffix("s")  # Körpergewicht, Haushaltsgewicht
        if rest != word and (not rest or rest in known):
            return (rest, weight) if rest else (weight,)
        if word.startswith("p") and word.endswith(weight + "p"):  # PWGTP of the American survey
            return ("p", weight)
    return (word,)


def is_household_id(counts: ColumnStatistics) -> bool:
    """Return whether a column is the id of a household or cluster: rows share it, and its name says so.

    A file with one row for each household has no such column: there the id is that of the row.
    """
    if not 1 < counts.distinct < counts.present:
        return False
    words = tuple(word for word in split_words(counts.name) if not word.isdigit())
    if any(word in _MEMBERS for word in words):
        return False
    named = any(word in _HOUSEHOLDS for word in words) and is_id_name(counts.name)
    if named or any(word in _HOUSEHOLD_IDS for word in words):
        return True
    is_cluster = words[-1:] and (
        words[0] in _CLUSTER_IDS and (len(words) == 1 or is_id_name(counts.name))
    )
    return bool(is_cluster) and counts.distinct > 20


def find_weights(
    counts: Sequence[ColumnStatistics], *, households: Collection[str]
) -> dict[str, bool]:
    """Return the columns of sampling weights, and whether each is sure; the one for people comes first.

    A name such as `weight` alone is body weight beside a height, where more than a few rows have none, or if
    the values look like kilograms, pounds or a newborn child's grams; without a household, stratum or other
    weight of a survey beside it, it stays unsure.
    """
    names: dict[str, WeightName] = {
        item.name: said
        for item in counts
        if item.name not in households
        and _may_be_weight(item)
        and (said := weight_name(item.name)) is not None
    }
    words = {word for item in counts for word in split_words(item.name)}
    is_survey = bool(households) or "survey" in names.values() or bool(words & _STRATA)
    found = [
        item.name
        for item in counts
        if item.name in names
        and _is_weight(
            item, names[item.name], is_survey=is_survey, has_heights=bool(words & _HEIGHTS)
        )
    ]
    return dict.fromkeys(sorted(found, key=_is_for_households), is_survey)


def _is_for_households(name: str) -> bool:
    parts = [part for word in split_words(name) for part in _split_compound(word)]
    return any(part in _HOUSEHOLDS or part in ("rep", "repl", "replicate") for part in parts)


def _may_be_weight(item: ColumnStatistics) -> bool:
    """Return whether a column has numbers, none of them negative, and is no id by its name."""
    least = _read_number(item.minimum) if item.kind.is_number else None
    return least is not None and least >= 0 and not is_id_name(item.name)


def _is_weight(
    item: ColumnStatistics, said: WeightName, *, is_survey: bool, has_heights: bool
) -> bool:
    if said == "survey":
        return True
    if has_heights or item.missing > _MISSING * item.rows:
        return False
    if is_survey:
        return True
    if _looks_like_bodies(item):
        return False
    # A total far above the number of rows: each of them stands for others.
    numbers = [number for value in item.sample if (number := _read_number(value)) is not None]
    is_large = bool(numbers) and sum(numbers) / len(numbers) >= 5
    return is_large and item.distinct >= 5 and (_read_number(item.minimum) or 0) >= 1


def _looks_like_bodies(item: ColumnStatistics) -> bool:
    numbers = [number for value in item.sample if (number := _read_number(value)) is not None]
    if not numbers:
        return False
    mean = sum(numbers) / len(numbers)

    def lie_within(values: tuple[int, int], means: tuple[int, int]) -> bool:
        is_inside = values[0] <= min(numbers) and max(numbers) <= values[1]
        return is_inside and means[0] <= mean <= means[1]

    is_whole = all(number == int(number) for number in numbers)
    return lie_within(_BODY_VALUES, _BODY_MEANS) or (
        is_whole and lie_within(_NEWBORN_VALUES, _NEWBORN_MEANS)
    )


def _read_number(text: str | None) -> Decimal | None:
    try:
        number = Decimal(text or "")
    except InvalidOperation:
        return None
    return number if number.is_finite() else None
