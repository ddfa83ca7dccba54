"""Bodies of HTTP requests and responses."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Parameter = bool | int | float | str | None


class _Body(BaseModel):
    model_config = ConfigDict(extra="forbid")


class QueryRequest(_Body):
    """SQL, as over the PostgreSQL protocol; several statements are one transaction."""

    statement: str = Field(
        min_length=1, max_length=1_000_000, examples=["SELECT count(*) FROM patients"]
    )
    parameters: list[Parameter] = Field(default=[], max_length=1000)
    settings: dict[str, str] = Field(
        default={},
        max_length=50,
        description="Settings of the session, such as discreet.epsilon.",
        examples=[{"discreet.epsilon": "0.1"}],
    )
    role: str | None = Field(default=None, max_length=63, description="Act as this role.")


class ResultColumn(_Body):
    """A column of a result."""

    name: str
    type: str


class ResultNotice(_Body):
    """A message beside the result, such as its cost."""

    severity: Literal["NOTICE", "WARNING", "INFO"]
    message: str
    detail: str | None = None
    hint: str | None = None


class QueryResponse(_Body):
    """The result of the last statement."""

    tag: str
    columns: list[ResultColumn] = []
    rows: list[list[Any]] = []
    notices: list[ResultNotice] = []


class ErrorResponse(_Body):
    """An error: PostgreSQL's SQLSTATE and a message."""

    sqlstate: str
    message: str
    detail: str | None = None
    hint: str | None = None


class TokenRequest(_Body):
    """A request for a new token of the user."""

    label: str = Field(default="", max_length=200)
    days: int = Field(default=90, ge=1, le=3650)


class CreatedToken(_Body):
    """A new token: it is shown only once."""

    id: str
    token: str
    expires: str


class TokenInfo(_Body):
    """The record of a token."""

    id: str
    label: str
    made: str
    expires: str | None
    last_used: str | None


class HealthResponse(_Body):
    """Whether the server works."""

    status: Literal["ok", "failing"]
    parts: dict[str, Literal["ok", "failing"]]
    unwitnessed: int


class AccountInfo(_Body):
    """What an account has left, and by which label metrics name it."""

    label: str
    account: str
    epsilon_left: float
    epsilon_limit: float
    delta_left: float
    delta_limit: float


class CheckpointResponse(_Body):
    """The journal's latest signed checkpoint, to be kept elsewhere."""

    text: str
