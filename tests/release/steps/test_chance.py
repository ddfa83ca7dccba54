"""Chance is repeated by the key, and by nothing else."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import InvalidKey
from discreet.release.steps.chance import secret_generator

KEY = b"0123456789abcdef"


def test_the_same_key_draws_the_same_numbers() -> None:
    assert np.array_equal(secret_generator(KEY).random(9), secret_generator(KEY).random(9))


def test_another_key_draws_other_numbers() -> None:
    assert not np.array_equal(secret_generator(KEY).random(9), secret_generator(KEY * 2).random(9))


def test_without_a_key_no_two_generators_are_alike() -> None:
    assert not np.array_equal(secret_generator(None).random(9), secret_generator(None).random(9))


def test_a_short_key_is_refused() -> None:
    with pytest.raises(InvalidKey, match="can be guessed"):
        secret_generator(b"secret")
