"""Labels and their order: levels from low to high, and sets of compartments.

A label dominates another when its level is at least as high and it has all of its compartments
(Denning 1976). Labels with different compartments may be incomparable. On an engine a label is a
whole number, `level << 32 | compartments`, so that dominance is arithmetic there, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

from discreet.errors import StatementFailed

SHIFT = 32
BITS = (1 << SHIFT) - 1  # the part of a code that holds compartments
MOST_COMPARTMENTS = 30
MOST_LEVELS = 100
BOTTOM = 0  # the code of the lowest level without compartments
_NAME = re.compile(r"[^\W\d][\w.-]*(?: [\w.-]+)*")
_LABEL = re.compile(r"(?P<level>[^{}]+?)(?:\{(?P<compartments>[^{}]*)\})?")


@dataclass(frozen=True)
class Label:
    """A level and a set of compartments; a `LabelLattice` decides which dominates which.

    >>> str(Label("S", frozenset({"nato", "crypto"})))
    'S {crypto,nato}'
    """

    level: str
    compartments: frozenset[str] = frozenset()

    def __str__(self) -> str:
        if not self.compartments:
            return self.level
        return f"{self.level} {{{','.join(sorted(self.compartments))}}}"


@dataclass(frozen=True)
class LabelLattice:
    """All labels of a database: `levels` from low to high, and `compartments`.

    >>> lattice = LabelLattice.parse("U < C < S < TS | nato, crypto")
    >>> secret, nato = lattice.label("S"), lattice.label("C {nato}")
    >>> lattice.dominates(secret, nato), lattice.dominates(lattice.label("S {nato}"), nato)
    (False, True)
    """

    levels: tuple[str, ...]
    compartments: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> LabelLattice:
        """Return the lattice written as `U < C < S | nato, crypto`; `S > C > U` is the same.

        Raises:
            StatementFailed: 22023, the text is not a lattice.
        """
        order, bar, rest = text.partition("|")
        if "<" in order and ">" in order:
            raise _invalid_label("a lattice is written with `<` or with `>`, not with both")
        sign = ">" if ">" in order else "<"
        levels = tuple(_check_names(order.split(sign), "level"))
        compartments = tuple(_check_names(rest.split(","), "compartment")) if bar else ()
        if len(levels) > MOST_LEVELS:
            raise _invalid_label(f"a lattice has at most {MOST_LEVELS} levels")
        if len(compartments) > MOST_COMPARTMENTS:
            raise _invalid_label(f"a lattice has at most {MOST_COMPARTMENTS} compartments")
        return cls(levels[::-1] if sign == ">" else levels, compartments)

    def __str__(self) -> str:
        order = " < ".join(self.levels)
        return f"{order} | {', '.join(self.compartments)}" if self.compartments else order

    @cached_property
    def bottom(self) -> Label:
        """The label that every label dominates."""
        return Label(self.levels[0])

    @cached_property
    def top(self) -> Label:
        """The label that dominates every label."""
        return Label(self.levels[-1], frozenset(self.compartments))

    def label(self, text: str) -> Label:
        """Return the label written as `S` or `S {crypto,nato}`, whatever the case of its letters.

        Raises:
            StatementFailed: 22023, the lattice has no such label.
        """
        found = _LABEL.fullmatch(text.strip())
        if found is None:
            raise _invalid_label("a label is written as `S` or `S {crypto,nato}`")
        words = found["compartments"]
        wanted = words.split(",") if words and words.strip() else []
        level = _find_name(found["level"], self.levels, "level")
        return Label(
            level, frozenset(_find_name(w, self.compartments, "compartment") for w in wanted)
        )

    def labels(self) -> Iterator[Label]:
        """Yield every label, each after all that it dominates."""
        for level in self.levels:
            for size in range(len(self.compartments) + 1):
                for chosen in combinations(self.compartments, size):
                    yield Label(level, frozenset(chosen))

    def code(self, label: Label) -> int:
        """Return the whole number that stands for `label` on an engine.

        >>> LabelLattice.parse("U < C | nato, crypto").code(Label("C", frozenset({"crypto"}))) == 2**32 + 2
        True
        """
        if label.level not in self.levels or not label.compartments <= set(self.compartments):
            raise _invalid_label(f'label "{label}" is not in the lattice')
        bits = sum(1 << self.compartments.index(name) for name in label.compartments)
        return self.levels.index(label.level) << SHIFT | bits

    def decode(self, code: int) -> Label:
        """Return the label that `code` stands for."""
        chosen = (name for i, name in enumerate(self.compartments) if code & BITS & 1 << i)
        return Label(self.levels[code >> SHIFT], frozenset(chosen))

    def dominates(self, high: Label, low: Label) -> bool:
        """Whether `high` is at least `low`: in level, and in every compartment."""
        levels = self.levels
        return (
            levels.index(high.level) >= levels.index(low.level)
            and high.compartments >= low.compartments
        )

    def extends(self, other: LabelLattice) -> bool:
        """Whether every label of `other` means the same here: levels and compartments were appended.

        Only then may this lattice replace `other` while there are cells with labels.
        """
        return (
            self.levels[: len(other.levels)] == other.levels
            and self.compartments[: len(other.compartments)] == other.compartments
        )


def _check_names(words: list[str], what: str) -> Iterator[str]:
    seen: set[str] = set()
    for word in words:
        name = " ".join(word.split())
        if not _NAME.fullmatch(name) or len(name) > 63:
            raise _invalid_label(
                f"a {what} needs a name of letters, digits, spaces and underscores, at most 63 long",
                hint="Write a lattice as 'U < C < S < TS | nato, crypto'.",
            )
        if name.casefold() in seen:
            raise _invalid_label(f'{what} "{name}" is listed twice')
        seen.add(name.casefold())
        yield name


def _find_name(word: str, names: tuple[str, ...], what: str) -> str:
    name = " ".join(word.split())
    for known in names:
        if known.casefold() == name.casefold():
            return known
    raise _invalid_label(f'{what} "{name}" does not exist')


def _invalid_label(message: str, *, hint: str | None = None) -> StatementFailed:
    return StatementFailed("22023", message, hint=hint)
