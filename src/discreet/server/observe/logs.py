"""Logs of a server, as text or JSON: what happened and where, never a value or an error's message."""

from __future__ import annotations

import json
import logging
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any, Literal

_OWN = "discreet"
_FRAMES = 6  # the innermost, of an exception
_FIELDS = "discreet_fields"

_log = logging.getLogger("discreet.server")


def configure_logs(
    form: Literal["text", "json"], level: str, stream: IO[str] | None = None
) -> None:
    """Send the logs of this process to `stream`, by default to standard error."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLogFormatter() if form == "json" else TextLogFormatter())
    root = logging.getLogger()
    for old in list(root.handlers):
        root.removeHandler(old)
    root.addHandler(handler)
    root.setLevel(logging.WARNING)
    logging.getLogger(_OWN).setLevel(level.upper())


def log_event(event: str, *, level: int = logging.INFO, **fields: object) -> None:
    """Log an event of the server with its fields, which must not be values of tables."""
    _log.log(level, event, extra={_FIELDS: fields})


def _describe_record(record: logging.LogRecord) -> dict[str, Any]:
    """Return what a record says, without what it may quote of the data.

    Other libraries put messages of exceptions into theirs: of those, only the place is kept.
    """
    is_own = record.name.partition(".")[0] == _OWN
    place = f"{Path(record.pathname).name}:{record.lineno}"
    found: dict[str, Any] = {
        "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
        "level": record.levelname.lower(),
        "logger": record.name,
        "event": record.getMessage() if is_own else f"message of {record.name} at {place}",
        **getattr(record, _FIELDS, {}),
    }
    if record.exc_info and record.exc_info[0] is not None:
        found["exception"] = record.exc_info[0].__name__
        found["frames"] = _list_frames(record.exc_info[2])
    return found


def _list_frames(trace: Any) -> list[str]:
    frames: list[str] = []
    while trace is not None:
        frames.append(f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}")
        trace = trace.tb_next
    return frames[-_FRAMES:]


class JsonLogFormatter(logging.Formatter):
    """One JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        return json.dumps(_describe_record(record), ensure_ascii=False, default=str)


class TextLogFormatter(logging.Formatter):
    """One line per record: time, level, event, and fields as `name=value`."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line of a record."""
        found = _describe_record(record)
        head = f"{found.pop('time')} {found.pop('level').upper()} {found.pop('event')}"
        found.pop("logger")
        fields = [f"{name}={json.dumps(value, default=str)}" for name, value in found.items()]
        # A line break in an event would look like another record.
        return " ".join([head, *fields]).replace("\n", " ").replace("\r", " ")
