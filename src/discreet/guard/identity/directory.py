"""Directories: a password is correct if an LDAP server accepts a bind with it, over TLS."""

from __future__ import annotations

import ssl
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.errors import MissingExtra, StoreFailed, WrongUsage
from discreet.guard.identity.scram import saslprep

_LONGEST = 1024
# No such object, invalid name, no password there, wrong password (RFC 4511).
_WRONG = (32, 34, 48, 49)


@dataclass(frozen=True)
class LdapDirectory:
    """An LDAP directory and how users are found in it.

    Either `template` turns a user's name into their entry (`uid={user},ou=people,dc=clinic`), or a
    `search` below `base` finds it (`(uid={user})`) on behalf of `reader`. With `groups`, users in none
    of them are refused; each group stands for a role.
    """

    url: str  # ldaps://host:port, or ldap://host:port, which is upgraded by StartTLS
    template: str | None = None
    base: str | None = None
    search: str = "(uid={user})"
    reader: str | None = None
    reader_password: str = field(default="", repr=False)
    groups: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    group_search: str = "(member={entry})"
    group_base: str | None = None
    authorities: Path | None = None  # certificates that sign the server's; the system's by default
    seconds: int = 5

    def __post_init__(self) -> None:
        if not self.url.startswith(("ldap://", "ldaps://")):
            raise WrongUsage("The directory's address starts with ldaps:// or ldap://.")
        if (self.template is None) == (self.base is None):
            raise WrongUsage("A directory needs either a template or a base to search below.")
        if self.groups and not self.group_base:
            raise WrongUsage("To look for groups, the directory needs a base of groups.")


@dataclass(frozen=True)
class DirectoryUser:
    """A user whose password was correct, and the roles that their groups stand for."""

    entry: str
    roles: tuple[str, ...]


def ask_directory(directory: LdapDirectory, user: str, password: str) -> DirectoryUser | None:
    """Return the user with this name and password, None if there is none.

    An empty password is never sent to the directory: every bind with it succeeds, anonymously.

    Raises:
        StoreFailed: the directory does not respond, or its certificate is not trusted.
    """
    if not password or "\0" in password or len(password) > _LONGEST or not _is_plain(user):
        return None
    entry = _find_entry(directory, user)
    if entry is None:
        return None
    with _bind_entry(directory, entry, password) as connection:
        if connection is None:
            return None
        if not directory.groups:
            return DirectoryUser(entry, ())
    roles = _find_roles(directory, entry, password)
    return DirectoryUser(entry, roles) if roles else None


def escape_in_name(text: str) -> str:
    r"""Return `text` as one value inside a distinguished name (RFC 4514).

    >>> escape_in_name("eve,ou=admins")
    'eve\\2cou\\3dadmins'
    """
    return _escape_text(text)


def escape_in_filter(text: str) -> str:
    r"""Return `text` as one value inside a search filter (RFC 4515).

    >>> escape_in_filter("*)(uid=admin")
    '\\2a\\29\\28uid\\3dadmin'
    """
    return _escape_text(text)


def _escape_text(text: str) -> str:
    # Both notations write any octet as a backslash and two digits; letters and digits need none.
    return "".join(
        letter
        if letter.isascii() and letter.isalnum()
        else "".join(f"\\{octet:02x}" for octet in letter.encode("utf-8", "surrogatepass"))
        for letter in text
    )


def _is_plain(user: str) -> bool:
    """Return whether a directory cannot confuse this name with another one.

    Directories ignore case, width and some spaces when they compare names; roles differ by them,
    and one person's password must not open another role.
    """
    folded = " ".join((saslprep(user) or "").casefold().split())
    return 0 < len(user) <= _LONGEST and user == folded


def _find_entry(directory: LdapDirectory, user: str) -> str | None:
    """Return the name of the user's entry; None if a search finds two."""
    if directory.template is not None:
        return directory.template.replace("{user}", escape_in_name(user))
    condition = directory.search.replace("{user}", escape_in_filter(user))
    with _open_as_reader(directory) as connection:
        found = _search(connection, directory.base or "", condition)
    return found[0] if len(found) == 1 else None


def _find_roles(directory: LdapDirectory, entry: str, password: str) -> tuple[str, ...]:
    """Return the roles of an entry's groups, as visible to the reader or the user."""
    condition = directory.group_search.replace("{entry}", escape_in_filter(entry))
    wanted = {name.casefold(): role for name, role in directory.groups.items()}
    opened = (
        _open_as_reader(directory) if directory.reader else _bind_entry(directory, entry, password)
    )
    with opened as connection:
        found = _search(connection, directory.group_base or "", condition)
    return tuple(sorted({wanted[n.casefold()] for n in found if n.casefold() in wanted}))


def _search(connection: Any, base: str, condition: str) -> list[str]:
    connection.search(base, condition, attributes=["1.1"], size_limit=1000)
    if connection.result["result"] not in (0, 32):  # success, no such object
        raise StoreFailed("The directory refused a search. Check its base and who may read it.")
    return [
        str(item["dn"]) for item in connection.response or () if item["type"] == "searchResEntry"
    ]


@contextmanager
def _open_as_reader(directory: LdapDirectory) -> Generator[Any]:
    """Open the directory as the reader, or anonymously if there is none."""
    with _bind_entry(directory, directory.reader, directory.reader_password) as connection:
        if connection is None:
            raise StoreFailed("The directory does not accept its reader's password.")
        yield connection


@contextmanager
def _bind_entry(directory: LdapDirectory, entry: str | None, password: str) -> Generator[Any]:
    """Open the directory as `entry`; yields None where the password is wrong."""
    try:
        from ldap3.core.exceptions import LDAPException
    except ImportError:
        raise MissingExtra(what="A directory (LDAP)", extra="ldap") from None
    try:
        connection = _connect(directory, entry, password)
        is_bound = bool(connection.bind())
    except (LDAPException, OSError, ssl.SSLError):
        # Its messages may hold names and addresses.
        raise StoreFailed(
            "The directory does not respond as expected. Check its address and certificate."
        ) from None
    is_wrong = connection.result["result"] in _WRONG
    try:
        if not is_bound and not is_wrong:
            raise StoreFailed("The directory refused to check a password. See its log.")
        yield connection if is_bound else None
    except LDAPException:
        raise StoreFailed("The directory stopped responding. See its log.") from None
    finally:
        connection.unbind()


def _connect(directory: LdapDirectory, entry: str | None, password: str) -> Any:
    """Return a connection under TLS that is not bound yet."""
    import ldap3

    tls = ldap3.Tls(
        validate=ssl.CERT_REQUIRED,
        ca_certs_file=None if directory.authorities is None else str(directory.authorities),
    )
    server = ldap3.Server(
        directory.url, tls=tls, connect_timeout=directory.seconds, get_info=ldap3.NONE
    )
    connection = ldap3.Connection(
        server,
        user=entry,
        password=password or None,
        authentication=ldap3.SIMPLE if entry else ldap3.ANONYMOUS,
        receive_timeout=directory.seconds,
        auto_referrals=False,
        read_only=True,
    )
    connection.open()
    if directory.url.startswith("ldap://"):
        connection.start_tls()
    return connection
