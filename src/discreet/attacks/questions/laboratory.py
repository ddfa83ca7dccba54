"""A laboratory: a table behind an interface that restricts, rounds or blurs as real ones do."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePath
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from sqlglot import exp
from sqlglot.errors import SqlglotError

from discreet.attacks.questions.interface import Interface
from discreet.engines.engine import Table
from discreet.errors import InvalidQuestion, QuestionRefused
from discreet.sql import build
from discreet.sql.bounded import TooLarge, parse_bounded

SIZE = "discreet_size"  # beside what was asked: how many rows it rests on
Shape = Literal["laplace", "gaussian", "uniform"]


@dataclass(frozen=True)
class LaboratoryNoise:
    """Noise of a shape: `scale` is Laplace's b, the Gaussian's sd, or the bound of uniform noise.

    Sticky noise belongs to the text of a question: the same text gets the same noise.
    """

    shape: Shape
    scale: float
    sticky: bool = False

    @property
    def deviation(self) -> float:
        """The standard deviation."""
        return self.scale * {"laplace": 2**0.5, "gaussian": 1.0, "uniform": 3**-0.5}[self.shape]

    def draw(self, chance: np.random.Generator) -> float:
        """Return one draw."""
        if self.shape == "laplace":
            return float(chance.laplace(0, self.scale))
        if self.shape == "gaussian":
            return float(chance.normal(0, self.scale))
        return float(chance.uniform(-self.scale, self.scale))


@dataclass(frozen=True)
class LaboratoryRules:
    """What an interface does to answers.

    Attributes:
        smallest: k: an answer rests on at least k rows, and on at most N - k.
        allows_all: An answer may rest on all N rows, too.
        allows_most: Only the lower bound k holds, as in a naive rule.
        step: Numbers are rounded to multiples of this.
        noise: What is added to numbers, before rounding.
        overlap: Two answers may share at most so many rows (Dobkin, Jones & Lipton 1979).
    """

    smallest: int = 0
    allows_all: bool = True
    allows_most: bool = False
    step: float | None = None
    noise: LaboratoryNoise | None = None
    overlap: int | None = None

    def admits(self, size: int, people: int) -> bool:
        """Return whether an answer about `size` of `people` rows is given."""
        if size == people and self.allows_all:
            return True
        return self.smallest <= size and (self.allows_most or size <= people - self.smallest)


@dataclass
class _LaboratoryState:
    """What the laboratory remembers between questions."""

    table: Table
    name: str
    rules: LaboratoryRules
    chance: np.random.Generator
    people: int
    secret: bytes
    answered: list[NDArray[np.bool_]] = field(default_factory=list[Any])


def laboratory(
    table: Table,
    rules: LaboratoryRules | None = None,
    *,
    chance: np.random.Generator | None = None,
    budget: int | None = None,
) -> Interface:
    """Return an interface to `table` that answers by `rules`; by default exactly.

    >>> import pyarrow
    >>> from sqlglot import parse_one
    >>> from discreet.engines.connect import open_table
    >>> people = open_table(pyarrow.table({"age": [41, 7, 33, 12]}))
    >>> interface = laboratory(people, LaboratoryRules(smallest=2))
    >>> interface.count(), interface.count(parse_one("age > 40")), interface.refusals
    (4.0, None, 1)
    """
    name = PurePath(table.label).name.partition(".")[0] or "data"
    drawn = chance or np.random.default_rng()
    counted = table.engine.run(build.select(build.count_star(), source=table.relation.copy()))
    people = int(counted.column(0)[0].as_py())
    if table.engine.file_engine is not None:  # a file is read once, not for each question
        kept = table.engine.keep(build.select(exp.Star(), source=table.relation.copy()))
        table = replace(table, relation=kept)
    room = _LaboratoryState(table, name, rules or LaboratoryRules(), drawn, people, drawn.bytes(16))
    return Interface(
        lambda text: _answer_question(room, text),
        source=build.table(name),
        label=table.label,
        dialect=table.engine.dialect,
        budget=budget,
    )


def _answer_question(room: _LaboratoryState, text: str) -> list[list[Any]]:
    query = _read(room, text)
    asked = [item.alias_or_name for item in query.expressions]
    query.select(build.alias_as(build.count_star(), SIZE), copy=False)
    rows = [list(row.values()) for row in room.table.engine.run(query).to_pylist()]
    admitted = [row[:-1] for row in rows if room.rules.admits(int(row[-1]), room.people)]
    is_grouped = query.args.get("group") is not None
    if not admitted and not is_grouped:
        raise QuestionRefused("The answer rests on too few people, or on all but too few.")
    _require_little_overlap(room, query)
    keys = _key_positions(query, asked) if is_grouped else set[int]()
    return [_perturb_row(room, row, keys, f"{text}\n{index}") for index, row in enumerate(admitted)]


def _read(room: _LaboratoryState, text: str) -> exp.Select:
    """Return the question about the table where it really is, whatever it calls it."""
    try:
        trees = parse_bounded(text, dialect=room.table.engine.dialect)
    except TooLarge as error:
        raise InvalidQuestion(f"The question cannot be read. {error}") from None
    except SqlglotError:
        trees = ()
    tree = trees[0] if len(trees) == 1 else None
    tables = list(tree.find_all(exp.Table)) if isinstance(tree, exp.Select) else []
    if not isinstance(tree, exp.Select) or len(tables) != 1:
        raise InvalidQuestion(f"Ask one question of aggregates about one table, '{room.name}'.")
    alias = tables[0].alias or tables[0].name
    tables[0].replace(build.aliased_table(room.table.relation, alias))
    return tree


def _key_positions(query: exp.Select, asked: Sequence[str]) -> set[int]:
    """Return which columns of an answer are groups, and so are returned as they are."""
    is_key = [item.find(exp.AggFunc) is None for item in query.expressions[: len(asked)]]
    return {index for index, key in enumerate(is_key) if key}


def _require_little_overlap(room: _LaboratoryState, query: exp.Select) -> None:
    if room.rules.overlap is None:
        return
    where = query.args.get("where")
    member = exp.func("COALESCE", where.this.copy(), exp.false()) if where else exp.true()
    # Rows come in the order of the table, as nothing changes it between two questions.
    found = room.table.engine.run(
        build.select(build.alias_as(member, "is_in"), source=query.find(exp.Table).copy())  # pyright: ignore[reportOptionalMemberAccess]
    )
    rows = found.column(0).to_numpy(zero_copy_only=False).astype(bool)
    for earlier in room.answered:
        is_same = bool((earlier == rows).all())
        if not is_same and int((earlier & rows).sum()) > room.rules.overlap:
            raise QuestionRefused("The answer shares too many people with an earlier one.")
    room.answered.append(rows)


def _perturb_row(room: _LaboratoryState, row: list[Any], keys: set[int], text: str) -> list[Any]:
    chance = room.chance
    if room.rules.noise is not None and room.rules.noise.sticky:
        digest = hashlib.blake2b(text.encode(), key=room.secret, digest_size=16).digest()
        chance = np.random.default_rng(int.from_bytes(digest))
    return [
        value
        if index in keys or value is None
        else _perturb_number(float(value), room.rules, chance)
        for index, value in enumerate(row)
    ]


def _perturb_number(value: float, rules: LaboratoryRules, chance: np.random.Generator) -> float:
    if rules.noise is not None:
        value += rules.noise.draw(chance)
    return value if rules.step is None else round(value / rules.step) * rules.step
