"""Proofs that one entry is under a signed checkpoint; they show no other entry."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from discreet.errors import SourceNotFound, WrongUsage
from discreet.guard.journal import chain
from discreet.guard.journal.checkpoints import is_signed, read_checkpoints
from discreet.guard.journal.journal import Journal, journal_broken
from discreet.guard.journal.merkle import is_included, leaf_hash

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

_HASH_BYTES = 32


@dataclass(frozen=True)
class InclusionProof:
    """An entry, the hashes beside its path in the tree, and a checkpoint over it.

    Attributes:
        entry: The number of the entry, from 1.
        body: Its text.
        hashes: In hex, from the entry up to the root.
        checkpoint: The signed text that holds the root.
    """

    entry: int
    body: str
    hashes: tuple[str, ...]
    checkpoint: str

    def to_json(self) -> str:
        """Return the proof as one line of JSON."""
        return json.dumps(asdict(self), sort_keys=True) + "\n"


def prove_inclusion(journal: Journal, number: int) -> InclusionProof:
    """Return the proof that the entry `number` is under the journal's latest checkpoint.

    Raises:
        SourceNotFound: there is no such entry, it was archived, or no checkpoint covers it yet.
        JournalBroken: the entries are not what was signed.
    """
    signed = [found for found in journal.checkpoints() if found.size >= number]
    with journal.snapshot() as connection:
        bodies = [row[1] for row in chain.read_entries(connection, after=number - 1, until=number)]
    if not bodies:
        raise SourceNotFound(
            f"The journal has no entry {number:,}: it was archived, or was never written."
        )
    if not signed:
        raise SourceNotFound(
            f"No checkpoint covers entry {number:,} yet. The server signs one every minute, and when it stops."
        )
    checkpoint = signed[-1]
    hashes = journal.tree().inclusion(number - 1, checkpoint.size)
    if not is_included(
        leaf_hash(bodies[0].encode()), number - 1, checkpoint.size, hashes, checkpoint.root
    ):
        raise journal_broken(f"its entries are not those of the checkpoint of {checkpoint.size:,}")
    return InclusionProof(number, bodies[0], tuple(each.hex() for each in hashes), checkpoint.note)


def read_proof(text: str, *, place: str) -> InclusionProof:
    """Return the proof that `text` holds.

    Raises:
        WrongUsage: it holds something else.
    """
    try:
        found: Any = json.loads(text)
        proof = InclusionProof(
            int(found["entry"]),
            str(found["body"]),
            tuple(str(each) for each in found["hashes"]),
            str(found["checkpoint"]),
        )
        lengths = {len(bytes.fromhex(each)) for each in proof.hashes}
    except (ValueError, KeyError, TypeError):
        lengths, proof = {0}, None
    if proof is None or lengths - {_HASH_BYTES}:
        raise WrongUsage(f"{place} does not hold a proof that `discreet journal prove` wrote.")
    return proof


def is_proven(proof: InclusionProof, key: Ed25519PublicKey) -> bool:
    """Return whether the holder of `key` signed a checkpoint over this entry at this place."""
    checkpoints = read_checkpoints(proof.checkpoint, place="The proof")
    checkpoint = checkpoints[0]
    return is_signed(checkpoint, key) and is_included(
        leaf_hash(proof.body.encode()),
        proof.entry - 1,
        checkpoint.size,
        [bytes.fromhex(each) for each in proof.hashes],
        checkpoint.root,
    )
