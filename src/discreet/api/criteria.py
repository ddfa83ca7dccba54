"""Criteria as a caller writes them: a number, a text such as `entropy:3`, or one for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from discreet.errors import WrongUsage
from discreet.policy import model

Level = float | str
Levels = Level | Sequence[Level] | Mapping[str, Level]

DIVERSITY = ("distinct", "probabilistic", "entropy", "recursive")
DISTANCE = ("equal", "ordered", "hierarchical")
LIKENESS = ("basic", "enhanced")


@dataclass(frozen=True)
class CriterionLevel:
    """A level asked of one sensitive column, or of all: `3`, `diagnosis=entropy:3`."""

    column: str
    kind: str | None
    numbers: tuple[float, ...]

    def __str__(self) -> str:
        """Return the level as it is written."""
        numbers = ":".join(repr(number).removesuffix(".0") for number in self.numbers)
        level = f"{self.kind}:{numbers}" if self.kind else numbers
        return f"{self.column}={level}" if self.column else level


def parse_level(text: str, kinds: Sequence[str]) -> CriterionLevel | None:
    """Return the level that `text` says, None if it says none; the last equals sign ends the column.

    >>> parse_level("diagnosis=entropy:3", DIVERSITY)
    CriterionLevel(column='diagnosis', kind='entropy', numbers=(3.0,))
    """
    column, _, rest = text.rpartition("=")
    parts = rest.split(":")
    kind = parts.pop(0) if parts[0] in kinds else None
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    return CriterionLevel(column, kind, numbers) if numbers else None


def read_levels(
    name: str, given: Levels | None, kinds: Sequence[str]
) -> tuple[CriterionLevel, ...]:
    """Return the levels of the keyword argument `name`.

    >>> [str(level) for level in read_levels("l", {"diagnosis": "entropy:3", "pay": 2}, DIVERSITY)]
    ['diagnosis=entropy:3', 'pay=2']
    """
    if given is None:
        return ()
    if isinstance(given, Mapping):
        texts = [f"{column}={level}" for column, level in given.items()]
    elif isinstance(given, (str, int, float)):
        texts = [str(given)]
    else:
        texts = [str(level) for level in given]
    found = [parse_level(text, kinds) for text in texts]
    if any(level is None for level in found):
        example = f"{kinds[-1]}:3" if kinds else "0.5"
        raise WrongUsage(
            f"{name} is a number, a text such as '{example}', or one of these for each column."
        )
    return tuple(level for level in found if level is not None)


def make_criteria(
    *,
    k: int | None = None,
    k_map: int | None = None,
    presence: tuple[float, float] | None = None,
    l: Sequence[CriterionLevel] = (),
    t: Sequence[CriterionLevel] = (),
    alpha: Sequence[CriterionLevel] = (),
    beta: Sequence[CriterionLevel] = (),
    disclosure: Sequence[CriterionLevel] = (),
) -> list[model.Criterion]:
    """Return the criteria; one for every sensitive column has an empty column."""
    if alpha and k is None:
        raise WrongUsage("--alpha needs --k: a class has both.")
    return [
        *([model.KAnonymity(k)] if k is not None else []),
        *([model.KMap(k_map)] if k_map is not None else []),
        *([model.DeltaPresence(*presence)] if presence is not None else []),
        *(_diversity_criterion(level) for level in l),
        *(
            model.TCloseness(v.column, v.numbers[0], v.kind or "equal")  # pyright: ignore[reportArgumentType]
            for v in t
        ),
        *(model.AlphaK(level.column, level.numbers[0], k or 1) for level in alpha),
        *(
            model.BetaLikeness(v.column, v.numbers[0], v.kind or "basic")  # pyright: ignore[reportArgumentType]
            for v in beta
        ),
        *(model.DeltaDisclosure(v.column, v.numbers[0]) for v in disclosure),
    ]


def _diversity_criterion(level: CriterionLevel) -> model.Criterion:
    kind = level.kind or "distinct"
    if kind == "recursive":
        if len(level.numbers) != 2:
            raise WrongUsage("Recursive diversity needs l and c: --l recursive:3:2.")
        return model.LDiversity(level.column, level.numbers[0], "recursive", level.numbers[1])
    if len(level.numbers) != 1:
        raise WrongUsage(f"The kind {kind} has one number: --l {kind}:3.")
    return model.LDiversity(level.column, level.numbers[0], kind)  # pyright: ignore[reportArgumentType]
