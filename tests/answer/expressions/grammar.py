"""Random SQL expressions, as an analyst might write them, of every construct on the list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.engines.engine import Kind

if TYPE_CHECKING:
    import random
    from collections.abc import Callable, Mapping

CONSTANTS = [
    "0",
    "1",
    "-1",
    "7",
    "2.5",
    "0.1",
    "-3",
    "100",
    "1e20",
    "10",
    "9007199254740993",
    "12.0",
]
WHOLES = ["0", "1", "-1", "7", "-3", "10", "100"]
WORDS = ["''", "'a'", "'B'", "'%'", "'a%b_c\\d'", "'it''s'", "'\U0001f600'"]
PATTERNS = ["'%a%'", "'a_c'", "'%\\%'", "'!%'", "'a!%%'", "'_'", "'%\U0001f600_'", "'%\\%%'"]
ESCAPED = ["'%a!%%'", "'!!%'", "'a!_c'"]
PARTS = ["year", "quarter", "month", "week", "day", "dow", "isodow", "doy", "hour", "minute"]
UNITS = ["DAY", "WEEK", "MONTH", "QUARTER", "YEAR", "HOUR", "MINUTE", "SECOND"]
CUTS = ["year", "quarter", "month", "week", "day", "hour"]
TESTS = ["=", "<>", "<", "<=", ">", ">=", "IS NOT DISTINCT FROM", "IS DISTINCT FROM"]


class Grammar:
    """Draws expressions; `n` is how deep they may be nested."""

    def __init__(self, chance: random.Random, columns: Mapping[str, tuple[Kind, object, object]]):
        self.chance = chance
        self.columns = columns

    def anything(self, n: int) -> str:
        return self._pick(self.number, self.integer, self.text, self.moment, self.truth)(n)

    def number(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(CONSTANTS, Kind.INTEGER, Kind.REAL, Kind.DECIMAL)
        a, pick = self.number, self._pick
        return self._pick(
            lambda: f"({a(n - 1)} {pick(*'+-*/')} {a(n - 1)})",
            lambda: self.integer(n - 1),
            lambda: f"-({a(n - 1)})",
            lambda: f"{pick('ABS', 'ROUND', 'FLOOR', 'CEIL', 'SIGN', 'SQRT')}({a(n - 1)})",
            lambda: f"ROUND({a(n - 1)}, {pick('1', '2', '-2')})",
            lambda: (
                f"CAST({a(n - 1)} AS {pick('SMALLINT', 'INT', 'BIGINT', 'DOUBLE', 'DECIMAL(9,2)')})"
            ),
            lambda: (
                f"TRY_CAST({self.text(n - 1)} AS {pick('INT', 'BIGINT', 'DOUBLE', 'DECIMAL(5,1)')})"
            ),
            lambda: f"LEAST(GREATEST({a(n - 1)}, {pick(*CONSTANTS)}), {pick(*CONSTANTS)})",
            lambda: f"COALESCE({a(n - 1)}, {a(n - 1)})",
            lambda: f"NULLIF({a(n - 1)}, {a(n - 1)})",
            lambda: f"IF({self.truth(n - 1)}, {a(n - 1)}, {a(n - 1)})",
        )()

    def integer(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(WHOLES, Kind.INTEGER)
        a, pick, truth, moment = self.integer, self._pick, self.truth, self.moment
        return self._pick(
            lambda: f"({a(0)} {pick('//', '%')} {a(0)})",
            lambda: f"(CAST({a(n - 1)} AS BIGINT) // CAST({a(n - 1)} AS INTEGER))",
            lambda: f"(CAST({a(n - 1)} AS BIGINT) % CAST({a(n - 1)} AS BIGINT))",
            lambda: f"LEAST(GREATEST({a(n - 1)}, {pick(*WHOLES)}), {pick(*WHOLES)})",
            lambda: f"LENGTH({self.text(n - 1)})",
            lambda: f"EXTRACT({pick(*PARTS)} FROM {moment(n - 1)})",
            lambda: f"({self.day(n - 1)} - {self.day(n - 1)})",
            lambda: (
                f"DATE_DIFF('{pick('day', 'month', 'year')}', {moment(n - 1)}, {moment(n - 1)})"
            ),
            lambda: f"CAST({truth(n - 1)} AS INTEGER)",
            lambda: (
                f"CASE WHEN {truth(n - 1)} THEN {pick(*WHOLES)} WHEN {truth(n - 1)} THEN {a(0)} END"
            ),
            lambda: f"CASE {a(n - 1)} WHEN 7 THEN 1 WHEN n THEN 2 ELSE 3 END",
        )()

    def text(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(WORDS, Kind.TEXT)
        a, pick = self.text, self._pick
        return self._pick(
            lambda: f"({a(n - 1)} || {a(n - 1)})",
            lambda: f"CONCAT({a(n - 1)}, {a(n - 1)})",
            lambda: f"{pick('LOWER', 'UPPER', 'TRIM', 'LTRIM', 'RTRIM')}({a(n - 1)})",
            lambda: f"SUBSTRING({a(n - 1)}, {pick('1', '2', '9')}, {pick('0', '1', '5')})",
            lambda: f"{pick('LEFT', 'RIGHT')}({a(n - 1)}, {pick('0', '1', '5')})",
            lambda: f"REPLACE({a(n - 1)}, {pick(*WORDS[1:])}, {pick(*WORDS)})",
            lambda: f"CAST({self._leaf(['7'], Kind.INTEGER)} AS TEXT)",
            lambda: f"CAST({pick(self.moment, self.truth)(n - 1)} AS TEXT)",
            lambda: f"{pick('COALESCE', 'NULLIF', 'GREATEST', 'LEAST')}({a(n - 1)}, {a(n - 1)})",
            lambda: f"CASE WHEN {self.truth(n - 1)} THEN {a(n - 1)} ELSE {a(n - 1)} END",
        )()

    def day(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(["DATE '2020-02-29'"], Kind.DATE)
        pick = self._pick
        return self._pick(
            lambda: (
                f"({self.day(n - 1)} {pick('+', '-')} INTERVAL {pick('0', '1', '13')} {pick(*UNITS[:5])})"
            ),
            lambda: f"({self.day(n - 1)} {pick('+', '-')} {pick('0', '30')})",
            lambda: f"DATE_TRUNC('{pick(*CUTS)}', {self.day(n - 1)})",
            lambda: f"CAST({pick(self.moment, self.text)(n - 1)} AS DATE)",
        )()

    def moment(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(["TIMESTAMP '2020-02-29 01:02:03.5'"], Kind.DATE, Kind.TIMESTAMP)
        a, pick = self.moment, self._pick
        return self._pick(
            lambda: self.day(n - 1),
            lambda: f"({a(n - 1)} {pick('+', '-')} INTERVAL {pick('0', '1', '13')} {pick(*UNITS)})",
            lambda: f"DATE_TRUNC('{pick(*CUTS)}', {a(n - 1)})",
            lambda: f"CAST({pick(self.moment, self.text)(n - 1)} AS TIMESTAMP)",
            lambda: f"{pick('COALESCE', 'NULLIF', 'GREATEST', 'LEAST')}({a(n - 1)}, {a(n - 1)})",
        )()

    def truth(self, n: int) -> str:
        if n == 0 or self.chance.random() < 0.15:
            return self._leaf(["TRUE", "FALSE", "NULL", "w > '2020-01-01'"], Kind.BOOLEAN)
        a, pick, number, text = self.truth, self._pick, self.number, self.text
        return self._pick(
            lambda: f"({a(n - 1)} {pick('AND', 'OR')} {a(n - 1)})",
            lambda: f"(NOT {a(n - 1)})",
            lambda: self._compared(pick(number, text, self.moment), n - 1),
            lambda: self._compared(pick(number, text, self.moment), n - 1),
            lambda: f"({self._leaf([], Kind.REAL)} {pick(*TESTS)} {pick(*CONSTANTS)})",
            lambda: f"({pick(*CONSTANTS)} {pick(*TESTS)} {self._leaf([], Kind.REAL)})",
            lambda: f"({number(n - 1)} NOT BETWEEN {pick(*CONSTANTS)} AND {pick(*CONSTANTS)})",
            lambda: f"({number(n - 1)} IN ({pick(*CONSTANTS)}, {pick(*CONSTANTS)}))",
            lambda: f"({text(n - 1)} NOT IN ({pick(*WORDS)}, {pick(*WORDS)}))",
            lambda: f"({text(n - 1)} {pick('LIKE', 'NOT LIKE', 'ILIKE')} {pick(*PATTERNS)})",
            lambda: f"({text(n - 1)} LIKE {pick(*ESCAPED)} ESCAPE '!')",
            lambda: (
                f"{pick('starts_with', 'contains', 'ends_with')}({text(n - 1)}, {pick(*WORDS)})"
            ),
            lambda: f"({pick(number, text, self.moment)(n - 1)} IS NULL)",
            lambda: f"({a(n - 1)} IS NOT {pick('TRUE', 'FALSE')})",
            lambda: f"CAST({pick(number, text)(n - 1)} AS BOOLEAN)",
        )()

    def _compared(self, kind: Callable[[int], str], n: int) -> str:
        return f"({kind(n)} {self._pick(*TESTS)} {kind(n)})"

    def _leaf(self, constants: list[str], *kinds: Kind) -> str:
        columns = [name for name, (kind, *_) in self.columns.items() if kind in kinds]
        return self._pick(*(constants if constants and self.chance.random() < 0.3 else columns))

    def _pick(self, *items):
        return self.chance.choice(items)
