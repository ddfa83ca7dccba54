"""The people of earlier exact answers: stored permanently, and judged with each new query."""

from __future__ import annotations

import base64
import hashlib
import json
import secrets
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.attacks.questions.elimination import determine_unknowns
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.control.documents import Documents
from discreet.guard.control.versions import conflict

People = NDArray[np.uint64]
Body = Mapping[str, Any]

MOST_ANSWERS = 200  # different answers about a table for one user
MOST_BYTES = 16 << 20  # of the stored answers about one table
KIND, PEOPLE = "controlled answers", "controlled people"
_SECRET = ("secret", "controlled people")  # a kind that is sealed where the server has a key
_MOST_WORK = 100_000_000  # of one audit: about ten seconds
_TRIES = 20
TOO_CLOSE = "the question is too close to earlier ones"
_ENOUGH = "no more questions about this table are answered"


@dataclass(frozen=True)
class AuditedQuestion:
    """The people that a query is about, and those with values in each aggregated column.

    `askers` are those whose answers it counts among: the user, the role, and the control's roles.
    With `overlap` it shares at most so many people with each earlier one; with `audit` all sums of a
    column together determine no person's value. `control` is for the journal.
    """

    askers: frozenset[str]
    people: People
    columns: Mapping[str, People] = field(hash=False)
    overlap: int | None
    audit: bool
    control: str


@dataclass(frozen=True)
class _Entry:
    """An answer: people as the bits of a number, by their positions in the list of people."""

    askers: frozenset[str]
    people: int
    columns: Mapping[str, int] = field(hash=False)

    def covers(self, other: _Entry) -> bool:
        return (
            self.people == other.people
            and self.askers >= other.askers
            and self.columns.items() >= other.columns.items()
        )


class AnswerHistory:
    """The answers about one table, in the control store.

    Guarantee: a query is admitted only if it and all admitted before, by any session or gateway,
    satisfy the rules; when `admit` returns, it is stored.
    """

    def __init__(self, documents: Documents, sealed: Documents, table: str) -> None:
        self._documents, self._sealed, self._table = documents, sealed, table

    def fingerprints(self, people: Iterable[Sequence[object]]) -> People:
        """Return a number for each person, independent of changes to their rows."""
        fresh = {"key": secrets.token_hex(32)}
        kept = self._sealed.update(*_SECRET, lambda found: found or fresh) or fresh
        key = bytes.fromhex(kept["key"])
        digests = (
            hashlib.blake2b(_person_text(person).encode(), key=key, digest_size=8).digest()
            for person in people
        )
        return np.frombuffer(b"".join(digests), "<u8")

    def admit(self, question: AuditedQuestion) -> None:
        """Store the query as answered.

        Raises:
            AccessDenied: 42501, it violates a rule; 53400, no more are answered.
            StatementFailed: 40001, too many concurrent queries, so it was not decided.
        """
        entry = self._make_entry(question)
        for _ in range(_TRIES):
            seen = self._documents.get(KIND, self._table)
            kept = _read_entries(seen)
            if any(one.covers(entry) for one in kept):
                return
            # Judged before the store is locked, and again if another query was stored meanwhile.
            _require_safe(question, entry, [one for one in kept if one.askers & entry.askers])
            try:
                self._documents.update(
                    KIND, self._table, lambda old, seen=seen: _add_entry(old, seen, entry)
                )
            except StatementFailed as error:
                if error.sqlstate != conflict().sqlstate:
                    raise
            else:
                return
        raise conflict()

    def _make_entry(self, question: AuditedQuestion) -> _Entry:
        places = self._person_positions(question.people)
        bits = _position_bits(places)
        order = np.argsort(question.people)
        columns = {
            name: _position_bits(
                places[order[np.searchsorted(question.people, people, sorter=order)]]
            )
            for name, people in question.columns.items()
        }
        return _Entry(question.askers, bits, columns)

    def _person_positions(self, people: People) -> NDArray[np.int64]:
        """Return the positions of people in the list, which only grows."""

        def grown(found: Body | None) -> Body:
            known = _known_people(found)
            fresh = np.setdiff1d(people, known)
            if found is not None and not len(fresh):
                return found
            return {
                "people": _compress_text(np.concatenate([known, fresh]).astype("<u8").tobytes())
            }

        known = _known_people(self._documents.get(PEOPLE, self._table))
        if np.setdiff1d(people, known).size:
            known = _known_people(self._documents.update(PEOPLE, self._table, grown))
        order = np.argsort(known)
        return order[np.searchsorted(known, people, sorter=order)]


def determines(sums: Sequence[int]) -> bool:
    """Return whether sums over sets of people, each the bits of a number, determine one of them.

    >>> determines([0b1111, 0b0011]), determines([0b1111, 0b0111])
    (False, True)

    Raises:
        AccessDenied: 53400, the audit would take too long.
    """
    width = max(number.bit_length() for number in sums)
    matrix = np.stack([_unpack_bits(number, width) for number in sums])
    # People in the same sums are indistinguishable: together they are one unknown.
    packed = np.ascontiguousarray(np.packbits(matrix, axis=0).T)
    patterns = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()
    _, first, counts = np.unique(patterns, return_index=True, return_counts=True)
    columns = matrix[:, first].astype(np.bool_)
    if len(sums) * columns.size > _MOST_WORK:
        raise AccessDenied(_ENOUGH, sqlstate="53400", reason="the audit would take too long")
    return any(counts[found.unknown] == 1 for found in determine_unknowns(columns))


def _require_safe(question: AuditedQuestion, entry: _Entry, kept: Sequence[_Entry]) -> None:
    sets = {one.people for one in kept}
    if entry.people not in sets:
        if len(sets) >= MOST_ANSWERS:
            raise _no_more(question)
        widest = max(((entry.people & one).bit_count() for one in sets), default=0)
        if question.overlap is not None and widest > question.overlap:
            raise _too_close(question, "overlap")
    if not question.audit:
        return
    for name, people in entry.columns.items():
        sums = {one.columns[name] for one in kept if name in one.columns}
        if people not in sums and determines([*sums, people]):
            raise _too_close(question, "audit")


def _too_close(question: AuditedQuestion, rule: str) -> AccessDenied:
    return AccessDenied(TOO_CLOSE, reason=f"control {question.control}: {rule}")


def _no_more(question: AuditedQuestion) -> AccessDenied:
    return AccessDenied(
        _ENOUGH,
        sqlstate="53400",
        reason=f"control {question.control}: as many answers as can be kept",
    )


def _add_entry(old: Body | None, seen: Body | None, entry: _Entry) -> Body:
    """Return the answers with one more, unless others were stored meanwhile."""
    if old != seen:
        raise conflict()
    sets = list(old["sets"]) if old is not None else []
    columns = {
        name: None if people == entry.people else _encode_bits(people)
        for name, people in entry.columns.items()
    }
    sets.append(
        {"askers": sorted(entry.askers), "people": _encode_bits(entry.people), "columns": columns}
    )
    if sum(len(text) for text in _encoded_sets(sets)) > MOST_BYTES:
        raise AccessDenied(_ENOUGH, sqlstate="53400", reason="no room for more answers")
    return {"sets": sets}


def _encoded_sets(sets: Iterable[Body]) -> Iterator[str]:
    for one in sets:
        yield from (text for text in (one["people"], *one["columns"].values()) if text)


def _read_entries(body: Body | None) -> list[_Entry]:
    found: list[_Entry] = []
    for one in body["sets"] if body is not None else ():
        people = _decode_bits(one["people"])
        columns = {
            name: people if text is None else _decode_bits(text)
            for name, text in one["columns"].items()
        }
        found.append(_Entry(frozenset(one["askers"]), people, columns))
    return found


def _known_people(body: Body | None) -> People:
    return np.frombuffer(b"" if body is None else _decompress_text(body["people"]), "<u8")


def _position_bits(places: NDArray[np.int64]) -> int:
    flags = np.zeros(int(places.max(initial=-1)) + 1, np.uint8)
    flags[places] = 1
    return int.from_bytes(np.packbits(flags, bitorder="little").tobytes(), "little")


def _unpack_bits(number: int, width: int) -> NDArray[np.uint8]:
    data = np.frombuffer(number.to_bytes((width + 7) // 8, "little"), np.uint8)
    return np.unpackbits(data, count=width, bitorder="little")


def _encode_bits(bits: int) -> str:
    return _compress_text(bits.to_bytes((bits.bit_length() + 7) // 8, "little"))


def _decode_bits(text: str) -> int:
    return int.from_bytes(_decompress_text(text), "little")


def _compress_text(data: bytes) -> str:
    return base64.b64encode(zlib.compress(data, 6)).decode()


def _decompress_text(text: str) -> bytes:
    return zlib.decompress(base64.b64decode(text))


def _person_text(person: Sequence[object]) -> str:
    return json.dumps([None if part is None else str(part) for part in person])
