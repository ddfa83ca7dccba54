"""Several rows of one person never make that person look less alone."""

from __future__ import annotations

from itertools import combinations

import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

import discreet

COLUMNS = ("a", "b", "c")
ROWS = st.lists(
    st.tuples(
        st.sampled_from(["p", "q", "r", "s", None]),
        *(st.sampled_from([0, 1, None]) for _ in COLUMNS),
    ),
    min_size=1,
    max_size=12,
)


def people_alone(rows: list[tuple], chosen: tuple[int, ...]) -> set:
    """Return who has a row that no one else shares on the chosen columns."""
    holders: dict[tuple, set] = {}
    for person, *values in rows:
        holders.setdefault(tuple(values[index] for index in chosen), set()).add(person)
    return {person for people in holders.values() if len(people) == 1 for person in people}


@settings(max_examples=20)
@given(ROWS)
def test_who_is_alone_on_any_set_of_columns_is_found(rows):
    names = ("person", *COLUMNS)
    kinds = (pa.string(), pa.int64(), pa.int64(), pa.int64())
    table = pa.table(
        {
            name: pa.array(values, kind)
            for name, kind, values in zip(names, kinds, zip(*rows, strict=False), strict=True)
        }
    )

    found = discreet.assess(table, quasi=COLUMNS, unit="person", depth=3)

    everyone = tuple(range(len(COLUMNS)))
    assert found.unique == len(people_alone(rows, everyone))
    assert found.people == len({person for person, *_ in rows})
    assert found.combinations is not None
    assert found.combinations.people == found.people
    counted = {entry.columns: (entry.unique, entry.minimal) for entry in found.combinations.sets}
    for size in range(1, len(COLUMNS) + 1):
        for chosen in combinations(everyone, size):
            alone = people_alone(rows, chosen)
            parts = [people_alone(rows, part) for part in combinations(chosen, size - 1) if part]
            expected = (len(alone), len(alone - set().union(*parts)))
            assert counted[tuple(COLUMNS[index] for index in chosen)] == expected
