"""Trees and proofs, held against another implementation."""

from __future__ import annotations

import hashlib

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pymerkle import InmemoryTree

from discreet.guard.journal.merkle import (
    EMPTY,
    Frontier,
    MerkleTree,
    is_consistent,
    is_included,
    leaf_hash,
)

DATA = [b"entry %d" % number for number in range(40)]
LEAVES = [leaf_hash(data) for data in DATA]


def frontier_of(leaves: list[bytes]) -> Frontier:
    frontier = Frontier()
    for leaf in leaves:
        frontier = frontier.append(leaf)
    return frontier


@pytest.fixture(scope="module")
def oracle() -> InmemoryTree:
    tree = InmemoryTree(algorithm="sha256")
    for data in DATA:
        tree.append_entry(data)
    return tree


def test_the_root_of_nothing_is_the_hash_of_nothing():
    assert MerkleTree([]).root() == Frontier().root() == EMPTY == hashlib.sha256(b"").digest()


@pytest.mark.parametrize("size", range(1, 41))
def test_roots_and_proofs_are_those_of_pymerkle(oracle: InmemoryTree, size: int):
    tree = MerkleTree(LEAVES)
    root = oracle.get_root(size)
    assert tree.root(size) == frontier_of(LEAVES[:size]).root() == root
    for index in range(size):
        proof = tree.inclusion(index, size)
        assert proof == oracle_path(oracle.prove_inclusion(index + 1, size))[1:]
        assert is_included(LEAVES[index], index, size, proof, root)


@pytest.mark.parametrize("size", [1, 2, 3, 8, 21, 32, 33, 40])
def test_an_earlier_root_is_shown_to_be_a_beginning(size: int):
    tree = MerkleTree(LEAVES)
    for first in range(1, size + 1):
        proof = tree.consistency(first, size)
        assert is_consistent(first, size, proof, tree.root(first), tree.root(size))
        assert not is_consistent(first, size, proof, EMPTY, tree.root(size))
        assert not is_consistent(first, size, proof, tree.root(first), EMPTY)


def oracle_path(proof) -> list[bytes]:
    return [bytes.fromhex(digest) for digest in proof.serialize()["path"]]


@given(st.integers(1, 40), st.data())
def test_a_proof_is_refused_for_anything_else(size: int, data: st.DataObject):
    tree = MerkleTree(LEAVES)
    index = data.draw(st.integers(0, size - 1))
    proof, root = tree.inclusion(index, size), tree.root(size)
    other = data.draw(st.integers(0, 39))
    if other != index:
        assert not is_included(LEAVES[other], index, size, proof, root)
        assert not is_included(LEAVES[index], other, size, proof, root)
    assert not is_included(LEAVES[index], index, size, [*proof, root], root)
    if proof:
        assert not is_included(LEAVES[index], index, size, proof[:-1], root)


@given(st.integers(0, 40), st.integers(1, 40))
def test_a_tree_whose_beginning_is_gone_proves_the_rest(gone: int, size: int):
    whole, rest = MerkleTree(LEAVES), MerkleTree(LEAVES[gone:], frontier_of(LEAVES[:gone]))
    assert rest.root() == whole.root()
    for index in range(gone, size):
        assert rest.inclusion(index, size) == whole.inclusion(index, size)
    if gone:
        with pytest.raises(LookupError):
            rest.inclusion(gone - 1)
