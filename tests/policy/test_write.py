"""What is written is read back to the same values."""

from __future__ import annotations

from decimal import Decimal
from importlib.resources import files
from pathlib import Path

import yaml
from hypothesis import given
from hypothesis import strategies as st

from discreet.policy.hierarchies.calendar import PERIODS, Calendar
from discreet.policy.hierarchies.intervals import Cuts, Extremes, Intervals
from discreet.policy.hierarchies.prefix import Prefix
from discreet.policy.hierarchies.tree import Taxonomy, TaxonomyGroup
from discreet.policy.load import load_policy, parse_policy
from discreet.policy.model import (
    AlphaK,
    BetaLikeness,
    ColumnPolicy,
    ColumnRole,
    KAnonymity,
    LDiversity,
    Policy,
    TablePolicy,
    TCloseness,
)
from discreet.policy.write import dump_policy, flow_text

HOSPITAL = Path(str(files("discreet") / "data" / "hospital" / "policy.yaml"))

# Names that YAML readers like to take for something else, and whatever else can be printed.
names = st.sampled_from(["NO", "01", "null", "~", "a: b", "#x", "- a", "'", '"', "é", "1e5", "*"])
words = names | st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1)
numbers = st.decimals(-(10**9), 10**9, places=4) | st.integers(-(10**9), 10**9).map(Decimal)
cuts = st.lists(numbers, min_size=2, unique=True).map(lambda found: tuple(sorted(found)))
hierarchies = st.one_of(
    st.builds(Prefix, st.sampled_from([(3, 1), (1,)]), length=st.none() | st.integers(3, 9)),
    st.builds(
        Intervals,
        st.sampled_from([(Decimal(5), Decimal(10)), (Decimal("0.0001"),)]),
        origin=numbers,
        top=st.none() | numbers,
    ),
    cuts.map(lambda found: Cuts((found,))),
    cuts.map(lambda found: Cuts((found, (found[0], found[-1])), top=found[-1])),
    numbers.map(lambda limit: Extremes(bottom=limit)),
    st.sets(st.sampled_from(PERIODS), min_size=1).map(
        lambda found: Calendar(tuple(period for period in PERIODS if period in found))
    ),
    st.lists(words, min_size=2, max_size=6, unique=True).map(
        lambda found: Taxonomy(
            (TaxonomyGroup("all of it", (found[0], TaxonomyGroup("inner", tuple(found[1:])))),)
        )
    ),
)
columns = st.builds(
    ColumnPolicy,
    st.just("x"),
    st.sampled_from([role for role in ColumnRole if role is not ColumnRole.WEIGHT]),
    bounds=st.none() | cuts.map(lambda found: (found[0], found[-1])),
    values=st.none() | st.lists(words, min_size=1, unique=True).map(tuple),
    hierarchy=st.none() | hierarchies,
)
criteria = st.sampled_from(
    [
        KAnonymity(5),
        LDiversity("secret", 2.5, "entropy"),
        LDiversity("secret", 3, "recursive", 0.1),
        TCloseness("secret", 0.2, "ordered"),
        AlphaK("secret", 1, 2),
        BetaLikeness("secret", 1e-7, "enhanced"),
    ]
)


@given(st.lists(columns, max_size=3), st.lists(criteria), st.none() | words, words)
def test_a_policy_is_read_back_as_it_was_written(
    found: list[ColumnPolicy], conditions: list[object], source: str | None, table: str
) -> None:
    numbered = [
        ColumnPolicy(
            f"{i}{column.name}", column.role, column.bounds, column.values, column.hierarchy
        )
        for i, column in enumerate(found)
    ]
    weight = ColumnPolicy("weight", ColumnRole.WEIGHT, bounds=(Decimal(1), Decimal(9)))
    listed = (ColumnPolicy("secret", ColumnRole.SENSITIVE), weight, *numbered)
    policy = Policy({table: TablePolicy(table, listed, source, None, tuple(conditions))})  # type: ignore[arg-type]
    assert parse_policy(dump_policy(policy)) == policy


def test_the_bundled_policy_is_read_back() -> None:
    policy = load_policy(HOSPITAL)
    assert parse_policy(dump_policy(policy), path=HOSPITAL) == policy


@given(
    st.recursive(words, lambda inner: st.lists(inner) | st.dictionaries(words, inner), max_leaves=8)
)
def test_a_value_fits_on_one_line_and_means_the_same_to_every_reader(value: object) -> None:
    text = flow_text(value)
    assert "\n" not in text
    assert yaml.safe_load(text) == value
    assert yaml.load(text, Loader=yaml.BaseLoader) == value
