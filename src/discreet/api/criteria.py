"""Criteria as a caller writes them: a number, a text such as `entropy:3`, or one for each column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from discreet.criteria.criterion import (
    Criterion,
    SensitiveCriterion,
    number_parameters,
    word_parameter,
)
from discreet.errors import BrokenExtension, WrongUsage, did_you_mean
from discreet.registry import CRITERIA, CriterionSpec

Level = float | str
Levels = Level | Sequence[Level] | Mapping[str, Level]


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


def criteria_by_option() -> dict[str, CriterionSpec]:
    """Return every criterion that can be used, by the name of its option.

    Raises:
        BrokenExtension: Two criteria have the same option, and one could pass for the other.
    """
    found: dict[str, CriterionSpec] = {}
    for spec in CRITERIA.all():
        other = found.setdefault(spec.option, spec)
        if other is not spec:
            raise BrokenExtension(
                f"The criteria {other.name} and {spec.name} have the same option '{spec.option}'. "
                "Uninstall the package of one of them."
            )
    return found


def is_by_column(spec: CriterionSpec) -> bool:
    """Return whether a criterion is asked for by sensitive column."""
    return issubclass(spec.criterion, SensitiveCriterion)


def level_kinds(spec: CriterionSpec) -> tuple[str, ...]:
    """Return the words that may stand before a criterion's numbers.

    >>> level_kinds(CRITERIA.get("beta-likeness"))
    ('basic', 'enhanced')
    """
    found = word_parameter(spec.criterion)
    return found[1] if found else ()


def parse_level(text: str, spec: CriterionSpec) -> CriterionLevel | None:
    """Return the level that `text` says, None if it says none; the last equals sign ends the column.

    >>> parse_level("diagnosis=entropy:3", CRITERIA.get("l-diversity"))
    CriterionLevel(column='diagnosis', kind='entropy', numbers=(3.0,))
    """
    column, _, rest = text.rpartition("=")
    parts = rest.split(":")
    kind = parts.pop(0) if parts[0] in level_kinds(spec) else None
    try:
        numbers = tuple(float(part) for part in parts)
    except ValueError:
        numbers = ()
    return CriterionLevel(column, kind, numbers) if numbers else None


def read_levels(given: Levels | None, spec: CriterionSpec) -> tuple[CriterionLevel, ...]:
    """Return the levels of a keyword argument.

    >>> levels = read_levels({"diagnosis": "entropy:3", "pay": 2}, CRITERIA.get("l-diversity"))
    >>> [str(level) for level in levels]
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
    found = [parse_level(text, spec) for text in texts]
    if any(level is None for level in found):
        kinds = level_kinds(spec)
        example = f"{kinds[-1]}:3" if kinds else "0.5"
        raise WrongUsage(
            f"{spec.option} is a number, a text such as '{example}', or one of these for each column."
        )
    return tuple(level for level in found if level is not None)


def read_choices(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return what keyword arguments ask of each criterion, by the name of its option.

    Raises:
        WrongUsage: A keyword is no criterion's.
    """
    specs = criteria_by_option()
    for name in given:
        if name not in specs:
            raise WrongUsage(f"There is no option '{name}'.{did_you_mean(name, specs)}")
    return {
        name: read_levels(given.get(name), spec) if is_by_column(spec) else given.get(name)
        for name, spec in specs.items()
    }


def make_criteria(choices: Mapping[str, Any]) -> list[Criterion]:
    """Return the criteria that are asked for; one for every sensitive column has an empty column.

    `choices` has, by option, the levels of a criterion by column, and else its number or numbers.
    """
    found: list[Criterion] = []
    for option, spec in sorted(criteria_by_option().items(), key=lambda one: is_by_column(one[1])):
        asked = choices[option]
        if is_by_column(spec):
            found += [_make_level_criterion(spec, level, choices) for level in asked]
        elif asked is not None:
            found.append(spec.criterion(*(asked if isinstance(asked, (tuple, list)) else (asked,))))
    return found


def _make_level_criterion(
    spec: CriterionSpec, level: CriterionLevel, choices: Mapping[str, Any]
) -> Criterion:
    option = f"--{spec.option.replace('_', '-')}"
    parameters: dict[str, Any] = {"column": level.column}
    for name in spec.shared:
        if choices.get(name) is None:
            raise WrongUsage(f"{option} needs --{name}: a class has both.")
        parameters[name] = choices[name]
    word = word_parameter(spec.criterion)
    if word is not None and level.kind is not None:
        parameters[word[0]] = level.kind
    names = [name for name in number_parameters(spec.criterion) if name not in spec.shared]
    parameters |= dict(zip(names, level.numbers, strict=False))
    examples = " or ".join(f"{option} {example}" for example in spec.examples)
    if len(level.numbers) > len(names):
        raise WrongUsage(f"{option} has too many numbers. Write {examples}.")
    try:
        criterion: Criterion = spec.criterion(**parameters)
        criterion.check()
    except (TypeError, ValueError) as error:
        reason = str(error) if isinstance(error, ValueError) else f"{option} has too few numbers."
        raise WrongUsage(f"{reason} Write {examples}.") from None
    return criterion
