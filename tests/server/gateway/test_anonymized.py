"""Anonymized views: releases that are read like views."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest

from discreet.errors import AccessDenied, DiscreetError, RiskNotTolerated, StatementFailed
from discreet.release import anonymization
from discreet.server.gateway import shown_views


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


@pytest.fixture
def people(server, connect):
    """A user with a table of forty people."""
    client = connect(server)
    client.run("CREATE TABLE people (id int PRIMARY KEY, age int, illness text)")
    rows = ", ".join(f"({n}, {20 + n % 4}, '{'ab'[n % 2]}')" for n in range(40))
    client.run(f"INSERT INTO people VALUES {rows}")
    return client


WRONG = (
    "k = nan, quasi = 'age'",
    "k = 1e400, quasi = 'age'",
    "k = 2.5, quasi = 'age'",
    "k = 2, suppress = nan, quasi = 'age'",
    "k = 2, method = 'magic', quasi = 'age'",
    "k = 2",
)


def test_what_a_release_cannot_be_made_with_is_reported_in_words_of_sql(people):
    for options in WRONG:
        with pytest.raises(StatementFailed) as refused:
            people.run(f"CREATE ANONYMIZED VIEW v AS SELECT age FROM people WITH ({options})")
        assert refused.value.sqlstate == "22023"
        assert "--" not in f"{refused.value} {refused.value.hint}"


def test_a_release_has_the_names_of_its_query(people):
    with pytest.raises(StatementFailed, match="names of its query"):
        people.run(
            "CREATE ANONYMIZED VIEW v (a) AS SELECT age FROM people WITH (k = 2, quasi = 'age')"
        )


@pytest.fixture
def known(monkeypatch):
    """What each release that is made is attacked together with: the columns of earlier ones."""
    found, make = [], anonymization.anonymize_source

    def watched(*arguments, earlier, **options):
        found.append([pq.read_table(one.output).column_names for one in earlier])
        return make(*arguments, earlier=earlier, **options)

    monkeypatch.setattr(anonymization, "anonymize_source", watched)
    return found


def test_a_release_is_attacked_together_with_those_of_the_same_people(people, known):
    people.run("CREATE VIEW seen AS SELECT age, illness FROM people")
    rest = "WITH (k = 2, quasi = 'age', sensitive = 'illness', accept_risk = 'a test')"
    people.run(f"CREATE ANONYMIZED VIEW one AS SELECT age, illness FROM seen {rest}")
    people.run(f"CREATE OR REPLACE ANONYMIZED VIEW one AS SELECT age, illness FROM people {rest}")
    people.run("CREATE TABLE others AS SELECT * FROM people")
    people.run(f"CREATE ANONYMIZED VIEW two AS SELECT age, illness FROM others {rest}")
    assert known == [[], [["age", "illness"]], []]


def test_a_release_that_was_dropped_or_replaced_is_not_forgotten(people, known):
    rest = "WITH (k = 2, quasi = 'age', sensitive = 'illness', accept_risk = 'a test')"
    people.run("CREATE VIEW seen AS SELECT age, illness FROM people")
    people.run(f"CREATE ANONYMIZED VIEW one AS SELECT age, illness FROM seen {rest}")
    people.run("BEGIN; DROP VIEW one; ROLLBACK")
    people.run("CREATE ANONYMIZED VIEW two AS SELECT age FROM people WITH (k = 2, quasi = 'age')")
    people.run("DROP VIEW seen CASCADE; DROP VIEW two")
    people.run(f"CREATE ANONYMIZED VIEW one AS SELECT age, illness FROM people {rest}")
    people.run(f"CREATE OR REPLACE ANONYMIZED VIEW one AS SELECT age, illness FROM people {rest}")
    both = ["age", "illness"]
    assert known[:2] == [[], [both]]
    assert [sorted(columns) for columns in known[2:]] == [
        [["age"], both],
        [["age"], both, both],
    ]


def test_what_a_release_was_made_of_is_not_what_its_view_is_made_of_later(server, connect):
    admin = connect(server)
    admin.run("CREATE TABLE people (id int PRIMARY KEY, age int, illness text)")
    rows = ", ".join(f"({number}, {20 + number // 4}, 'i{number % 4}')" for number in range(40))
    admin.run(
        f"INSERT INTO people VALUES {rows}; CREATE VIEW seen AS SELECT age, illness FROM people"
    )
    options = "WITH (k = 2, quasi = 'age', sensitive = 'illness', accept_risk = 'a test')"
    admin.run(f"CREATE ANONYMIZED VIEW first AS SELECT age, illness FROM seen {options}")
    admin.run("CREATE OR REPLACE VIEW seen AS SELECT 1 AS age, 'a' AS illness")
    for _ in range(2):
        assert (
            len(list(shown_views.earlier_views(admin.session.state, {("public", "people")}))) == 1
        )
        admin.run("DROP VIEW IF EXISTS first")


@pytest.fixture
def workers(server, connect):
    """A user with a table of 64 people, whose age and area together tell their work."""
    client = connect(server)
    client.run("CREATE TABLE workers (id int PRIMARY KEY, age int, area int, work text)")
    rows = ", ".join(f"({n}, {20 + n % 16 // 4}, {n % 4}, 'w{n % 16}')" for n in range(64))
    client.run(f"INSERT INTO workers VALUES {rows}")
    return client


def test_views_that_publish_different_columns_of_a_table_are_attacked_together(workers):
    workers.run(
        "CREATE ANONYMIZED VIEW by_age AS SELECT age, work FROM workers "
        "WITH (k = 8, quasi = 'age', sensitive = 'work', l = 2)"
    )
    with pytest.raises(RiskNotTolerated, match="composition"):
        workers.run(
            "CREATE ANONYMIZED VIEW by_area AS SELECT area, work FROM workers "
            "WITH (k = 8, quasi = 'area', sensitive = 'work', l = 2)"
        )


def test_columns_that_only_earlier_views_publish_are_not_published(workers):
    options = "sensitive = 'work', l = 2, accept_risk = 'a test')"
    workers.run(
        "CREATE ANONYMIZED VIEW by_age AS SELECT age, work FROM workers "
        f"WITH (k = 8, quasi = 'age', {options}"
    )
    made = workers.run(
        "CREATE ANONYMIZED VIEW by_area AS SELECT area, work FROM workers "
        f"WITH (k = 8, quasi = 'area', {options}"
    )
    assert "not tried" not in made.notices[0].message
    assert workers.run("SELECT * FROM by_area").table.column_names == ["area", "work"]
    with pytest.raises(StatementFailed) as refused:
        workers.run(
            "CREATE ANONYMIZED VIEW other AS SELECT area, work FROM workers "
            f"WITH (k = 8, quasi = 'area, age', {options}"
        )
    assert refused.value.sqlstate == "42703"
