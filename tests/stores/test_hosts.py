"""A URL may name several servers, in the words of libpq and of SQLAlchemy."""

from __future__ import annotations

import pytest

from discreet.stores.hosts import parameters_of


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@a:1,b:2/db",
        "postgresql://u@/db?host=a:1,b:2",
        "postgresql://u@/db?host=a,b&port=1,2",
        "postgresql://u@/db?host=a:1&host=b:2",
        "postgres://u@a:1,b:2/db",
        "postgresql+psycopg://u@a:1,b:2/db",
    ],
)
def test_several_hosts_are_read_however_they_are_written(url: str):
    found = parameters_of(url)
    assert (found["host"], found["port"]) == ("a,b", "1,2")
    assert (found["user"], found["dbname"]) == ("u", "db")
    assert found["target_session_attrs"] == "read-write"


def test_what_the_url_says_wins_over_our_defaults():
    found = parameters_of("postgresql://u@a,b/db?target_session_attrs=any&connect_timeout=1")
    assert (found["target_session_attrs"], found["connect_timeout"]) == ("any", "1")


def test_one_host_is_taken_as_it_is():
    found = parameters_of("postgresql://u:p%40ss@/db?host=/run/pg&options=-csearch_path%3Dx")
    assert (found["host"], found["password"]) == ("/run/pg", "p@ss")
    assert found["options"] == "-csearch_path=x"
    assert "target_session_attrs" not in found
    assert "port" not in found


def test_addresses_with_colons_keep_them():
    found = parameters_of("postgresql://u@/db?host=[::1]:5433,b")
    assert (found["host"], found["port"]) == ("::1,b", "5433,5432")


@pytest.mark.parametrize("url", ["postgresql://u@/db?unheard=of", "postgresql://[::1"])
def test_what_is_no_address_is_refused(url: str):
    with pytest.raises(ValueError, match=r"^$"):
        parameters_of(url)
