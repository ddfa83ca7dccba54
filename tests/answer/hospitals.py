"""Random small hospitals with nasty values, the policies for them, and random questions about them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from math import inf, nan
from random import Random
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

NUMBERS = (0.0, -0.0, 1.0, 2.5, -3.0, 9.999999, 1e-320, 1e15 + 0.125, -1e300, nan, inf, -inf, None)
WHOLE = (0, 1, 2, 3, -4, 7, 2**53 + 1, -(2**62), 2**63 - 1, -(2**63), None)
WARDS = ("a", "b", "c", "elsewhere", "", "a|b", None)
DAYS = (dt.date(2024, 1, 1), dt.date(2024, 1, 31), dt.date(2024, 2, 1), dt.date(1, 1, 1), None)
REAL_BOUNDS = (
    *("0, 10", "-5, 5", "-10, -1", "100, 101", "0.1, 0.3", "3, 3", "0, 0.000000001"),
    *("1000000000000000, 1000000000000000.1", "-1000000000, 1000000000", "-0.1, 1e300"),
)
WHOLE_BOUNDS = (
    *("0, 5", "-7, 7", "-3, -1", "2, 2", "0.5, 7.5", "-1099511627776, 1099511627776"),
    *("9007199254740992, 9007199254741002", "-9223372036854775808, 9223372036854775807"),
)
RANK = "order_of_rows"
VISITS = pa.schema(
    {
        "pid": "int64",
        "ward": "string",
        "cost": "double",
        "days": "int64",
        "code": "int64",
        RANK: "int64",
    }
)
PATIENTS = pa.schema({"pid": "int64", "sex": "string", "age": "int64"})
KIDS = pa.schema({"parent": "int64", "points": "double", "toys": "int64"})
DIARY = pa.schema({"pid": "int64", "day": pa.date32(), "mood": "int64"})
CODES = pa.table({"code": [0, 1, 2, 3, 7], "title": ["zero", "one", "two", "three", None]})

# Who leaves: a person with all rows, a person's children besides, one child, a person's month.
PERSON, HIS_CHILDREN, CHILD, MONTH = 1, 2, 4, 8


def hospitals(seed: int, count: int) -> dict[str, tuple[pa.Schema, list[dict[str, Any]]]]:
    """Return the rows of `count` small hospitals; person 1 has many of them."""
    chance = Random(seed)
    found: dict[str, tuple[pa.Schema, list[dict[str, Any]]]] = {
        "visits": (VISITS, []),
        "patients": (PATIENTS, []),
        "kids": (KIDS, []),
        "diary": (DIARY, []),
    }
    for number in range(count):
        for name, rows in _hospital(chance).items():
            found[name][1].extend({**row, "set_number": number} for row in rows)
    return found


def _hospital(chance: Random) -> dict[str, list[dict[str, Any]]]:
    def some(most: int) -> range:
        return range(chance.randint(0, most))

    def pid() -> int | None:
        return chance.choice((1, 1, 1, 2, 3, None))

    few = [chance.choice(NUMBERS) for _ in range(3)]
    visits = [
        {
            "pid": pid(),
            "ward": chance.choice(WARDS),
            "cost": chance.choice((*few, *NUMBERS)),
            "days": chance.choice(WHOLE),
            "code": chance.choice((0, 1, 2, 3, 7, *WHOLE)),
        }
        for _ in some(14)
    ]
    # What a foreign key points to is there once.
    patients = [
        {"pid": one, "sex": chance.choice(("F", "M", None)), "age": chance.choice(WHOLE)}
        for one in (1, 2, 3, None)
        if chance.random() < 0.8
    ]
    kids = [
        {"parent": pid(), "points": chance.choice(NUMBERS), "toys": chance.choice(WHOLE)}
        for _ in some(8)
    ]
    diary = [
        {"pid": pid(), "day": chance.choice(DAYS), "mood": chance.choice(WHOLE)} for _ in some(14)
    ]
    for row, rank in zip(visits, _ranks([row["pid"] for row in visits], chance), strict=True):
        row[RANK] = rank
    for row in (*visits, *patients):
        row["goes_with"] = PERSON if row["pid"] == 1 else 0
    for place, row in enumerate(kids):
        row["goes_with"] = HIS_CHILDREN * (row["parent"] == 1) | CHILD * (place == 0)
    for row in diary:
        row["goes_with"] = MONTH * (row["pid"] == 1 and _month(row["day"]) == (2024, 1))
    return {"visits": visits, "patients": patients, "kids": kids, "diary": diary}


def _ranks(pids: list[int | None], chance: Random) -> list[int]:
    """Return what registering writes: the rows of each person in an order of chance."""
    orders = {
        pid: iter(chance.sample(range(1, pids.count(pid) + 1), pids.count(pid))) for pid in pids
    }
    return [next(orders[pid]) for pid in pids]


def _month(day: dt.date | None) -> tuple[int, int] | None:
    return None if day is None else (day.year, day.month)


limits = st.builds(
    lambda rows, groups, within: ", ".join(
        f"{name}: {most}"
        for name, most in zip(
            ("rows-per-unit", "groups-per-unit", "rows-per-group"),
            (rows, groups, within),
            strict=True,
        )
        if most
    ),
    st.sampled_from((1, 2, 3, 7)),
    st.sampled_from((None, None, 1, 2)),
    st.sampled_from((None, None, 1, 2)),
)
policies = st.builds(
    """
tables:
  visits:
    unit: pid
    limits: {{{0}}}
    columns:
      pid: {{role: identifier}}
      ward: {{role: quasi-identifier, values: [a, b, c, '']}}
      cost: {{role: sensitive, bounds: [{1}]}}
      days: {{role: sensitive, bounds: [{2}]}}
      code: {{role: quasi-identifier}}
  patients:
    unit: pid
    limits: {{rows-per-unit: 1}}
    columns:
      pid: {{role: identifier}}
      sex: {{role: quasi-identifier, values: [F, M]}}
      age: {{role: quasi-identifier, bounds: [0, 5]}}
  kids:
    unit: row
    columns:
      parent: {{role: identifier, references: patients.pid}}
      points: {{role: sensitive, bounds: [{1}]}}
      toys: {{role: sensitive, bounds: [{2}]}}
  diary:
    unit: {{column: pid, per: month, on: day}}
    limits: {{{0}}}
    columns:
      pid: {{role: identifier}}
      day: {{role: quasi-identifier}}
      mood: {{role: sensitive, bounds: [{2}]}}
  codes:
    public: true
    columns: {{code: insensitive, title: insensitive}}
""".format,
    limits,
    st.sampled_from(REAL_BOUNDS),
    st.sampled_from(WHOLE_BOUNDS),
)


@dataclass(frozen=True)
class Source:
    """Something to put after FROM that has v.cost, v.days and v.code; `keys` can be grouped by."""

    text: str
    keys: tuple[str, ...] = ()
    unit: str | None = None


_ROW = "pid, ward, cost, days, code"
_KEYS = ("v.ward", "CASE WHEN v.ward IN ('a', 'b') THEN 'ab' ELSE 'other' END")
VISITING = (
    Source("visits v", _KEYS, "v.pid"),
    Source("visits v JOIN codes c ON v.code = c.code", (*_KEYS, "c.title"), "v.pid"),
    Source("visits v LEFT JOIN codes c ON v.code = c.code AND v.cost > 1", ("c.title",), "v.pid"),
    Source("codes c JOIN visits v ON v.code = c.code", ("c.title",), "v.pid"),
    Source("visits v JOIN patients p ON v.pid = p.pid", ("v.ward", "p.sex", "p.age"), "p.pid"),
    Source("visits v LEFT JOIN patients p ON v.pid = p.pid AND v.cost > 1", ("p.sex",), "p.pid"),
    Source("patients p JOIN visits v USING (pid)", ("p.sex", "v.ward"), "p.pid"),
    Source("visits v JOIN visits w ON v.pid = w.pid AND v.days <= w.days", ("w.ward",), "w.pid"),
    Source(
        f"(SELECT {_ROW} FROM visits WHERE cost > 0 UNION ALL SELECT {_ROW} FROM visits) v",
        _KEYS,
        "v.pid",
    ),
    Source(
        "(SELECT pid, days, cost, code FROM visits UNION ALL "
        "SELECT code, days, cost, pid FROM visits) v",
        unit="v.pid",
    ),
    Source(
        "(SELECT pid, ward, cost * 2 - days AS cost, days + 1 AS days, code FROM visits) v",
        _KEYS,
        "v.pid",
    ),
    Source(
        "(SELECT pid, ward, sum(cost) AS cost, max(days) AS days, count(*) AS code FROM visits "
        "GROUP BY pid, ward) v",
        _KEYS,
        "v.pid",
    ),
    Source(
        "(SELECT pid, sum(cost) AS cost, count(days) AS days, count(DISTINCT code) AS code, "
        "count(*) > 2 AS often FROM visits GROUP BY pid HAVING count(*) > 1) v",
        ("v.often",),
        "v.pid",
    ),
    Source(
        "(SELECT q.pid, avg(w.cost) AS cost, min(w.days) AS days, count(*) AS code, "
        "count(*) > 1 AS often FROM visits w LEFT JOIN patients q ON w.pid = q.pid AND w.days > 0 "
        "GROUP BY q.pid) v",
        ("v.often",),
    ),
    Source(
        "visits v JOIN (SELECT pid, max(cost) AS top, count(*) AS n FROM visits GROUP BY pid) b "
        "ON v.pid = b.pid AND v.cost = b.top",
        (*_KEYS, "b.n > 1"),
        "b.pid",
    ),
)
_KID = "k.points AS cost, k.toys AS days, k.toys AS code"
CHILDREN = (
    Source(f"(SELECT {_KID}, p.sex FROM kids k JOIN patients p ON k.parent = p.pid) v", ("v.sex",)),
    Source(
        f"(SELECT {_KID}, p.sex FROM kids k LEFT JOIN patients p ON k.parent = p.pid) v",
        ("v.sex", "v.code"),
    ),
    Source(f"(SELECT {_KID}, q.ward FROM kids k JOIN patients p ON k.parent = p.pid "
           "JOIN visits q ON q.pid = p.pid) v", ("v.ward",)),
    Source(
        f"(SELECT {_KID} FROM kids k JOIN patients p ON k.parent = p.pid UNION ALL "
        f"SELECT {_KID} FROM kids k JOIN patients p ON k.parent = p.pid) v",
        ("v.code",),
    ),
    Source(
        "(SELECT p.pid, sum(k.points) AS cost, max(k.toys) AS days, count(*) AS code, "
        "count(*) > 1 AS often FROM kids k JOIN patients p ON k.parent = p.pid GROUP BY p.pid) v",
        ("v.often",),
        "v.pid",
    ),
    Source(
        "(SELECT p.pid, k.toys > 1 AS often, sum(k.points) AS cost, max(k.toys) AS days, "
        "count(*) AS code FROM kids k JOIN patients p ON k.parent = p.pid "
        "GROUP BY p.pid, k.toys > 1) v",
        ("v.often",),
        "v.pid",
    ),
)  # fmt: skip
ALONE = (
    Source("(SELECT points AS cost, toys AS days, toys AS code FROM kids) v", ("v.code",)),
    Source(
        "(SELECT points AS cost, toys AS days, toys AS code FROM kids UNION ALL "
        "SELECT points, toys, parent FROM kids WHERE toys > 0) v",
        ("v.code",),
    ),
    Source(f"(SELECT {_KID}, c.title FROM kids k JOIN codes c ON k.toys = c.code) v", ("v.title",)),
)
WRITING = (
    Source("(SELECT 1.5 AS cost, mood AS days, mood AS code, day FROM diary) v", ("v.code",)),
    Source(
        "(SELECT mood * 0.5 AS cost, mood AS days, pid AS code FROM diary UNION ALL "
        "SELECT mood * 0.25, mood, pid FROM diary WHERE mood > 0) v",
        ("v.code", "v.days > 1"),
    ),
)

AGGREGATES = (
    *("count(*)", "count(v.cost)", "count(DISTINCT v.code)", "count(DISTINCT v.cost)"),
    *("sum(v.cost)", "avg(v.cost)", "variance(v.cost)", "stddev_pop(v.days)", "sum(v.days)"),
    *("avg(v.days)", "sum(v.cost * 2 - v.days)", "sum(v.cost * v.days)", "sum(abs(v.cost) + 1)"),
    *("sum(CASE WHEN v.days > 1 THEN v.cost ELSE -1 END)", "sum(v.cost) FILTER (WHERE v.days > 0)"),
    *("count(*) FILTER (WHERE v.cost > 1)", "sum(least(greatest(v.code, -3), 3))", "sum(7)"),
    *("avg(least(greatest(v.cost / v.days, 0), 1))", "avg(CAST(v.days AS DOUBLE))", "sum(-v.days)"),
    *("median(v.cost)", "min(v.days)", "max(v.cost)", "quantile_cont(v.days, 0.25)"),
    *("avg(coalesce(v.cost, 2))", "sum(CAST(v.cost > 1 AS INTEGER))", "var_pop(round(v.cost))"),
)
FILTERS = (
    *("", "", "v.cost > 1", "v.days BETWEEN -3 AND 5", "v.cost IS NULL OR v.days < 2"),
    *("v.cost / v.days > 1", "v.days IN (1, 2, 3)", "v.cost <= 9.999999 AND v.cost >= 2.5"),
)


@st.composite
def questions(draw: st.DrawFn, sources: tuple[Source, ...]) -> str:
    """Return a question about one of `sources`."""
    source = draw(st.sampled_from(sources))
    listed = [*AGGREGATES, *([f"count(DISTINCT {source.unit})"] if source.unit else [])]
    wanted = draw(st.lists(st.sampled_from(listed), min_size=1, max_size=3, unique=True))
    key = draw(st.sampled_from((None, *source.keys, *source.keys, "v.days", "v.code")))
    where = draw(st.sampled_from(FILTERS))
    text = f"SELECT {', '.join(wanted)} FROM {source.text}"
    text += f" WHERE {where}" if where else ""
    if key is None:
        return text
    return f"{text} GROUP BY {draw(st.sampled_from(('{0}', '{0}', 'ROLLUP ({0})'))).format(key)}"
