"""Pseudonyms for the columns of a table: the same value, the same pseudonym, on every engine."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.engines.engine import Column, Table
from discreet.errors import InvalidKey, UnknownColumn, UnsuitableValues, WrongUsage, did_you_mean
from discreet.policy.hierarchies.values import text_of
from discreet.release.deidentify.base32 import write_base32
from discreet.release.deidentify.date_shifts import shift_dates, shifts_of
from discreet.release.deidentify.keys import HOW_TO_MAKE_ONE, SecretKey
from discreet.release.deidentify.kinds import (
    DateShift,
    FormatPreserving,
    KeyedHash,
    Pseudonym,
    RandomToken,
    Reversible,
    describe_pseudonym,
)
from discreet.release.deidentify.replace import replace_values
from discreet.release.deidentify.tokens import TokenMapping


@dataclass(frozen=True)
class Pseudonymized:
    """A query that gives the table with pseudonyms, and what was decided for it."""

    query: exp.Select
    columns: Mapping[str, Pseudonym]
    unit: str | None
    fingerprint: str | None
    tokens: TokenMapping = field(repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Return the manifest's entry: kinds, domains and which key, but no secret."""
        return {
            "key": self.fingerprint,
            "unit": self.unit,
            "columns": {name: describe_pseudonym(kind) for name, kind in self.columns.items()},
        }


def pseudonymize(
    table: Table,
    columns: Mapping[str, Pseudonym],
    *,
    key: SecretKey | None = None,
    unit: str | None = None,
    tokens: TokenMapping | None = None,
    drop: Collection[str] = (),
) -> Pseudonymized:
    """Return the query of `table` with pseudonyms in the named columns; missing stays missing.

    What the query reads is kept on the table's engine: give it a `Scratch`, and drop that after
    the query ran.

    Args:
        table: The table, on any engine.
        columns: The pseudonym of each column that gets one. Columns of the same domain join as
            before.
        key: The secret; only random tokens do without.
        unit: The column that names the person, for date shifts.
        tokens: Tokens drawn earlier, of which values that return get theirs again.
        drop: Columns to leave out.
    """
    for name in (*columns, *drop):
        _require_column(table, name)
    _require_key(columns, key)
    book = tokens or TokenMapping()

    def change(name: str, kind: Pseudonym) -> Callable[[ArrowArray], ArrowArray]:
        def changed(values: ArrowArray) -> ArrowArray:
            nonlocal book
            if not isinstance(kind, RandomToken):
                return pseudonyms_of(values, kind, key=_require_given_key(key), column=name)
            texts = text_of(values).to_pylist()
            book = book.draw(texts, domain=kind.domain, bits=kind.bits)
            return pa.array([book.by_domain[kind.domain][text] for text in texts], pa.string())

        return changed

    changes = {n: change(n, kind) for n, kind in columns.items() if not isinstance(kind, DateShift)}
    query = replace_values(table, changes, drop=drop)
    shift = _date_shift(columns, unit)
    if shift is not None and unit is not None:
        query = shift_dates(
            query,
            table,
            _date_columns(columns),
            unit=_require_column(table, unit),
            days=shift.days,
            change=lambda people: shifts_of(people, shift=shift, key=_require_given_key(key)),
        )
    return Pseudonymized(
        query=query,
        columns=dict(columns),
        unit=unit,
        fingerprint=key.fingerprint if key else None,
        tokens=book,
    )


def undo_pseudonyms(
    table: Table,
    columns: Mapping[str, Pseudonym],
    *,
    key: SecretKey,
    unit: str | None = None,
    tokens: TokenMapping | None = None,
) -> exp.Select:
    """Return the query that undoes `pseudonymize` for the holder of the key.

    Values come back as text, in their one form (`30` for 30.0); format-preserving pseudonyms of
    integers as integers. Dates move back by the shift of their person: name the unit, and its
    pseudonym among `columns` unless the unit still has its own values.
    """
    for name in columns:
        _require_column(table, name)
    forever = [name for name, kind in columns.items() if isinstance(kind, KeyedHash)]
    if forever:
        raise WrongUsage(
            f"Column '{forever[0]}' has keyed pseudonyms, which cannot be reversed. Leave it out, or "
            "pseudonymize the original column again and join."
        )

    def change(name: str, kind: Pseudonym) -> Callable[[ArrowArray], ArrowArray]:
        return lambda values: originals_of(values, kind, key=key, tokens=tokens, column=name)

    changes = {n: change(n, kind) for n, kind in columns.items() if not isinstance(kind, DateShift)}
    query = replace_values(table, changes)
    shift = _date_shift(columns, unit)
    if shift is None or unit is None:
        return query

    def back(people: ArrowArray) -> ArrowArray:
        originals = changes[unit](people) if unit in changes else people
        return pc.negate(shifts_of(originals, shift=shift, key=key))

    person = _require_column(table, unit)
    return shift_dates(query, table, _date_columns(columns), unit=person, days=0, change=back)


def pseudonyms_of(
    values: ArrowArray, kind: Pseudonym, *, key: SecretKey, column: str
) -> ArrowArray:
    """Return the keyed, reversible or format-preserving pseudonym of each value, none missing."""
    if isinstance(kind, FormatPreserving):
        from discreet.release.deidentify.formats import encrypt_formats

        return encrypt_formats(values, key=key, domain=kind.domain, column=column)
    texts = text_of(values).to_pylist()
    if isinstance(kind, Reversible):
        from discreet.release.deidentify.siv import encrypt_texts

        return pa.array(encrypt_texts(texts, key=key, domain=kind.domain), pa.string())
    if isinstance(kind, KeyedHash):
        return _keyed_pseudonyms(texts, kind, key=key, column=column)
    raise WrongUsage(f"A {kind.name} is not made from the value alone. Use `pseudonymize`.")


def originals_of(
    values: ArrowArray, kind: Pseudonym, *, key: SecretKey, tokens: TokenMapping | None, column: str
) -> ArrowArray:
    """Return the value behind each pseudonym; one that was not made so is refused."""
    if isinstance(kind, FormatPreserving):
        from discreet.release.deidentify.formats import decrypt_formats

        return decrypt_formats(values, key=key, domain=kind.domain, column=column)
    texts = text_of(values).to_pylist()
    if isinstance(kind, Reversible):
        from discreet.release.deidentify.siv import decrypt_texts

        found = decrypt_texts(texts, key=key, domain=kind.domain)
    else:
        found = (tokens or TokenMapping()).lookup(texts, domain=kind.domain)
    unknown = sum(text is None for text in found)
    if unknown:
        raise UnsuitableValues(
            f"{unknown:,} of {len(found):,} values of column '{column}' are no pseudonyms of this "
            f"key ({key.fingerprint}) and domain. Use those that the manifest names."
        )
    return pa.array(found, pa.string())


def _keyed_pseudonyms(
    texts: Sequence[str], kind: KeyedHash, *, key: SecretKey, column: str
) -> ArrowArray:
    secret = key.derive("keyed", kind.domain)
    size = kind.bits // 8
    digests = [hmac.digest(secret, text.encode(), hashlib.sha256)[:size] for text in texts]
    found = pa.array(write_base32(digests), pa.string())
    if pc.count_distinct(found).as_py() < len(texts):
        raise UnsuitableValues(
            f"Two values of column '{column}' share a pseudonym of {kind.bits} bits. Use more bits."
        )
    return found


def _date_columns(columns: Mapping[str, Pseudonym]) -> list[str]:
    return [name for name, kind in columns.items() if isinstance(kind, DateShift)]


def _date_shift(columns: Mapping[str, Pseudonym], unit: str | None) -> DateShift | None:
    """Return the one shift of all dates, None when no dates are shifted."""
    shifts = {kind for kind in columns.values() if isinstance(kind, DateShift)}
    if shifts and unit is None:
        raise WrongUsage(
            f"Column '{_date_columns(columns)[0]}' is shifted by person, but no column names the person. "
            "Give the unit with --unit."
        )
    if len(shifts) > 1:
        raise WrongUsage(
            "Date columns of one table have different shifts, so that intervals between them would "
            "change. Give all of them the same days and domain."
        )
    return next(iter(shifts), None)


def _require_column(table: Table, name: str) -> Column:
    known = [column.name for column in table.columns]
    found = table.column(name)
    if found is None:
        raise UnknownColumn(f"Column '{name}' is not in {table.label}.{did_you_mean(name, known)}")
    return found


def _require_key(columns: Mapping[str, Pseudonym], key: SecretKey | None) -> None:
    if any(not isinstance(kind, RandomToken) for kind in columns.values()):
        _require_given_key(key)


def _require_given_key(key: SecretKey | None) -> SecretKey:
    if key is None:
        raise InvalidKey(
            f"These pseudonyms need a key. Give it with --key-file or --key-env. {HOW_TO_MAKE_ONE}"
        )
    return key
