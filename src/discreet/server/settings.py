"""A server's settings: read once, from flags and from `server.yaml` in its folder."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Any, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from discreet.errors import WrongUsage

FILE = "server.yaml"
OWN_KEY = "keys/master.key"  # the server's own key, where none is named


class ServerLimits(BaseModel):
    """Limits on one client's use of the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connections: int = Field(default=200, ge=1)
    connections_per_user: int = Field(default=100, ge=1)
    statement_seconds: float = Field(default=60, gt=0)
    statement_characters: int = Field(default=4_000_000, ge=1000)
    statement_tokens: int = Field(default=20_000, ge=100)
    statement_depth: int = Field(default=100, ge=10, le=100)
    statement_values: int = Field(default=70_000, ge=100)
    login_seconds: float = Field(default=60, gt=0)
    idle_seconds: float | None = Field(default=None, gt=0)
    idle_in_transaction_seconds: float = Field(default=60, gt=0)
    rows: int = Field(default=1_000_000, ge=1)
    result_bytes: int = Field(default=256 << 20, ge=1 << 20)
    message_bytes: int = Field(default=16 << 20, ge=1024)
    memory: str | None = None
    process_bytes: int | None = Field(default=None, ge=64 << 20)
    requests_per_minute: int = Field(default=600, ge=1)


class DirectorySettings(BaseModel):
    """An LDAP server that checks passwords; `{user}` stands for the name, escaped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str
    template: str | None = None
    base: str | None = None
    search: str = "(uid={user})"
    reader: str | None = None
    reader_password_file: Path | None = None
    groups: dict[str, str] = Field(default_factory=dict)
    group_base: str | None = None
    authorities: Path | None = None


class AuditSettings(BaseModel):
    """How much of a statement the journal keeps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    statements: Literal["full", "redacted", "hash"] = "redacted"
    checkpoint_entries: int = Field(default=1000, ge=1)
    checkpoint_seconds: float = Field(default=60, gt=0)
    witness: tuple[Path, ...] = ()


class Settings(BaseModel):
    """All settings of a server; relative paths are relative to `data`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path
    policy: Path | None = None
    database: str | None = None  # a postgresql:// URL or spark:…; default: DuckDB in `data`
    control: str | None = None
    ledger: str | None = None
    journal: str | None = None
    host: str = "127.0.0.1"
    port: int = Field(default=5433, ge=0, le=65535)
    http_port: int | None = Field(default=None, ge=0, le=65535)
    certificate: Path | None = None
    private_key: Path | None = None
    client_ca: Path | None = None
    plain: bool = False  # loopback only: no TLS
    key_file: Path | None = None
    admin: str = "admin"
    revoke_scope: Literal["owner", "grantor"] = "owner"
    null_label: Literal["clearance", "key"] = "clearance"
    epsilon: str | None = None  # the cost of a query where the session sets none
    delta: str | None = None
    quantum: float = Field(default=0.0, ge=0)
    limits: ServerLimits = ServerLimits()
    audit: AuditSettings = AuditSettings()
    ldap: DirectorySettings | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    def place(self, name: str) -> Path:
        """Return a file or folder in the server's folder."""
        return self.data / name


def read_settings(data: Path, **flags: Any) -> Settings:
    """Return the settings of the folder `data`; arguments override its file.

    Raises:
        WrongUsage: The file cannot be read, or a setting is invalid; the message names it.
    """
    file = data / FILE
    written: dict[str, Any] = {}
    if file.is_file():
        try:
            found: Any = yaml.load(file.read_text("utf-8"), Loader=yaml.CSafeLoader) or {}
        except (OSError, UnicodeDecodeError, yaml.YAMLError):
            raise WrongUsage(f"{file} cannot be read as YAML. Correct it, or remove it.") from None
        if not isinstance(found, dict):
            raise WrongUsage(f"{file} must hold settings, such as `port: 5433`.")
        written = found
    if (data / OWN_KEY).is_file():
        written = {"key_file": (data / OWN_KEY).absolute(), **written}
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        return Settings.model_validate({**written, **given, "data": data})
    except ValidationError as error:
        faults = [
            f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
            for fault in error.errors(include_url=False, include_input=False)
        ]
    raise WrongUsage(f"Settings of the server ({file}): {'; '.join(faults)}.")
