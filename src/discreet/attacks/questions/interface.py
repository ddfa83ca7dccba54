"""Whatever answers SQL, seen from outside: it is asked, it answers or refuses, and all is written down."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from sqlglot import exp

from discreet.engines.render import render_sql
from discreet.errors import BudgetExceeded, QuestionRefused
from discreet.sql import build

Row: TypeAlias = tuple[Any, ...]


@dataclass(frozen=True)
class InterfaceReply:
    """What came back: rows, or a refusal with its reason."""

    rows: tuple[Row, ...] | None
    refusal: str = ""

    @property
    def is_refused(self) -> bool:
        """Whether the reply is only that there is none."""
        return self.rows is None

    @property
    def number(self) -> float | None:
        """The first number; None when refused. The sum over no rows is NULL, which is 0."""
        if self.rows is None:
            return None
        value = self.rows[0][0] if self.rows and self.rows[0] else None
        return 0.0 if value is None else float(value)


@dataclass(frozen=True)
class TranscriptEntry:
    """One line of a transcript."""

    question: str
    reply: InterfaceReply


class Interface:
    """An adversary's view of something that answers SQL, with a budget of questions.

    It wraps any callable from SQL text to a number, rows or an Arrow table. The callable refuses by
    returning None or by raising `QuestionRefused`; `BudgetExceeded` ends all questions, as does the
    adversary's own budget. After that every reply is a refusal that is not counted.

    Attributes:
        source: The table as questions name it.
        budget: How many questions may be asked; None for any number.
        transcript: Every question with its reply. It may hold names: it is for the custodian only.
    """

    def __init__(
        self,
        answer: Callable[[str], object],
        *,
        source: exp.Table | str = "data",
        label: str | None = None,
        dialect: str = "duckdb",
        budget: int | None = None,
    ) -> None:
        self._answer = answer
        self.source = build.table(source) if isinstance(source, str) else source
        self.label = label or self.source.name
        self.dialect, self.budget = dialect, budget
        self.transcript: list[TranscriptEntry] = []
        self._known: dict[str, InterfaceReply] = {}
        self._ended = ""

    @property
    def questions(self) -> int:
        """How many questions were asked, the refused ones among them."""
        return len(self.transcript)

    @property
    def refusals(self) -> int:
        """How many questions were refused."""
        return sum(asked.reply.is_refused for asked in self.transcript)

    @property
    def ended(self) -> str:
        """Why no more questions are answered; empty while they are."""
        if not self._ended and self.budget is not None and self.questions >= self.budget:
            self._ended = "questions"
        return self._ended

    def ask(self, question: exp.Query | str) -> InterfaceReply:
        """Return the reply to a question, asked again even if it was asked before."""
        text = self.text(question)
        if self.ended:
            return InterfaceReply(None, self.ended)
        reply = self._request_reply(text)
        self.transcript.append(TranscriptEntry(text, reply))
        self._known[text] = reply
        return reply

    def recall(self, question: exp.Query | str) -> InterfaceReply:
        """Return the last reply to a question, which is asked only if it is new."""
        text = self.text(question)
        return self._known[text] if text in self._known else self.ask(text)

    def count(self, where: exp.Expr | None = None) -> float | None:
        """Return how many rows meet a condition, or None when refused; asked once."""
        return self.recall(self.question(self.aggregate(None), where)).number

    def total(self, column: str, where: exp.Expr | None = None) -> float | None:
        """Return the sum of a column where a condition holds, or None when refused; asked once."""
        return self.recall(self.question(self.aggregate(column), where)).number

    @staticmethod
    def aggregate(column: str | None) -> exp.Expr:
        """Return `SUM(column)`, or `COUNT(*)` without one."""
        return build.count_star() if column is None else exp.Sum(this=build.column(column))

    def question(self, aggregate: exp.Expr, where: exp.Expr | None = None) -> exp.Select:
        """Return `SELECT aggregate FROM source WHERE where`."""
        query = build.select(aggregate, source=self.source.copy())
        return query if where is None else query.where(where.copy())

    def text(self, question: exp.Query | str) -> str:
        """Return a question as it is sent."""
        return question if isinstance(question, str) else render_sql(question, dialect=self.dialect)

    def _request_reply(self, text: str) -> InterfaceReply:
        try:
            result = self._answer(text)
        except QuestionRefused as error:
            return InterfaceReply(None, error.code)
        except BudgetExceeded as error:
            self._ended = error.code
            return InterfaceReply(None, error.code)
        return (
            InterfaceReply(None, "dropped")
            if result is None
            else InterfaceReply(_read_rows(result))
        )


def _read_rows(result: object) -> tuple[Row, ...]:
    """Return numbers, sequences, mappings and Arrow tables alike as rows."""
    if hasattr(result, "to_pylist"):
        return tuple(tuple(row.values()) for row in result.to_pylist())  # pyright: ignore[reportAttributeAccessIssue]
    if isinstance(result, Sequence) and not isinstance(result, str):
        return tuple(_read_row(item) for item in result)
    return (_read_row(result),)


def _read_row(item: object) -> Row:
    if isinstance(item, Mapping):
        return tuple(item.values())
    return tuple(item) if isinstance(item, Sequence) and not isinstance(item, str) else (item,)
