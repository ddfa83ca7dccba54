"""What a session has SET: the few settings that mean something here, and those that clients expect."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache
from typing import TYPE_CHECKING
from zoneinfo import available_timezones

from discreet.errors import StatementFailed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

# Names as PostgreSQL writes them, and what they are before anybody sets them.
DEFAULTS: Mapping[str, str] = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "DateStyle": "ISO, MDY",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "off",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "integer_datetimes": "on",
    "IntervalStyle": "postgres",
    "lock_timeout": "0",
    "max_identifier_length": "63",
    "search_path": '"$user", public',
    "server_encoding": "UTF8",
    "server_version": "16.4",
    "server_version_num": "160004",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "TimeZone": "UTC",
    "transaction_isolation": "serializable",
    "transaction_read_only": "off",
    "discreet.clearance": "",
    "discreet.confidence": "0.95",
    "discreet.delta": "",
    "discreet.epsilon": "",
    "discreet.lenient": "off",
    "discreet.noise": "",
}
_FIXED = {
    *("integer_datetimes", "max_identifier_length"),
    *("server_encoding", "server_version", "server_version_num"),
}
# Settings of PostgreSQL that drivers and dumps set, and that change nothing here.
_IGNORED = {
    "check_function_bodies",
    "default_table_access_method",
    "default_tablespace",
    "default_with_oids",
    "enable_seqscan",
    "geqo",
    "jit",
    "plan_cache_mode",
    "row_security",
    "synchronous_commit",
    "work_mem",
    "xmloption",
}
REPORTED = (
    *("application_name", "client_encoding", "DateStyle", "integer_datetimes", "IntervalStyle"),
    *("server_encoding", "server_version", "standard_conforming_strings", "TimeZone"),
)
_SPELLED = {name.lower(): name for name in DEFAULTS}
_DISTANCE = re.compile(r"(?:GMT|UTC)([+-])(\d{1,2})(?::?00)?", re.ASCII | re.IGNORECASE)
_ON = {"on", "true", "yes", "1"}
_OFF = {"off", "false", "no", "0"}


@dataclass
class Variables:
    """The settings of one session; `local` ones end with the transaction."""

    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    _values: dict[str, str] = field(default_factory=dict[str, str])
    _local: dict[str, str] = field(default_factory=dict[str, str])

    def get(self, name: str) -> str:
        """Return the value of a setting.

        Raises:
            StatementFailed: 42704, there is no such setting.
        """
        spelled = _spelled(name)
        for place in (self._local, self._values, self.defaults, DEFAULTS):
            if spelled in place:
                return place[spelled]
        return ""

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """Set a setting; None is its default."""
        spelled = _spelled(name)
        if spelled in _FIXED:
            raise StatementFailed("55P02", f'parameter "{spelled}" cannot be changed')
        place = self._local if local else self._values
        if value is None:
            self._local.pop(spelled, None)
            place.pop(spelled, None)
            return
        check = _CHECKS.get(spelled)
        place[spelled] = check(spelled, value) if check else value
        if not local:
            self._local.pop(spelled, None)

    def reset(self) -> None:
        """Forget everything that was set."""
        self._values.clear()
        self._local.clear()

    def remembered(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return what is set now, for `restore`."""
        return dict(self._values), dict(self._local)

    def restore(self, remembered: tuple[dict[str, str], dict[str, str]]) -> None:
        """Make everything what it was."""
        self._values, self._local = dict(remembered[0]), dict(remembered[1])

    def end_transaction(self) -> None:
        """Forget what was set for the transaction only."""
        self._local.clear()

    def all(self) -> dict[str, str]:
        """Return every setting by its name in lower case."""
        return {name.lower(): self.get(name) for name in DEFAULTS}

    @property
    def timeout(self) -> float | None:
        """How many seconds a statement of this session may take; None when it does not say."""
        milliseconds = int(self.get("statement_timeout"))
        return milliseconds / 1000 if milliseconds else None

    @property
    def idle_in_transaction(self) -> float | None:
        """For how many seconds it may be idle in a transaction; None when it does not say."""
        milliseconds = int(self.get("idle_in_transaction_session_timeout"))
        return milliseconds / 1000 if milliseconds else None

    @property
    def is_lenient(self) -> bool:
        """Whether a word in double quotes may be a text."""
        return self.get("discreet.lenient") == "on"


def _spelled(name: str) -> str:
    lowered = name.lower()
    if lowered in _SPELLED:
        return _SPELLED[lowered]
    if lowered in _IGNORED or ("." in lowered and not lowered.startswith("discreet.")):
        return lowered
    raise StatementFailed("42704", f'unrecognized configuration parameter "{name}"')


def _refused(name: str, value: str) -> StatementFailed:
    return StatementFailed("22023", f'invalid value for parameter "{name}": "{value}"')


def _switch(name: str, value: str) -> str:
    lowered = value.lower()
    if lowered not in _ON | _OFF:
        raise _refused(name, value)
    return "on" if lowered in _ON else "off"


def _amount(name: str, value: str) -> str:
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise _refused(name, value) from None
    if not number.is_finite() or number < 0:
        raise _refused(name, value)
    return value


def _share(name: str, value: str) -> str:
    if not 0 < Decimal(_amount(name, value)) < 1:
        raise _refused(name, value)
    return value


def _milliseconds(name: str, value: str) -> str:
    text = value.strip().lower()
    for unit, factor in (("ms", 1), ("min", 60_000), ("s", 1000), ("h", 3_600_000)):
        if text.endswith(unit) and text.removesuffix(unit).strip().isdigit():
            return str(int(text.removesuffix(unit)) * factor)
    if not text.isdigit():
        raise _refused(name, value)
    return text


def _one_of(*words: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value.lower() not in words:
            raise _refused(name, value)
        return value.lower()

    return check


def _only(*words: str) -> Callable[[str, str], str]:
    """Clients read answers by what they were told: nothing is told that is not done."""

    def check(name: str, value: str) -> str:
        if value.partition(",")[0].strip().lower() not in words:
            raise StatementFailed("0A000", f"{name} can only be {DEFAULTS[name]}")
        return DEFAULTS[name]

    return check


def _zone(name: str, value: str) -> str:
    if value.lower() in ("default", "local"):
        return DEFAULTS[name]
    # JDBC says so where the machine has a distance and no place; the sign is POSIX's.
    distance = _DISTANCE.fullmatch(value)
    wanted = f"etc/gmt{distance[1]}{int(distance[2])}" if distance else value.lower()
    found = _zones().get(wanted)
    if found is None:
        raise _refused(name, value[:100])
    return found


@cache
def _zones() -> dict[str, str]:
    return {zone.lower(): zone for zone in available_timezones()}


def _unicode(name: str, value: str) -> str:
    if value.replace("-", "").replace("_", "").lower() not in ("utf8", "unicode"):
        raise StatementFailed("22023", f"{name} must be UTF8")
    return "UTF8"


_CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "bytea_output": _only("hex"),
    "client_encoding": _unicode,
    "DateStyle": _only("iso", "mdy", "default"),
    "discreet.confidence": _share,
    "discreet.delta": _amount,
    "discreet.epsilon": _amount,
    "discreet.lenient": _switch,
    "discreet.noise": _one_of("", "laplace", "gaussian"),
    "idle_in_transaction_session_timeout": _milliseconds,
    "IntervalStyle": _only("postgres", "default"),
    "standard_conforming_strings": _only("on", "true", "yes", "1"),
    "statement_timeout": _milliseconds,
    "TimeZone": _zone,
}
