"""A parser that stops after a number of steps, against short texts that take very long to parse."""

from __future__ import annotations

from collections.abc import Callable

from sqlglot import exp
from sqlglot.parser import Parser
from sqlglot.tokenizer_core import Token

# Ordinary SQL takes one step per token, and twice as many in each bracket after a type name.
STEPS_PER_TOKEN = 6
STEPS = 5_000  # so that a small statement may backtrack more often


class TooManySteps(RecursionError):
    """A text makes the parser backtrack too often, as nested brackets after type names do."""


class BoundedParser(Parser):
    """Counts its steps over one text, forward and backward."""

    _steps_left: int = STEPS

    def _parse(
        self,
        parse_method: Callable[[Parser], exp.Expr | None],
        raw_tokens: list[Token],
        sql: str | None = None,
    ) -> list[exp.Expr | None]:
        self._steps_left = STEPS + STEPS_PER_TOKEN * len(raw_tokens)
        return super()._parse(parse_method, raw_tokens, sql)

    def _advance(self, times: int = 1) -> None:
        self._steps_left -= 1
        if self._steps_left < 0:
            raise TooManySteps("the statement takes too many steps to read")
        super()._advance(times)
