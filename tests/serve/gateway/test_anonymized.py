"""Anonymized views: releases that are read like views."""

from __future__ import annotations

import pytest

from discreet.errors import AccessDenied, DiscreetError


@pytest.fixture
def admin(hospital, connect):
    return connect(hospital)


def test_a_release_is_read_as_a_view(hospital, connect, admin):
    admin.run("CREATE USER researcher")
    admin.run(
        "CREATE ANONYMIZED VIEW safe AS SELECT birth_date, sex, postcode, diagnosis, salary "
        "FROM patients WITH (k = 5)"
    )
    admin.run("GRANT SELECT ON safe TO researcher")
    researcher = connect(hospital, "researcher")
    smallest = researcher.rows(
        "SELECT min(n) FROM (SELECT count(*) AS n FROM safe GROUP BY birth_date, sex, postcode) AS c"
    )
    assert smallest[0][0] >= 5
    with pytest.raises(AccessDenied):
        researcher.run("SELECT sex FROM patients")
    admin.run("DROP VIEW safe")
    with pytest.raises(DiscreetError):
        researcher.run("SELECT sex FROM safe")


def test_a_release_that_cannot_be_safe_is_not_made(admin):
    with pytest.raises(DiscreetError):
        admin.run("CREATE ANONYMIZED VIEW all_of_them AS SELECT * FROM patients WITH (k = 3000)")
    with pytest.raises(DiscreetError):
        admin.run("SELECT count(*) FROM all_of_them")
