"""Parameters in a PostgreSQL URL, with several hosts as libpq and SQLAlchemy write them."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, quote, urlencode

_HOST_AND_PORT = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[^:/\[\]]*):([0-9]+)")
# A vanished server must be detected soon, not after TCP's two hours.
_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "3",
    "tcp_user_timeout": "10000",
    "application_name": "discreet",
}


def parameters_of(url: str) -> dict[str, Any]:
    """Return libpq's parameters for `url`.

    Hosts are written `//a:1,b:2/db`, `?host=a:1,b:2`, `?host=a,b&port=1,2` or `?host=a&host=b`. When
    there are several and nothing else is given, the primary is chosen.

    Raises:
        ValueError: it is not a URL of PostgreSQL.
    """
    from psycopg import ProgrammingError
    from psycopg.conninfo import conninfo_to_dict

    scheme, _, rest = url.partition(":")
    address, _, query = rest.partition("?")
    pairs = parse_qsl(query, keep_blank_values=True)
    hosts = ",".join(value for name, value in pairs if name == "host")
    others = [(name, value) for name, value in pairs if name != "host"]
    written = urlencode([*others, *([("host", hosts)] if hosts else [])], quote_via=quote)
    try:
        found = conninfo_to_dict(f"{scheme.partition('+')[0]}:{address}?{written}")
    except ProgrammingError:
        raise ValueError from None
    parameters = {**_DEFAULTS, **{name: str(value) for name, value in found.items()}}
    parameters |= _split(parameters.get("host", ""))
    if "," in parameters.get("host", ""):
        parameters.setdefault("target_session_attrs", "read-write")
    return parameters


def _split(hosts: str) -> dict[str, str]:
    """Return hosts and ports separately where they are written together."""
    matches = [_HOST_AND_PORT.fullmatch(host) for host in hosts.split(",")]
    if not any(matches):
        return {}
    pairs = zip(hosts.split(","), matches, strict=True)
    apart = [(found[1].strip("[]"), found[2]) if found else (host, "5432") for host, found in pairs]
    return {
        "host": ",".join(host for host, _ in apart),
        "port": ",".join(port for _, port in apart),
    }
