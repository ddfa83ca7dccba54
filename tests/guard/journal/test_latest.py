"""The newest entries first: in pages, with a bound on what is read."""

from __future__ import annotations

from datetime import UTC, datetime

from discreet.guard.journal import EntryFilter, Event, Journal


def write_journal() -> Journal:
    journal = Journal(":memory:")
    for number in range(1, 11):
        user = "ada" if number % 2 else "bob"
        reads = {"public.patients": ("age",)} if number == 4 else {}
        at = datetime(2026, 5, number, tzinfo=UTC)
        journal.record(Event(at=at, kind="statement", user=user, reads=reads))
    return journal


def test_pages_follow_each_other_without_gap_or_overlap():
    journal = write_journal()
    first = journal.latest(most=4)
    second = journal.latest(most=4, before=first.next)
    last = journal.latest(most=4, before=second.next)
    numbers = [[entry.sequence for entry in page.entries] for page in (first, second, last)]
    assert numbers == [[10, 9, 8, 7], [6, 5, 4, 3], [2, 1]]
    assert last.next is None


def test_a_search_stops_after_what_it_may_read_and_says_where():
    found = write_journal().latest(EntryFilter(user="bob"), scanned=3)
    assert [entry.sequence for entry in found.entries] == [10, 8]
    assert found.next == 8


def test_a_table_is_found_with_and_without_its_schema():
    journal = write_journal()
    for name in ("patients", "public.patients"):
        found = journal.latest(EntryFilter(table=name)).entries
        assert [entry.sequence for entry in found] == [4]
    assert journal.latest(EntryFilter(table="public")).entries == ()
