"""Where a server's key comes from: a credential of systemd, or a service that decrypts it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from discreet.errors import InvalidKey, UnprotectedFile
from discreet.guard.vault.wrapping import new_wrapping_key, read_wrapping_key
from discreet.server.settings import read_settings
from discreet.server.startup import open_server
from discreet.writing import require_private

MODULE = Path("/usr/lib/softhsm/libsofthsm2.so")


@pytest.fixture
def credentials(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder as systemd makes it: its files show the access list as a right of the group."""
    folder = tmp_path / "credentials"
    folder.mkdir()
    new_wrapping_key(folder / "discreet.key")
    (folder / "discreet.key").chmod(0o440)
    folder.chmod(0o550)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(folder))
    return folder


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("DISCREET_ADMIN_PASSWORD", "a long password")
    (tmp_path / "data").mkdir(mode=0o700)
    return tmp_path / "data"


def test_a_server_starts_with_a_key_that_is_a_credential(credentials, data):
    (data / "server.yaml").write_text("key_file: credential:discreet.key\n")
    settings = read_settings(data, port=0)
    assert settings.key_file == credentials / "discreet.key"
    opened = open_server(settings)
    assert opened.server.vault.seal is not None
    opened.server.close()


def test_a_credential_that_is_not_there_is_named(data):
    (data / "server.yaml").write_text("key_file: credential:discreet.key\n")
    with pytest.raises(InvalidKey, match=r"credential:discreet\.key"):
        open_server(read_settings(data, port=0))


def test_the_right_of_a_group_is_believed_of_credentials_only(credentials, tmp_path):
    read_wrapping_key(credentials / "discreet.key")
    require_private(credentials / "discreet.key")
    new_wrapping_key(tmp_path / "key")
    (tmp_path / "key").chmod(0o440)
    with pytest.raises(InvalidKey):
        read_wrapping_key(tmp_path / "key")
    with pytest.raises(UnprotectedFile):
        require_private(tmp_path / "key")


@pytest.mark.parametrize(("file", "folder"), [(0o444, 0o550), (0o460, 0o550), (0o440, 0o755)])
def test_a_credential_that_others_can_read_is_refused(credentials, file, folder):
    (credentials / "discreet.key").chmod(file)
    credentials.chmod(folder)
    with pytest.raises(InvalidKey):
        read_wrapping_key(credentials / "discreet.key")


@pytest.mark.skipif(not MODULE.exists(), reason="SoftHSM is missing: make system")
def test_a_server_whose_key_an_hsm_decrypts_is_changed_only_with_the_hsm(
    data, tmp_path, monkeypatch
):
    hsm = tmp_path / "hsm"
    (hsm / "tokens").mkdir(parents=True)
    (hsm / "softhsm2.conf").write_text(f"directories.tokendir = {hsm}/tokens\n")
    monkeypatch.setenv("SOFTHSM2_CONF", str(hsm / "softhsm2.conf"))
    (hsm / "pin").write_text("4711")
    (hsm / "pin").chmod(0o600)
    script = f"""
import pkcs11
with pkcs11.lib("{MODULE}").get_token(token_label="clinic").open(user_pin="4711", rw=True) as session:
    session.generate_key(pkcs11.KeyType.AES, 256, label="discreet", store=True)
"""
    token = ["--label", "clinic", "--pin", "4711", "--so-pin", "0000"]
    subprocess.run(
        ["softhsm2-util", "--init-token", "--free", *token], check=True, capture_output=True
    )
    subprocess.run([sys.executable, "-c", script], check=True)
    service = "key_service:\n  address: pkcs11:token=clinic;object=discreet\n"
    options = f"  options: {{module: {MODULE}, pin_file: {hsm}/pin}}\n"
    (data / "server.yaml").write_text(service + options)
    (data / "server.yaml").chmod(0o600)
    assert run_process("key", "create", data)[0] == 0
    assert run_process("key", "create", data, "people.sin")[0] == 0
    (hsm / "tokens").rename(hsm / "stolen")
    (hsm / "tokens").mkdir()
    code, output = run_process("key", "create", data, "people.name")
    assert (code, "cannot be opened" in output) == (2, True)


def run_process(*arguments: object) -> tuple[int, str]:
    """Run `discreet` in a process of its own: the module of an HSM keeps what it found in one."""
    command = [sys.executable, "-m", "discreet", *map(str, arguments)]
    done = subprocess.run(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, done.stdout
