"""Text of people is read within bounds, wherever it is read."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from discreet.attacks.classes.background import read_knowledge
from discreet.attacks.questions.laboratory import laboratory
from discreet.attacks.questions.people import read_person_condition
from discreet.engines.connect import open_table
from discreet.errors import DiscreetError, InvalidQuestion
from discreet.sql.bounded import TooLarge, parse_bounded

if TYPE_CHECKING:
    from collections.abc import Callable

BOMBS = {
    "types": "date(" * 40 + "age" + ")" * 40 + " = 1",
    "brackets": "(" * 300 + "age" + ")" * 300 + " = 1",
    "chain": " + ".join(["age"] * 5_000) + " = 1",
    "list": f"age IN ({', '.join(map(str, range(15_000)))})",
    "digits": f"age = {'9' * 5_000}",
}


def read_person(text: str) -> object:
    return read_person_condition(text, open_table(pa.table({"age": [1, 2]})))


def read_background(text: str) -> object:
    return read_knowledge([text], open_table(pa.table({"age": [1, 2]})))


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("dialect", ["duckdb", "postgres", "spark"])
def test_a_text_without_bounds_is_refused_soon(bomb: str, dialect: str):
    started = time.process_time()
    with pytest.raises(TooLarge):
        parse_bounded(bomb, dialect=dialect)
    assert time.process_time() - started < 5


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
@pytest.mark.parametrize("read", [read_person, read_background])
def test_attacks_read_local_text_within_the_same_bounds(read: Callable[[str], object], bomb: str):
    with pytest.raises(DiscreetError):
        read(bomb)


@pytest.mark.parametrize("bomb", BOMBS.values(), ids=BOMBS)
def test_a_laboratory_refuses_a_question_without_bounds(bomb: str):
    interface = laboratory(open_table(pa.table({"age": [1, 2]})))
    with pytest.raises(InvalidQuestion, match="cannot be read"):
        interface.ask(f"SELECT count(*) FROM data WHERE {bomb}")


def test_several_statements_are_several_trees():
    assert len(parse_bounded("SELECT 1; SELECT 2;", dialect="duckdb")) == 2
