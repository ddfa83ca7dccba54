"""TLS: versions, channel binding, client certificates, and a first certificate."""

from __future__ import annotations

import hashlib
import socket
import ssl
import stat
import subprocess
from typing import TYPE_CHECKING

import psycopg
import pytest
from tests.server.pg.raw import SSL_REQUEST, knocking, startup
from tests.server.pg.served import Served, serving

from discreet.errors import InvalidKey
from discreet.server.pg.tls import end_point, load_tls, make_certificate

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an authority and a client's certificate that it signed."""
    folder = tmp_path_factory.mktemp("tls")
    (folder / "extensions").write_text("basicConstraints=CA:FALSE\n")
    for command in (
        (
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=authority"
            " -keyout ca.key -out ca.crt"
        ),
        "req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=bob -keyout bob.key -out bob.csr",
        (
            "x509 -req -in bob.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 2 -extfile extensions"
            " -out bob.crt"
        ),
        (
            "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=bob"
            " -keyout stranger.key -out stranger.crt"
        ),
    ):
        subprocess.run(["openssl", *command.split()], cwd=folder, check=True, capture_output=True)
    for name in ("bob.key", "stranger.key"):
        (folder / name).chmod(0o600)
    make_certificate(folder, names=["localhost", "127.0.0.1"])
    return folder


@pytest.fixture(scope="module")
def secure(authority: Path) -> Iterator[Served]:
    certificate, key = authority / "server.crt", authority / "server.key"
    tls = load_tls(certificate, key, client_authorities=authority / "ca.crt")
    with serving(tls=tls, authority=certificate, require_tls=True) as served:
        yield served


def test_a_client_that_checks_everything_comes_in_by_scram_plus(secure: Served):
    with psycopg.connect(secure.conninfo + " channel_binding=require") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
        assert connection.pgconn.ssl_in_use
    client, _, method = secure.clients[-1]
    assert method == "scram-sha-256-plus"
    assert client.is_encrypted
    assert client.binding is not None
    assert client.certificate is None


def test_a_client_that_cannot_bind_comes_in_by_scram(secure: Served):
    with psycopg.connect(secure.conninfo + " channel_binding=disable") as connection:
        assert connection.execute("select 1").fetchone() == (1,)
    assert secure.clients[-1][2] == "scram-sha-256"


def test_a_certificate_that_the_authority_signed_reaches_the_authenticator(
    secure: Served, authority: Path
):
    shown = f" user=bob sslcert={authority}/bob.crt sslkey={authority}/bob.key"
    with psycopg.connect(secure.conninfo + shown):
        pass
    client, _, method = secure.clients[-1]
    expected = ssl.PEM_cert_to_DER_cert((authority / "bob.crt").read_text())
    assert (client.certificate, method) == (expected, "certificate")


def test_a_certificate_that_a_stranger_signed_does_not(secure: Served, authority: Path):
    before = len(secure.clients)
    shown = f" user=bob sslcert={authority}/stranger.crt sslkey={authority}/stranger.key"
    with pytest.raises(psycopg.OperationalError):
        psycopg.connect(secure.conninfo + shown)
    assert len(secure.clients) == before


def test_words_in_clear_are_refused(secure: Served):
    with knocking(secure) as raw:
        assert raw.send(startup(user="trusted")).until("E")[-1].fields["C"] == "28000"


def test_clear_bytes_sent_with_the_request_for_tls_end_the_connection(secure: Served):
    """What is injected before the handshake is not taken for what was encrypted (CVE-2021-23214)."""
    with knocking(secure) as raw:
        raw.send(SSL_REQUEST + startup(user="trusted"))
        assert raw.until("E")[-1].fields["C"] == "08P01"
        assert raw.is_closed()


def test_a_handshake_of_garbage_ends_the_connection(secure: Served):
    with knocking(secure) as raw:
        assert raw.send(SSL_REQUEST).take(1) == b"S"
        raw.send(startup(user="trusted") * 20)
        assert b"R\0\0\0" not in raw.rest()


def test_tls_is_not_asked_for_twice(secure: Served):
    with socket.create_connection((secure.host, secure.port), 5) as plain:
        plain.sendall(SSL_REQUEST)
        assert plain.recv(1) == b"S"
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(secure.authority)
        with context.wrap_socket(plain, server_hostname="localhost") as wrapped:
            wrapped.sendall(SSL_REQUEST)
            assert b"08P01" in wrapped.recv(1000)


def test_old_versions_of_tls_are_refused(secure: Served):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.minimum_version = ssl.TLSVersion.TLSv1
    context.maximum_version = ssl.TLSVersion.TLSv1_1
    with socket.create_connection((secure.host, secure.port), 5) as plain:
        plain.sendall(SSL_REQUEST)
        assert plain.recv(1) == b"S"
        with pytest.raises((ssl.SSLError, OSError)):
            context.wrap_socket(plain)


def test_a_large_answer_goes_over_tls(secure: Served):
    with psycopg.connect(secure.conninfo) as connection:
        found = connection.execute("select repeat('x', 1000), range from range(20000)").fetchall()
    assert len(found) == 20_000
    assert found[-1][1] == 19_999


def test_a_key_of_ones_own_is_for_ones_own_eyes(authority: Path):
    assert stat.S_IMODE((authority / "server.key").stat().st_mode) == 0o600
    with pytest.raises(InvalidKey):
        make_certificate(authority, names=["localhost"])


def test_files_that_do_not_belong_together_are_refused(authority: Path, tmp_path: Path):
    with pytest.raises(InvalidKey):
        load_tls(authority / "server.crt", authority / "bob.key")
    with pytest.raises(InvalidKey):
        load_tls(tmp_path / "none.crt", tmp_path / "none.key")


@pytest.mark.parametrize(
    ("digest", "expected"),
    [("sha1", "sha256"), ("sha256", "sha256"), ("sha384", "sha384"), ("sha512", "sha512")],
)
def test_a_binding_is_hashed_as_the_certificate_is_signed(
    tmp_path: Path, digest: str, expected: str
):
    command = f"req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=x -{digest} -keyout k.pem -out c.pem"
    subprocess.run(["openssl", *command.split()], cwd=tmp_path, check=True, capture_output=True)
    pem = (tmp_path / "c.pem").read_bytes()
    der = ssl.PEM_cert_to_DER_cert(pem.decode())
    assert end_point(pem) == hashlib.new(expected, der).digest()
