"""Random draws that only the holder of the key can repeat."""

from __future__ import annotations

import hashlib
import os

import numpy as np

from discreet.errors import InvalidKey

_FEWEST_BYTES = 16


def secret_generator(key: bytes | None) -> np.random.Generator:
    """Return a generator that `key` determines; without a key, one that cannot be repeated.

    Perturbed rows can be undone by repeating the draws. A seed of 32 bits is found by trying
    them all, so that the state comes from 384 bits of BLAKE2b of the key, and neither the key nor
    the seed may be published. Philox (Salmon et al. 2011) is a keyed counter: no way is known to
    get its key from its numbers, though it is not a cipher made to withstand that.

    Raises:
        InvalidKey: The key is too short to be secret.

    >>> first, again = (secret_generator(b"sixteen bytes or more") for _ in range(2))
    >>> bool(first.random() == again.random())
    True
    """
    if key is None:
        secret = os.urandom(48)
    elif len(key) < _FEWEST_BYTES:
        raise InvalidKey(
            f"The key has {len(key)} bytes, which can be guessed. Use at least {_FEWEST_BYTES} "
            "random bytes, such as those of `openssl rand -hex 32`."
        )
    else:
        secret = hashlib.blake2b(key, digest_size=48, person=b"discreet.steps").digest()
    words = np.frombuffer(secret, dtype="<u8").astype(np.uint64)
    return np.random.Generator(np.random.Philox(key=words[:2], counter=words[2:]))
