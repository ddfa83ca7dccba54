"""Ask: SQL with its price and error beforehand, and the answer as a table and a chart."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from starlette.responses import Response

from discreet.answer.wording import format_amounts, format_short
from discreet.errors import DiscreetError, StatementFailed
from discreet.formatting import format_count
from discreet.server.console.exposure import DIALECT
from discreet.server.console.home import list_relations
from discreet.server.console.pages import BudgetGauge, SameAs
from discreet.server.console.requests import ConsoleRequest, explain_privacy
from discreet.server.console.results import ShownResult, show_result
from discreet.server.http.app import status_code
from discreet.server.http.bodies import QueryRequest
from discreet.server.http.routes import run_request
from discreet.server.pg.failures import as_statement_failed
from discreet.server.session import PrivacyCost
from discreet.sql import build

MOST_ASKED = 50  # questions of a session that its page lists
LONGEST_LISTED = 20_000  # characters of such a question: longer ones would fill the memory
LONGEST_TEXT = 1_000_000
_SETTINGS = ("epsilon", "delta")
_INTRODUCTION = "Ask a question, and see its price before you pay."


@dataclass(frozen=True)
class AskedQuestion:
    """A question of a session, to be asked again."""

    text: str
    epsilon: str
    delta: str
    at: datetime
    outcome: str


@dataclass(frozen=True)
class AskPage:
    """What the page shows: the form as it was filled, and what came of it."""

    text: str = ""
    epsilon: str = ""
    delta: str = ""
    verdict: str = _INTRODUCTION
    failure: StatementFailed | None = None
    price: PrivacyCost | None = None
    is_exact: bool = False
    result: ShownResult | None = None

    @property
    def settings(self) -> dict[str, str]:
        """The settings of the session that asks."""
        given = {"epsilon": self.epsilon, "delta": self.delta}
        return {f"discreet.{name}": value for name, value in given.items() if value}

    @property
    def status(self) -> int:
        """The status of the response."""
        return 200 if self.failure is None else status_code(self.failure)

    @property
    def cost(self) -> PrivacyCost | None:
        """The price, or what was paid."""
        return self.price or (self.result.cost if self.result is not None else None)

    @property
    def gauges(self) -> list[BudgetGauge]:
        """The budgets that pay, with what this question takes."""
        cost = self.cost
        if cost is None:
            return []
        amounts = {"epsilon": cost.epsilon, "delta": cost.delta}
        return [
            _draw_gauge(name, cost, amounts[name] if self.price is not None else 0.0)
            for name in _SETTINGS
            if cost.granted.get(name)
        ]

    @property
    def repeats(self) -> str:
        """How many questions like this one the budget still allows."""
        price = self.price
        if price is None or not price.epsilon:
            return ""
        often = int(price.left["epsilon"] / price.epsilon + 1e-9)
        if price.delta:
            often = min(often, int(price.left["delta"] / price.delta + 1e-9))
        if not often:
            return "There is not enough left for this question."
        return f"Enough is left for {format_count(often, 'question', 'questions')} like this one."


def show_ask(asked: ConsoleRequest) -> Response:
    """Return the form, filled with a table's first question or with an earlier one."""
    page = AskPage(epsilon=asked.server.settings.epsilon or "")
    number = asked.form.get("again", "")
    if number.isdecimal() and int(number[:4]) < len(asked.session.asked):
        old: AskedQuestion = asked.session.asked[int(number[:4])]
        page = replace(page, text=old.text, epsilon=old.epsilon, delta=old.delta)
    elif asked.form.get("table"):
        page = replace(
            page, text=_first_question(asked.form.get("schema", "public"), asked.form["table"])
        )
    return _render_page(asked, page)


def take_question(asked: ConsoleRequest) -> Response:
    """Show the price, or ask."""
    page = _read_page(asked.form)
    if asked.form.get("action") == "ask":
        return _render_page(asked, _answer_question(asked, page))
    return _render_page(asked, _price_question(asked, page))


def show_price(asked: ConsoleRequest) -> Response:
    """Return the part of the page with the price, while its user types."""
    page = _read_page(asked.form)
    if page.text.strip():
        page = _price_question(asked, page)
    return asked.render("ask_price.html.j2", page=page)


def _read_page(form: Mapping[str, str]) -> AskPage:
    return AskPage(
        text=form.get("statement", "").replace("\r\n", "\n"),
        epsilon=form.get("epsilon", "").strip(),
        delta=form.get("delta", "").strip(),
    )


def _price_question(asked: ConsoleRequest, page: AskPage) -> AskPage:
    """Return the page with the price of its question; nothing is spent."""
    try:
        _require_text(page.text)
        with asked.open_session(page.settings) as session:
            cost = explain_privacy(session, page.text)
    except DiscreetError as error:
        return _add_failure(page, error, "That question has no price.")
    if cost is None:
        return replace(page, is_exact=True, verdict="You may see the rows: exact, and free.")
    left = format_amounts(cost.left["epsilon"], cost.left["delta"])
    price = format_amounts(cost.epsilon, cost.delta)
    return replace(page, price=cost, verdict=f"This question costs {price}. Left: {left}.")


def _answer_question(asked: ConsoleRequest, page: AskPage) -> AskPage:
    """Return the page with the answer, which is paid for."""
    try:
        _require_text(page.text)
        with asked.open_session(page.settings) as session:
            outcome, notices = run_request(session, QueryRequest(statement=page.text))
    except DiscreetError as error:
        return _add_failure(page, error, "That was not answered.")
    result = show_result(outcome, notices)
    if len(page.text) + len(page.epsilon) + len(page.delta) <= LONGEST_LISTED:
        asked.session.asked.append(
            AskedQuestion(
                page.text, page.epsilon, page.delta, asked.server.clock(), _word_result(result)
            )
        )
        del asked.session.asked[:-MOST_ASKED]
    return replace(page, result=result, verdict=_word_result(result))


def _word_result(result: ShownResult) -> str:
    cost = result.cost
    if cost is None:
        if result.columns:
            return f"{format_count(result.total, 'row', 'rows')}, exact: you may see them."
        return f"Done: {result.tag}."
    left = format_amounts(cost.left["epsilon"], cost.left["delta"])
    if cost.is_free:
        return f"The same question again is free. Left: {left}."
    return f"The answer cost {format_amounts(cost.epsilon, cost.delta)}. Left: {left}."


def _add_failure(page: AskPage, error: DiscreetError, verdict: str) -> AskPage:
    return replace(page, failure=as_statement_failed(error), verdict=verdict)


def _require_text(text: str) -> None:
    if not text.strip():
        raise StatementFailed("42601", "there is no statement", hint="Write one, such as a SELECT.")
    if len(text) > LONGEST_TEXT:
        raise StatementFailed("54000", "the statement is too long")


def _draw_gauge(name: str, cost: PrivacyCost, planned: float) -> BudgetGauge:
    whole, left = cost.granted[name], cost.left[name]
    words = f"{format_short(left)} of {format_short(whole)} {name} left"
    if planned:
        words += f", this question takes {format_short(planned)}"
    return BudgetGauge(words, 1 - left / whole, planned / whole)


def _first_question(schema: str, table: str) -> str:
    query = build.select(
        build.alias_as(build.count_star(), "number"),
        source=build.table(*((table,) if schema == "public" else (schema, table))),
    )
    return query.sql(dialect=DIALECT, pretty=True)


def _render_page(asked: ConsoleRequest, page: AskPage) -> Response:
    with asked.open_session() as session:
        relations = list_relations(asked, session)
    history = list(enumerate(asked.session.asked))[::-1]
    return asked.render(
        "ask.html.j2",
        status=page.status,
        page=page,
        relations=relations,
        history=history,
        same=_same_elsewhere(asked, page),
    )


def _same_elsewhere(asked: ConsoleRequest, page: AskPage) -> SameAs:
    settings = asked.server.settings
    text = page.text.strip().rstrip(";") or "SELECT count(*) AS people FROM patients"
    sets = [f"SET {name} = {value}" for name, value in page.settings.items()]
    place = f"host={settings.host} port={settings.port or 5433} user={asked.user} dbname=discreet"
    words = ["psql", place, *(word for each in (*sets, text) for word in ("-c", each))]
    lines: list[Any] = [
        "import psycopg",
        "",
        f"with psycopg.connect({place!r}) as connection:",
        *(f"    connection.execute({each!r})" for each in sets),
        f"    rows = connection.execute({text!r}).fetchall()",
    ]
    sql = [*(f"{each};" for each in sets), f"EXPLAIN PRIVACY {text};", f"{text};"]
    return SameAs(shlex.join(words), "\n".join(lines), "\n".join(sql))
