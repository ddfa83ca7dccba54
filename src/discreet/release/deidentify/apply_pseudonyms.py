"""Pseudonyms for the columns a custodian names; identifiers that are not named are dropped."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from sqlglot import exp

from discreet.engines.engine import Table
from discreet.errors import ConflictingRoles, WrongUsage
from discreet.formatting import format_count
from discreet.measure.profile import guess_roles
from discreet.measure.roles import require_column
from discreet.policy import model
from discreet.policy.model import ColumnRole
from discreet.progress import Progress
from discreet.release.deidentify.keys import SecretKey
from discreet.release.deidentify.kinds import Pseudonym
from discreet.release.deidentify.pseudonyms import pseudonymize
from discreet.release.deidentify.record import ColumnRecord, Deidentified, PreparedRelease
from discreet.release.deidentify.remaining import measure_remaining
from discreet.release.deidentify.replace import UNIT, keep_rows
from discreet.release.deidentify.tokens import TokenMapping
from discreet.release.source import SourceTable
from discreet.sql import build

METHOD = "pseudonymize"


@dataclass(frozen=True)
class PseudonymChoices:
    """What the custodian decides: the pseudonym of each column, and the key behind them."""

    columns: Mapping[str, Pseudonym]
    key: SecretKey | None = None
    unit: str | None = None
    keep: Collection[str] = ()
    tokens: TokenMapping = field(default_factory=TokenMapping, repr=False)


@dataclass(frozen=True)
class _ColumnDecision:
    """What becomes of one column, and why."""

    action: str
    reason: str
    role: ColumnRole | None


def apply_pseudonyms(
    source: SourceTable, choices: PseudonymChoices, *, progress: Progress
) -> tuple[PreparedRelease, TokenMapping]:
    """Return the table with pseudonyms, what was done, and the tokens drawn for it.

    Guarantee: no column that the policy (or, without one, its content) takes for an identifier
    stays as it is unless the custodian keeps it by name. Pseudonymous rows are still personal data
    (GDPR art. 4(5), recital 26): the holder of the key, or of enough knowledge about a person, finds them.
    """
    table, rows = source.table, source.count_rows()
    _check(table, choices)
    progress("recoding", 0, 1)
    parts = _decide_columns(table, choices, source.policy)
    gone = [name for name, part in parts.items() if part.action == "removed"]
    unit = choices.unit or (source.policy.unit if source.policy else None)
    made = pseudonymize(
        table,
        choices.columns,
        key=choices.key,
        unit=unit,
        tokens=choices.tokens,
        drop=gone,
    )
    released = keep_rows(table, made.query, unit=unit)
    quasi = [
        name
        for name, part in parts.items()
        if part.action == "kept" and part.role is ColumnRole.QUASI_IDENTIFIER
    ]
    measured = measure_remaining(
        released,
        quasi=quasi,
        unit=UNIT if unit else None,
        progress=progress,
        unknown=choices.columns,
    )
    remaining, warnings = measured or (None, ())
    found = Deidentified(
        method=METHOD,
        source=table.label,
        verdict=_write_verdict(parts),
        rows=rows,
        columns=_column_records(table, parts),
        classes=(),
        settings={
            **made.to_dict(),
            "kept_on_request": sorted(choices.keep),
            "left_out": sorted(source.left_out),
        },
        remaining=remaining,
        warnings=warnings,
        cautions=(
            (
                "Pseudonymous rows are personal data: the key reverses them, and so does anyone who knows "
                "enough about a person."
            ),
        ),
    )
    left = tuple(column.name for column in table.columns if column.name not in gone)
    return PreparedRelease(released.relation, left, found), made.tokens


def _check(table: Table, choices: PseudonymChoices) -> None:
    if not choices.columns:
        raise WrongUsage(
            "No column was named. Say which ones get pseudonyms: --columns, --reversible, "
            "--format-preserving, --tokens or --shift-dates."
        )
    for name in (*choices.columns, *choices.keep):
        require_column(table, name)
    if both := sorted(set(choices.columns) & set(choices.keep)):
        raise ConflictingRoles(
            f"Column '{both[0]}' gets a pseudonym and is to be kept as it is. Name it once."
        )


def _decide_columns(
    table: Table, choices: PseudonymChoices, policy: model.TablePolicy | None
) -> dict[str, _ColumnDecision]:
    guesses = {} if policy else guess_roles(table)
    found: dict[str, _ColumnDecision] = {}
    for column in table.columns:
        stated = policy.column(column.name) if policy else None
        role = stated.role if stated else None
        reason = f"{role} by the policy" if role else "the policy says nothing about it"
        if guess := guesses.get(column.name):
            role, reason = guess.role, guess.reason
        if kind := choices.columns.get(column.name):
            found[column.name] = _ColumnDecision(kind.name, "as you asked", role)
        elif column.name in choices.keep:
            found[column.name] = _ColumnDecision("kept", "kept as it is on your word", role)
        elif (
            role is None
            or role.names_people
            or role is ColumnRole.WEIGHT
            or (guess and guess.may_identify)
        ):
            found[column.name] = _ColumnDecision("removed", reason, role)
        else:
            found[column.name] = _ColumnDecision("kept", reason, role)
    return found


def _column_records(table: Table, parts: Mapping[str, _ColumnDecision]) -> tuple[ColumnRecord, ...]:
    counts = [
        build.alias_as(exp.Count(this=build.column(column.name)), f"c{index}")
        for index, column in enumerate(table.columns)
    ]
    row = table.engine.run(build.select(*counts, source=table.relation.copy())).to_pylist()[0]
    return tuple(
        ColumnRecord(
            column=name,
            letter=None,
            action=part.action,
            reason=part.reason,
            cells=int(row[f"c{index}"]),
            changed=0 if part.action in ("kept", "removed") else int(row[f"c{index}"]),
            removed=int(row[f"c{index}"]) if part.action == "removed" else 0,
            found={},
        )
        for index, (name, part) in enumerate(parts.items())
    )


def _write_verdict(parts: Mapping[str, _ColumnDecision]) -> str:
    actions = [part.action for part in parts.values()]
    removed, kept = actions.count("removed"), actions.count("kept")
    columns = format_count(len(actions) - removed - kept, "column has", "columns have")
    return f"{columns} pseudonyms, {removed:,} removed and {kept:,} kept."
