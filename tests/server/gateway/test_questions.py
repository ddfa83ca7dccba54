"""Questions of those who may only ask: what else the owner declared holds for them, too."""

from __future__ import annotations

import secrets
from contextlib import closing
from datetime import UTC, datetime

import pytest
from tests.keep_cancelling import keep_cancelling

from discreet.errors import AccessDenied, BudgetExceeded, DiscreetError, StatementFailed
from discreet.guard.control import ControlStore
from discreet.guard.vault.keys import KeyAction, create_key
from discreet.guard.vault.wrapping import parse_wrapping_key

POLICY = """
tables:
  visits:
    source: visits.csv
    unit: person
    budget: {epsilon: 8}
    limits: {rows-per-unit: 3}
    columns:
      person: {role: identifier}
      ward: {role: sensitive, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 10]}
  wards:
    source: wards.csv
    public: true
    columns:
      ward: {role: insensitive}
      head: {role: insensitive}
"""


@pytest.fixture
def small(open_server, tmp_path):
    """A server with a table of people's visits and one that the policy calls public."""
    rows = [f"{number},{number % 5},{'ab'[number % 2]},{number % 10}" for number in range(30)]
    (tmp_path / "visits.csv").write_text("\n".join(["id,person,ward,cost", *rows]))
    (tmp_path / "wards.csv").write_text("ward,head\na,Ann\nb,Ben\n")
    (tmp_path / "policy.yaml").write_text(POLICY)
    return open_server(policy=tmp_path / "policy.yaml", epsilon="0.5")


@pytest.fixture
def admin(small, connect):
    found = connect(small)
    found.run("CREATE USER ann; CREATE ROLE analysts; GRANT analysts TO ann")
    found.run("GRANT AGGREGATE ON visits, wards TO analysts WITH BUDGET (EPSILON 1)")
    return found


@pytest.fixture
def ann(small, connect, admin):
    return connect(small, "ann")


def test_a_new_name_is_no_new_budget(small, connect, admin, ann):
    admin.run("CREATE USER boss CREATEROLE; GRANT analysts TO boss WITH ADMIN OPTION")
    ann.run("SET discreet.epsilon = 1")
    ann.run("SELECT count(*) FROM visits")
    boss = connect(small, "boss")
    for old, new in (("analysts", "others"), ("others", "third")):
        boss.run(f"ALTER ROLE {old} RENAME TO {new}")
        assert "free" in ann.run("SELECT count(*) FROM visits").notices[0].message
        with pytest.raises(BudgetExceeded):
            ann.run("SELECT count(*) FROM visits WHERE ward = 'a'")
    admin.run("REVOKE ALL ON visits FROM third")
    admin.run("GRANT AGGREGATE ON visits TO third WITH BUDGET (EPSILON 1)")
    with pytest.raises(BudgetExceeded):
        ann.run("SELECT count(*) FROM visits WHERE ward = 'a'")


def test_who_has_a_row_policy_cannot_ask_about_the_rows_it_hides(admin, ann):
    ann.run("SELECT count(*) FROM visits")
    admin.run("ALTER TABLE visits ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY another ON visits TO admin USING (true)")
    ann.run("SELECT count(*) FROM visits")  # AGGREGATE was granted, and no policy is for them
    admin.run("CREATE POLICY a_only ON visits TO analysts USING (ward = 'a')")
    for question in ("SELECT count(*) FROM visits", "SELECT sum(cost) FROM visits"):
        with pytest.raises(AccessDenied):
            ann.run(question)


def test_a_masked_column_is_in_no_answer(admin, ann):
    admin.run("CREATE MASK hidden ON visits (ward) TO analysts USING ('x')")
    for question in (
        "SELECT ward, count(*) FROM visits GROUP BY ward",
        "SELECT count(*) FROM visits WHERE ward = 'a'",
        "SELECT count(*) FROM (SELECT * FROM visits) AS v WHERE v.ward = 'a'",
        "SELECT w.head, count(*) FROM visits JOIN wards AS w USING (ward) GROUP BY w.head",
        "SELECT count(*) FROM visits NATURAL JOIN wards",
    ):
        with pytest.raises(Exception, match=r"denied|no column|refused") as refused:
            ann.run(question)
        assert refused.value.exit_code in (2, 4)
    assert ann.rows("SELECT count(*) FROM visits")


def test_what_the_owner_hides_of_a_public_table_is_public_no_more(admin, ann):
    joined = "SELECT w.head, count(*) FROM visits AS v JOIN wards AS w ON v.ward = w.ward GROUP BY w.head"
    admin.run("GRANT SELECT ON wards TO analysts")
    assert {head for head, _ in ann.rows(joined)} == {"Ann", "Ben"}
    admin.run("ALTER TABLE wards ENABLE ROW LEVEL SECURITY")
    with pytest.raises(Exception, match=r"join|unit|refused"):
        ann.run(joined)


@pytest.fixture
def key(tmp_path):
    """The key of a column, made before the server is started."""
    made = secrets.token_bytes(32)
    (tmp_path / "data").mkdir(mode=0o700)
    with closing(ControlStore(tmp_path / "data" / "control.sqlite")) as control:
        act = KeyAction(by="admin", at=datetime(2026, 1, 1, tzinfo=UTC))
        wrapping = parse_wrapping_key(made, where="The test")
        create_key(control, "k", wrapping, act=act, custody="client")
    return made


def test_an_encrypted_unit_does_not_make_every_row_a_person(key, admin, ann):
    admin.run("SELECT discreet_unlock('k', $1)", key)
    admin.run("DROP TABLE visits")
    admin.run("CREATE TABLE visits (id int PRIMARY KEY, person int, ward text, cost int)")
    admin.run("GRANT AGGREGATE ON visits TO analysts WITH BUDGET (EPSILON 1)")
    ann.run("SELECT count(*) FROM visits")
    admin.run("ALTER TABLE visits ALTER COLUMN person SET ENCRYPTED WITH KEY k")
    admin.run("INSERT INTO visits VALUES (1, 1, 'a', 3), (2, 1, 'a', 3)")
    with pytest.raises(StatementFailed, match="unit column"):
        ann.run("SELECT count(*) FROM visits")


def test_a_question_is_ended_by_a_cancel_or_by_its_time_limit(small, ann):
    groups = ", ".join(f"g AS g{number}" for number in range(12))
    endless = (
        "WITH g AS (SELECT cost, count(*) AS n FROM visits GROUP BY cost) "
        f"SELECT sum(g0.n * g11.n) FROM {groups}"
    )
    ann.run("SET discreet.epsilon = 0.1")

    def cancel() -> None:
        if small.server.ledger.accounts():  # it is charged
            ann.session.cancel()

    with pytest.raises(StatementFailed, match="due to user request"), keep_cancelling(cancel):
        ann.run(endless)
    ann.run("SET statement_timeout = '200ms'")
    with pytest.raises(StatementFailed, match="due to statement timeout"):
        ann.run(endless)
    ann.run("SET statement_timeout = 0")
    # Charged once, though it was asked twice.
    result = ann.run("SELECT count(*) FROM visits WHERE ward = 'a'").notices[0].message
    assert result == "Spent epsilon 0.1. Left: epsilon 0.8."


def test_the_default_schema_may_be_named(ann):
    asked = 'SELECT count(*) FROM "public"."visits" WHERE public.visits.cost > 1'
    assert len(ann.rows(asked)) == 1
    with pytest.raises(Exception, match="schema"):
        ann.run("WITH visits AS (SELECT 1 AS x) SELECT count(*) FROM public.visits")


def test_a_table_without_a_declared_unit_is_refused_when_a_column_looks_like_a_persons_key(
    open_server, connect, tmp_path
):
    for name in ("open", "rows"):
        (tmp_path / f"{name}.csv").write_text("patient_id,cost\n1,5\n1,6\n2,7\n")
    (tmp_path / "policy.yaml").write_text(
        """
        tables:
          open: {source: open.csv, budget: {epsilon: 8}, columns: {cost: sensitive}}
          rows: {source: rows.csv, unit: row, budget: {epsilon: 8}, columns: {cost: sensitive}}
        """
    )
    server = open_server(policy=tmp_path / "policy.yaml", epsilon="0.5")
    admin = connect(server)
    admin.run("CREATE USER ann; GRANT AGGREGATE ON open, rows TO ann WITH BUDGET (EPSILON 1)")
    ann = connect(server, "ann")
    with pytest.raises(
        DiscreetError, match=r"unit of 'open' is not declared: 'patient_id'.*unit: row"
    ):
        ann.run("SELECT count(*) FROM open")
    assert ann.run("SELECT count(*) FROM rows")


def test_a_copy_of_a_table_has_no_new_budget_under_its_id(open_server, connect, tmp_path):
    """Its id is its account; who may only ask can make neither a copy nor a view of it."""
    (tmp_path / "visits.csv").write_text("id,person,ward,cost\n1,1,a,1\n2,2,b,2\n")
    table = POLICY.partition("  wards:")[0].replace(
        "{epsilon: 8}", "{epsilon: 1}\n    id: visits-1234"
    )
    (tmp_path / "policy.yaml").write_text(table)
    server = open_server(policy=tmp_path / "policy.yaml", epsilon="1")
    admin = connect(server)
    admin.run("CREATE USER ann; GRANT AGGREGATE ON visits TO ann WITH BUDGET (EPSILON 1)")
    ann = connect(server, "ann")
    ann.run("SELECT count(*) FROM visits")
    for copy in ("TABLE", "VIEW"):
        with pytest.raises(AccessDenied):
            ann.run(f"CREATE {copy} mine AS SELECT * FROM visits")
    admin.run("CREATE TABLE stays AS SELECT * FROM visits")
    admin.run("GRANT AGGREGATE ON stays TO ann WITH BUDGET (EPSILON 1)")
    with pytest.raises(StatementFailed, match="does not define the unit"):
        ann.run("SELECT count(*) FROM stays WHERE ward = 'a'")
    server.server.close()
    (tmp_path / "policy.yaml").write_text(table.replace("  visits:", "  stays:"))
    ann = connect(open_server(policy=tmp_path / "policy.yaml", epsilon="1"), "ann")
    with pytest.raises(BudgetExceeded, match="visits-1234"):
        ann.run("SELECT count(*) FROM stays WHERE ward = 'a'")


@pytest.mark.parametrize(
    "budget", ["EPSILON 8.001", "EPSILON 1e6", "EPSILON 1, DELTA 1e-6", "EPSILON 1e99"]
)
def test_a_grant_is_at_most_what_the_table_has(admin, budget):
    with pytest.raises(StatementFailed, match='more than "visits" has in all: epsilon 8'):
        admin.run(f"GRANT AGGREGATE ON wards, visits TO ann WITH BUDGET ({budget})")
    admin.run("GRANT AGGREGATE ON visits TO ann WITH BUDGET (EPSILON 8)")


def test_a_grant_on_a_table_without_a_declared_budget_is_at_most_the_default(admin):
    admin.run("CREATE TABLE other (a integer)")
    with pytest.raises(StatementFailed, match='more than "other" has in all: epsilon 10'):
        admin.run("GRANT AGGREGATE ON other TO ann WITH BUDGET (EPSILON 11)")


def test_a_session_sets_the_share_of_epsilon_that_measures_rows_cut_off(ann):
    def price() -> str:
        return str(ann.rows("EXPLAIN SELECT count(*) FROM visits"))

    assert "epsilon 0.025 measures how many rows the limits cut off" in price()
    ann.run("SET discreet.cut_share = 0.1")
    assert "epsilon 0.05 measures how many rows the limits cut off" in price()
    ann.run("SET discreet.cut_share = 0")
    assert "cut off" not in price()


@pytest.mark.parametrize("share", ["1", "-0.1", "NaN", "'a'"])
def test_a_share_is_from_0_to_below_1(ann, share):
    with pytest.raises(StatementFailed, match=r"discreet\.cut_share"):
        ann.run(f"SET discreet.cut_share = {share}")


@pytest.mark.parametrize("kind", ["integer", "number"])
def test_a_column_is_planned_as_the_kind_that_the_policy_declares(
    open_server, connect, tmp_path, kind
):
    (tmp_path / "visits.csv").write_text("id,person,ward,cost\n1,1,a,1\n2,2,b,2\n")
    table = POLICY.partition("  wards:")[0]
    (tmp_path / "policy.yaml").write_text(table.replace("bounds:", f"kind: {kind}, bounds:"))
    server = open_server(policy=tmp_path / "policy.yaml", epsilon="1")
    connect(server).run("CREATE USER ann; GRANT AGGREGATE ON visits TO ann WITH BUDGET (EPSILON 1)")
    session = connect(server, "ann").session
    (statement,) = session.split("SELECT cost, count(*) AS n FROM visits GROUP BY cost")
    if kind == "number":
        with pytest.raises(DiscreetError, match="values of a grouping key are not public"):
            session.prepare(statement)
    else:
        assert session.prepare(statement).fields is not None


SURVEY = """
tables:
  survey:
    source: survey.csv
    unit: row
    budget: {epsilon: 8}
    columns:
      age: {role: quasi-identifier, kind: integer, bounds: [0, 120]}
      w: {role: weight, kind: number, bounds: [0, 50]}
"""


def test_a_session_weighs_rows_and_a_masked_weight_is_in_no_answer(open_server, connect, tmp_path):
    rows = [f"{20 + number % 50},{10 + number % 30}.5" for number in range(400)]
    (tmp_path / "survey.csv").write_text("\n".join(["age,w", *rows]))
    (tmp_path / "policy.yaml").write_text(SURVEY)
    server = open_server(policy=tmp_path / "policy.yaml", epsilon="2")
    admin = connect(server)
    admin.run("CREATE USER ann; GRANT AGGREGATE ON survey TO ann WITH BUDGET (EPSILON 8)")
    ann = connect(server, "ann")
    question = "SELECT count(*) FROM survey"
    ((plain,),) = ann.rows(question)
    ann.run("SET discreet.weighted = on")
    ((weighed,),) = ann.rows(question)
    assert float(plain) == pytest.approx(400, abs=40)
    assert float(weighed) == pytest.approx(9_900, abs=1_000)
    with pytest.raises(DiscreetError, match="has no weighted answer"):
        ann.run("SELECT max(age) FROM survey")
    admin.run("CREATE MASK hidden ON survey (w) TO ann USING (1)")
    with pytest.raises(Exception, match=r"denied|no column|refused"):
        ann.run("SELECT sum(age) FROM survey")
    ann.run("SET discreet.weighted = off")
    assert ann.rows("SELECT sum(age) FROM survey")


def test_a_switch_is_on_or_off(ann):
    with pytest.raises(StatementFailed, match=r"discreet\.weighted"):
        ann.run("SET discreet.weighted = maybe")
