"""A server's key that an HSM (SoftHSM, through PKCS#11) encrypted opens the server only with that HSM."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pkcs11
import pytest

from discreet.errors import InvalidKey, WrongUsage
from discreet.guard.vault.key_services import (
    KEY_SERVICES,
    KeyServiceAddress,
    create_server_key,
    read_server_key,
)
from discreet.guard.vault.wrapping import new_wrapping_key, read_wrapping_key

if TYPE_CHECKING:
    from collections.abc import Callable

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")
pytestmark = pytest.mark.skipif(not MODULE.exists(), reason="SoftHSM is missing: make system")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a software HSM with the token `clinic`; one per process can be open."""
    folder = tmp_path_factory.mktemp("hsm")
    (folder / "tokens").mkdir()
    (folder / "softhsm2.conf").write_text(f"directories.tokendir = {folder}/tokens\n")
    (folder / "pin").write_text("4711\n")
    (folder / "pin").chmod(0o600)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SOFTHSM2_CONF", str(folder / "softhsm2.conf"))
        token = ("--label", "clinic", "--pin", "4711", "--so-pin", "0000")
        subprocess.run(
            ["softhsm2-util", "--init-token", "--free", *token], check=True, capture_output=True
        )
        yield folder


def make_key(label: str) -> None:
    with (
        pkcs11.lib(str(MODULE))
        .get_token(token_label="clinic")
        .open(user_pin="4711", rw=True) as session
    ):
        session.generate_key(pkcs11.KeyType.AES, 256, label=label, store=True)


@pytest.fixture(scope="module")
def address(folder: Path) -> Callable[..., KeyServiceAddress]:
    make_key("discreet")
    make_key("another key")

    def name(key: str = "discreet", **options: str) -> KeyServiceAddress:
        given = {"module": str(MODULE), "pin_file": str(folder / "pin"), **options}
        return KeyServiceAddress(f"pkcs11:token=clinic;object={key}", given)

    return name


def test_a_key_comes_back_from_the_hsm_and_is_not_in_its_file(address, tmp_path):
    made = create_server_key(tmp_path / "key", address())
    content = (tmp_path / "key").read_bytes()
    assert bytes(made.secret) not in content
    assert made.secret.hex().encode() not in content
    assert json.loads(content)["service"] == "pkcs11"
    assert read_server_key(tmp_path / "key", address()).secret == made.secret


def test_another_key_of_the_hsm_does_not_open_it(address, tmp_path):
    create_server_key(tmp_path / "key", address())
    with pytest.raises(InvalidKey, match="cannot decrypt"):
        read_server_key(tmp_path / "key", address("another%20key"))


def test_a_changed_file_does_not_open(address, tmp_path):
    create_server_key(tmp_path / "key", address())
    body = json.loads((tmp_path / "key").read_bytes())
    for sealed in (body["sealed"][:-8] + "AAAAAAA=", "", "!", body["sealed"][:20]):
        (tmp_path / "key").write_text(json.dumps({**body, "sealed": sealed}))
        with pytest.raises(InvalidKey):
            read_server_key(tmp_path / "key", address())


def test_a_key_in_clear_is_refused_where_a_service_is_set(address, tmp_path):
    new_wrapping_key(tmp_path / "key")
    with pytest.raises(InvalidKey, match="not encrypted by a service"):
        read_server_key(tmp_path / "key", address())


def test_an_encrypted_key_is_refused_where_no_service_is_set(address, tmp_path):
    create_server_key(tmp_path / "key", address())
    with pytest.raises(InvalidKey, match="'pkcs11'"):
        read_server_key(tmp_path / "key")
    with pytest.raises(InvalidKey):
        read_wrapping_key(tmp_path / "key")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("pkcs11:token=nowhere;object=discreet", InvalidKey),
        ("pkcs11:token=clinic;object=nothing", InvalidKey),
        ("pkcs11:object=discreet", WrongUsage),
        ("magic:key", WrongUsage),
    ],
)
def test_what_is_not_there_is_named(address, tmp_path, text, kind):
    with pytest.raises(kind):
        create_server_key(tmp_path / "key", KeyServiceAddress(text, address().options))
    assert not (tmp_path / "key").exists()


def test_a_wrong_pin_opens_nothing_and_is_not_shown(address, tmp_path):
    (tmp_path / "pin").write_text("0815")
    (tmp_path / "pin").chmod(0o600)
    with pytest.raises(InvalidKey) as caught:
        create_server_key(tmp_path / "key", address(pin_file=str(tmp_path / "pin")))
    assert "0815" not in str(caught.value)


def test_a_pin_that_others_can_read_is_refused(address, tmp_path):
    (tmp_path / "pin").write_text("4711")
    (tmp_path / "pin").chmod(0o644)
    with pytest.raises(InvalidKey, match="chmod 600"):
        create_server_key(tmp_path / "key", address(pin_file=str(tmp_path / "pin")))


def test_a_missing_option_is_named(tmp_path):
    with pytest.raises(WrongUsage, match="pin_file"):
        create_server_key(
            tmp_path / "key", KeyServiceAddress("pkcs11:token=clinic;object=discreet")
        )


@pytest.mark.parametrize(
    "text",
    [
        "pkcs11:token=clinic?pin-value=47110815",
        "pkcs11:token=clinic;object=discreet?pin-value=47110815",
        "pkcs11:token=clinic;pin-value=47110815;object=discreet",
    ],
)
def test_a_pin_in_an_address_is_refused_and_not_repeated(text: str):
    opening = KEY_SERVICES.get("pkcs11").open(KeyServiceAddress(text))
    with pytest.raises(WrongUsage, match="pin_file") as failed, opening:
        pass
    assert "47110815" not in str(failed.value)
