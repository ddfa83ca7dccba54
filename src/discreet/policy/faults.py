"""The faults of a policy file as sentences: file and line, place, what is wrong, what to do."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic_core import ErrorDetails

from discreet.errors import InvalidPolicy, did_you_mean
from discreet.policy.schema import known_keys
from discreet.registry import CRITERIA

if TYPE_CHECKING:
    from discreet.policy.document import Document, Place


@dataclass
class Faults:
    """Collects the faults of one file, so that all are reported at once."""

    file: str
    document: Document | None = None
    found: list[tuple[int, str]] = field(default_factory=list)

    def add(self, place: Place, sentence: str) -> None:
        """Note a fault of the part at `place`."""
        self.add_line(self.document.line(place) if self.document else 1, sentence, place=place)

    def add_line(self, line: int, sentence: str, *, place: Place = ()) -> None:
        """Note a fault on `line`."""
        self.found.append((line, f"{self.file}:{line}: {self._describe_place(place)}{sentence}"))

    def add_errors(self, errors: Iterable[ErrorDetails]) -> None:
        """Note what the schema found."""
        for error in errors:
            place = error["loc"]
            line = self.document.line(place) if self.document else 1
            # An unknown key is a fault of what it is written in.
            around = place[:-1] if error["type"] == "extra_forbidden" else place
            self.add_line(line, _error_sentence(error), place=around)

    def error(self) -> InvalidPolicy:
        """Return the error that lists every fault, in the order of the file."""
        sentences = [sentence for _, sentence in sorted(self.found, key=lambda fault: fault[0])]
        return InvalidPolicy(list(dict.fromkeys(sentences)))

    def _describe_place(self, place: Place) -> str:
        match place:
            case ("tables", table, *rest):
                part = _part_name(tuple(rest))
                return f"{part}{self._table_suffix(table)}: " if part else f"table '{table}': "
            case ("budget", *_):
                return f"{_part_name(place)}: "
            case ("workloads", str(name), *_):
                return f"workload '{name}': "
            case _:
                return ""

    def _table_suffix(self, table: str | int) -> str:
        """Return the table's name where the file has several."""
        data = self.document.data if self.document else None
        tables = data.get("tables") if isinstance(data, dict) else None
        return f" of table '{table}'" if isinstance(tables, dict) and len(tables) > 1 else ""


def _part_name(place: Place) -> str | None:
    """Return the name of the part at `place` of a table, None for the table itself."""
    match place:
        case ("columns", column, *_):
            return f"column '{column}'"
        case ("criteria", int(index), *rest):
            return _item_name("criterion", index, rest)
        case ("rules", int(index), *rest):
            return _item_name("rule", index, rest)
        case ("release", "steps", int(index), *rest):
            return _item_name("step", index, rest)
        case ("budget", "analysts", str(name), *_):
            return f"budget of analyst '{name}'"
        case ("release" | "budget" | "limits" | "partitions" as block, *_):
            return block
        case _:
            return None


def _item_name(what: str, index: int, rest: list[str | int]) -> str:
    """Return an item of a list by its name, or by its number where it has none."""
    return f"{what} '{rest[0]}'" if rest and isinstance(rest[0], str) else f"{what} {index + 1}"


def _error_sentence(error: ErrorDetails) -> str:
    place = error["loc"]
    context = error.get("ctx", {})
    key = next((part for part in reversed(place) if isinstance(part, str)), "")
    match error["type"]:
        case "extra_forbidden":
            return _unknown_key(key, place)
        case "missing" if isinstance(place[-1], str):
            return f"the key '{key}' is missing. Add it."
        case "enum" | "literal_error":
            words = re.findall(r"'([^']+)'", context["expected"])
            return f"'{key}' cannot be {_describe_input(error)}.{did_you_mean(str(error['input']), words)}"
        case "value_error":
            return str(context["error"])
        case "model_type" if not place:
            return f"a policy begins with the key 'tables', not with {_describe_input(error)}."
        case "model_type" if place[-2:-1] in _EXAMPLES:
            return f"write the {_LISTED[place[-2:-1]]} with {_EXAMPLES[place[-2:-1]]}."
        case kind:
            template = _TEMPLATES.get(kind, "'{key}' is not valid here.")
            form = _FORMS.get(key, f"match {context.get('pattern')}")
            return template.format(key=key, shown=_describe_input(error), form=form, **context)


def _unknown_key(key: str, place: Place) -> str:
    what = _LISTED.get(place[-3:-2], "key")
    broken = CRITERIA.broken() if what == "criterion" else {}
    near = did_you_mean(key, known_keys(place[:-1]))
    return broken.get(key, f"unknown {what} '{key}'.{near}")


_LISTED: dict[tuple[str | int, ...], str] = {
    ("criteria",): "criterion",
    ("rules",): "rule",
    ("steps",): "step",
}
_EXAMPLES: dict[tuple[str | int, ...], str] = {
    ("criteria",): "its parameters, such as `k-anonymity: {k: 5}`",
    ("rules",): "its columns, such as `order: [admitted, discharged]`",
    ("steps",): "its parameters, such as `round: {column: income, base: 100}`",
}
_NO_WHOLE = "'{key}' must be a whole number, not {shown}."
_NO_NUMBER = "'{key}' must be a number, not {shown}."
_NO_MAPPING = "'{key}' must hold keys and values, not {shown}."
_NO_LIST = "'{key}' must be a list in [ ], not {shown}."
_NO_PAIR = "'{key}' needs two numbers: [lower, upper]."
_EMPTY = "'{key}' must not be empty."
_FORMS = {
    "id": "be 4 to 80 characters (a-z, A-Z, 0-9, '-', '_') that begin with a letter or digit",
    "references": "be written table.column",
    "encoding": "be an encoding, such as utf-8, utf-16, cp1252 or latin-1",
    "format": "be the form of a date, such as '%d/%m/%Y'",
    "sign": "be a sign that stands at a number, such as € or %",
}
_TEMPLATES = {
    "missing": _NO_PAIR,  # the second of two bounds; a missing key is reported above
    "too_long": _NO_PAIR,
    "int_parsing": _NO_WHOLE,
    "int_parsing_size": _NO_WHOLE,
    "int_type": _NO_WHOLE,
    "decimal_parsing": _NO_NUMBER,
    "decimal_type": _NO_NUMBER,
    "float_parsing": _NO_NUMBER,
    "float_type": _NO_NUMBER,
    "finite_number": _NO_NUMBER,
    "model_type": _NO_MAPPING,
    "dict_type": _NO_MAPPING,
    "list_type": _NO_LIST,
    "tuple_type": _NO_LIST,
    "string_type": "'{key}' must be plain text, not {shown}.",
    "string_pattern_mismatch": "'{key}' must {form}, not {shown}.",
    "string_too_short": _EMPTY,
    "too_short": _EMPTY,
    "greater_than_equal": "'{key}' must be at least {ge:g}, not {shown}.",
    "greater_than": "'{key}' must be more than {gt:g}, not {shown}.",
    "less_than": "'{key}' must be less than {lt:g}, not {shown}.",
    "bool_parsing": "'{key}' must be true or false, not {shown}.",
    "bool_type": "'{key}' must be true or false, not {shown}.",
    "less_than_equal": "'{key}' must be at most {le:g}, not {shown}.",
}


def _describe_input(error: ErrorDetails) -> str:
    """Return what was found, in words: text as it is, everything else by its shape."""
    found: Any = error["input"]
    if isinstance(found, dict):
        return "keys and values"
    if isinstance(found, list):
        return "a list"
    text = str(found)
    if not text:
        return "nothing"
    return f"'{text}'" if len(text) <= 40 else f"'{text[:37]}…'"
