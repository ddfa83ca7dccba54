"""Logins by a directory, against a real slapd: TLS, groups, empty passwords and names that inject."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.guard.identity.conftest import IdentityFixture, issue

from discreet.errors import LoginFailed, StoreFailed, WrongUsage
from discreet.guard.access.authority import RoleMembership
from discreet.guard.identity.accounts import leave_to_directory
from discreet.guard.identity.authenticator import PasswordChallenge
from discreet.guard.identity.directory import (
    DirectoryUser,
    LdapDirectory,
    ask_directory,
    escape_in_filter,
    escape_in_name,
)
from discreet.guard.identity.settings import AuthenticationRule

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import IO

SLAPD = shutil.which("slapd", path=f"{os.environ['PATH']}:/usr/sbin")
SLAPADD = shutil.which("slapadd", path=f"{os.environ['PATH']}:/usr/sbin")
SCHEMAS = Path("/etc/ldap/schema")
pytestmark = pytest.mark.skipif(SLAPD is None, reason="slapd is not installed")

PEOPLE, GROUPS = "ou=people,dc=clinic", "ou=groups,dc=clinic"
STAFF, READER = f"cn=staff,{GROUPS}", "cn=reader,dc=clinic"
ENTRIES = f"""\
dn: dc=clinic
objectClass: dcObject
objectClass: organization
o: clinic
dc: clinic

dn: {PEOPLE}
objectClass: organizationalUnit
ou: people

dn: {GROUPS}
objectClass: organizationalUnit
ou: groups

dn: {READER}
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: reader
userPassword: reading

dn: uid=alice,{PEOPLE}
objectClass: inetOrgPerson
cn: Alice
sn: A
uid: alice
userPassword: correct horse

dn: uid=bob,{PEOPLE}
objectClass: inetOrgPerson
cn: Bob
sn: B
uid: bob
userPassword: battery staple

dn: {STAFF}
objectClass: groupOfNames
cn: staff
member: uid=alice,{PEOPLE}
"""
CONFIG = """\
include {schemas}/core.schema
include {schemas}/cosine.schema
include {schemas}/inetorgperson.schema
modulepath /usr/lib/ldap
moduleload back_mdb
pidfile {folder}/slapd.pid
TLSCertificateFile {certificate}
TLSCertificateKeyFile {key}
database mdb
suffix dc=clinic
directory {folder}/data
rootdn cn=root,dc=clinic
access to attrs=userPassword by anonymous auth by * none
access to * by dn.exact="cn=reader,dc=clinic" read by self read by * none
"""


def free_ports() -> tuple[int, int]:
    with socket.socket() as one, socket.socket() as other:
        for found in (one, other):
            found.bind(("127.0.0.1", 0))
        return one.getsockname()[1], other.getsockname()[1]


@pytest.fixture(scope="module")
def slapd(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LdapDirectory]:
    """A directory with two people; only its reader may search."""
    from cryptography import x509

    folder = tmp_path_factory.mktemp("slapd")
    (folder / "data").mkdir()
    name = x509.SubjectAlternativeName([x509.DNSName("localhost")])
    issued = issue(folder, "localhost", extensions=[name])
    config = folder / "slapd.conf"
    config.write_text(
        CONFIG.format(
            schemas=SCHEMAS, folder=folder, certificate=issued.certificate, key=issued.key
        )
    )
    (folder / "entries.ldif").write_text(ENTRIES)
    subprocess.run([SLAPADD, "-f", config, "-l", folder / "entries.ldif"], check=True)
    log = (folder / "log").open("wb")
    server, plain, secure = start(config, log)
    yield LdapDirectory(
        f"ldaps://localhost:{secure}",
        seconds=60,
        base=PEOPLE,
        reader=READER,
        reader_password="reading",
        authorities=issued.certificate,
        group_base=GROUPS,
        search=f"(&(uid={{user}})(!(description=ldap://localhost:{plain})))",
    )
    server.terminate()
    server.wait(60)
    log.close()


def start(config: Path, log: IO[bytes]) -> tuple[subprocess.Popen[bytes], int, int]:
    """Return a running slapd with its ports; others of this machine may take them before it does."""
    for _ in range(10):
        plain, secure = free_ports()
        urls = f"ldap://localhost:{plain}/ ldaps://localhost:{secure}/"
        server = subprocess.Popen([SLAPD, "-f", config, "-h", urls, "-d", "0"], stderr=log)
        while server.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", secure)) == 0:
                    return server, plain, secure
            time.sleep(0.05)
    pytest.fail("slapd does not start")


def plain_url(directory: LdapDirectory) -> str:
    return directory.search.partition("description=")[2].rstrip(")")


@pytest.fixture(params=["ldaps", "starttls"])
def directory(request: pytest.FixtureRequest, slapd: LdapDirectory) -> LdapDirectory:
    return slapd if request.param == "ldaps" else replace(slapd, url=plain_url(slapd))


def test_the_right_password_is_right_and_a_wrong_one_is_not(directory: LdapDirectory):
    assert ask_directory(directory, "alice", "correct horse") == DirectoryUser(
        f"uid=alice,{PEOPLE}", ()
    )
    assert ask_directory(directory, "alice", "battery staple") is None
    assert ask_directory(directory, "nobody", "battery staple") is None


def test_a_template_needs_no_reader(directory: LdapDirectory):
    plain = replace(
        directory, base=None, template=f"uid={{user}},{PEOPLE}", reader=None, reader_password=""
    )
    assert ask_directory(plain, "bob", "battery staple") is not None
    assert ask_directory(plain, "bob", "correct horse") is None
    assert ask_directory(plain, "nobody", "correct horse") is None


@pytest.mark.parametrize("password", ["", "\0", "\0correct horse"])
def test_an_empty_password_never_gets_to_the_directory(directory: LdapDirectory, password: str):
    nowhere = replace(directory, url="ldaps://localhost:1")
    assert ask_directory(nowhere, "alice", password) is None
    assert ask_directory(directory, "alice", password) is None


def test_who_is_in_no_group_stays_outside(directory: LdapDirectory):
    grouped = replace(directory, groups={STAFF: "staff"})
    assert ask_directory(grouped, "alice", "correct horse") == DirectoryUser(
        f"uid=alice,{PEOPLE}", ("staff",)
    )
    assert ask_directory(grouped, "bob", "battery staple") is None


@pytest.mark.parametrize(
    "user",
    [
        "*",
        "alice)(uid=*",
        "*)(|(uid=*",
        "alice,ou=people",
        "alice+cn=x",
        "alice\\",
        "al\0ice",
        "alice*",
        "a*",
        " alice",
        "ALICE",
        "al\u00adice",
        "\uff41lice",
        "#alice",
        "",
        pytest.param("ä" * 600, id="long"),
        "alice)(!(uid=x))",
        "\ud800",
    ],
)
def test_a_name_cannot_change_the_search_or_the_entry(slapd: LdapDirectory, user: str):
    assert ask_directory(slapd, user, "correct horse") is None
    template = replace(slapd, base=None, template=f"uid={{user}},{PEOPLE}")
    assert ask_directory(template, user, "correct horse") is None


def test_whatever_is_not_a_letter_or_digit_is_escaped():
    odd = ' ,+"\\<>;=#*()\0\n&|!~/ä'
    for escaped in (escape_in_name(odd), escape_in_filter(odd)):
        assert set(escaped) <= set("\\0123456789abcdef")
    assert escape_in_name("alice7") == "alice7"


def test_a_certificate_without_a_trusted_issuer_is_not_trusted(
    directory: LdapDirectory, tmp_path: Path
):
    stranger = issue(tmp_path, "stranger")
    for wrong in (
        replace(directory, authorities=stranger.certificate),
        replace(directory, url=directory.url.replace("localhost", "127.0.0.1")),
    ):
        with pytest.raises(StoreFailed) as caught:
            ask_directory(wrong, "alice", "correct horse")
        assert "alice" not in str(caught.value)


def test_a_directory_that_is_away_or_refuses_its_reader_is_no_wrong_password(slapd: LdapDirectory):
    for wrong in (
        replace(slapd, url="ldaps://localhost:1"),
        replace(slapd, reader_password="writing"),
    ):
        with pytest.raises(StoreFailed):
            ask_directory(wrong, "alice", "correct horse")


def test_a_directory_that_never_answers_is_given_up(slapd: LdapDirectory):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"ldaps://localhost:{silent.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(StoreFailed):
            ask_directory(replace(slapd, url=url, seconds=1), "alice", "correct horse")
        assert time.monotonic() - begun < 45


@pytest.mark.parametrize(
    "choice",
    [
        {"url": "http://x", "base": "dc=x"},
        {"url": "ldap://x"},
        {"url": "ldap://x", "base": "dc=x", "template": "{user}"},
        {"url": "ldap://x", "base": "dc=x", "groups": {"cn=a": "b"}},
    ],
)
def test_a_directory_that_cannot_work_is_refused(choice: dict):
    with pytest.raises(WrongUsage):
        LdapDirectory(**choice)


def test_the_readers_password_is_not_shown(slapd: LdapDirectory):
    assert "reading" not in repr(slapd)


def test_a_user_of_the_directory_logs_in_with_its_password(
    identity: IdentityFixture, slapd: LdapDirectory
):
    leave_to_directory(identity.documents, "alice")
    authenticator = identity.authenticator(directory=slapd)
    asked = authenticator.authenticate(identity.client())
    assert isinstance(asked, PasswordChallenge)
    assert asked.check("correct horse") == "ldap"
    assert authenticator.check_password(identity.client(), "correct horse") == "ldap"
    for wrong in ("battery staple", ""):
        with pytest.raises(LoginFailed, match="password authentication failed"):
            asked.check(wrong)
    assert [each.is_admitted for each in identity.decisions] == [True, True, False, False]


def test_a_group_lets_in_who_has_its_role(identity: IdentityFixture, slapd: LdapDirectory):
    authenticator = identity.authenticator(
        rules=(AuthenticationRule("ldap"),), directory=replace(slapd, groups={STAFF: "staff"})
    )
    with pytest.raises(LoginFailed):
        authenticator.check_password(identity.client(), "correct horse")
    assert identity.decisions[-1].reason == "in none of the roles that the groups stand for"
    identity.memberships = (RoleMembership("staff", "alice", "discreet"),)
    assert authenticator.check_password(identity.client(), "correct horse") == "ldap"


def test_a_directory_that_is_away_lets_no_user_in_and_the_journal_knows(
    identity: IdentityFixture, slapd: LdapDirectory
):
    authenticator = identity.authenticator(
        rules=(AuthenticationRule("ldap"),), directory=replace(slapd, url="ldaps://localhost:1")
    )
    with pytest.raises(LoginFailed, match="password authentication failed"):
        authenticator.check_password(identity.client(), "correct horse")
    assert "does not respond" in identity.decisions[-1].reason


def test_a_password_in_clear_is_never_asked_without_tls(
    identity: IdentityFixture, slapd: LdapDirectory
):
    authenticator = identity.authenticator(rules=(AuthenticationRule("ldap"),), directory=slapd)
    with pytest.raises(LoginFailed, match="TLS"):
        authenticator.authenticate(identity.client(is_encrypted=False))


@pytest.mark.parametrize("address", ["127.0.0.1", "::1", "local"])
def test_a_password_of_the_directory_is_not_taken_in_clear_on_loopback(
    identity: IdentityFixture, slapd: LdapDirectory, address: str
):
    leave_to_directory(identity.documents, "alice")
    authenticator = identity.authenticator(directory=slapd)
    near = identity.client(is_encrypted=False, is_local=True, address=address)
    for ask in (
        lambda: authenticator.authenticate(near),
        lambda: authenticator.check_password(near, "correct horse"),
    ):
        with pytest.raises(LoginFailed, match="under TLS only"):
            ask()
    assert [(each.is_admitted, each.reason) for each in identity.decisions] == [
        (False, "no TLS")
    ] * 2
