"""A connection to the primary: every host is tried, and the newest timeline is chosen."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from discreet.stores.timelines import TIMELINES, Timelines

if TYPE_CHECKING:
    import psycopg


Host = tuple[str, str]

EARLIER_PRIMARY = "DS001"  # our own code: PostgreSQL does not know of a newer primary

# The host that was the primary the last time, by all the hosts that were named.
_LAST: dict[tuple[Host, ...], Host] = {}

_STANDING = """
SELECT (SELECT system_identifier FROM pg_catalog.pg_control_system())::text,
  CASE WHEN pg_catalog.pg_is_in_recovery() THEN NULL ELSE
    pg_catalog.substr(pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_lsn()), 1, 8) END
"""


@dataclass(frozen=True)
class _Candidate:
    """An open connection and its server's state; a standby has no timeline of its own."""

    host: Host
    connection: Any
    cluster: str
    timeline: int | None


def connect_primary(
    parameters: Mapping[str, Any], *, timelines: Timelines = TIMELINES, **options: Any
) -> Any:
    """Return a psycopg connection to the host whose timeline is the newest.

    The last primary is tried first. If it is gone, or on an earlier timeline than one that was seen,
    all hosts are tried. A standby is used only where the parameters
    admit one and there is no primary.

    Raises:
        psycopg.OperationalError: no host can be reached, or only an earlier primary.
    """
    hosts = _split_hosts(parameters)
    failures: list[psycopg.Error] = []
    last = _LAST.get(hosts)
    for group in ([last] if last else [], hosts):
        candidates = list(_open_candidates(group, parameters, options, failures))
        chosen = _choose_primary(candidates, timelines)
        for candidate in candidates:
            if candidate is not chosen:
                candidate.connection.close()
        if chosen is not None:
            _LAST[hosts] = chosen.host
            return chosen.connection
        if candidates:
            failures.append(_earlier_primary())
    raise next((error for error in failures if error.sqlstate), failures[-1])


def _earlier_primary() -> psycopg.Error:
    import psycopg

    error = psycopg.OperationalError("only an earlier primary can be reached")
    error.sqlstate = EARLIER_PRIMARY
    return error


def _split_hosts(parameters: Mapping[str, Any]) -> tuple[Host, ...]:
    """Return each host with its port; one port may serve all hosts."""
    names = str(parameters.get("host", "")).split(",")
    ports = str(parameters.get("port", "")).split(",")
    if len(ports) == 1:
        ports *= len(names)
    if len(ports) != len(names) or "hostaddr" in parameters:
        return ((str(parameters.get("host", "")), str(parameters.get("port", ""))),)
    return tuple(zip(names, ports, strict=True))


def _open_candidates(
    hosts: Iterable[Host],
    parameters: Mapping[str, Any],
    options: Mapping[str, Any],
    failures: list[Any],
) -> Iterable[_Candidate]:
    import psycopg

    for host, port in hosts:
        place = {name: value for name, value in (("host", host), ("port", port)) if value}
        try:
            connection = psycopg.connect(**{**parameters, **place}, **options)
        except psycopg.Error as error:
            failures.append(error)
            continue
        try:
            cluster, timeline = connection.execute(_STANDING).fetchone() or ("", None)
            if not connection.autocommit:
                connection.rollback()
        except psycopg.Error as error:
            failures.append(error)
            connection.close()
            continue
        except BaseException:
            connection.close()
            raise
        number = None if timeline is None else int(timeline, 16)
        yield _Candidate((host, port), connection, cluster, number)


def _choose_primary(candidates: list[_Candidate], timelines: Timelines) -> _Candidate | None:
    writers = [(each.timeline, each) for each in candidates if each.timeline is not None]
    for timeline, each in writers:
        timelines.see(each.cluster, timeline)
    current = (each for timeline, each in writers if timeline >= timelines.newest(each.cluster))
    standbys = (each for each in candidates if each.timeline is None)
    return next(current, None) or (None if writers else next(standbys, None))
