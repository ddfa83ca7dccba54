"""`SELECT discreet_learn('table', target => 'column')`: a private model, charged to a grant of AGGREGATE."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from sqlglot import exp

from discreet.answer.cancellation import CancelToken
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.rewrite.authorize import relations_of
from discreet.learning.model_order import ModelTerms
from discreet.server.catalog.lookups import split_name
from discreet.server.gateway.audit import AuditDraft
from discreet.server.gateway.plans import CallPlan
from discreet.server.gateway.private_answers import PermittedQuestion, spent_notices
from discreet.server.gateway.session_state import SessionState
from discreet.server.session import Notice
from discreet.sql import build

LEARN = "discreet_learn"
_LISTS = ("features", "leave_out")
_HINT = "Write SELECT discreet_learn('patients', target => 'ill', learner => 'boosting')."
# Reads the value of an argument: a literal, or one of the statement's values.
ArgumentReader = Callable[[exp.Expr], object]


def learn_model(
    session: SessionState, plan: CallPlan, read: ArgumentReader, note: AuditDraft
) -> tuple[str, tuple[Notice, ...]]:
    """Return a model as the text of its file, with what it cost; the same request again is free."""
    asked, terms = _permit_model(session, plan, read)
    note.kind = "question"
    for relation in asked.relations:
        note.add_read(relation.key, ())
    note.reason = f"AGGREGATE granted to {asked.payer or 'PUBLIC'}"
    stop = CancelToken()
    with session.interrupt.stoppable(stop.set):
        session.interrupt.require_not_canceled()
        paid = session.private_answers.learn(asked, terms, stop)
    note.price = paid.spent
    note.balance = {name: paid.remaining[name] for name in ("epsilon", "delta")}
    return paid.content.decode("ascii").rstrip("\n"), spent_notices(paid, what="model")


def explain_model(session: SessionState, plan: CallPlan, read: ArgumentReader) -> list[str]:
    """Return lines with the price of a model; nothing is read or spent."""
    asked, terms = _permit_model(session, plan, read)
    return session.private_answers.explain_model(asked, terms)


def _permit_model(
    session: SessionState, plan: CallPlan, read: ArgumentReader
) -> tuple[PermittedQuestion, ModelTerms]:
    """Return what pays for a model, and what is asked for: it is permitted as a question about its columns is.

    Raises:
        AccessDenied: 42501, its sender may not aggregate the table, or sees masks of a column that is named.
    """
    table, stated = _read_arguments(plan, read)
    terms = _read_terms(stated, session.variables.get)
    named = [*([terms.target] if terms.target else []), *(terms.features or ())]
    columns = [build.column(name) for name in named]
    parts = split_name(table)
    if parts is None or len(parts) > 3:
        raise StatementFailed("42602", f'invalid name "{table}" of a table', hint=_HINT)
    relation = build.table(*parts)
    query = build.select(*(columns or [build.count_star()]), source=relation)
    relations = relations_of(query, session.authority, session.subject)
    asked = session.private_answers.read(
        query, relations, session.authority, session.subject, session.variables
    )
    if asked is None:
        raise AccessDenied(
            f"permission denied for table {table}",
            hint="A model is learned with the right to ask: GRANT AGGREGATE ON … TO … WITH BUDGET (EPSILON 2).",
        )
    return asked, terms


def _read_arguments(plan: CallPlan, read: ArgumentReader) -> tuple[str, dict[str, str]]:
    """Return the table, and the named arguments as texts."""
    if not plan.arguments or isinstance(plan.arguments[0], exp.Kwarg):
        raise StatementFailed("42883", f"{LEARN} takes a table and named arguments", hint=_HINT)
    stated: dict[str, str] = {}
    for argument in plan.arguments[1:]:
        if not isinstance(argument, exp.Kwarg):
            raise StatementFailed("42883", f"{LEARN} takes arguments by name", hint=_HINT)
        name = argument.this.name.lower()
        if name in stated:
            raise StatementFailed("42601", f'argument name "{name}" used more than once')
        stated[name] = str(read(argument.expression))
    return str(read(plan.arguments[0])), stated


def _read_terms(stated: Mapping[str, str], setting: Callable[[str], str]) -> ModelTerms:
    """Return what is asked for, at the price of the session's settings."""
    left = dict(stated)
    lists = {name: _split_names(left.pop(name, None)) for name in _LISTS}
    return ModelTerms(
        left.pop("target", None),
        setting("discreet.epsilon"),
        setting("discreet.delta") or None,
        left.pop("learner", None),
        lists["features"],
        lists["leave_out"] or (),
        left,
    )


def _split_names(text: str | None) -> Sequence[str] | None:
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]
