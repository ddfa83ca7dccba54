"""Authentication by the rules: clients see no reason for a refusal, the journal records it."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Protocol

from discreet.errors import DiscreetError, LoginFailed, StoreFailed
from discreet.guard.access.authority import Authority, DatabaseRole
from discreet.guard.identity import passwords, scram, tokens
from discreet.guard.identity.accounts import UserAccount, get_account, renew_hash
from discreet.guard.identity.authenticator import (
    AuthenticationOk,
    ClientInfo,
    PasswordChallenge,
    ScramChallenge,
    TokenChallenge,
)
from discreet.guard.identity.certificates import mapped_names, match_certificate
from discreet.guard.identity.directory import ask_directory
from discreet.guard.identity.lockout import Lockout, LoginAttempt
from discreet.guard.identity.oidc import InvalidToken, TokenSubject, TokenVerifier
from discreet.guard.identity.settings import AuthenticationSettings, Method

if TYPE_CHECKING:
    from discreet.guard.control.documents import Documents

SECRET_KIND = "secret"  # noqa: S105 (a kind of document)
_SUBJECT_KIND = "subject"
_OWN_SECRET = "door"  # noqa: S105 (its name)


@dataclass(frozen=True)
class LoginDecision:
    """A decision about a client and its true reason, for the journal alone."""

    client: ClientInfo
    user: str
    method: str
    is_admitted: bool
    reason: str
    at: datetime


class UserGroups(Protocol):
    """Changes rights so that they follow the groups of an identity provider."""

    def create_user(self, user: str) -> None:
        """Create a user without rights."""
        ...

    def assign_roles(self, user: str, roles: Collection[str], *, among: Collection[str]) -> None:
        """Make a user a member of `roles`, and of no other of those in `among`."""
        ...


class RuleAuthenticator:
    """Decides who may log in. If a store or journal fails, every login is refused.

    Unknown users, wrong passwords, locks and expired accounts get the same message after the same
    work.
    """

    def __init__(
        self,
        documents: Documents,
        authority: Callable[[], Authority],
        *,
        journal: Callable[[LoginDecision], None],
        settings: AuthenticationSettings | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
        groups: UserGroups | None = None,
    ) -> None:
        self._documents, self._authority = documents, authority
        self._journal, self._clock = journal, clock
        self._settings = AuthenticationSettings() if settings is None else settings
        self._secret = _own_secret(documents)
        provider = self._settings.provider
        self._verifier = None if provider is None else TokenVerifier(provider)
        self._groups = groups
        self._lockout = Lockout(documents, secret=self._secret, limits=self._settings.limits)

    def recognize(self, client: ClientInfo) -> ClientInfo:
        """Return the client with the identity of the role that has their name now, if any."""
        return replace(client, identity=self._authority().identity_of(client.user))

    def authenticate(
        self, client: ClientInfo
    ) -> AuthenticationOk | ScramChallenge | PasswordChallenge | TokenChallenge:
        """Return the request for credentials of a client of the PostgreSQL protocol."""
        method = self._choose_method(client)
        self._require_wire(client, method)
        if client.certificate is not None and method in ("auto", "certificate"):
            admitted = self._check_certificate(client, is_required=method == "certificate")
            if admitted is not None:
                return admitted
        if method in ("certificate", "reject"):
            raise self._refuse(client, method, f"the rules say {method}")
        if self._is_asked_by_provider(client.user, method):
            return self._ask_for_token(client)
        if self._is_asked_by_directory(client.user, method):
            self._require_encrypted(client, "ldap")
            return PasswordChallenge(lambda password: self._check_directory(client, password))
        return ScramChallenge(_RuleScramExchange(self, client))

    def check_password(self, client: ClientInfo, password: str) -> str:
        """Return the method by which a password in clear, as HTTP sends it, is correct.

        Raises:
            LoginFailed: it is wrong, or its user may not log in.
        """
        method = self._choose_method(client)
        self._require_wire(client, method)
        if method in ("certificate", "reject"):
            raise self._refuse(client, method, f"the rules say {method}")
        if self._is_asked_by_provider(client.user, method):
            self._require_encrypted(client, "oidc")
            return self._check_provider_token(client, password)
        if self._is_asked_by_directory(client.user, method):
            self._require_encrypted(client, "ldap")
            return self._check_directory(client, password)
        account = self._get_account(client.user)
        is_right = self._is_password_of(account, client.user, password)
        self._settle_attempt(client, "password", is_right=is_right, expires=account.expires)
        if account.hashed is not None and passwords.is_outdated(account.hashed):
            renew_hash(
                self._documents, self._account_key(client.user), password, outdated=account.hashed
            )
        return "password"

    def check_token(self, client: ClientInfo, token: str) -> tokens.ApiToken:
        """Return the token's record and its user's name; the client's own name is ignored.

        Raises:
            LoginFailed: it is unknown, revoked or expired, or its user may not log in.
        """
        self._require_wire(client, "auto")
        now = self._clock()
        if self._verifier is not None and token.count(".") == 2:
            self._require_encrypted(client, "oidc")
            found = self._admit_subject(client, token)
            return tokens.ApiToken("oidc", found.user, ("query",), now)
        found = tokens.find_token(self._documents, token, now=now)
        is_blocked = self._lockout.is_address_blocked(client.address, now=now)
        role = None if found is None else self._authority().role_of(found.user)
        user = "" if role is None else role.name
        why_not = "no such token" if found is None else self._why_not(user, now=now)
        method = self._choose_method(replace(client, user=user))
        if method in ("certificate", "reject"):  # rules apply to tokens, too
            why_not = why_not or f"the rules say {method}"
        if found is None and not is_blocked:
            self._lockout.fail_address(client.address, now=now)
        if found is None or why_not or is_blocked:
            reason = why_not or "too many failures from this address"
            self._record_decision(client, "token", is_admitted=False, reason=reason, user=user)
            raise LoginFailed("token authentication failed", sqlstate="28000")
        self._record_decision(
            client, "token", is_admitted=True, reason=f"token {found.id}", user=user
        )
        return replace(found, user=user)

    def login_stamp(self, client: ClientInfo) -> str | None:
        """Return a text that changes when the client's login ends; None if they may not log in now.

        It is for front ends whose users stay logged in over several requests: a changed
        password, a lock and a dropped role end what began before.
        """
        account = self._get_account(client.user)
        identity = self._authority().identity_of(client.user)
        why_not = self._why_not(client.user, now=self._clock(), expires=account.expires)
        if why_not or identity is None or identity != client.identity:
            return None
        parts = (identity, account.changed, account.is_in_directory, account.verifier)
        return hmac.digest(self._secret, repr(parts).encode(), "sha256").hex()

    def verifier(self, user: str) -> scram.Verifier:
        """Return the verifier for a user's proof, a mock if they have no password here."""
        mock = scram.mock_verifier(user, secret=self._secret, iterations=self._settings.iterations)
        return self._get_account(user).verifier or mock

    def decide_login(
        self, client: ClientInfo, method: str, *, proven: scram.Verifier | None
    ) -> None:
        """Admit a client that has proven to know a password, or raise `LoginFailed`."""
        account = self._get_account(client.user)
        # A password that was changed meanwhile no longer counts.
        is_right = proven is not None and proven == account.verifier
        self._settle_attempt(client, method, is_right=is_right, expires=account.expires)

    def record_failure(self, client: ClientInfo, method: str, reason: str) -> None:
        """Record an exchange in the journal that ended before a proof."""
        self._record_decision(client, method, is_admitted=False, reason=reason)

    def _choose_method(self, client: ClientInfo) -> Method:
        return self._settings.method(client)

    def _require_wire(self, client: ClientInfo, method: Method) -> None:
        """Refuse a connection that others could read."""
        if client.is_encrypted or client.is_local or not self._settings.requires_tls:
            return
        self._record_decision(client, method, is_admitted=False, reason="no TLS")
        raise LoginFailed(
            "this server takes connections under TLS only (sslmode=require)", sqlstate="28000"
        )

    def _require_encrypted(self, client: ClientInfo, method: str) -> None:
        """Refuse to request a directory's password or a token without TLS, even from this machine.

        It is sent in clear, and gives access to more than this server.
        """
        if not client.is_encrypted:
            self._record_decision(client, method, is_admitted=False, reason="no TLS")
            raise LoginFailed(
                "tokens and passwords of the directory are taken under TLS only (sslmode=require)",
                sqlstate="28000",
            )

    def _check_certificate(
        self, client: ClientInfo, *, is_required: bool
    ) -> AuthenticationOk | None:
        """Admit a client with the user's certificate; None if a password may be used instead."""
        now = self._clock()
        try:
            name = match_certificate(
                client.certificate or b"",
                client.user,
                names=mapped_names(self._documents, self._account_key(client.user)),
                now=now,
            )
        except LoginFailed:
            if is_required:
                raise self._refuse(client, "certificate", "another user's certificate") from None
            return None
        why_not = self._why_not(client.user, now=now)
        if why_not:
            raise self._refuse(client, "certificate", why_not)
        self._record_decision(client, "certificate", is_admitted=True, reason=name)
        return AuthenticationOk("certificate")

    def _is_asked_by_provider(self, user: str, method: Method) -> bool:
        """Return whether a token is requested: that depends on no one's being a user."""
        provider = self._settings.provider
        if provider is None or method not in ("auto", "oidc"):
            return method == "oidc"
        return method == "oidc" or user not in provider.password_users

    def _ask_for_token(self, client: ClientInfo) -> TokenChallenge:
        self._require_encrypted(client, "oidc")
        provider = self._settings.provider
        if provider is None:
            raise self._refuse(client, "oidc", "no provider is set")
        return TokenChallenge(
            lambda token: self._check_provider_token(client, token),
            configuration=provider.configuration,
            scope=provider.scope,
            is_bearer=(client.sasl or provider.wire) == "oauthbearer",
        )

    def _check_provider_token(self, client: ClientInfo, token: str) -> str:
        """Return `oidc` if the token is valid and was issued to this user."""
        self._admit_subject(client, token)
        return "oidc"

    def _admit_subject(self, client: ClientInfo, token: str) -> TokenSubject:
        """Return who a token admits, after their roles follow their groups; or refuse it.

        Over HTTP the client names no user.
        """
        now, found, reason = self._clock(), None, "too many failures from this address"
        if not self._lockout.is_address_blocked(client.address, now=now):
            try:
                found = self._verify_subject(client, token)
                reason = self._why_not(found.user, now=now) or self._follow_groups(found) or ""
            except InvalidToken as error:
                reason = str(error)
                self._lockout.fail_address(client.address, now=now)
            except DiscreetError as error:  # not the client's fault: the provider, or rights
                reason = str(error)
        user = client.user or (found.user if found else "")
        is_admitted = found is not None and not reason
        self._record_decision(
            client, "oidc", is_admitted=is_admitted, reason=reason or "token", user=user
        )
        if found is None or not is_admitted:
            raise LoginFailed("token authentication failed", sqlstate="28000")
        return found

    def _verify_subject(self, client: ClientInfo, token: str) -> TokenSubject:
        """Return who a valid token was issued to; a user who is new here is created if so set."""
        provider = self._settings.provider
        if self._verifier is None or provider is None:
            raise InvalidToken("no provider is set")
        found = self._verifier.verify(token)
        if client.user not in ("", found.user):
            raise InvalidToken("the token was issued to another user")
        method = self._choose_method(replace(client, user=found.user))
        if method in ("certificate", "reject"):
            raise InvalidToken(f"the rules say {method}")
        # Those who name users at the provider must not thereby become one who was made here.
        if found.user in provider.password_users or self._has_password(found.user):
            raise InvalidToken("this user logs in by password")
        if mapped_names(self._documents, self._account_key(found.user)) is not None:
            raise InvalidToken("this user logs in by certificate")
        role = self._authority().roles.get(found.user)
        if role is not None and role.superuser:
            raise InvalidToken("superusers log in by password or certificate")
        if provider.groups and found.groups.isdisjoint(provider.groups):
            raise InvalidToken("the token's user is in none of the groups")
        if found.user not in self._authority().roles and provider.create_users and self._groups:
            self._groups.create_user(found.user)
        return found

    def _follow_groups(self, found: TokenSubject) -> str | None:
        """Bind a user to the token's subject and to the roles of its groups; return why not."""
        provider, key = self._settings.provider, self._account_key(found.user)
        if provider is None:
            return "no provider is set"
        mine = {"issuer": provider.issuer, "subject": found.subject}
        # A name that the provider gives to another person must not open what the first one had.
        if self._documents.update(_SUBJECT_KIND, key, lambda old: old or mine) != mine:
            return "this name belongs to another subject of the provider"
        if provider.groups and self._groups is not None:
            wanted = {role for name, role in provider.groups.items() if name in found.groups}
            self._groups.assign_roles(found.user, wanted, among=set(provider.groups.values()))
        return None

    def _is_asked_by_directory(self, user: str, method: Method) -> bool:
        if method == "ldap" or self._settings.directory is None:
            return method == "ldap"
        if method != "auto":
            return False
        if user in self._authority().roles:
            return self._get_account(user).is_in_directory
        # The method for an unknown user must not reveal that they are unknown: a fixed random choice.
        name = b"directory\0" + user.encode("utf-8", "surrogatepass")
        return bool(hmac.digest(self._secret, name, "sha256")[0] & 1)

    def _check_directory(self, client: ClientInfo, password: str) -> str:
        """Return `ldap` if the directory accepts the password and, by groups, the user."""
        found, reason = None, "wrong password, or in none of the groups"
        if self._settings.directory is None:
            reason = "no directory is set"
        else:
            try:
                found = ask_directory(self._settings.directory, client.user, password)
            except StoreFailed as error:
                reason = str(error)
        groups = {} if self._settings.directory is None else self._settings.directory.groups
        is_right = found is not None
        if found is not None and groups and not self._is_in_one_of(client.user, found.roles):
            is_right, reason = False, "in none of the roles that the groups stand for"
        self._settle_attempt(client, "ldap", is_right=is_right, reason=reason)
        return "ldap"

    def _is_in_one_of(self, user: str, roles: tuple[str, ...]) -> bool:
        authority = self._authority()
        reached, found = {user}, {user}
        while found:
            found = {m.role for m in authority.memberships if m.member in found} - reached
            reached |= found
        return not reached.isdisjoint(roles)

    def _is_password_of(self, account: UserAccount, user: str, password: str) -> bool:
        """Check both stored forms, whichever exist: the work is the same for every user."""
        verifier = account.verifier or self.verifier(user)
        fits_verifier = scram.matches_verifier(verifier, password[: passwords.LONGEST + 1])
        fits_hash = passwords.matches_password_hash(account.hashed, password)
        if account.hashed is not None:
            return fits_hash
        return fits_verifier and account.verifier is not None

    def _has_password(self, user: str) -> bool:
        account = self._get_account(user)
        return account.is_in_directory or account.verifier is not None or account.hashed is not None

    def _get_account(self, user: str) -> UserAccount:
        return get_account(self._documents, self._account_key(user))

    def _account_key(self, user: str) -> str:
        """Return the key under which a user's data is stored: an unused one for unknown users."""
        return self._authority().identity_of(user) or ""

    def _why_not(self, user: str, *, now: datetime, expires: datetime | None = None) -> str | None:
        """Return why a user may not log in, whatever their credentials; None if they may."""
        role = self._authority().roles.get(user)
        is_locked = self._get_account(user).is_locked
        if role is None:
            return "no such role"
        if not role.login:
            return "the role may not log in"
        if _is_over(role, now):
            return "the role has expired"
        if is_locked:
            return "locked by an administrator"
        if expires is not None and expires <= now:
            return "the password has expired"
        return None

    def _settle_attempt(
        self,
        client: ClientInfo,
        method: str,
        *,
        is_right: bool,
        expires: datetime | None = None,
        reason: str = "wrong password",
    ) -> None:
        """Count the attempt, record it in the journal, and raise unless the client may log in."""
        now = self._clock()
        why_not = self._why_not(client.user, now=now, expires=expires)
        is_known = client.user in self._authority().roles
        attempt = LoginAttempt(client.user, client.address, is_known=is_known)
        may_enter = is_right and why_not is None
        if self._lockout.settle(attempt, is_right=may_enter, now=now):
            self._record_decision(client, method, is_admitted=True, reason="right")
            return
        if may_enter:
            why_not = "right, but after too many failures"
        raise self._refuse(client, method, why_not or reason)

    def _refuse(self, client: ClientInfo, method: str, reason: str) -> LoginFailed:
        self._record_decision(client, method, is_admitted=False, reason=reason)
        if method == "certificate":
            return LoginFailed(
                f'certificate authentication failed for user "{client.user}"', sqlstate="28000"
            )
        return LoginFailed(f'password authentication failed for user "{client.user}"')

    def _record_decision(
        self,
        client: ClientInfo,
        method: str,
        *,
        is_admitted: bool,
        reason: str,
        user: str | None = None,
    ) -> None:
        who = client.user if user is None else user
        self._journal(LoginDecision(client, who, method, is_admitted, reason, self._clock()))


class _RuleScramExchange:
    """A SCRAM conversation with one client; the authenticator decides at its end."""

    def __init__(self, authenticator: RuleAuthenticator, client: ClientInfo) -> None:
        self._authenticator, self._client = authenticator, client
        self._choose_method = scram.MECHANISM
        self._verifier = authenticator.verifier(client.user)
        self._conversation = scram.ScramConversation(self._verifier, binding=client.binding)
        self.mechanisms = self._conversation.mechanisms

    def first(self, mechanism: str, message: bytes) -> bytes:
        """Return the server's first message for the client's."""
        try:
            answer = self._conversation.first(mechanism, message)
        except LoginFailed as error:
            self._authenticator.record_failure(self._client, self._choose_method, str(error))
            raise
        self._choose_method = mechanism
        return answer

    def final(self, message: bytes) -> bytes:
        """Check the proof and return the server's signature."""
        try:
            is_right, signature = self._conversation.final(message)
        except LoginFailed as error:
            self._authenticator.record_failure(self._client, self._choose_method, str(error))
            raise
        proven = self._verifier if is_right else None
        self._authenticator.decide_login(self._client, self._choose_method, proven=proven)
        return signature


def _is_over(role: DatabaseRole, now: datetime) -> bool:
    """Return whether a role has expired; an unreadable expiry time counts as past."""
    if role.valid_until is None or role.valid_until == "infinity":
        return False
    try:
        until = datetime.fromisoformat(role.valid_until)
    except ValueError:
        return True
    return (until if until.tzinfo else until.replace(tzinfo=UTC)) <= now


def _own_secret(documents: Documents) -> bytes:
    """Return this server's secret for unknown users, created once."""
    fresh = secrets.token_hex(32)
    kept = documents.update(SECRET_KIND, _OWN_SECRET, lambda old: old or {"secret": fresh})
    if kept is None:
        raise StoreFailed("The control store did not keep the secret for logins. Check the store.")
    return bytes.fromhex(kept["secret"])
