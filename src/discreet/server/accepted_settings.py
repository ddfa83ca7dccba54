"""Settings files accepted by the custodian: with a key, others are refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

from discreet.errors import StoreFailed
from discreet.guard.control import ControlStore
from discreet.server.settings import FILE, Settings
from discreet.server.store_heads import place_name

KIND = "settings"
_PUBLIC_KEY = "keys/journal.pub"


def accept_settings(control: ControlStore, settings: Settings) -> None:
    """Record the content of the settings files in the folder."""
    control.put(KIND, place_name(settings, "settings"), _digest_files(settings))


def require_accepted(control: ControlStore, settings: Settings) -> None:
    """Refuse settings files that differ from the accepted ones; on first start they are accepted.

    Raises:
        StoreFailed: a file was changed, added or removed.
    """
    known = control.get(KIND, place_name(settings, "settings"))
    found = _digest_files(settings)
    if known is None or known == {name: found[name] for name in found if name != _PUBLIC_KEY}:
        accept_settings(control, settings)  # the journal's key was created by this start
        return
    changed = sorted({name for name, _ in set(known.items()) ^ set(found.items())})
    if changed:
        raise StoreFailed(
            f"The server is not started: {', '.join(changed)} in {settings.data} changed since the "
            f"custodian accepted it. If it was you: discreet key accept {settings.data} --reason TEXT"
        )


def _digest_files(settings: Settings) -> dict[str, str]:
    data = settings.data.absolute()
    found = {
        path for path in _trusted_files(settings) if path.is_relative_to(data) and path.is_file()
    }
    return {
        path.relative_to(data).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(found)
    }


def _trusted_files(settings: Settings) -> list[Path]:
    """Return the files that decide whom and what a server trusts."""
    others = [part.authorities for part in (settings.ldap, settings.oidc) if part is not None]
    named = [settings.policy, settings.client_ca, *others]
    own = [settings.place(FILE), settings.place(_PUBLIC_KEY)]
    return [path.absolute() for path in (*own, *named) if path is not None]
