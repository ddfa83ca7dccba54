"""Splink on DuckDB: how likely two records are of one person (Fellegi & Sunter 1969)."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from discreet.arrow import ArrowArray, pc
from discreet.engines.duckdb import call_duckdb, hide_progress_bar
from discreet.errors import MissingExtra, WrongUsage

_SAMPLED = 1_000_001  # pairs from which chance agreement is learned; Splink warns of 1e6 exactly
_MOST_PAIRS = 50  # pairs that one rule may bring together, per record
_FEW = 12  # different values up to which a column is a category
_ASSUMED = 0.7  # share of true pairs that agree in every column, unless there are fewer such pairs


@dataclass(frozen=True)
class Scored:
    """Pairs of records (places in either table), with the evidence for them and its chance."""

    people: NDArray[np.int64]
    rows: NDArray[np.int64]
    weights: NDArray[np.float64]
    chances: NDArray[np.float64]


def score_record_pairs(
    people: Sequence[ArrowArray],
    rows: Sequence[ArrowArray],
    *,
    rng: np.random.Generator,
) -> Scored:
    """Return the pairs that may be of one person, by columns of text or dates on either side.

    Args:
        people: The columns of the known people.
        rows: The same columns of the release.
        rng: Chance for the sample from which agreement by accident is learned.

    Raises:
        WrongUsage: No columns bring few enough records together to compare them.
    """
    splink = _import_splink()
    names = [f"c{index}" for index in range(len(people))]
    blocks = _choose_blocking_rules(people, rows)
    if not blocks:
        raise WrongUsage(
            "The columns of --on take too few values: every row would have to be compared with every "
            "other. Add a column, such as a birth date or a name."
        )
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=[
            _choose_comparison(name, values) for name, values in zip(names, rows, strict=True)
        ],
        blocking_rules_to_generate_predictions=[
            splink.block_on(*(names[i] for i in block)) for block in blocks
        ],
        probability_two_random_records_match=_match_probability(people, rows),
        retain_matching_columns=False,
    )
    tables = [_record_table(people, names), _record_table(rows, names)]
    return call_duckdb(
        lambda: _predict_pairs(splink, settings, tables, blocks, seed=_draw_seed(rng))
    )


def _import_splink() -> Any:
    try:
        import splink
    except ImportError:
        raise MissingExtra(what="Fuzzy linkage", extra="attack") from None
    logging.getLogger("splink").setLevel(logging.ERROR)
    return splink


def _draw_seed(rng: np.random.Generator) -> int:
    return int(rng.integers(1, 2**31))


def _record_table(columns: Sequence[ArrowArray], names: Sequence[str]) -> Any:
    return pa.table(
        {"unique_id": np.arange(len(columns[0])), **dict(zip(names, columns, strict=True))}
    )


def _predict_pairs(
    splink: Any,
    settings: Any,
    tables: Sequence[Any],
    blocks: Sequence[tuple[int, ...]],
    *,
    seed: int,
) -> Scored:
    from splink.backends.duckdb import DuckDBAPI

    connection = duckdb.connect(
        ":memory:",
        config={"autoinstall_known_extensions": False, "autoload_known_extensions": False},
    )
    try:
        hide_progress_bar(connection)
        interface = DuckDBAPI(connection=connection)
        sources = [
            interface.register(table, dataset_display_name=name)
            for name, table in zip(("a_people", "b_rows"), tables, strict=True)
        ]
        linker: Any = splink.Linker(sources, settings, log_level=logging.ERROR)
        linker.training.estimate_u_using_random_sampling(max_pairs=_SAMPLED, seed=seed)
        for block in _choose_training_rules(blocks):
            _train_model(linker, splink.block_on(*(f"c{index}" for index in block)))
        found = linker.inference.predict(
            threshold_match_probability=0.01, warning_mode="never"
        ).as_pyarrow_table()
    finally:
        connection.close()
    left, right, weights, chances = (
        found[name].to_numpy()
        for name in ("unique_id_l", "unique_id_r", "match_weight", "match_probability")
    )
    return Scored(left, right, weights.astype(np.float64), chances.astype(np.float64))


def _choose_training_rules(blocks: Sequence[tuple[int, ...]]) -> list[tuple[int, ...]]:
    """Return rules that share no column: what one takes for granted, the other learns."""
    chosen = [blocks[0]]
    chosen += [block for block in blocks[1:] if not set(block) & set(blocks[0])][:1]
    return chosen


def _train_model(linker: Any, rule: Any) -> None:
    from splink.internals.exceptions import EMTrainingException, SplinkException

    try:
        linker.training.estimate_parameters_using_expectation_maximisation(
            rule, record_sample_proportion=1.0
        )
    except (EMTrainingException, SplinkException):
        # Too few records to learn from: Splink's own values stay in place.
        return


def _choose_comparison(name: str, values: ArrowArray) -> Any:
    import splink.comparison_library as library

    if pa.types.is_date(values.type):
        return library.DateOfBirthComparison(name, input_is_string=False)
    if len(pc.unique(values)) <= _FEW:
        return library.ExactMatch(name)
    if pc.any(pc.match_substring_regex(values, r"\d")).as_py():
        return library.DamerauLevenshteinAtThresholds(name, [1, 2])
    return library.JaroWinklerAtThresholds(name, [0.92, 0.8])


def _choose_blocking_rules(
    people: Sequence[ArrowArray], rows: Sequence[ArrowArray]
) -> list[tuple[int, ...]]:
    """Return the sets of columns whose agreement brings few enough records together.

    Single columns where these suffice, else pairs of them: a typo in one column leaves the others.
    """
    codes = [_encode_both_sides(mine, theirs) for mine, theirs in zip(people, rows, strict=True)]
    most = _MOST_PAIRS * (len(people[0]) + len(rows[0]))
    found = [
        (index,) for index in range(len(codes)) if _count_agreeing_pairs(codes, (index,)) <= most
    ]
    for size in (2, 3):
        covered = {index for block in found for index in block}
        if len(found) > 1 or not set(range(len(codes))) - covered:
            break
        found += [
            block
            for block in combinations(range(len(codes)), size)
            if not any(set(other) <= set(block) for other in found)
            and _count_agreeing_pairs(codes, block) <= most
        ]
    return sorted(found, key=lambda block: _count_agreeing_pairs(codes, block))


def _encode_both_sides(
    mine: ArrowArray, theirs: ArrowArray
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    both = pc.dictionary_encode(pa.chunked_array([mine, theirs]).combine_chunks())
    numbers = pc.fill_null(both.indices, -1).to_numpy(zero_copy_only=False).astype(np.int64)
    return numbers[: len(mine)], numbers[len(mine) :]


def _count_agreeing_pairs(codes: Sequence[Any], block: tuple[int, ...]) -> float:
    """Return how many pairs of records agree in the columns of `block`."""
    sides: list[NDArray[np.int64]] = []
    for side in (0, 1):
        columns = np.stack([codes[index][side] for index in block], axis=1)
        sides.append(columns[(columns >= 0).all(axis=1)])
    _, inverse = np.unique(np.concatenate(sides), axis=0, return_inverse=True)
    inverse = inverse.ravel()
    size = int(inverse.max(initial=-1)) + 1
    left = np.bincount(inverse[: len(sides[0])], minlength=size)
    right = np.bincount(inverse[len(sides[0]) :], minlength=size)
    return float(np.dot(left.astype(np.float64), right))


def _match_probability(people: Sequence[ArrowArray], rows: Sequence[ArrowArray]) -> float:
    """Return the chance that two records taken blindly are of one person."""
    codes = [_encode_both_sides(mine, theirs) for mine, theirs in zip(people, rows, strict=True)]
    equal = _count_agreeing_pairs(codes, tuple(range(len(codes))))
    smaller, total = min(len(people[0]), len(rows[0])), len(people[0]) * len(rows[0])
    expected = min(equal / _ASSUMED, smaller) if equal else smaller / 10
    return float(min(max(expected / max(total, 1), 1e-9), 0.5))
