"""The dictionary attack: pseudonyms that are plain hashes, undone by hashing what they may stand for."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.attacks.finding import Finding, make_finding
from discreet.attacks.hashes import candidates
from discreet.attacks.hashes.candidates import Guesses
from discreet.attacks.hashes.hashes import (
    HASHES,
    Digests,
    decode_plainly,
    read_digests,
    read_hash,
    word_duration,
)
from discreet.attacks.hashes.invert import Inverted, invert, list_hash_variants
from discreet.engines.engine import Column, Kind, Table
from discreet.errors import EmptySource, WrongUsage
from discreet.formatting import format_count, format_percent
from discreet.measure.profile.forms import forms_of
from discreet.measure.roles import require_column
from discreet.measure.values import counted_values
from discreet.policy.hierarchies.values import text_of

LIMIT = 200_000_000  # guesses: minutes of work
FORMS_LIMIT = 20_000_000
_KEYED = (
    "Keyed pseudonyms (`discreet deidentify --method pseudonymize`) or random tokens: no one can "
    "hash a guess without the key. Equal pseudonyms still reveal which rows belong together."
)


@dataclass(frozen=True)
class DictionaryOptions:
    """How to try: the hash, a public salt, variations, and where guesses end.

    `forms_limit` is how many texts of the form of known values are tried without being asked for.
    `clock` gives seconds, for hashes per second; without it nothing is timed.
    """

    hash_name: str | None = None
    salt: str | None = None
    vary: tuple[str, ...] = ()
    limit: int = LIMIT
    forms_limit: int = FORMS_LIMIT
    clock: Callable[[], float] | None = None


@dataclass(frozen=True)
class Pseudonyms:
    """The different values of a column that may stand for people, and the rows of each."""

    table: Table
    column: Column
    values: ArrowArray
    rows: NDArray[np.int64]

    @property
    def label(self) -> str:
        """What is attacked, as the user names it."""
        return f"{self.table.label}: {self.column.name}"


def attack_column(
    table: Table, column: str, guesses: Sequence[Guesses], *, tools: DictionaryOptions | None = None
) -> Finding:
    """Return how many pseudonyms of a column some guess explains.

    Raises:
        UnknownColumn: The table has no such column.
        WrongUsage: The column does not look like hashes, or there are too many guesses.
    """
    tools = tools or DictionaryOptions()
    read = _read(table, require_column(table, column))
    if not len(read.values):
        raise EmptySource(f"Column '{column}' of {table.label} has no value. Name another.")
    digests = _digests_of_column(read, tools.hash_name)
    if digests is None:
        decoded = _find_encoded_values(read)
        if decoded is not None:
            return decoded
        raise WrongUsage(
            f"Column '{column}' of {table.label} does not look like a hash: expected one length of "
            "hexadecimal digits, base32 or base64. If it is one, name it: --hash sha256."
        )
    names = (read_hash(tools.hash_name),) if tools.hash_name else digests.hashes
    return _invert_column(read, digests, guesses, names=names, tools=tools)


def attack_table(
    table: Table,
    *,
    known: Sequence[Table] = (),
    guesses: Sequence[Guesses] = (),
    tools: DictionaryOptions | None = None,
) -> tuple[Finding, ...]:
    """Return a finding for each column that looks like a hash, a mere encoding or a counted number.

    Hashes are tried with the values of the other columns, of `known` tables and texts of the same
    form, with usual numbers and dates, and with `guesses`.
    """
    tools = tools or DictionaryOptions()
    suspects: dict[str, tuple[Pseudonyms, Digests]] = {}
    found: list[Finding] = []
    for column in table.columns:
        if column.kind not in (Kind.TEXT, Kind.INTEGER):
            continue
        read = _read(table, column)
        digests = read_digests(read.values) if column.kind is Kind.TEXT else None
        if digests is not None:
            suspects[column.name] = read, digests
        elif finding := _find_encoded_values(read) or _counted_through(read):
            found.append(finding)
    if suspects:
        usual = usual_guesses(
            table, known=known, skip=tuple(suspects), forms_limit=tools.forms_limit
        )
        tries = (
            *guesses,
            *_select_within_limit(usual, tools.limit - candidates.total_guesses(guesses)),
        )
        found += [
            _invert_column(read, digests, tries, names=digests.usual_hashes, tools=tools)
            for read, digests in suspects.values()
        ]
    return tuple(found) or (_nothing_found(table),)


def usual_guesses(
    table: Table,
    *,
    known: Sequence[Table] = (),
    skip: Sequence[str] = (),
    forms_limit: int = FORMS_LIMIT,
) -> tuple[Guesses, ...]:
    """Return what an adversary tries who knows nothing about the hash."""
    own = candidates.from_table(table, skip=skip)
    theirs = [each for other in known for each in candidates.from_table(other)]
    forms = [each for other in known for each in candidates.from_forms(other, limit=forms_limit)]
    return (*own, *theirs, *candidates.common_guesses(), *_select_within_limit(forms, forms_limit))


def _select_within_limit(guesses: Sequence[Guesses], limit: int) -> list[Guesses]:
    """Return as many of the lists as fit, the shortest first."""
    kept: list[Guesses] = []
    for each in sorted(guesses, key=lambda guesses: guesses.size):
        if candidates.total_guesses(kept) + each.size <= limit:
            kept.append(each)
    return kept


def _read(table: Table, column: Column) -> Pseudonyms:
    values, rows = counted_values(table, column)
    return Pseudonyms(table, column, text_of(values), rows)


def _digests_of_column(read: Pseudonyms, hash_name: str | None) -> Digests | None:
    digests = read_digests(read.values)
    if hash_name is None:
        return digests
    bits = HASHES[read_hash(hash_name)]
    if digests is None:
        # The user says it is a hash: texts of another length are then no digests of it.
        texts = pc.utf8_lower(read.values)
        fits = pc.equal(pc.utf8_length(texts), bits // 4)
        return Digests(pc.if_else(fits, texts, None), "hexadecimal", bits)
    if digests.bits > bits:
        raise WrongUsage(
            f"Column '{read.column.name}' of {read.table.label} holds {digests.bits} bits, "
            f"{hash_name} has {bits}. Leave --hash out, and it is found by its length."
        )
    return digests


def _invert_column(
    read: Pseudonyms,
    digests: Digests,
    guesses: Sequence[Guesses],
    *,
    names: Sequence[str],
    tools: DictionaryOptions,
) -> Finding:
    size = candidates.total_guesses(guesses)
    if not size:
        raise WrongUsage("There is nothing to guess. Give --pattern, --candidates or --known.")
    if size > tools.limit:
        raise WrongUsage(
            f"{size:,} guesses are more than {tools.limit:,}; they take {word_duration(size)} at a million "
            "a second. Narrow the pattern, or raise --limit."
        )
    start = tools.clock() if tools.clock else 0.0
    tries = list_hash_variants(names, salt=tools.salt, vary=tools.vary)
    done = invert(digests, guesses, tries, salt=tools.salt or "")
    seconds = tools.clock() - start if tools.clock else None
    return _build_finding(read, digests, done, size, seconds)


def _build_finding(
    read: Pseudonyms, digests: Digests, done: Inverted, size: int, seconds: float | None
) -> Finding:
    is_found = pc.is_in(digests.texts, value_set=pc.unique(done.hits["digest"]))
    mask = np.asarray(is_found.fill_null(False))
    exposed, targets = int(mask.sum()), len(read.values)
    ambiguity = done.hits.num_rows / exposed if exposed else 1.0
    details: dict[str, Any] = {
        "column": read.column.name,
        "kind": "hash",
        "hash": str(done.way) if exposed else None,
        "written": digests.written,
        "bits": digests.bits,
        "guesses": size,
        "key_space_bits": round(math.log2(size), 1),
        "hashes": done.tried,
        "hashes_per_second": round(done.tried / seconds) if seconds else None,
        "rows": int(read.rows.sum()),
        "rows_inverted": int(read.rows[mask].sum()),
        "found_in": {name: count for name, count in done.found_in.items() if count},
        **_count_equal_pseudonyms(read),
    }
    return make_finding(
        "dictionary",
        target=read.label,
        verdict=_word_verdict(read, details, exposed),
        targets=targets,
        exposed=exposed,
        # Two guesses with one long hash do not happen; short check sums have many.
        correct=exposed if ambiguity == 1 and digests.bits >= 64 else None,
        certainty=1 / ambiguity if exposed else None,
        baseline=1 / size,
        control=min(1.0, size / 2.0**digests.bits),
        knowledge=f"What values may look like: {format_count(size, 'guess', 'guesses')}; no key, no name.",
        remedy=_KEYED,
        details=details,
        example=_build_example(read, digests, done),
    )


def _count_equal_pseudonyms(read: Pseudonyms) -> dict[str, int]:
    """Return what equal pseudonyms reveal, with or without a key: which rows belong together."""
    again = read.rows > 1
    return {
        "pseudonyms_with_several_rows": int(again.sum()),
        "most_rows_of_one": int(read.rows.max()) if len(read.rows) else 0,
    }


def _word_verdict(read: Pseudonyms, details: dict[str, Any], exposed: int) -> str:
    name, many = read.column.name, format_count(len(read.values), "pseudonym", "pseudonyms")
    if exposed:
        share = format_percent(details["rows_inverted"] / max(details["rows"], 1))
        return (
            f"{exposed:,} of {many} in column '{name}' are undone, and with them {share} of the rows: "
            f"they are plain {details['hash']} of {details['guesses']:,} possible texts."
        )
    again = details["pseudonyms_with_several_rows"]
    linked = (
        f" Equal values still link the rows of {format_count(again, 'pseudonym', 'pseudonyms')}."
        if again
        else ""
    )
    return (
        f"No one of {many} in column '{name}' is undone by {details['guesses']:,} guesses: they are "
        f"keyed, random, or of values that were not guessed.{linked}"
    )


def _build_example(read: Pseudonyms, digests: Digests, done: Inverted) -> tuple[str, ...]:
    if not done.hits.num_rows:
        return ()
    digest, guess = done.hits["digest"][0].as_py(), done.hits["guess"][0].as_py()
    index = pc.index(digests.texts, digest).as_py()
    shown = read.values[index].as_py()
    return (
        f"{read.column.name} = {shown} stands in {format_count(int(read.rows[index]), 'row', 'rows')}.",
        f"{done.way} of '{guess}' is the same, so that these are the rows of '{guess}'.",
    )


def _find_encoded_values(read: Pseudonyms) -> Finding | None:
    """Return the finding that values are only written differently, as base64 is."""
    decoded = decode_plainly(read.values) if read.column.kind is Kind.TEXT else None
    if decoded is None:
        return None
    written, said = decoded
    exposed = len(said.drop_null())
    name = read.column.name
    return make_finding(
        "dictionary",
        target=read.label,
        verdict=f"Column '{name}' is no pseudonym: its values are {written} of readable texts.",
        targets=len(read.values),
        exposed=exposed,
        knowledge=f"That {written} can be read by everyone.",
        remedy=_KEYED,
        certainty=1.0,
        details={
            "column": name,
            "kind": "encoding",
            "written": written,
            **_count_equal_pseudonyms(read),
        },
        example=(f"{name} = {read.values[0].as_py()} says '{said[0].as_py()}'.",),
    )


def _counted_through(read: Pseudonyms) -> Finding | None:
    """Return the finding that values are counted through, as row numbers are."""
    numbers = _trailing_numbers(read)
    if numbers is None:
        return None
    low, high, distinct = int(numbers.min()), int(numbers.max()), len(numbers)
    is_dense = distinct >= 0.9 * (high - low + 1)
    is_many = distinct >= max(20, 0.2 * int(read.rows.sum()))
    if not (is_dense and is_many and low % 1_000 in (0, 1)):
        return None
    name = read.column.name
    return make_finding(
        "dictionary",
        target=read.label,
        verdict=(
            f"Column '{name}' counts through from {low:,} to {high:,}: anyone who knows the order in "
            "which people came, or has another table with these numbers, knows who is who."
        ),
        targets=distinct,
        exposed=0,
        knowledge="The order of the people: the alphabet, a waiting list, dates of admission.",
        remedy="Random tokens or keyed pseudonyms, different in each release.",
        details={"column": name, "kind": "counted", **_count_equal_pseudonyms(read)},
    )


def _trailing_numbers(read: Pseudonyms) -> NDArray[np.int64] | None:
    """Return the numbers of values such as 17 or P00017, None when they are no such thing."""
    if len(read.values) < 20:
        return None
    starts = pc.unique(pc.replace_substring_regex(read.values, r"[0-9]+$", ""))
    digits = pc.replace_substring_regex(read.values, r"^.*?([0-9]{1,18})$", r"\1")
    if len(starts) != 1 or not pc.all(pc.match_substring_regex(digits, "^[0-9]{1,18}$")).as_py():
        return None
    forms = pc.unique(forms_of(read.values))
    if read.column.kind is Kind.TEXT and len(forms) > 7:
        return None
    return digits.cast(pa.int64()).to_numpy(zero_copy_only=False)


def _nothing_found(table: Table) -> Finding:
    return make_finding(
        "dictionary",
        target=table.label,
        verdict=f"No column of {table.label} looks like a hash, an encoding or a counted number.",
        targets=0,
        exposed=0,
        knowledge="What hashes and encodings look like.",
        remedy="Nothing needs to be stopped. If a column is a hash all the same, name it: --column.",
        details={"kind": "none"},
    )
