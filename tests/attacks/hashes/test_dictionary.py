"""Hashed identifiers: found by their looks, undone by guesses, and not undone when they are keyed."""

from __future__ import annotations

import base64
import hashlib
import hmac
import re
import zlib

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.attacks.hashes import patterns
from discreet.attacks.hashes.candidates import common_guesses, from_forms, from_pattern, from_texts
from discreet.attacks.hashes.dictionary import DictionaryOptions, attack_column, attack_table
from discreet.attacks.hashes.hashes import HASHES, decode_plainly, digest_function, read_digests
from discreet.attacks.hashes.patterns import read_guess_pattern
from discreet.engines.connect import open_table
from discreet.errors import EmptySource, UnknownColumn, WrongUsage
from discreet.release.deidentify.base32 import write_base32

MEDALLIONS = "[0-9][A-Z][0-9][0-9]"
IDS = [f"{n % 10}{'QWERTZ'[n % 6]}{n % 89:02d}" for n in range(60)]


def texts_of(pattern: str) -> list[str]:
    return [text for batch in read_guess_pattern(pattern).batches() for text in batch.to_pylist()]


def hashed(texts: list[str], name: str = "md5", **columns: list) -> object:
    digest = digest_function(name, bits=HASHES[name])
    return open_table(pa.table({"id": [digest(text.encode()) for text in texts], **columns}))


def undone(texts: list[str], pattern: str = MEDALLIONS, *, release: object = None, **tools):
    table = hashed(texts) if release is None else open_table(pa.table({"id": release}))
    return attack_column(
        table, "id", [from_pattern(read_guess_pattern(pattern))], tools=DictionaryOptions(**tools)
    )


def test_a_pattern_lists_exactly_the_texts_that_fit():
    assert texts_of("[ab]{1,2}|x?y") == ["a", "b", "aa", "ab", "ba", "bb", "y", "xy"]
    assert texts_of(r"\d\-(1|23)") == [f"{n}-{end}" for end in ("1", "23") for n in range(10)]
    assert texts_of("ä[äö]") == ["ää", "äö"]
    assert texts_of("") == [""]
    assert texts_of("a|a") == ["a"]


@given(
    st.from_regex(
        r"([xy]|\[[ab]c?\]|\(z\|[xy]\)|\[0-3\])(\{[01],2\}|\{2\}|\?)?(\|k)?", fullmatch=True
    )
)
def test_all_texts_fit_the_pattern_as_a_regular_expression_and_are_counted(pattern: str):
    texts = texts_of(pattern)
    assert len(texts) == read_guess_pattern(pattern).size
    assert all(re.fullmatch(pattern, text) for text in texts)


def test_large_patterns_are_listed_in_batches_without_repeats(monkeypatch):
    monkeypatch.setattr(patterns, "BATCH", 1_000)
    texts = pa.chunked_array(list(read_guess_pattern("[A-C][0-9]{4}").batches()))
    assert (texts.num_chunks, len(texts), len(texts.unique())) == (30, 30_000, 30_000)
    assert (texts[0].as_py(), texts[-1].as_py()) == ("A0000", "C9999")


@pytest.mark.parametrize(
    ("pattern", "what"),
    [
        ("[0-9", "class"),
        ("[]", "class"),
        ("[^a]", "class"),
        ("[z-a]", "backwards"),
        ("a*", "not understood"),
        ("a+", "not understood"),
        ("(a", r"no '\)'"),
        ("a)", "without its"),
        ("a{3,2}", "backwards"),
        ("a{999}", "beyond"),
        ("(a|b|c|d){40}", "forms"),
        ("a\\", "backslash"),
    ],
)
def test_a_pattern_that_cannot_be_listed_is_refused_with_its_place(pattern: str, what: str):
    with pytest.raises(WrongUsage, match=what) as error:
        read_guess_pattern(pattern)
    assert "at letter" in str(error.value)


@pytest.mark.parametrize("name", [name for name in HASHES if name != "crc32"])
def test_each_hash_is_found_by_its_length_and_by_trying(name: str):
    found = attack_column(
        hashed(IDS, name), "id", [from_pattern(read_guess_pattern("[0-9][QWERTZ][0-9]{2}"))]
    )
    assert (found.rate, found.correct, found.details["hash"]) == (1.0, found.targets, name)


def test_check_sums_collide_so_that_nothing_is_called_right():
    table = open_table(pa.table({"id": [f"{zlib.crc32(text.encode()):08x}" for text in IDS]}))
    found = attack_column(table, "id", [from_pattern(read_guess_pattern("[0-9][A-Z][0-9]{2}"))])
    assert (found.rate, found.correct, found.details["hash"]) == (1.0, None, "crc32")
    assert found.control is not None
    assert found.control > 1e-6


def test_rows_and_pseudonyms_are_counted_apart():
    found = undone([*IDS[:2], *[IDS[0]] * 8, "not a medallion"])
    assert (found.targets, found.claimed) == (3, 2)
    assert (found.details["rows"], found.details["rows_inverted"]) == (11, 10)
    assert found.details["pseudonyms_with_several_rows"] == 1
    assert found.details["most_rows_of_one"] == 9


def test_digests_are_read_however_they_are_written():
    raw = [hashlib.sha256(text.encode()).digest() for text in IDS]
    for release in (
        [each.hex().upper() for each in raw],
        [base64.b64encode(each).decode() for each in raw],
        [base64.urlsafe_b64encode(each).decode().rstrip("=") for each in raw],
        write_base32(raw),
        [each.hex()[:16] for each in raw],
    ):
        assert undone([], release=release, hash_name=None).rate == 1, release[0]


@pytest.mark.parametrize(
    ("change", "tools", "expected"),
    [
        (lambda text: text.lower(), {"vary": ("case",)}, "lower case"),
        (lambda text: text + "\n", {"vary": ("newline",)}, "newline"),
        (lambda text: text.encode("utf-16-le"), {"vary": ("encoding",)}, "utf-16"),
        (lambda text: "2019" + text, {"salt": "2019"}, "salt before"),
        (lambda text: text + "2019", {"salt": "2019"}, "salt after"),
    ],
)
def test_variations_and_public_salts_do_not_help(change, tools, expected):
    changed = [change(text) for text in IDS]
    data = [each if isinstance(each, bytes) else each.encode() for each in changed]
    release = [hashlib.sha1(each).hexdigest() for each in data]
    assert undone([], release=release).rate == 0
    found = undone([], release=release, **tools)
    assert found.rate == 1
    assert expected in found.details["hash"]


def test_keyed_pseudonyms_are_not_undone_but_equal_ones_still_show():
    keyed = [hmac.digest(b"secret key", text.encode(), "sha256") for text in IDS]
    release = write_base32([each[:16] for each in keyed])
    found = undone([], release=[*release, release[0]])
    assert (found.rate, found.claimed) == (0.0, 0)
    assert "link the rows of 1 pseudonym" in found.verdict
    assert found.interval[1] < 0.07


def test_columns_that_look_like_hashes_are_found_and_tried_by_themselves():
    emails = [f"P{n}@Example.org" for n in range(30)]
    table = hashed([email.lower() for email in emails], "sha256", age=[n + 20 for n in range(30)])
    known = open_table(pa.table({"email": emails[:20]}))
    few = DictionaryOptions(limit=100_000)
    alone, helped = (
        attack_table(table, tools=few)[0],
        attack_table(table, known=[known], tools=few)[0],
    )
    assert (alone.rate, helped.claimed) == (0, 20)
    assert list(helped.details["found_in"].values()) == [20]


def test_usual_numbers_dates_and_fillers_are_tried():
    texts = ["123456", "007", "1970-01-31", "31.01.1970", "unknown", "zebra"]
    (found,) = attack_table(hashed(texts, "sha1"))
    assert (found.targets, found.claimed) == (6, 5)
    assert sum(each.size for each in common_guesses()) > 1_000_000


def test_lists_that_would_take_too_long_are_left_out_where_no_one_asked_for_them():
    texts = ["1970-01-31", "123456"]
    (found,) = attack_table(hashed(texts, "sha1"), tools=DictionaryOptions(limit=300_000))
    assert (found.claimed, list(found.details["found_in"])) == (1, ["dates since 1900"])


def test_texts_of_a_known_form_are_tried():
    known = open_table(pa.table({"medallion": ["5X55", "XX5"], "name": ["Ann", "Bob"]}))
    forms = from_forms(known, limit=100_000)
    assert [each.size for each in forms] == [17_576, 26_000 + 6_760]
    (found,) = attack_table(hashed(IDS), known=[known], tools=DictionaryOptions(limit=100_000))
    assert found.rate == 1


def test_encodings_are_read_and_counted_numbers_are_reported():
    names = [base64.b64encode(f"Ann {n}".encode()).decode() for n in range(30)]
    table = open_table(
        pa.table({"who": names, "patient": [f"P{n:04d}" for n in range(1, 31)], "age": [40] * 30})
    )
    encoded, counted = attack_table(table)
    assert (encoded.details["kind"], encoded.rate) == ("encoding", 1)
    assert (counted.details["kind"], counted.rate) == ("counted", 0)
    assert "from 1 to 30" in counted.verdict


def test_plain_columns_are_no_pseudonyms():
    table = open_table(
        pa.table(
            {
                "name": ["Ann Lee", "Bob Ray"] * 20,
                "age": [20 + n for n in range(40)],
                "ssn": [f"{(n * 7919 + 1) % 10**9:09d}" for n in range(40)],
                "word": ["face", "deed"] * 20,
            }
        )
    )
    (found,) = attack_table(table)
    assert (found.details["kind"], found.targets) == ("none", 0)
    assert decode_plainly(pa.array([], pa.string())) is None
    assert read_digests(pa.array([], pa.string())) is None


def test_neither_json_nor_verdict_holds_a_value():
    found = undone(IDS)
    assert any(IDS[n] in " ".join(found.example) for n in range(60))
    assert not any(text in str(found.to_dict()) for text in IDS)


def test_speed_is_reported_where_a_clock_is_given():
    ticks = iter([0.0, 2.0])
    found = undone(IDS, clock=lambda: next(ticks))
    assert found.details["hashes_per_second"] == 13_000
    assert undone(IDS).details["hashes_per_second"] is None


def test_wrong_words_are_refused():
    with pytest.raises(UnknownColumn):
        attack_column(hashed(IDS), "idd", [])
    with pytest.raises(WrongUsage, match="nothing to guess"):
        attack_column(hashed(IDS), "id", [])
    with pytest.raises(WrongUsage, match="does not look like a hash"):
        undone([], release=["Ann", "Bob"])
    with pytest.raises(WrongUsage, match="more than 100"):
        undone(IDS, limit=100)
    with pytest.raises(WrongUsage, match="md5 has 128"):
        undone([], release=[hashlib.sha256(b"x").hexdigest()], hash_name="md5")
    with pytest.raises(WrongUsage, match="no hash 'sha257'"):
        undone(IDS, hash_name="sha257")
    with pytest.raises(WrongUsage, match="no variation"):
        undone(IDS, vary=("spelling",))
    with pytest.raises(EmptySource):
        attack_column(open_table(pa.table({"id": pa.array([None], pa.string())})), "id", [])


def test_a_named_hash_is_believed_where_the_looks_say_little():
    release = ["11" * 16, hashlib.md5(b"1A23").hexdigest()]
    table = open_table(pa.table({"id": release}))
    guesses = [from_texts("a list", pa.array(["1A23"]))]
    assert (
        attack_column(table, "id", guesses, tools=DictionaryOptions(hash_name="MD5")).claimed == 1
    )
