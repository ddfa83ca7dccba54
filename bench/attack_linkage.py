"""Linkage against the bare join, through labels, and with typos beside Splink alone.

`python -m bench.attack_linkage [exact] [tolerance] [labels] [fuzzy]`; without words, all of them.
Times are CPU seconds of all threads, then wall seconds; the best of three.
"""

from __future__ import annotations

import sys
import time
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from bench.figures import FigureTable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from discreet.engines.engine import Table

Line = tuple[str, str, str, str]

MILLION = 1_000_000
FUZZY = 100_000
ON = ("dob", "zip", "sex")


def people(rng: np.random.Generator, count: int, *, start: int = 0) -> pa.Table:
    """Return made-up people: a birth date of 88 years, one of 30,000 ZIP codes, a sex, a number."""
    return pa.table(
        {
            "who": np.arange(start, start + count),
            "dob": pa.array(rng.integers(-20_000, 12_000, count).astype(np.int32)).cast(
                pa.date32()
            ),
            "zip": pa.array(rng.integers(10_000, 40_000, count)).cast(pa.string()),
            "sex": pa.array(np.array(["F", "M"])).take(pa.array(rng.integers(0, 2, count))),
        }
    )


def opened(rng: np.random.Generator, count: int, *, shift: int = 0) -> tuple[Table, Table]:
    """Return a release and a list of as many people, half of them in it, kept on one engine."""
    from dataclasses import replace

    from discreet.engines.connect import open_table
    from discreet.sql import build

    release = people(rng, count)
    inside = release.slice(0, count // 2)
    if shift:
        days = pa.chunked_array(inside["dob"]).combine_chunks().cast(pa.int32())
        moved = np.asarray(days) + rng.integers(-shift, shift + 1, len(days))
        dates = pa.array(moved.astype(np.int32)).cast(pa.date32())
        inside = inside.set_column(1, "dob", dates)
    listed = pa.concat_tables([inside, people(rng, count // 2, start=count)])
    first = open_table(release)
    second = open_table(listed, engine=first.engine)
    tables = [
        replace(
            table,
            relation=first.engine.keep(
                build.select(*map(build.column, release.column_names), source=table.relation)
            ),
        )
        for table in (first, second)
    ]
    return tables[0], tables[1]


def timed(act: Callable[[], Any], *, repeats: int = 3) -> tuple[float, float, Any]:
    """Return CPU and wall seconds of the best of some runs, and what the last returned."""
    best, found = (float("inf"), float("inf")), None
    for _ in range(repeats):
        cpu, wall = time.process_time(), time.perf_counter()
        found = act()
        best = min(best, (time.process_time() - cpu, time.perf_counter() - wall))
    return *best, found


def compare(
    what: str, ours: tuple[float, float, Any], theirs: tuple[float, float, Any], peer: str
) -> Line:
    """Print our time, the peer's, and the ratio of CPU seconds; return them."""
    print(
        f"{what}: {ours[0]:.2f} s ({ours[1]:.2f} wall) against {theirs[0]:.2f} s "
        f"({theirs[1]:.2f} wall) of {peer}: {ours[0] / theirs[0]:.1f} times"
    )
    return what, f"{ours[0]:.2f} s", f"{peer} {theirs[0]:.2f} s", f"{ours[0] / theirs[0]:.1f}"


def exact() -> list[Line]:
    """Link a million with a million by equal values, beside the bare join."""
    from discreet.attacks.linkage.link import link_people
    from discreet.sql import build

    release, listed = opened(np.random.default_rng(1), MILLION)
    bare = build.select(
        build.alias_as(build.count_star(), "n"), source=build.aliased_table(release.relation, "r")
    ).join(build.aliased_table(listed.relation, "p"), on=build.same(ON, "r", "p"))
    theirs = timed(lambda: int(release.engine.run(bare)["n"][0].as_py()))
    ours = timed(
        lambda: link_people(release, listed, on={n: n for n in ON}, identity=("who", "who"))
    )
    checked = compare("exact linkage, 1M × 1M, checked against the truth", ours, theirs, JOIN)
    found = ours[2]
    print(f"  {found.claimed:,} links, {found.correct:,} right; the join has {theirs[2]:,} pairs")
    ours = timed(lambda: link_people(release, listed, on={n: n for n in ON}))
    return [compare("exact linkage, 1M × 1M", ours, theirs, JOIN), checked]


def tolerance() -> list[Line]:
    """Link a million with a million by dates that are up to three days off."""
    from sqlglot import exp

    from discreet.attacks.linkage.link import link_people
    from discreet.sql import build

    release, listed = opened(np.random.default_rng(2), MILLION, shift=3)
    near = exp.Between(
        this=build.column("dob", of="r"),
        low=exp.Sub(this=build.column("dob", of="p"), expression=build.number(3)),
        high=exp.Add(this=build.column("dob", of="p"), expression=build.number(3)),
    )
    bare = build.select(
        build.alias_as(build.count_star(), "n"), source=build.aliased_table(release.relation, "r")
    ).join(
        build.aliased_table(listed.relation, "p"),
        on=exp.and_(build.same(("zip", "sex"), "r", "p"), near),
    )
    theirs = timed(lambda: int(release.engine.run(bare)["n"][0].as_py()))
    ours = timed(
        lambda: link_people(
            release, listed, on={n: n for n in ON}, identity=("who", "who"), within={"dob": 3}
        )
    )
    print(f"  {ours[2].claimed:,} links, {ours[2].correct:,} right")
    return [compare("dates within 3 days, 1M × 1M, checked", ours, theirs, JOIN)]


def labels() -> list[Line]:
    """Link 30,000 people with 20,000 rows in 4,000 classes of ranges and masks."""
    from discreet.attacks.linkage.link import link_people
    from discreet.engines.connect import open_table

    rng = np.random.default_rng(3)
    known = people(rng, 30_000)
    ages = 2000 - np.asarray(known["dob"].cast(pa.int32())) // 365
    classes = rng.integers(0, 30_000, 4_000)
    low = ages[classes] - rng.integers(0, 5, 4_000)
    texts = known["zip"].take(pa.array(classes)).to_pylist()
    keep = rng.integers(1, 4, 4_000)
    release = {
        "age": [f"[{a}, {a + w}]" for a, w in zip(low, rng.integers(3, 12, 4_000), strict=True)],
        "zip": [t[:k] + "*" * (5 - k) for t, k in zip(texts, keep, strict=True)],
        "sex": ["*" if r < 0.3 else "F" if r < 0.65 else "M" for r in rng.random(4_000)],
    }
    first = open_table(pa.table({name: values * 5 for name, values in release.items()}))
    second = open_table(known.append_column("age", pa.array(ages)), engine=first.engine)
    cpu, wall, found = timed(
        lambda: link_people(first, second, on={n: n for n in ("age", "zip", "sex")})
    )
    fits = 30_000 - found.details["candidates"]["0"]
    print(
        f"labels, 30,000 people x 4,000 classes: {cpu:.2f} s ({wall:.2f} wall), {fits:,} fit some class"
    )
    what = "through labels, 30,000 people × 4,000 classes of ranges and masks"
    return [(what, f"{cpu:.2f} s", "", "")]


def spoiled(rng: np.random.Generator, table: pa.Table) -> pa.Table:
    """Return people with wrong characters in a tenth of the values, and 3 % of them missing."""
    for name in ("name", "zip"):
        texts = table[name].to_pylist()
        for place in np.flatnonzero(rng.random(len(texts)) < 0.1):
            at = int(rng.integers(0, len(texts[place])))
            texts[place] = texts[place][:at] + str(rng.integers(0, 10)) + texts[place][at + 1 :]
        is_missing = rng.random(len(texts)) < 0.03
        column = pa.array(texts, pa.string(), mask=is_missing)
        table = table.set_column(table.column_names.index(name), name, column)
    days = np.asarray(table["dob"].cast(pa.int32())).copy()
    wrong = rng.random(len(days)) < 0.1
    days[wrong] += rng.integers(-30, 30, int(wrong.sum()))
    dates = pa.array(days.astype(np.int32), mask=rng.random(len(days)) < 0.03).cast(pa.date32())
    return table.set_column(table.column_names.index("dob"), "dob", dates)


def named(rng: np.random.Generator, table: pa.Table) -> pa.Table:
    """Return people with names of four syllables."""
    parts = np.array(
        ["ka", "ro", "mi", "ta", "le", "sun", "der", "wick", "ham", "ton", "ber", "lo"]
    )
    rows = parts[rng.integers(0, len(parts), (len(table), 4))].tolist()
    return table.append_column("name", pa.array(["".join(row) for row in rows]))


def splink_alone(release: pa.Table, listed: pa.Table) -> tuple[int, int]:
    """Return pairs above 0.9 and the right ones of them, by Splink as its guide sets it up."""
    import logging

    import duckdb
    import splink
    import splink.comparison_library as library
    from splink.backends.duckdb import DuckDBAPI

    logging.getLogger("splink").setLevel(logging.ERROR)
    interface = DuckDBAPI(connection=duckdb.connect(":memory:"))
    sources = [
        interface.register(
            table.rename_columns(["unique_id", *table.column_names[1:]]), dataset_display_name=name
        )
        for name, table in (("a_people", listed), ("b_rows", release))
    ]
    rules = [splink.block_on(name) for name in ("name", "dob", "zip")]
    settings = splink.SettingsCreator(
        link_type="link_only",
        comparisons=[
            library.JaroWinklerAtThresholds("name", [0.92, 0.8]),
            library.DateOfBirthComparison("dob", input_is_string=False),
            library.DamerauLevenshteinAtThresholds("zip", [1, 2]),
        ],
        blocking_rules_to_generate_predictions=rules,
        probability_two_random_records_match=0.5 / len(release),
        retain_matching_columns=False,
    )
    linker: Any = splink.Linker(sources, settings, log_level=logging.ERROR)
    linker.training.estimate_u_using_random_sampling(max_pairs=1_000_001, seed=1)
    for rule in rules[:2]:
        linker.training.estimate_parameters_using_expectation_maximisation(
            rule, record_sample_proportion=1.0
        )
    found = linker.inference.predict(
        threshold_match_probability=0.9, warning_mode="never"
    ).as_pyarrow_table()
    right = int(np.sum(np.asarray(found["unique_id_l"]) == np.asarray(found["unique_id_r"])))
    return len(found), right


def fuzzy() -> list[Line]:
    """Link 100,000 with 100,000 people whose values have typos, half of them in the release."""
    from discreet.attacks.linkage.fuzzy import link_fuzzily
    from discreet.attacks.linkage.spec import make_linkage_spec
    from discreet.engines.connect import open_table

    rng = np.random.default_rng(4)
    release = named(rng, people(rng, FUZZY))
    outside = named(rng, people(rng, FUZZY // 2, start=FUZZY))
    listed = spoiled(rng, pa.concat_tables([release.slice(0, FUZZY // 2), outside]))
    first = open_table(release)
    second = open_table(listed, engine=first.engine)
    joined = make_linkage_spec(first, second, on=["name", "dob", "zip"], truth="who")
    ours = timed(
        lambda: link_fuzzily(first, second, joined=joined, rng=np.random.default_rng(1)), repeats=1
    )
    theirs = timed(lambda: splink_alone(release, listed), repeats=1)
    details = ours[2].details
    pairs, right = theirs[2]
    found = f"precision {details['precision']:.4f}, recall {details['recall']:.3f}"
    splink = f"Splink alone ({right / pairs:.4f}, {right / (FUZZY // 2):.3f})"
    return [compare(f"fuzzy, {FUZZY:,} × {FUZZY:,} ({found})", ours, theirs, splink)]


JOIN = "bare join in DuckDB"
CASES = {"exact": exact, "tolerance": tolerance, "labels": labels, "fuzzy": fuzzy}


def measure_linkage(words: Sequence[str] = ()) -> FigureTable:
    """Return the CPU seconds of the named cases, or of all, beside a plain join or Splink."""
    from discreet.cli.command import _PandasBlocker

    sys.meta_path.insert(0, _PandasBlocker())  # as on the command line: no pandas
    lines = [line for word in words or CASES for line in CASES[word]()]
    return FigureTable(("", "discreet", "beside it", "ratio"), tuple(lines))


if __name__ == "__main__":
    print(measure_linkage(sys.argv[1:]).to_markdown())
