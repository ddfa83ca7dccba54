"""A server's settings: read once, from flags and from `server.yaml` in its folder."""

from __future__ import annotations

import ipaddress
import os
from pathlib import Path
from typing import Annotated, Any, Literal

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from discreet.errors import WrongUsage
from discreet.guard.vault.key_services import KeyServiceAddress
from discreet.writing import CREDENTIALS

FILE = "server.yaml"
OWN_KEY = "keys/master.key"  # the server's own key, where none is named


_CREDENTIAL = "credential:"


def find_credential(value: object) -> object:
    """Return the file of `credential:NAME`, which systemd gave this process; others as they are."""
    if not isinstance(value, str) or not value.startswith(_CREDENTIAL):
        return value
    name, folder = value.removeprefix(_CREDENTIAL), os.environ.get(CREDENTIALS)
    if folder is None or Path(name).name != name:
        return value  # reading it reports that it is missing
    return Path(folder) / name


SecretFile = Annotated[Path, BeforeValidator(find_credential)]


class ServerLimits(BaseModel):
    """Limits on one client's use of the server."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    connections: int = Field(default=200, ge=1, description="How many connections at a time.")
    connections_per_user: int = Field(
        default=100, ge=1, description="Of one user; `CONNECTION LIMIT` of a role can be lower."
    )
    statement_seconds: float = Field(
        default=60,
        gt=0,
        description="After which a statement is canceled, the time to read it included; "
        "`SET statement_timeout` can be lower.",
    )
    statement_characters: int = Field(
        default=4_000_000, ge=1000, description="Characters of one text."
    )
    statement_tokens: int = Field(
        default=20_000,
        ge=100,
        description="Words and signs of one text; counted before it is parsed. Rows of `INSERT … VALUES` "
        "with plain values only are not among them. Who has no right to any table or view may send 2,000.",
    )
    statement_depth: int = Field(default=100, ge=10, le=100, description="Of nested brackets.")
    statement_values: int = Field(
        default=70_000, ge=100, description="Plain values in the rows of one `INSERT … VALUES`."
    )
    login_seconds: float = Field(
        default=60, gt=0, description="In which a client must have logged in."
    )
    idle_seconds: float | None = Field(
        default=None, gt=0, description="After which a silent client loses its connection."
    )
    idle_in_transaction_seconds: float = Field(
        default=60, gt=0, description="The same within a transaction, which is undone."
    )
    rows: int = Field(default=1_000_000, ge=1, description="Rows of one result.")
    result_bytes: int = Field(
        default=256 << 20,
        ge=1 << 20,
        description="Of one result, and of all cursors and portals of a session that are open.",
    )
    message_bytes: int = Field(
        default=16 << 20, ge=1024, description="Of one message of the protocol."
    )
    memory: str | None = Field(
        default=None,
        description="Of the embedded database, such as `4GB`. Without it DuckDB's own: four fifths of "
        "the machine's.",
    )
    process_bytes: int | None = Field(
        default=None,
        ge=64 << 20,
        description="Memory of the whole server; beyond it, what runs ends with `53200`. Without it four "
        "fifths of the machine's, or of what the server is granted of it.",
    )
    requests_per_minute: int = Field(
        default=600, ge=1, description="Over HTTP, of one user and from one address."
    )


class DirectorySettings(BaseModel):
    """An LDAP server that checks passwords (extra `ldap`); `{user}` stands for the name, escaped."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    url: str = Field(
        description="`ldaps://host`, or `ldap://host`, which is taken to TLS before anything is sent."
    )
    template: str | None = Field(
        default=None,
        description="The entry of a user, such as `uid={user},ou=people,dc=clinic,dc=example`.",
    )
    base: str | None = Field(default=None, description="Or below which entry to look for it.")
    search: str = Field(default="(uid={user})", description="By what to look for it.")
    reader: str | None = Field(default=None, description="The entry on whose behalf to look.")
    reader_password_file: SecretFile | None = Field(
        default=None, description="The file with its password."
    )
    groups: dict[str, str] = Field(
        default_factory=dict,
        description="Which group is which role; users in none of them are refused.",
    )
    group_base: str | None = Field(default=None, description="Below which entry groups are.")
    authorities: Path | None = Field(
        default=None, description="Who signs the directory's certificate (PEM)."
    )


class OidcSettings(BaseModel):
    """A provider of OpenID Connect whose tokens are taken in place of passwords (extra `oidc`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    issuer: str = Field(
        description="The provider's address, exactly as its tokens name it: `https://…`."
    )
    audience: str = Field(
        description="Whom tokens for this server are issued for; others are refused."
    )
    user_claim: str = Field(
        default="sub",
        description="The claim that is the user's name here, such as `preferred_username`. A name stays bound to "
        "the `sub` that first used it.",
    )
    groups_claim: str = Field(default="groups", description="The claim that lists groups.")
    groups: dict[str, str] = Field(
        default_factory=dict,
        description="Which group is which role: users become and cease to be members when they log in; users in "
        "none of them are refused.",
    )
    create_users: bool = Field(
        default=False,
        description="Create users who are new here, without a password and without rights.",
    )
    password_users: tuple[str, ...] = Field(
        default=(), description="Who still logs in by password, such as the administrator."
    )
    wire: Literal["password", "oauthbearer"] = Field(
        default="password",
        description="How PostgreSQL clients send a token: in place of a password, as every client can, or by "
        "OAUTHBEARER as those of PostgreSQL 18 can. Clients choose with `options=-c discreet.login=oauthbearer`.",
    )
    scope: str = Field(
        default="openid", description="What clients of OAUTHBEARER ask the provider for."
    )
    authorities: Path | None = Field(
        default=None,
        description="Who signs the provider's certificate (PEM). Without it those of the system.",
    )


class AuditSettings(BaseModel):
    """How much of a statement the journal keeps."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    statements: Literal["full", "redacted", "hash"] = Field(
        default="redacted",
        description="`redacted`: without literals; `full`: as written, but for passwords and keys; "
        "`hash`: fingerprints only.",
    )
    checkpoint_entries: int = Field(
        default=1000, ge=1, description="After how many entries the journal is signed."
    )
    checkpoint_seconds: float = Field(
        default=60, gt=0, description="After how many seconds, if there were entries."
    )
    witness: tuple[Path, ...] = Field(
        default=(),
        description="Files, best on disks of others, to which checkpoints are appended.",
    )


class KeyServiceSettings(BaseModel):
    """A service that decrypts the server's key when it starts, such as an HSM."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    address: str = Field(
        pattern="^[a-z][a-z0-9-]*:.",
        description="Which key of which service, such as `pkcs11:token=clinic;object=discreet` (extra `pkcs11`).",
    )
    options: dict[str, str] = Field(
        default_factory=dict,
        description="What the service needs: of `pkcs11` its `module` and `pin_file`, a file or `credential:NAME`.",
    )


class LogSettings(BaseModel):
    """What is written to standard error; no line holds a value of a table or a statement."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    format: Literal["text", "json"] = Field(
        default="text", description="`json`: one object per line."
    )
    level: Literal["debug", "info", "warning", "error"] = Field(
        default="info", description="The least important lines that are written."
    )
    slow_seconds: float | None = Field(
        default=None,
        ge=0,
        description="Statements that take at least so long are logged, without their literals.",
    )


class MetricsSettings(BaseModel):
    """What metrics for Prometheus disclose."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    accounts: Literal["opaque", "named"] = Field(
        default="opaque",
        description="How budgets are labeled: `opaque` by keyed hashes, which `GET /v1/accounts` explains "
        "to superusers; `named` by the accounts' names, which name users and tables.",
    )


class TracingSettings(BaseModel):
    """Where spans of statements are sent (extra `otel`)."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    endpoint: str = Field(
        pattern="^https?://",
        description="A collector of OTLP over HTTP, such as `http://127.0.0.1:4318`.",
    )
    service: str = Field(default="discreet", description="The name under which spans appear.")


class Settings(BaseModel):
    """All settings of a server; relative paths are relative to `data`."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    data: Path = Field(description="The server's folder.")
    policy: Path | None = Field(
        default=None,
        description="What is protected: its tables are loaded on the first start.",
    )
    database: str | None = Field(
        default=None,
        description="What is served: a `postgresql://` URL or `spark:TABLE`. Without it an embedded "
        "DuckDB in the folder.",
    )
    control: str | None = Field(
        default=None,
        description="Where rights, users and secrets are kept: `postgresql://`. Without it a file in "
        "the folder.",
    )
    ledger: str | None = Field(
        default=None,
        description="Where spending is kept: `postgresql://`. Without it a file in the folder.",
    )
    journal: str | None = Field(
        default=None,
        description="Where the journal is kept: `postgresql://`. Without it a file in the folder.",
    )
    host: str = Field(default="127.0.0.1", description="Where to listen.")
    port: int = Field(
        default=5433, ge=0, le=65535, description="For PostgreSQL clients; 0 takes a free one."
    )
    http_port: int | None = Field(
        default=None,
        ge=0,
        le=65535,
        description="For the console and other HTTP clients. Without it the one after `port`; without "
        "it and the console HTTP is not served.",
    )
    console: bool = Field(default=True, description="The web console, over HTTP.")
    certificate: Path | None = Field(
        default=None,
        description="The server's certificate (PEM), with its chain. Without it one of its own, made on "
        "the first start.",
    )
    private_key: SecretFile | None = Field(
        default=None, description="The key of the certificate, or `credential:NAME`."
    )
    client_ca: Path | None = Field(
        default=None, description="Who signs certificates of clients (PEM)."
    )
    plain: bool = Field(
        default=False, description="No TLS; refused unless only this machine can reach the server."
    )
    key_file: SecretFile | None = Field(
        default=None,
        description="Encrypt data and secrets at rest under the key in this file, or in the credential of systemd "
        "`credential:NAME`. Without it "
        "`keys/master.key` in the folder, if there is one.",
    )
    admin: str = Field(default="admin", description="What the first user is called.")
    revoke_scope: Literal["owner", "grantor"] = Field(
        default="owner",
        description="`owner`: the owner's `REVOKE` takes back what others granted on; `grantor`: "
        "PostgreSQL's way.",
    )
    null_label: Literal["clearance", "key"] = Field(
        default="clearance",
        description="Which label an empty cell of a multi-level table shows: the `clearance` of who "
        "looks, or that of the `key`.",
    )
    epsilon: str | None = Field(
        default=None,
        description="What a question costs in sessions that do not `SET discreet.epsilon`. Without it "
        "such a question is refused.",
    )
    delta: str | None = Field(default=None, description="The same of delta.")
    quantum: float = Field(
        default=0.0,
        ge=0,
        description="Answers to questions are handed out at multiples of so many seconds, so that their "
        "time reveals less.",
    )
    drain_seconds: float = Field(
        default=0.0,
        ge=0,
        description="After a signal to stop, how long clients are still served while `/readyz` says 503, "
        "so that a load balancer sends no more.",
    )
    key_service: KeyServiceSettings | None = None
    limits: ServerLimits = ServerLimits()
    audit: AuditSettings = AuditSettings()
    log: LogSettings = LogSettings()
    metrics: MetricsSettings = MetricsSettings()
    tracing: TracingSettings | None = None
    ldap: DirectorySettings | None = None
    oidc: OidcSettings | None = None

    @property
    def is_loopback(self) -> bool:
        """Whether only this machine can reach the server."""
        if self.host == "localhost":
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @property
    def web_port(self) -> int | None:
        """The port for HTTP: where none is named, the console takes the one after `port`."""
        if self.http_port is not None or not self.console:
            return self.http_port
        return min(self.port + 1, 65535) if self.port else 0

    @property
    def key_address(self) -> KeyServiceAddress | None:
        """The service that decrypts the server's key, None where its file holds it in clear."""
        service = self.key_service
        if service is None:
            return None
        options = {name: str(find_credential(value)) for name, value in service.options.items()}
        return KeyServiceAddress(service.address, options)

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
