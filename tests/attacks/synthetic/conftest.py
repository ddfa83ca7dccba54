"""People, others of the same population, and synthetic tables made from the people in several ways."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from discreet.attacks.synthetic.trial import SyntheticTrial, open_trial

ROWS = 1000


def draw_people(rng: np.random.Generator, rows: int) -> Any:
    """Return people whose columns lean on each other, with gaps."""
    age = rng.integers(18, 90, rows)
    town = rng.integers(0, 40, rows)
    income = np.round(200.0 * age + rng.normal(0, 4000, rows) + 10_000, 0)
    ill = np.where(rng.random(rows) < age / 120, "yes", "no")
    return pa.table(
        {
            "age": pa.array(age, mask=rng.random(rows) < 0.03),
            "sex": rng.choice(["f", "m"], rows),
            "town": pa.array([f"town-{number}" for number in town]),
            "income": pa.array(income, mask=rng.random(rows) < 0.05),
            "ill": pa.array(ill, mask=rng.random(rows) < 0.02),
        }
    )


@pytest.fixture(scope="session")
def source() -> Any:
    return draw_people(np.random.default_rng(1), ROWS)


@pytest.fixture(scope="session")
def control() -> Any:
    return draw_people(np.random.default_rng(2), ROWS)


@pytest.fixture(scope="session")
def population() -> Any:
    """Drawn from the population itself: as good as synthetic data can be, and no copy of anyone."""
    return draw_people(np.random.default_rng(3), ROWS)


@pytest.fixture(scope="session")
def honest(source: Any, control: Any, population: Any) -> SyntheticTrial:
    """Columns drawn independently of each other, from the people of the population."""
    rng = np.random.default_rng(4)
    columns = {
        name: population[name].take(rng.integers(0, ROWS, ROWS)) for name in source.column_names
    }
    return open_trial(pa.table(columns), source=source, control=control)


@pytest.fixture(scope="session")
def leaky(source: Any, control: Any) -> SyntheticTrial:
    """People copied with replacement."""
    copied = source.take(np.random.default_rng(5).integers(0, ROWS, ROWS))
    return open_trial(copied, source=source, control=control)


@pytest.fixture(scope="session")
def faithful(source: Any, control: Any, population: Any) -> SyntheticTrial:
    """Everything about the population, nothing about the people of the source."""
    return open_trial(population, source=source, control=control)
