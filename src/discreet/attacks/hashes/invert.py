"""Hashes undone by trying: every guess is hashed on the engine and looked up among what was published."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import pyarrow as pa
from sqlglot import exp

from discreet.arrow import ArrowArray, pc
from discreet.attacks.hashes.candidates import Guesses
from discreet.attacks.hashes.hashes import Digests, digest_function, digest_on_engine
from discreet.engines.duckdb import DuckDB
from discreet.engines.engine import ArrowBatch, ArrowTable
from discreet.errors import WrongUsage
from discreet.sql import build

# What may have been done to a text before it was hashed; the first of each is the usual one.
VARIATIONS: Mapping[str, tuple[str, ...]] = {
    "case": ("", "upper", "lower"),
    "newline": ("", "newline"),
    "encoding": ("", "utf-16"),
}


@dataclass(frozen=True)
class HashVariant:
    """One way in which a text may have become a hash."""

    hash_name: str
    salt: str = ""  # before or after
    case: str = ""  # upper or lower
    newline: str = ""
    encoding: str = ""

    @property
    def is_plain(self) -> bool:
        """Whether the text itself was hashed."""
        return not (self.salt or self.case or self.newline or self.encoding)

    def __str__(self) -> str:
        salted = f"salt {self.salt} the text" if self.salt else ""
        cased = f"{self.case} case" if self.case else ""
        parts = (salted, cased, self.newline, self.encoding)
        return ", ".join([self.hash_name, *(part for part in parts if part)])


@dataclass(frozen=True)
class Inverted:
    """What was undone: `hits` has each digest with the guess behind it, by the way that worked."""

    way: HashVariant
    hits: ArrowTable
    tried: int
    found_in: Mapping[str, int] = field(default_factory=dict[str, int])


def list_hash_variants(
    hashes: Sequence[str], *, salt: str | None, vary: Sequence[str] = ()
) -> list[HashVariant]:
    """Return the ways to try, usual ones first.

    >>> [str(way) for way in list_hash_variants(["md5"], salt="pepper")]
    ['md5, salt before the text', 'md5, salt after the text']
    """
    for name in vary:
        if name not in VARIATIONS:
            raise WrongUsage(f"'{name}' is no variation. Choose among: {', '.join(VARIATIONS)}.")
    salts = ("before", "after") if salt else ("",)
    choices = [VARIATIONS[name] if name in vary else ("",) for name in VARIATIONS]
    tries = [
        HashVariant(name, salted, *varied)
        for varied in product(*choices)
        for salted in salts
        for name in hashes
    ]
    changes = {way: sum(map(bool, (way.case, way.newline, way.encoding))) for way in tries}
    return sorted(tries, key=lambda way: changes[way])


def invert(
    digests: Digests, guesses: Sequence[Guesses], tries: Sequence[HashVariant], *, salt: str = ""
) -> Inverted:
    """Return what the first way that undoes anything undoes; nothing, if none does."""
    engine = DuckDB()
    published = pa.table({"digest": pc.unique(digests.texts.drop_null())})
    try:
        relation = engine.load(published.to_reader())
        tried = 0
        for way in tries:
            found = [_look_up(engine, relation, each, way, salt, digests.bits) for each in guesses]
            tried += sum(each.size for each in guesses)
            hits = pa.concat_tables(found) if found else _empty_hits()
            if hits.num_rows:
                found_in = {
                    each.name: len(pc.unique(part["digest"]))
                    for each, part in zip(guesses, found, strict=True)
                }
                once = hits.group_by(["digest", "guess"]).aggregate([])
                return Inverted(way, once, tried, found_in)
        return Inverted(tries[0], _empty_hits(), tried)
    finally:
        engine.close()


def _look_up(
    engine: DuckDB, published: exp.Table, guesses: Guesses, way: HashVariant, salt: str, bits: int
) -> ArrowTable:
    hashed = "guess" if way.is_plain else "hashed"
    digest = digest_on_engine(way.hash_name, build.column(hashed), bits=bits)
    batches = (_guess_batch(texts, way, salt) for texts in guesses.batches())
    if digest is None:
        batches = _hash_batches(batches, digest_function(way.hash_name, bits=bits), hashed)
        digest = build.column("digest")
    first = next(batches, None)
    if first is None:
        return _empty_hits()
    reader = pa.RecordBatchReader.from_batches(first.schema, _prepend_batch(first, batches))
    incoming = engine.register(reader)
    known = build.select(build.column("digest"), source=published.copy())
    query = build.select(
        build.alias_as(digest.copy(), "digest"), build.column("guess"), source=incoming
    ).where(exp.In(this=digest.copy(), query=exp.Subquery(this=known)))
    try:
        return engine.run(query)
    finally:
        engine.drop(incoming)


def _prepend_batch(first: ArrowBatch, rest: Iterator[ArrowBatch]) -> Iterator[ArrowBatch]:
    yield first
    yield from rest


def _guess_batch(texts: ArrowArray, way: HashVariant, salt: str) -> ArrowBatch:
    if way.is_plain:
        return pa.record_batch({"guess": texts})
    return pa.record_batch({"guess": texts, "hashed": _apply_variant(texts, way, salt)})


def _apply_variant(texts: ArrowArray, way: HashVariant, salt: str) -> ArrowArray:
    if way.case:
        texts = pc.utf8_upper(texts) if way.case == "upper" else pc.utf8_lower(texts)
    parts: list[Any] = [salt, texts] if way.salt == "before" else [texts]
    parts += [salt] if way.salt == "after" else []
    parts += ["\n"] if way.newline else []
    joined = pc.binary_join_element_wise(*parts, "") if len(parts) > 1 else texts
    if way.encoding:
        encoded = [text.encode("utf-16-le") for text in joined.to_pylist()]
        return pa.array(encoded, pa.binary())
    return joined


def _hash_batches(
    batches: Iterator[ArrowBatch], digest: Callable[[bytes], str], hashed: str
) -> Iterator[ArrowBatch]:
    """Yield batches with the digest of what the engine cannot hash itself."""
    for batch in batches:
        data = batch[hashed].cast(pa.binary()).to_pylist()
        yield pa.record_batch({"guess": batch["guess"], "digest": [digest(each) for each in data]})


def _empty_hits() -> ArrowTable:
    return pa.table({"digest": pa.array([], pa.string()), "guess": pa.array([], pa.string())})
