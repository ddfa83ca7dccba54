"""The routes of the HTTP interface."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Path, Request, Response
from fastapi.responses import JSONResponse, PlainTextResponse

from discreet.errors import StatementFailed
from discreet.guard.identity import tokens
from discreet.guard.identity.authenticator import ClientInfo
from discreet.result import to_plain_data
from discreet.server.gateway.budget_labels import labeled_budgets
from discreet.server.gateway.health import Health
from discreet.server.http import bodies
from discreet.server.http.authentication import AuthenticatedClient, SuperuserClient, app_state
from discreet.server.observe.metrics import CONTENT_TYPE
from discreet.server.session import Outcome, Session

_FAULTS: dict[int | str, dict[str, Any]] = {
    code: {"model": bodies.ErrorResponse, "description": words}
    for code, words in {
        400: "The statement is wrong",
        401: "Authentication is required",
        403: "You may not do that, or the budget is spent",
        404: "Not found",
        408: "It took too long",
        409: "A concurrent change came first; try again",
        413: "Too large",
        422: "The body is wrong",
        429: "Too many requests",
        500: "An error of the server",
        503: "Not now",
    }.items()
}

# Errors are JSON also where the response is plain text, for which FastAPI would use a model.
_FAULTS_OF_TEXT: dict[int | str, dict[str, Any]] = {
    code: {
        "description": fault["description"],
        "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Fault"}}},
    }
    for code, fault in _FAULTS.items()
}

LARGEST = 32 << 20  # bytes of a result, before it is JSON

router = APIRouter()


@router.post("/v1/query", responses=_FAULTS, summary="Run SQL")
def run_query(
    request: Request, body: bodies.QueryRequest, client: AuthenticatedClient
) -> bodies.QueryResponse:
    """Run statements as one transaction; the response is the last one's."""
    session = app_state(request).server.open_session(client, body.settings, "http")
    session.observed = replace(session.observed, parent=request.headers.get("traceparent"))
    try:
        return _query_response(*run_request(session, body))
    finally:
        session.close()


@router.get("/v1/tokens", responses=_FAULTS, summary="Your tokens")
def list_own_tokens(request: Request, client: AuthenticatedClient) -> list[bodies.TokenInfo]:
    """List your tokens, without the secrets."""
    control = app_state(request).server.vault.documents
    return [_token_info(token) for token in tokens.list_api_tokens(control, _token_holder(client))]


@router.post("/v1/tokens", responses=_FAULTS, status_code=201, summary="Create a token")
def create_own_token(
    request: Request, body: bodies.TokenRequest, client: AuthenticatedClient
) -> bodies.CreatedToken:
    """Create a token for yourself; it is shown only once."""
    server = app_state(request).server
    now = server.clock()
    expires = now + timedelta(days=body.days)
    text, made = tokens.create_token(
        server.vault.documents,
        _token_holder(client),
        now=now,
        expires=expires,
        label=body.label,
        record=lambda token: server.audit.record_act(client, f"make {token}"),
    )
    return bodies.CreatedToken(id=made.id, token=text, expires=expires.isoformat())


@router.delete(
    "/v1/tokens/{identifier}", responses=_FAULTS, status_code=204, summary="Revoke a token"
)
def revoke_own_token(
    request: Request,
    identifier: Annotated[str, Path(pattern="^[0-9a-f]{16}$")],
    client: AuthenticatedClient,
) -> None:
    """Revoke one of your tokens."""
    server = app_state(request).server
    control = server.vault.documents
    if identifier not in {
        token.id for token in tokens.list_api_tokens(control, _token_holder(client))
    }:
        raise HTTPException(404, "there is no such token of yours")
    server.audit.record_act(client, f"revoke token {identifier}")
    tokens.revoke_token(control, identifier)


@router.get("/v1/checkpoint", responses=_FAULTS, summary="The journal's latest checkpoint")
def checkpoint(request: Request, client: SuperuserClient) -> bodies.CheckpointResponse:
    """Return a signed line that proves, if stored elsewhere, that the journal was not rewritten."""
    del client
    journal = app_state(request).server.journal
    journal.checkpoint()
    known = journal.checkpoints()
    if not known:
        raise HTTPException(404, "there is no checkpoint yet")
    return bodies.CheckpointResponse(text=known[-1].note)


@router.get("/v1/accounts", responses=_FAULTS, summary="Budgets, by the labels of metrics")
def list_budgets(request: Request, client: SuperuserClient) -> list[bodies.AccountInfo]:
    """List what every account that was ever charged has left."""
    del client
    server = app_state(request).server
    return [
        bodies.AccountInfo(
            label=item.label,
            account=item.budget.name,
            epsilon_left=float(item.budget.epsilon.left),
            epsilon_limit=float(item.budget.epsilon.limit),
            delta_left=float(item.budget.delta.left),
            delta_limit=float(item.budget.delta.limit),
        )
        for item in labeled_budgets(server.ledger, server.journal)
    ]


@router.get(
    "/healthz", responses={503: {"model": bodies.HealthResponse}}, summary="Health of the server"
)
def health(request: Request) -> bodies.HealthResponse:
    """Report whether stores and database can be reached, and how many checkpoints lack a witness."""
    return _health_response(app_state(request).server.health_monitor.check())


@router.get(
    "/readyz",
    responses={503: {"model": bodies.HealthResponse}},
    summary="Whether to send clients here",
)
def readiness(request: Request) -> bodies.HealthResponse:
    """Report what /healthz does, and whether new sessions are accepted: not while the server stops."""
    server = app_state(request).server
    found = server.health_monitor.check()
    parts = {**found.parts, "accepting": server.is_accepting}
    return _health_response(replace(found, parts=parts))


def _health_response(found: Health) -> bodies.HealthResponse:
    response = bodies.HealthResponse(
        status="ok" if found.is_healthy else "failing",
        parts={name: "ok" if is_well else "failing" for name, is_well in found.parts.items()},
        unwitnessed=found.unwitnessed,
    )
    if found.is_healthy:
        return response
    return JSONResponse(response.model_dump(), 503)  # pyright: ignore[reportReturnType]


@router.get(
    "/metrics",
    responses=_FAULTS_OF_TEXT,
    response_class=PlainTextResponse,
    summary="Metrics for Prometheus",
)
def report_metrics(request: Request, client: SuperuserClient) -> Response:
    """Return how busy the server is, without values and names."""
    del client
    return Response(app_state(request).server.metrics.text(), media_type=CONTENT_TYPE)


def run_request(session: Session, body: bodies.QueryRequest) -> tuple[Outcome, list[Any]]:
    """Run all statements as one transaction and return the last result, and all notices."""
    from discreet.guard.statements.statement import SetRole

    if body.role is not None:
        session.run(session.prepare(SetRole(body.role, text="SET ROLE")))
    statements = session.split(body.statement)
    if not statements:
        raise StatementFailed("42601", "there is no statement")
    if body.parameters and len(statements) > 1:
        raise StatementFailed("42601", "parameters go with one statement only")
    notices: list[Any] = []
    outcome = None
    session.start_block()
    try:
        for statement in statements:
            prepared = session.prepare(statement)
            outcome = session.run(prepared, body.parameters)
            _require_small(outcome)
            notices += outcome.notices
    except BaseException:
        session.finish_block(failed=True)
        raise
    session.finish_block()
    if outcome is None:
        raise StatementFailed("42601", "there is no statement")
    return outcome, notices


def _require_small(outcome: Outcome) -> None:
    """Refuse, before the commit, a result that is too large for JSON."""
    if outcome.table is not None and outcome.table.nbytes > LARGEST:
        raise StatementFailed(
            "54000",
            f"the result is larger than {LARGEST >> 20} MiB, which is too large for HTTP",
            hint="Ask for less with LIMIT, or use the PostgreSQL protocol.",
        )


def _query_response(outcome: Outcome, notices: list[Any]) -> bodies.QueryResponse:
    columns = [
        bodies.ResultColumn(name=field.name, type=field.type) for field in outcome.fields or ()
    ]
    rows: list[list[Any]] = []
    if outcome.table is not None:
        values = [to_plain_data(column.to_pylist()) for column in outcome.table.columns]
        rows = [list(row) for row in zip(*values, strict=True)]
    reported = [
        bodies.ResultNotice(
            severity=notice.severity,
            message=notice.message,
            detail=notice.detail,
            hint=notice.hint,
        )
        for notice in notices
    ]
    return bodies.QueryResponse(tag=outcome.tag, columns=columns, rows=rows, notices=reported)


def _token_holder(client: ClientInfo) -> str:
    """Return the owner of a client's tokens."""
    return client.identity or client.user


def _token_info(token: tokens.ApiToken) -> bodies.TokenInfo:
    return bodies.TokenInfo(
        id=token.id,
        label=token.label,
        made=token.made.isoformat(),
        expires=None if token.expires is None else token.expires.isoformat(),
        last_used=None if token.last_used is None else token.last_used.isoformat(),
    )
