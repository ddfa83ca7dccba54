"""`discreet user`: who may log in to a server, and by what."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.cli import output
from discreet.cli.options import json_option
from discreet.cli.server_folder import (
    ServerFolder,
    data_argument,
    key_file_option,
    open_server_folder,
    reason_option,
)
from discreet.errors import WrongUsage
from discreet.guard.access.authority import Authority
from discreet.guard.identity.tokens import ApiToken
from discreet.result import Result

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

EXAMPLES = """\b
Examples:
  discreet user add clinic alice --password-file alice.password
  discreet user list clinic
  discreet user token clinic alice --days 30
  discreet user lock clinic alice
  discreet user certificate clinic alice --name email:alice@clinic.example
"""


@dataclass(frozen=True)
class UserList(Result):
    """The users of a server, without anything that opens it."""

    users: list[dict[str, Any]]


@dataclass(frozen=True)
class TokenList(Result):
    """The tokens of a user, without their secrets."""

    tokens: list[dict[str, Any]]


PASSWORD_VARIABLE = "DISCREET_PASSWORD"  # noqa: S105 -- its name

password_options = click.option(
    "--password-file",
    type=click.Path(path_type=Path, dir_okay=False, allow_dash=True),
    metavar="FILE",
    help=f"A file with the password in one line; - is standard input. Default: ${PASSWORD_VARIABLE}, else a prompt.",
)
user_argument = click.argument("user", metavar="USER")


@click.group(epilog=EXAMPLES, subcommand_metavar="COMMAND …")
def command() -> None:
    """Manage the users of the server in DIR: passwords, tokens, certificates, locks."""


@command.command("list")
@data_argument
@key_file_option
@json_option
def list_users_command(data: Path, key_file: Path | None, as_json: bool) -> None:
    """List the users who may log in, and by what."""
    with open_server_folder(data, key_file) as served:
        documents = served.documents()
        roles = [role for role in served.control.authority().roles.values() if role.login]
        found = [{**vars(role), **_credential_summary(documents, role.identity)} for role in roles]
    if as_json:
        output.print_json(UserList(found))
        return
    rows = [
        [
            each["name"],
            ", ".join(each["ways"]) or "nothing",
            "locked" if each["locked"] else "",
            each["password_expires"] or "",
            each["valid_until"] or "",
        ]
        for each in found
    ]
    header = ["user", "logs in by", "state", "password expires", "valid until"]
    output.print_table(output.console(), "Users", header, rows, texts=range(5))


@command.command()
@data_argument
@user_argument
@key_file_option
@password_options
@click.option("--superuser", is_flag=True, help="May do everything; the first user must be one.")
@click.option("--create-role", is_flag=True, help="May add users.")
@click.option("--directory", is_flag=True, help="The password is checked by the LDAP server.")
@click.option("--no-password", is_flag=True, help="Logs in by certificate or token only.")
@click.option(
    "--valid-until",
    type=click.DateTime(),
    metavar="TIME",
    help="When the user expires (UTC), such as 2027-01-01.",
)
def add(data: Path, user: str, key_file: Path | None, **wish: Any) -> None:
    """Add USER; rights are granted in SQL."""
    from discreet.guard.identity import accounts

    password = None
    if not (wish["directory"] or wish["no_password"]):
        password = _read_password(wish["password_file"])
    with open_server_folder(data, key_file, make=bool(wish["superuser"])) as served:
        documents = served.documents()
        authority = served.control.authority()
        changed = _with_user(authority, user, wish)
        if password is not None:
            _refuse_weak(password, user)
        served.record("grant", f"add user {user}")
        served.control.change(
            authority.version,
            changed,
            by=served.act.by,
            statement=f"discreet user add {user}",
            at=served.act.at,
        )
        holder = changed.roles[user].identity
        if password is not None:
            accounts.set_password(documents, holder, password, now=served.act.at)
        if wish["directory"]:
            accounts.leave_to_directory(documents, holder)
    click.echo(output.replace_control_characters(f"User '{user}' is added."))


@command.command()
@data_argument
@user_argument
@key_file_option
@password_options
@click.option(
    "--expires", type=click.DateTime(), metavar="TIME", help="When the password expires (UTC)."
)
def password(
    data: Path,
    user: str,
    key_file: Path | None,
    password_file: Path | None,
    expires: datetime | None,
) -> None:
    """Set the password of USER; their tokens become invalid."""
    from discreet.guard.identity.accounts import set_password

    secret = _read_password(password_file)
    end = None if expires is None else expires.replace(tzinfo=UTC)
    with open_server_folder(data, key_file) as served:
        holder = _credential_holder(served, user)
        _refuse_weak(secret, user)
        served.record("setting", f"set the password of {user}")
        set_password(served.documents(), holder, secret, now=served.act.at, expires=end)
    click.echo(output.replace_control_characters(f"The password of '{user}' is set."))


@command.command()
@data_argument
@user_argument
@key_file_option
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="WORD",
    default=("query",),
    help="What it permits: query (default), metrics or admin; may be repeated.",
)
@click.option("--days", type=click.IntRange(1, 3650), help="Days until it expires. Default: never.")
@click.option("--label", default="", metavar="TEXT", help="A note on its purpose.")
@click.option("--revoke", metavar="ID", help="Revoke a token instead.")
@click.option("--list", "is_list", is_flag=True, help="List the tokens of USER instead.")
@json_option
def token(data: Path, user: str, key_file: Path | None, **wish: Any) -> None:
    """Create a token for USER, shown once; HTTP clients send it instead of a password."""
    from discreet.guard.identity.tokens import create_token, list_api_tokens, revoke_token

    with open_server_folder(data, key_file) as served:
        holder = _credential_holder(served, user)
        documents = served.documents()
        if wish["is_list"]:
            _print_tokens(list_api_tokens(documents, holder), as_json=wish["as_json"])
            return
        if wish["revoke"] is not None:
            if wish["revoke"] not in {each.id for each in list_api_tokens(documents, holder)}:
                raise WrongUsage(f"'{user}' has no token {wish['revoke']}. See them with --list.")
            served.record("setting", f"revoke token {wish['revoke']} of {user}")
            revoke_token(documents, wish["revoke"])
            click.echo("The token is revoked.")
            return
        days, now = wish["days"], served.act.at
        text, _ = create_token(
            documents,
            holder,
            now=now,
            scopes=wish["scopes"],
            expires=None if days is None else now + timedelta(days=days),
            label=wish["label"],
            record=lambda made: served.record("setting", f"make {made} of {user}"),
        )
    click.echo(text)


@command.command()
@data_argument
@user_argument
@key_file_option
def lock(data: Path, user: str, key_file: Path | None) -> None:
    """Lock USER out, by any credential."""
    _set_locked(data, user, key_file, is_locked=True)
    click.echo(
        output.replace_control_characters(f"'{user}' is locked out. Open sessions continue.")
    )


@command.command()
@data_argument
@user_argument
@key_file_option
def unlock(data: Path, user: str, key_file: Path | None) -> None:
    """Let USER log in again, and forget failed logins."""
    _set_locked(data, user, key_file, is_locked=False)
    click.echo(output.replace_control_characters(f"'{user}' may log in."))


@command.command()
@data_argument
@user_argument
@key_file_option
@click.option(
    "--name",
    "names",
    multiple=True,
    metavar="KIND:NAME",
    help="A name in certificates of USER: cn:, email:, dns:, uri: or sha256:; may be repeated.",
)
@click.option("--clear", is_flag=True, help="Remove all names: the common name decides again.")
def certificate(
    data: Path, user: str, key_file: Path | None, names: tuple[str, ...], clear: bool
) -> None:
    """Set which certificates are those of USER; without --name, list them."""
    from discreet.guard.identity.certificates import (
        map_certificate,
        mapped_names,
        unmap_certificates,
    )

    with open_server_folder(data, key_file) as served:
        holder = _credential_holder(served, user)
        documents = served.documents()
        if clear or names:
            served.record("setting", f"certificates of {user}: {', '.join(names) or 'none'}")
        if clear:
            unmap_certificates(documents, holder)
        for name in names:
            map_certificate(documents, holder, name)
        found = mapped_names(documents, holder)
    for name in [f"cn:{user}"] if found is None else found:
        click.echo(output.replace_control_characters(name))


@command.command()
@data_argument
@reason_option
@key_file_option
def confirm(data: Path, reason: str, key_file: Path | None) -> None:
    """Let users log in again after a restore, once rights are as they should be.

    Drop and revoke first what was dropped and revoked since the backup was made: it is unknown.
    """
    from discreet.server.suspension import resume_logins

    with open_server_folder(data, key_file) as served:
        served.record("grant", f"confirm who may log in: {reason}")
        was_suspended = resume_logins(served.control)
    click.echo("Users can log in." if was_suspended else "Users could log in already.")


def _with_user(authority: Authority, user: str, wish: dict[str, Any]) -> Authority:
    """Return the authority with a new user, added in the name of the first superuser."""
    from discreet.errors import StatementFailed
    from discreet.guard.access.apply import apply
    from discreet.guard.access.authority import Subject
    from discreet.guard.access.initial import initial_authority
    from discreet.guard.statements.rights import CreateRole

    if not authority.roles:
        if not wish["superuser"]:
            raise WrongUsage("The first user must be able to do everything: add --superuser.")
        return initial_authority(user)
    until = wish["valid_until"]
    attributes: dict[str, object] = {
        "login": True,
        "superuser": wish["superuser"],
        "createrole": wish["create_role"],
        "valid_until": None if until is None else until.replace(tzinfo=UTC).isoformat(),
    }
    first = next(role.name for role in authority.roles.values() if role.superuser)
    statement = CreateRole((user,), attributes)
    try:
        return apply(authority, statement, Subject(first, first)).authority
    except StatementFailed as error:
        raise WrongUsage(f"The user cannot be added: {error}.") from None


def _credential_holder(served: ServerFolder, user: str) -> str:
    """Return under what is kept what is known of a user."""
    from discreet.errors import did_you_mean

    roles = served.control.authority().roles
    if user not in roles:
        raise WrongUsage(f"There is no user '{user}'.{did_you_mean(user, roles)}")
    return roles[user].identity


def _refuse_weak(secret: str, user: str) -> None:
    from discreet.guard.identity.passwords import require_acceptable
    from discreet.guard.identity.scram import read_verifier

    if read_verifier(secret) is None:
        require_acceptable(secret, user=user)


def _credential_summary(documents: Documents, holder: str) -> dict[str, Any]:
    from discreet.guard.identity.accounts import get_account
    from discreet.guard.identity.certificates import mapped_names
    from discreet.guard.identity.tokens import list_api_tokens

    account = get_account(documents, holder)
    tokens = list_api_tokens(documents, holder)
    ways = {
        "password": account.verifier is not None,
        "directory": account.is_in_directory,
        "certificate": mapped_names(documents, holder) is not None,
        "token": bool(tokens),
    }
    return {
        "ways": [name for name, is_there in ways.items() if is_there],
        "locked": account.is_locked,
        "password_changed": None if account.changed is None else account.changed.isoformat(),
        "password_expires": None if account.expires is None else account.expires.isoformat(),
        "tokens": len(tokens),
    }


def _print_tokens(found: list[ApiToken], *, as_json: bool) -> None:
    if as_json:
        output.print_json(TokenList([vars(each) for each in found]))
        return
    rows = [
        [each.id, each.label, ", ".join(each.scopes), each.expires or "never", each.last_used or ""]
        for each in found
    ]
    header = ["token", "label", "scopes", "ends", "last used"]
    output.print_table(output.console(), "Tokens", header, rows, texts=range(5))


def _set_locked(data: Path, user: str, key_file: Path | None, *, is_locked: bool) -> None:
    from discreet.guard.identity.accounts import set_locked
    from discreet.guard.identity.lockout import Lockout

    with open_server_folder(data, key_file) as served:
        holder = _credential_holder(served, user)
        documents = served.documents()
        served.record("setting", f"{'lock' if is_locked else 'unlock'} {user}")
        set_locked(documents, holder, is_locked=is_locked)
        if not is_locked:
            Lockout(documents, secret=b"").clear(user)


def _read_password(file: Path | None) -> str:
    """Return a password from the file, the environment or, at a terminal, a prompt."""
    if file is not None:
        return _first_line(file)
    found = os.environ.get(PASSWORD_VARIABLE)
    if found is not None:
        return found
    if not sys.stdin.isatty():
        raise WrongUsage(
            f"There is no password. Set {PASSWORD_VARIABLE}, or name a --password-file."
        )
    asked: str = click.prompt("Password", hide_input=True, confirmation_prompt=True, err=True)
    return asked


def _first_line(file: Path) -> str:
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text("utf-8")
    except (OSError, UnicodeDecodeError):
        raise WrongUsage(f"The password file {file} cannot be read. Name another one.") from None
    lines = text.splitlines()
    if len(lines) != 1:
        raise WrongUsage(f"The password file {file} must hold one line: the password.")
    return lines[0]
