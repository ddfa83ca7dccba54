"""Optimized unary encoding: a bit for every value, each turned over by a coin of its own."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import pc
from discreet.dp import exact
from discreet.dp.local.protocol import Protocol
from discreet.dp.local.support import Support, require_form
from discreet.errors import UnreadableSource

_COINS_AT_ONCE = 1 << 22
_ZERO, _ONE, _MARK = b"01b"  # the mark keeps readers from taking the bits for a number


def support(protocol: Protocol) -> Support:
    """Return the chance that a value's bit is 1: the sender's own, and any other."""
    return Support(Fraction(1, 2), 1 / (protocol.odds + 1))


def perturb(codes: NDArray[np.int64], protocol: Protocol) -> dict[str, Any]:
    """Return a text of bits for each code, such as `b0100`.

    Guarantee: two values differ in two bits. Their own bit is 1 with chance 1/2, any other with
    chance 1/(odds + 1), so that a report is at most `odds` times likelier for one value than for
    another, and epsilon-DP (optimized unary encoding; Wang et al. 2017, section 4.2).
    """
    chances = support(protocol)
    pieces: list[Any] = []
    for piece in _split_codes(codes, protocol.size):
        shape = (piece.size, protocol.size)
        bits = exact.bernoulli(chances.other, piece.size * protocol.size).reshape(shape)
        bits[np.arange(piece.size), piece] = exact.bernoulli(chances.true, piece.size)
        pieces.append(_bits_to_texts(bits))
    return {"report": pa.chunked_array(pieces, pa.string())}


def count(reports: Any, protocol: Protocol) -> NDArray[np.int64]:
    """Return how many reports have the bit of each value."""
    total = np.zeros(protocol.size, np.int64)
    texts = require_form(reports, "report").cast(pa.string())
    width = protocol.size + 1
    step = max(1, _COINS_AT_ONCE // width)
    for start in range(0, len(texts), step):
        piece = pa.concat_arrays([texts.slice(start, step)])
        if pc.any(pc.not_equal(pc.binary_length(piece), width)).as_py():
            _refuse()
        letters = np.frombuffer(pc.binary_join(_as_one_list(piece), b"")[0].as_buffer(), np.uint8)
        cells = letters.reshape(-1, width)
        if (cells[:, 0] != _MARK).any() or not np.isin(cells[:, 1:], (_ZERO, _ONE)).all():
            _refuse()
        total += (cells[:, 1:] == _ONE).sum(axis=0)
    return total


def _as_one_list(texts: Any) -> Any:
    whole = pa.array([0, len(texts)], pa.int32())
    return pa.ListArray.from_arrays(whole, texts.cast(pa.binary()))


def _split_codes(codes: NDArray[np.int64], size: int) -> Iterator[NDArray[np.int64]]:
    step = max(1, _COINS_AT_ONCE // size)
    for start in range(0, codes.size, step):
        yield codes[start : start + step]


def _bits_to_texts(bits: NDArray[np.bool_]) -> Any:
    letters = np.full((bits.shape[0], bits.shape[1] + 1), _MARK, np.uint8)
    letters[:, 1:] = np.where(bits, _ONE, _ZERO)
    offsets = np.arange(bits.shape[0] + 1, dtype=np.int32) * letters.shape[1]
    return pa.StringArray.from_buffers(
        bits.shape[0], pa.py_buffer(offsets.astype(np.int32)), pa.py_buffer(letters.tobytes())
    )


def _refuse() -> None:
    raise UnreadableSource(
        "Column 'report' holds what is no row of bits of this protocol. The reports were made with "
        "another method, or with other values."
    )
