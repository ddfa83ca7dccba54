"""Equal values are written alike, and what is written can be read again."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from discreet.errors import Bug, WrongUsage
from discreet.guard.journal.canonical import canonical
from discreet.guard.journal.event import Event, from_plain

NOON = datetime(2026, 5, 4, 12, tzinfo=UTC)
SCALARS = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text()
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner), max_leaves=20
)
BODIES = st.dictionaries(st.text(), VALUES)


@settings(max_examples=40)
@given(BODIES)
def test_what_is_written_is_read_as_it_was_and_written_the_same_again(body: dict):
    text = canonical(body)
    assert json.loads(text) == body
    assert canonical(json.loads(text)) == text
    assert text.isascii()
    assert "\n" not in text


@settings(max_examples=30)
@given(BODIES, st.randoms())
def test_the_order_of_names_does_not_matter(body: dict, random):
    names = list(body)
    random.shuffle(names)
    assert canonical({name: body[name] for name in names}) == canonical(body)


@settings(max_examples=30)
@given(BODIES, BODIES)
def test_different_values_are_written_differently(one: dict, two: dict):
    # Python takes True for 1; JSON does not.
    assert (canonical(one) == canonical(two)) == (repr_of(one) == repr_of(two))


def repr_of(value: object) -> str:
    if isinstance(value, dict):
        return repr(sorted((name, repr_of(item)) for name, item in value.items()))
    if isinstance(value, list):
        return repr([repr_of(item) for item in value])
    return repr(value)


@pytest.mark.parametrize("value", [1.5, float("nan"), 2**60, b"x", {1: 2}, object(), {"a": {3}}])
def test_what_others_might_write_differently_is_refused(value: object):
    with pytest.raises(Bug):
        canonical({"a": value})


def test_half_a_letter_can_be_written():
    assert canonical({"a": "\ud800"}) == '{"a":"\\ud800"}'


EVENTS = st.builds(
    Event,
    at=st.datetimes(timezones=st.just(UTC)),
    kind=st.sampled_from(["statement", "login"]),
    decision=st.sampled_from(["allowed", "denied", "failed"]),
    user=st.text(),
    clearance=st.none() | st.text(min_size=1),
    statement=st.text(),
    parameters=st.lists(st.text()).map(tuple),
    reads=st.dictionaries(st.text(), st.lists(st.text()).map(tuple)),
    rows=st.none() | st.integers(0, 2**40),
    version=st.none() | st.integers(0, 2**40),
    price=st.none() | st.fixed_dictionaries({"epsilon": st.just("0.5")}),
    detail=st.dictionaries(st.text(), st.text()),
)


@given(EVENTS)
def test_an_event_is_read_as_it_was_written(event: Event):
    plain = json.loads(canonical(event.to_plain()))
    assert from_plain(plain) == event
    assert from_plain({**plain, "added_later": 1}) == event


def test_amounts_of_every_kind_are_written_as_text_and_sets_in_order():
    event = Event(
        NOON, "question", price={"epsilon": 0.5, "delta": Decimal("1e-6")}, reads={"t": {"b", "a"}}
    )
    plain = event.to_plain()
    assert plain["price"] == {"epsilon": "0.5", "delta": "0.000001"}
    assert plain["reads"] == {"t": ["a", "b"]}
    canonical(plain)


def test_a_time_without_a_zone_is_refused():
    with pytest.raises(WrongUsage, match="time zone"):
        Event(datetime(2026, 5, 4), "login").to_plain()  # noqa: DTZ001
