"""Settings of a session: the few with an effect here, and those that clients expect."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from functools import cache, lru_cache
from zoneinfo import available_timezones

from discreet.answer.cut_rows import CUT_SHARE
from discreet.errors import StatementFailed

# Names as PostgreSQL writes them, and their defaults.
DEFAULTS: Mapping[str, str] = {
    "application_name": "",
    "bytea_output": "hex",
    "client_encoding": "UTF8",
    "client_min_messages": "notice",
    "DateStyle": "ISO, MDY",
    "default_transaction_deferrable": "off",
    "default_transaction_isolation": "serializable",
    "default_transaction_read_only": "off",
    "extra_float_digits": "1",
    "idle_in_transaction_session_timeout": "0",
    "integer_datetimes": "on",
    "IntervalStyle": "postgres",
    "lock_timeout": "0",
    "max_identifier_length": "63",
    "row_security": "on",
    "search_path": '"$user", public',
    "server_encoding": "UTF8",
    "server_version": "16.4",
    "server_version_num": "160004",
    "standard_conforming_strings": "on",
    "statement_timeout": "0",
    "TimeZone": "UTC",
    "transaction_deferrable": "off",
    "transaction_isolation": "serializable",
    "transaction_read_only": "off",
    "discreet.clearance": "",
    "discreet.confidence": "0.95",
    "discreet.cut_share": str(float(CUT_SHARE)),
    "discreet.delta": "",
    "discreet.epsilon": "",
    "discreet.lenient": "off",
    "discreet.noise": "",
    "discreet.weighted": "off",
    "discreet.workload": "",
}
_FIXED = {
    *("integer_datetimes", "max_identifier_length"),
    *("server_encoding", "server_version", "server_version_num"),
}
# Properties of a transaction: set by BEGIN or SET TRANSACTION, else the session's defaults.
_OF_TRANSACTION = {"transaction_deferrable", "transaction_isolation", "transaction_read_only"}
READ_ONLY = "transaction_read_only"
# Settings of PostgreSQL that drivers and dumps set, and that have no effect here.
_IGNORED = {
    "check_function_bodies",
    "createrole_self_grant",
    "default_table_access_method",
    "default_tablespace",
    "default_with_oids",
    "enable_seqscan",
    "geqo",
    "jit",
    "plan_cache_mode",
    "synchronous_commit",
    "work_mem",
    "xmloption",
}
REPORTED = (
    *("application_name", "client_encoding", "DateStyle", "default_transaction_read_only"),
    *("integer_datetimes", "IntervalStyle"),
    *("server_encoding", "server_version", "standard_conforming_strings", "TimeZone"),
)
SHOWN = ("name", "setting", "description")  # the columns of SHOW ALL
_SPELLED = {name.lower(): name for name in DEFAULTS}
_DISTANCE = re.compile(r"(?:GMT|UTC)([+-])(\d{1,2})(?::?00)?", re.ASCII | re.IGNORECASE)
_DURATION = re.compile(r"(\d{1,18}(?:\.\d{1,18})?)\s*(us|ms|s|min|h|d)?", re.ASCII)
_UNITS = {"d": 86_400_000, "h": 3_600_000, "min": 60_000, "s": 1000, "ms": 1}  # in milliseconds
_LONGEST = 2**31 - 1  # milliseconds
_MOST_QUOTED = 100  # letters of a value that are repeated in an error
_ON = {"on", "true", "yes", "1"}
_OFF = {"off", "false", "no", "0"}


@dataclass
class SessionVariables:
    """The settings of one session; `local` ones end with the transaction."""

    defaults: Mapping[str, str] = field(default_factory=dict[str, str])
    _values: dict[str, str] = field(default_factory=dict[str, str])
    _local: dict[str, str] = field(default_factory=dict[str, str])
    _known: dict[str, str] = field(default_factory=dict[str, str])  # until one is changed
    _all: Mapping[str, str] | None = None  # likewise

    def get(self, name: str) -> str:
        """Return the value of a setting.

        Raises:
            StatementFailed: 42704, there is no such setting.
        """
        known = self._known.get(name)
        if known is None:
            known = self._find_value(name)
            if name in DEFAULTS:  # of other names, a client may make up any number
                self._known[name] = known
        return known

    def _find_value(self, name: str) -> str:
        spelled = _canonical_name(name)
        if spelled in _OF_TRANSACTION and spelled not in self._local:
            spelled = f"default_{spelled}"
        for place in (self._local, self._values, self.defaults, DEFAULTS):
            if spelled in place:
                return place[spelled]
        return ""

    def _forget_known(self) -> None:
        self._known, self._all = {}, None

    def set(self, name: str, value: str | None, *, local: bool = False) -> None:
        """Set a setting; None is its default."""
        spelled = _canonical_name(name)
        if spelled in _FIXED:
            raise StatementFailed("55P02", f'parameter "{spelled}" cannot be changed')
        is_transaction = spelled in _OF_TRANSACTION
        if is_transaction and value is None:
            raise StatementFailed("0A000", f'parameter "{spelled}" cannot be reset')
        self._forget_known()
        place = self._local if local or is_transaction else self._values
        if value is None:
            self._local.pop(spelled, None)
            place.pop(spelled, None)
            return
        check = _CHECKS.get(spelled)
        place[spelled] = check(spelled, value) if check else value
        if place is self._values:
            self._local.pop(spelled, None)

    def reset(self) -> None:
        """Reset all settings, except those of the transaction."""
        self._forget_known()
        self._values.clear()
        self._local = {name: self._local[name] for name in _OF_TRANSACTION & self._local.keys()}

    def remembered(self) -> tuple[dict[str, str], dict[str, str]]:
        """Return what is set now, for `restore`."""
        return dict(self._values), dict(self._local)

    def restore(self, remembered: tuple[dict[str, str], dict[str, str]]) -> None:
        """Restore all settings."""
        self._forget_known()
        self._values, self._local = dict(remembered[0]), dict(remembered[1])

    def begin(self, *, read_only: bool | None) -> None:
        """Set whether a transaction is read-only; None is the session's default."""
        value = self.get(READ_ONLY) if read_only is None else "on" if read_only else "off"
        self._forget_known()
        self._local[READ_ONLY] = value

    def require_writes(self, what: str) -> None:
        """Refuse a change in a read-only transaction."""
        if self.get(READ_ONLY) == "on":
            raise StatementFailed("25006", f"cannot execute {what} in a read-only transaction")

    def end_transaction(self) -> None:
        """Reset what was set for the transaction only."""
        if self._local:
            self._forget_known()
            self._local.clear()

    def shown(self) -> list[tuple[str, str, str]]:
        """Return the rows of SHOW ALL; the settings are described in the documentation."""
        return [(name, self.get(name), "") for name in sorted(DEFAULTS, key=str.lower)]

    def all(self) -> Mapping[str, str]:
        """Return every setting by its name in lower case: the same object until one is changed."""
        if self._all is None:
            self._all = {name.lower(): self.get(name) for name in DEFAULTS}
        return self._all

    @property
    def timeout(self) -> float | None:
        """The session's statement timeout in seconds; None when it has none."""
        return (_parse_milliseconds(self.get("statement_timeout")) or 0) / 1000 or None

    @property
    def idle_in_transaction(self) -> float | None:
        """The session's limit in seconds on being idle in a transaction; None when it has none."""
        return (
            _parse_milliseconds(self.get("idle_in_transaction_session_timeout")) or 0
        ) / 1000 or None

    @property
    def is_lenient(self) -> bool:
        """Whether a word in double quotes may be a text."""
        return self.get("discreet.lenient") == "on"


def startup_settings(parameters: Mapping[str, str]) -> dict[str, str]:
    """Return the settings in a client's startup message, including `-c name=value` in `options`."""
    found = {
        name: value
        for name, value in parameters.items()
        if name not in ("user", "database", "options", "replication")
        and not name.startswith("_pq_")
    }
    words = parameters.get("options", "").replace("\\ ", "\0").split()
    items = iter(words)
    for word in items:
        pair = next(items, "") if word == "-c" else word.removeprefix("-c").removeprefix("--")
        name, equals, value = pair.replace("\0", " ").partition("=")
        if equals:
            found[name] = value
    return found


def _canonical_name(name: str) -> str:
    lowered = name.lower()
    if lowered in _SPELLED:
        return _SPELLED[lowered]
    if lowered in _IGNORED or ("." in lowered and not lowered.startswith("discreet.")):
        return lowered
    raise StatementFailed("42704", f'unrecognized configuration parameter "{name}"')


def _invalid_value(name: str, value: str) -> StatementFailed:
    return StatementFailed("22023", f'invalid value for parameter "{name}": "{value}"')


def _check_switch(name: str, value: str) -> str:
    lowered = value.lower()
    if lowered not in _ON | _OFF:
        raise _invalid_value(name, value)
    return "on" if lowered in _ON else "off"


def _check_amount(name: str, value: str) -> str:
    try:
        number = Decimal(value)
    except InvalidOperation:
        raise _invalid_value(name, value) from None
    if not number.is_finite() or number < 0:
        raise _invalid_value(name, value)
    return value


def _check_share(name: str, value: str) -> str:
    if not 0 < Decimal(_check_amount(name, value)) < 1:
        raise _invalid_value(name, value)
    return value


def _check_proper_share(name: str, value: str) -> str:
    if Decimal(_check_amount(name, value)) >= 1:
        raise _invalid_value(name, value)
    return value


@lru_cache(maxsize=64)
def _parse_milliseconds(text: str) -> int | None:
    found = _DURATION.fullmatch(text.strip().lower())
    if found is None:
        return None
    factor = Decimal("0.001") if found[2] == "us" else Decimal(_UNITS[found[2] or "ms"])
    return int((Decimal(found[1]) * factor).to_integral_value())


def _check_duration(name: str, value: str) -> str:
    """Return a time as PostgreSQL shows it: as a whole number of the largest unit."""
    milliseconds = _parse_milliseconds(value)
    if milliseconds is None or milliseconds > _LONGEST:
        raise _invalid_value(name, value)
    if not milliseconds:
        return "0"
    unit = next(unit for unit, factor in _UNITS.items() if milliseconds % factor == 0)
    return f"{milliseconds // _UNITS[unit]}{unit}"


def _check_one_of(*words: str) -> Callable[[str, str], str]:
    def check(name: str, value: str) -> str:
        if value.lower() not in words:
            raise _invalid_value(name, value)
        return value.lower()

    return check


def _check_fixed(*words: str) -> Callable[[str, str], str]:
    """Refuse values without effect: clients parse results by the reported setting."""

    def check(name: str, value: str) -> str:
        if value.partition(",")[0].strip().lower() not in words:
            raise StatementFailed("0A000", f"{name} can only be {DEFAULTS[name]}")
        return DEFAULTS[name]

    return check


def _check_time_zone(name: str, value: str) -> str:
    if value.lower() in ("default", "local"):
        return DEFAULTS[name]
    # JDBC sends this where the machine has an offset and no zone name; the sign is POSIX's.
    distance = _DISTANCE.fullmatch(value)
    wanted = f"etc/gmt{distance[1]}{int(distance[2])}" if distance else value.lower()
    found = _time_zones().get(wanted)
    if found is None:
        raise _invalid_value(name, value if len(value) <= _MOST_QUOTED else "…")
    return found


@cache
def _time_zones() -> dict[str, str]:
    return {zone.lower(): zone for zone in available_timezones()}


def _check_encoding(name: str, value: str) -> str:
    if value.replace("-", "").replace("_", "").lower() not in ("utf8", "unicode"):
        raise StatementFailed("22023", f"{name} must be UTF8")
    return "UTF8"


_CHECKS: Mapping[str, Callable[[str, str], str]] = {
    "bytea_output": _check_fixed("hex"),
    "client_encoding": _check_encoding,
    "DateStyle": _check_fixed("iso", "mdy", "default"),
    "discreet.confidence": _check_share,
    "discreet.cut_share": _check_proper_share,
    "discreet.delta": _check_amount,
    "discreet.epsilon": _check_amount,
    "discreet.lenient": _check_switch,
    "discreet.noise": _check_one_of("", "laplace", "gaussian"),
    "discreet.weighted": _check_switch,
    "default_transaction_deferrable": _check_switch,
    "default_transaction_read_only": _check_switch,
    "idle_in_transaction_session_timeout": _check_duration,
    "IntervalStyle": _check_fixed("postgres", "default"),
    "lock_timeout": _check_duration,
    "row_security": _check_switch,
    "standard_conforming_strings": _check_fixed("on", "true", "yes", "1"),
    "statement_timeout": _check_duration,
    "TimeZone": _check_time_zone,
    "transaction_deferrable": _check_switch,
    "transaction_read_only": _check_switch,
}
