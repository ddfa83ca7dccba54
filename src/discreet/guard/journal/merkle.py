"""Trees of hashes as in RFC 6962: one root for any number of entries, and short proofs.

A proof of inclusion shows that an entry is under a root; a proof of consistency shows that a later
root has everything that an earlier one had, in the same order.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

EMPTY = hashlib.sha256(b"").digest()


def leaf_hash(data: bytes) -> bytes:
    """Return the hash of an entry."""
    return hashlib.sha256(b"\x00" + data).digest()


def node_hash(left: bytes, right: bytes) -> bytes:
    """Return the hash of two subtrees."""
    return hashlib.sha256(b"\x01" + left + right).digest()


@dataclass(frozen=True)
class Frontier:
    """The state that appending needs: the roots of the full subtrees, the largest first."""

    size: int = 0
    peaks: tuple[bytes, ...] = ()

    def append(self, leaf: bytes) -> Frontier:
        """Return the frontier after one more leaf."""
        growing = FrontierBuilder(self)
        growing.append(leaf)
        return growing.frontier()

    def root(self) -> bytes:
        """Return the hash of the whole tree."""
        if not self.peaks:
            return EMPTY
        found = self.peaks[-1]
        for peak in reversed(self.peaks[:-1]):
            found = node_hash(peak, found)
        return found


class FrontierBuilder:
    """A frontier while many leaves are appended to it."""

    def __init__(self, start: Frontier) -> None:
        self.size = start.size
        self._peaks = list(start.peaks)

    def append(self, leaf: bytes) -> None:
        """Append one leaf; subtrees of equal size are merged."""
        merges = self.size
        while merges & 1:
            leaf = node_hash(self._peaks.pop(), leaf)
            merges >>= 1
        self._peaks.append(leaf)
        self.size += 1

    def frontier(self) -> Frontier:
        """Return the frontier reached."""
        return Frontier(self.size, tuple(self._peaks))


class MerkleTree:
    """The leaves from `start` on, with the frontier before them: enough for their proofs."""

    def __init__(self, leaves: Sequence[bytes], start: Frontier | None = None) -> None:
        self._leaves = leaves
        self._start = start or Frontier()
        self._known = _peaks_by_place(self._start)
        self.size = self._start.size + len(leaves)

    def root(self, size: int | None = None) -> bytes:
        """Return the root of the first `size` leaves."""
        size = self.size if size is None else size
        return self._subtree_root(0, size) if size else EMPTY

    def inclusion(self, index: int, size: int | None = None) -> list[bytes]:
        """Return the hashes beside the path from leaf `index` to the root of `size` leaves.

        Raises:
            LookupError: the leaf does not exist, or was archived.
        """
        size = self.size if size is None else size
        if not self._start.size <= index < size <= self.size:
            raise LookupError
        low, high, proof = 0, size, list[bytes]()
        while high - low > 1:
            middle = low + _split(high - low)
            if index < middle:
                proof.append(self._subtree_root(middle, high))
                high = middle
            else:
                proof.append(self._subtree_root(low, middle))
                low = middle
        return proof[::-1]

    def consistency(self, first: int, second: int | None = None) -> list[bytes]:
        """Return the hashes that lead from the root of `first` leaves to that of `second`.

        Raises:
            LookupError: there are not as many, or they were archived.
        """
        second = self.size if second is None else second
        if not 0 < first <= second <= self.size:
            raise LookupError
        low, high, is_whole, proof = 0, second, True, list[bytes]()
        while first != high:
            middle = low + _split(high - low)
            if first <= middle:
                proof.append(self._subtree_root(middle, high))
                high = middle
            else:
                proof.append(self._subtree_root(low, middle))
                low, is_whole = middle, False
        if not is_whole:
            proof.append(self._subtree_root(low, high))
        return proof[::-1]

    def _subtree_root(self, low: int, high: int) -> bytes:
        known = self._known.get((low, high))
        if known is not None:
            return known
        if high - low == 1:
            if low < self._start.size:
                raise LookupError
            return self._leaves[low - self._start.size]
        middle = low + _split(high - low)
        found = node_hash(self._subtree_root(low, middle), self._subtree_root(middle, high))
        if high - low >= 16:  # proofs of one tree share their large parts
            self._known[low, high] = found
        return found


def is_included(leaf: bytes, index: int, size: int, proof: Sequence[bytes], root: bytes) -> bool:
    """Return whether `proof` leads from the leaf to the root (RFC 9162, 2.1.3.2)."""
    if not 0 <= index < size:
        return False
    place, last, found = index, size - 1, leaf
    for beside in proof:
        if last == 0:
            return False
        if place & 1 or place == last:
            found = node_hash(beside, found)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            found = node_hash(found, beside)
        place, last = place >> 1, last >> 1
    return last == 0 and found == root


def is_consistent(
    first: int, second: int, proof: Sequence[bytes], first_root: bytes, second_root: bytes
) -> bool:
    """Return whether `proof` leads from the earlier root to the later one (RFC 9162, 2.1.4.2)."""
    if not 0 < first <= second:
        return False
    if first == second:
        return not proof and first_root == second_root
    path = [first_root, *proof] if first & (first - 1) == 0 else list(proof)
    place, last = first - 1, second - 1
    while place & 1:
        place, last = place >> 1, last >> 1
    if not path:
        return False
    return _leads_to_roots(path, (place, last), (first_root, second_root))


def _leads_to_roots(
    path: Sequence[bytes], start: tuple[int, int], roots: tuple[bytes, bytes]
) -> bool:
    place, last = start
    earlier = later = path[0]
    for beside in path[1:]:
        if last == 0:
            return False
        if place & 1 or place == last:
            earlier, later = node_hash(beside, earlier), node_hash(beside, later)
            while not place & 1 and place:
                place, last = place >> 1, last >> 1
        else:
            later = node_hash(later, beside)
        place, last = place >> 1, last >> 1
    return last == 0 and (earlier, later) == roots


def _split(size: int) -> int:
    """Return the largest power of two below `size`."""
    return 1 << ((size - 1).bit_length() - 1)


def _peaks_by_place(start: Frontier) -> dict[tuple[int, int], bytes]:
    places: dict[tuple[int, int], bytes] = {}
    low = 0
    for peak in start.peaks:
        width = 1 << ((start.size - low).bit_length() - 1)
        places[low, low + width] = peak
        low += width
    return places
