"""A drafted policy, and its file: one line per column, its reason above it."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

import yaml

from discreet.measure.profile.domain import DomainDraft
from discreet.measure.profile.evidence import RoleGuess
from discreet.measure.profile.identifiers import SAFE_HARBOR
from discreet.measure.profile.limits import RowsPerUnit
from discreet.policy.answer_model import ROW
from discreet.policy.model import ColumnRole
from discreet.result import Result, to_plain_data

_WIDTH = 100
_PLAIN = re.compile(r"(?:[.]{0,2}/)*[A-Za-z_][A-Za-z0-9_./-]*|0|-?[1-9][0-9]*")
# Other readers of YAML take these words for truth values and nothing.
_SPECIAL = ("y", "n", "yes", "no", "true", "false", "on", "off", "null")
_HEADER = (
    "Drafted by `discreet init` from all rows. Every role is a guess, with its reason: correct what "
    "is wrong. Where it says `unsure: true`, decide and delete that: until then nothing is published. "
    "Nothing here quotes a rare value. Bounds and values come from the data, so that questions "
    "do not use them: where they are known without the data, change `drafted` to `public`; otherwise "
    "write `bounds: private`, or leave out the values."
)
_KEEP = "Each id names an account of the ledger. Keep it: another id is another budget."


@dataclass(frozen=True)
class ColumnDraft(Result):
    """One column of a draft: what it is taken to be and what is proposed for its values.

    `written` is how its cells are written, as the policy file says it; `title` is what the source calls
    it beside its name.
    """

    guess: RoleGuess
    domain: DomainDraft
    references: tuple[str, str] | None = None
    kind: str = "text"
    written: Mapping[str, Any] = field(default_factory=dict[str, Any])
    title: str | None = None

    @property
    def is_code(self) -> bool:
        """Whether its numbers are drafted as codes, which have no order."""
        return self.guess.is_code and self.guess.role in (
            ColumnRole.QUASI_IDENTIFIER,
            ColumnRole.SENSITIVE,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the guess and the proposal side by side."""
        target = None if self.references is None else ".".join(self.references)
        rest = {"kind": self.kind, "format": None, "references": target, "title": self.title}
        return {
            **self.guess.to_dict(),
            **to_plain_data(self.domain),
            **rest,
            **to_plain_data(dict(self.written)),
        }


@dataclass(frozen=True)
class TableDraft(Result):
    """One table of a draft; `criteria` are as the policy file writes them.

    `unit` is a column, `row`, or None where `doubts` leave it open whose a row is. `reading` is how
    a text file is written, where its header does not say it.
    """

    name: str
    source: str
    rows: int
    unit: str | None
    unit_reason: str
    columns: tuple[ColumnDraft, ...]
    criteria: tuple[Mapping[str, Mapping[str, Any]], ...]
    limit: RowsPerUnit | None = None
    doubts: tuple[str, ...] = ()
    reading: Mapping[str, Any] = field(default_factory=dict[str, Any])
    id: str | None = None


@dataclass(frozen=True)
class PolicyDraft(Result):
    """A drafted policy."""

    tables: tuple[TableDraft, ...]
    id: str | None = None

    @property
    def safe_harbor(self) -> dict[str, tuple[str, ...]]:
        """The columns found for each of HIPAA's 18 kinds, by letter, as `table.column`."""
        return {
            letter: tuple(
                f"{table.name}.{column.guess.column}"
                for table in self.tables
                for column in table.columns
                if column.guess.safe_harbor == letter
            )
            for letter in SAFE_HARBOR
        }

    def to_dict(self) -> dict[str, Any]:
        """Return the draft with its Safe Harbor checklist."""
        checklist = [
            {"letter": letter, "kind": SAFE_HARBOR[letter], "columns": list(columns)}
            for letter, columns in self.safe_harbor.items()
        ]
        return {**super().to_dict(), "safe_harbor": checklist}

    def to_yaml(self) -> str:
        """Return the policy file, with the reason of every guess as a comment."""
        return write_draft(self)


def write_draft(draft: PolicyDraft) -> str:
    """Return the policy file of a draft, comments included."""
    lines = _wrap_comment(_HEADER, indent=0)
    if draft.id is not None:
        lines += [*_wrap_comment(_KEEP, indent=0), f"id: {_format_scalar(draft.id)}"]
    lines += ["tables:"]
    for table in draft.tables:
        lines += _write_table(table)
    lines += _write_checklist(draft)
    return "\n".join(lines) + "\n"


def _write_table(table: TableDraft) -> Iterator[str]:
    yield f"  {_format_scalar(table.name)}:"
    if table.id is not None:
        yield f"    id: {_format_scalar(table.id)}"
    yield f"    source: {_format_scalar(table.source)}"
    if table.reading:
        yield f"    reading: {_format_flow(dict(table.reading))}"
    yield from _write_unit(table)
    yield "    columns:"
    for column in table.columns:
        yield from _write_column(column)
    if table.criteria:
        yield from _wrap_comment(
            "criteria: a usual start; raise k and l for a wider audience", indent=4
        )
        yield "    criteria:"
        for criterion in table.criteria:
            for name, parameters in criterion.items():
                yield f"      - {name}: {_format_flow(parameters)}"
    else:
        yield from _wrap_comment("criteria: none, because no quasi-identifier was found", indent=4)


def _write_unit(table: TableDraft) -> Iterator[str]:
    if table.unit is None:
        yield from _wrap_comment(
            f"unit: not drafted, because {table.unit_reason}. Questions are refused until it is "
            "written: the column that identifies the person, or `row` if each row is another person",
            indent=4,
        )
        return
    doubt = "; name an id column if not" if table.limit is None else ""
    yield from _wrap_comment(f"unit: {table.unit_reason}{doubt}", indent=4)
    is_column = table.limit is not None and table.unit == ROW
    yield f"    unit: {'{column: row}' if is_column else _format_scalar(table.unit)}"
    if table.limit is not None:
        yield from _wrap_comment(f"limits: {table.limit.reason}", indent=4)
        yield f"    limits: {{rows-per-unit: {table.limit.most}}}"


def _write_column(column: ColumnDraft) -> Iterator[str]:
    guess, domain = column.guess, column.domain
    if column.title:
        yield from _wrap_comment(f'"{" ".join(column.title.split())}"', indent=6)
    doubt = " (unsure)" if guess.confidence == "low" else ""
    yield from _wrap_comment(f"{guess.role}{doubt}: {guess.reason}", indent=6)
    for note in domain.notes:
        yield from _wrap_comment(f"  {note}", indent=6)
    parts: dict[str, Any] = {"role": str(guess.role), "kind": column.kind}
    parts |= column.written
    if column.references:
        parts["references"] = ".".join(column.references)
    if domain.bounds:
        parts["bounds"] = {"drafted": list(domain.bounds)}
    if domain.values:
        parts["values"] = {"drafted": list(domain.values)}
    if domain.hierarchy:
        parts["hierarchy"] = domain.hierarchy
    if column.is_code:
        parts["ordered"] = False
    if guess.confidence == "low" and not guess.role.names_people:
        parts["unsure"] = True
    yield f"      {_format_scalar(guess.column)}: {_format_flow(parts)}"


def _write_checklist(draft: PolicyDraft) -> Iterator[str]:
    """List which of HIPAA's 18 kinds were found; others may still be there."""
    found = draft.safe_harbor
    yield from _wrap_comment("HIPAA Safe Harbor, 45 CFR 164.514(b)(2)(i), kinds found:", indent=0)
    for letter, columns in found.items():
        if columns:
            listed = ", ".join(_format_scalar(column) for column in columns)
            yield from _wrap_comment(f"  ({letter}) {SAFE_HARBOR[letter]}: {listed}", indent=0)
    absent = "; ".join(SAFE_HARBOR[letter] for letter, columns in found.items() if not columns)
    if absent:
        yield from _wrap_comment(f"  not found, so look yourself: {absent}", indent=0)


def _wrap_comment(text: str, *, indent: int) -> list[str]:
    start = " " * indent + "# "
    hanging = len(text) - len(text.lstrip())
    return textwrap.wrap(
        text,
        width=_WIDTH,
        initial_indent=start,
        subsequent_indent=start + "  " + " " * hanging,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _format_flow(value: Any) -> str:
    if isinstance(value, dict):
        mapping: Mapping[str, Any] = value
        return (
            "{"
            + ", ".join(
                f"{_format_scalar(key)}: {_format_flow(item)}" for key, item in mapping.items()
            )
            + "}"
        )
    if isinstance(value, list):
        items: list[Any] = value
        return "[" + ", ".join(_format_flow(item) for item in items) + "]"
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, bool):
        return "true" if value else "false"
    return _format_scalar(value) if isinstance(value, str) else str(value)


def _format_scalar(text: str) -> str:
    """Return `text` as YAML, in quotes unless every reader takes it for plain text."""
    if _PLAIN.fullmatch(text) and text.lower() not in _SPECIAL:
        return text
    quoted: str = yaml.safe_dump(text, default_style='"', allow_unicode=True, width=10**9)
    return quoted.rstrip("\n")
