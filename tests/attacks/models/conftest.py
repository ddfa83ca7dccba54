"""People of Adult, half of whom a model is trained on, and classifiers for them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

OUTCOME = "salary-class"
PEOPLE = 2000


@pytest.fixture(scope="session")
def adult(shared_data: Path) -> Any:
    """4,000 people of Adult by chance."""
    table = csv.read_csv(
        shared_data / "adult" / "adult.csv", parse_options=csv.ParseOptions(delimiter=";")
    )
    return table.take(np.random.default_rng(1).permutation(table.num_rows)[: 2 * PEOPLE])


@pytest.fixture(scope="session")
def source(adult: Any) -> Any:
    return adult.slice(0, PEOPLE)


@pytest.fixture(scope="session")
def control(adult: Any) -> Any:
    return adult.slice(PEOPLE)


def encode_words(estimator: Any) -> Any:
    """Return a pipeline that takes the columns of Adult as they are."""
    words = OneHotEncoder(handle_unknown="ignore")
    encoder = (words, make_column_selector(dtype_include=["object", "string"]))
    return make_pipeline(make_column_transformer(encoder, remainder="passthrough"), estimator)


@pytest.fixture(scope="session")
def fitted(source: Any) -> Callable[[Any], Any]:
    """Return a classifier that is fitted to the source."""

    def fit(estimator: Any) -> Any:
        frame = pa.table(source).to_pandas()
        return encode_words(estimator).fit(frame.drop(columns=OUTCOME), frame[OUTCOME])

    return fit
