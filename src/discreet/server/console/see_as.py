"""See as another user: what they would see of a query, and the rules that decide it.

The query runs as SET SESSION AUTHORIZATION lets a superuser run it, in a transaction that is undone. A
question under differential privacy is not asked, only priced: it would spend the other user's budget.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from starlette.responses import Response

from discreet.answer.wording import format_amounts
from discreet.errors import AccessDenied, DiscreetError, StatementFailed
from discreet.formatting import format_count
from discreet.guard.access.authority import Authority, Relation, Subject
from discreet.guard.journal.search import EntryFilter
from discreet.guard.rewrite.authorize import relations_of
from discreet.guard.statements.statement import Explain, Query, SetAuthorization
from discreet.server.catalog.constraints import quote_identifier
from discreet.server.console.access_rules import AccessRule, list_rules
from discreet.server.console.pages import SameAs
from discreet.server.console.requests import ConsoleRequest
from discreet.server.console.results import ShownResult, show_result
from discreet.server.gateway.plans import InnerPlan, RowsPlan
from discreet.server.pg.failures import as_statement_failed
from discreet.server.session import Outcome, PreparedStatement, PrivacyCost, Session

_EPSILON = "0.1"  # of a question that is only priced


@dataclass(frozen=True)
class SeenPage:
    """What the page shows: the form, what the user would see, and why."""

    user: str = ""
    text: str = ""
    verdict: str = "See what another user would see, and why."
    failure: StatementFailed | None = None
    reason: str = ""
    result: ShownResult | None = None
    cost: PrivacyCost | None = None
    rules: tuple[tuple[Relation, list[AccessRule]], ...] = ()


def show_see_as(asked: ConsoleRequest) -> Response:
    """Return the form, filled from an entry of the journal, or what came of it."""
    asked.require_superuser("see as another user")
    if asked.request.method == "POST":
        page = _see_as(asked, asked.form.get("user", ""), asked.form.get("statement", ""))
    else:
        page = _read_entry(asked, asked.form.get("entry", ""))
    authority = asked.server.control.authority()
    users = [role.name for role in authority.roles.values()]
    return asked.render("see_as.html.j2", page=page, users=users, same=_same_elsewhere(page))


def _read_entry(asked: ConsoleRequest, number: str) -> SeenPage:
    if not number.isdecimal() or len(number) > 15:
        return SeenPage(user=asked.form.get("user", ""))
    found = asked.server.journal.latest(EntryFilter(), most=1, before=int(number) + 1).entries
    if not found or found[0].sequence != int(number):
        return SeenPage()
    return SeenPage(user=found[0].event.user, text=found[0].event.statement)


def _see_as(asked: ConsoleRequest, user: str, text: str) -> SeenPage:
    page = SeenPage(user, text.replace("\r\n", "\n"))
    authority = asked.server.control.authority()
    if user not in authority.roles:
        error = StatementFailed("42704", "there is no such user", hint="Choose one of the list.")
        return replace(page, failure=error, verdict="That cannot be shown.")
    clearance = authority.roles[user].clearance
    settings = {"discreet.epsilon": _EPSILON}
    if clearance is not None:
        settings["discreet.clearance"] = clearance
    try:
        with asked.open_session(settings) as session:
            page = replace(page, rules=_list_rules(session, authority, page))
            return _run_as(session, page, has_clearance=clearance is not None)
    except AccessDenied as error:
        verdict = f"{user} is denied that."
        return replace(page, failure=error, reason=error.reason, verdict=verdict)
    except DiscreetError as error:
        return replace(
            page, failure=as_statement_failed(error), verdict=f"{user} would get an error."
        )


def _list_rules(
    session: Session, authority: Authority, page: SeenPage
) -> tuple[tuple[Relation, list[AccessRule]], ...]:
    relations = relations_of(
        _read_query(session, page.text).tree, authority, Subject(page.user, page.user)
    )
    return tuple((one, list_rules(authority, page.user, one)) for one in dict.fromkeys(relations))


def _read_query(session: Session, text: str) -> Query:
    """Return the one query of a text: nothing else is run as another user."""
    statements = session.split(text)
    if len(statements) != 1 or not isinstance(statements[0], Query):
        raise StatementFailed(
            "0A000", "only one query at a time is shown", hint="Write one SELECT."
        )
    return statements[0]


def _run_as(session: Session, page: SeenPage, *, has_clearance: bool) -> SeenPage:
    """Return the page with what the user sees; the transaction is undone."""
    query = _read_query(session, page.text)
    session.start_block()
    try:
        become = SetAuthorization(page.user, local=True, text="SET LOCAL SESSION AUTHORIZATION")
        session.run(session.prepare(become))
        explained = session.prepare(
            Explain(query, privacy=True, text=f"EXPLAIN PRIVACY {query.text}")
        )
        outcome = session.run(explained)
        if not _is_only_rows(explained):
            return _add_price(page, outcome)
        if not has_clearance and any(relation.multilevel for relation, _ in page.rules):
            words = f"{page.user} has no clearance: rows with labels are not shown here."
            return replace(page, verdict=words)
        return _add_rows(page, session.run(session.prepare(query)))
    finally:
        session.finish_block(failed=True)


def _is_only_rows(explained: PreparedStatement) -> bool:
    """Whether a statement only reads rows: no budget is spent and no audited aggregate is answered."""
    plan = explained.plan
    return isinstance(plan, InnerPlan) and isinstance(plan.prepared.plan, RowsPlan)


def _add_rows(page: SeenPage, outcome: Outcome) -> SeenPage:
    result = show_result(outcome, outcome.notices)
    rows = format_count(result.total, "row", "rows")
    return replace(page, result=result, verdict=f"{page.user} sees {rows} of this.")


def _add_price(page: SeenPage, outcome: Outcome) -> SeenPage:
    cost = outcome.cost
    if cost is None:
        return replace(page, verdict=f"{page.user} gets an answer that is not run here.")
    left = format_amounts(cost.left["epsilon"], cost.left["delta"])
    return replace(
        page, cost=cost, verdict=f"{page.user} sees no row, but a noisy answer. Left: {left}."
    )


def _same_elsewhere(page: SeenPage) -> SameAs:
    user = quote_identifier(page.user) if page.user else "clerk"
    text = page.text.strip().rstrip(";") or "SELECT * FROM patients"
    sql = f"BEGIN;\nSET LOCAL SESSION AUTHORIZATION {user};\nEXPLAIN PRIVACY {text};\n{text};\nROLLBACK;"
    python = (
        "import psycopg\n\nwith psycopg.connect() as connection:\n"
        f"    connection.execute({f'SET LOCAL SESSION AUTHORIZATION {user}'!r})\n"
        f"    rows = connection.execute({text!r}).fetchall()\n    connection.rollback()"
    )
    return SameAs("psql -f see-as.sql  # with the statements on the right", python, sql)
