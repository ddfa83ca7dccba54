"""Columns without a role: one that looks like an identifier is never published by oversight."""

from __future__ import annotations

from dataclasses import dataclass, replace

from discreet.engines.engine import Table
from discreet.formatting import join_names
from discreet.policy import model
from discreet.policy.model import ColumnRole


@dataclass(frozen=True)
class UnlistedColumns:
    """The columns without a role that are left out, and what to say about the others."""

    left_out: tuple[str, ...] = ()
    cautions: tuple[str, ...] = ()


def unlisted_columns(table: Table, policy: model.TablePolicy) -> UnlistedColumns:
    """Return what becomes of the columns that neither the policy nor the call names.

    They are published as they are, except what is guessed to be an identifier.
    """
    known = {column.name for column in policy.columns} | {policy.unit}
    unknown = tuple(column for column in table.columns if column.name not in known)
    if not unknown:
        return UnlistedColumns()
    from discreet.measure.profile import guess_roles

    guesses = guess_roles(replace(table, columns=unknown))
    identifiers = [
        name
        for name, guess in guesses.items()
        if guess.may_identify or guess.role is ColumnRole.WEIGHT
    ]
    exposing = [
        name
        for name, guess in guesses.items()
        if name not in identifiers
        and (
            guess.role is ColumnRole.QUASI_IDENTIFIER
            or (guess.role is ColumnRole.SENSITIVE and guess.confidence == "low")
        )
    ]
    cautions: list[str] = []
    if identifiers:
        cautions.append(
            f"Left out, because it looks like an identifier and has no role: {_quote_names(identifiers)}. "
            "Give it a role in a policy to publish it."
        )
    if exposing:
        cautions.append(
            f"Published as it is, though outsiders may well know it: {_quote_names(exposing)}. Name it "
            "with --quasi, or give it a role in a policy."
        )
    return UnlistedColumns(tuple(identifiers), tuple(cautions))


def _quote_names(names: list[str]) -> str:
    return join_names([f"'{name}'" for name in names])
