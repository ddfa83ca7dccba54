"""Models that are learned on the server, from the budget of a grant."""

from __future__ import annotations

import numpy as np
import pytest

from discreet.errors import AccessDenied, BudgetExceeded, StatementFailed, WrongUsage
from discreet.learning.model_file import SavedPredictor

POLICY = """
tables:
  visits:
    source: visits.csv
    unit: person
    budget: {epsilon: 8, delta: 1e-3}
    limits: {rows-per-unit: 3}
    columns:
      person: {role: identifier}
      ward: {role: sensitive, values: [a, b]}
      cost: {role: sensitive, bounds: [0, 10]}
      stay: {role: sensitive, bounds: [0, 30]}
"""
LEARN = "SELECT discreet_learn('visits', target => 'ward', leave_out => 'stay')"


@pytest.fixture
def served(open_server, tmp_path):
    rows = [
        f"{number},{number},{'ab'[number % 2]},{number % 2 * 9},{number % 30}"
        for number in range(300)
    ]
    (tmp_path / "visits.csv").write_text("\n".join(["id,person,ward,cost,stay", *rows]))
    (tmp_path / "policy.yaml").write_text(POLICY)
    return open_server(policy=tmp_path / "policy.yaml", epsilon="1")


@pytest.fixture
def admin(served, connect):
    admin = connect(served)
    admin.run("CREATE USER ann")
    admin.run("GRANT AGGREGATE ON visits TO ann WITH BUDGET (EPSILON 2, DELTA 0.0001)")
    return admin


@pytest.fixture
def ann(served, admin, connect):
    return connect(served, "ann")


def read_model(text):
    return SavedPredictor.from_bytes(text.encode())


def test_a_model_is_learned_and_paid_for_once(ann):
    first = ann.run(LEARN)
    assert "Spent epsilon 1 and delta 1e-9. Left: epsilon 1" in first.notices[0].message
    again = ann.run(LEARN)
    assert "The same model again is free" in again.notices[0].message
    texts = [found.table.column(0)[0].as_py() for found in (first, again)]
    assert texts[0] == texts[1]
    model = read_model(texts[0])
    assert [column.name for column in model.space.features] == ["cost"]
    assert model.predictor.predict(np.array([[0], [9]])).argmax(axis=1).tolist() == [0, 1]


def test_a_budget_that_is_spent_gives_no_model(ann):
    ann.run("SET discreet.epsilon = 3")
    with pytest.raises(BudgetExceeded):
        ann.run(LEARN)


def test_options_of_the_learner_and_parameters_are_taken(ann):
    text = "SELECT discreet_learn($1, target => $2, features => 'cost,stay', rounds => 2)"
    found = ann.run(text, "visits", "ward")
    model = read_model(found.table.column(0)[0].as_py())
    assert [column.name for column in model.space.features] == ["cost", "stay"]
    assert model.options["rounds"] == "2"


def test_explain_tells_the_price_and_spends_nothing(ann):
    lines = [line for (line,) in ann.rows(f"EXPLAIN PRIVACY {LEARN}")]
    assert lines[0].startswith("A model of 'ward' by boosting costs epsilon 1 and delta 1e-9.")
    assert "Left: epsilon 2" in lines[0]


def test_who_may_not_aggregate_learns_no_model(served, admin, connect):
    admin.run("CREATE USER bob")
    with pytest.raises(AccessDenied, match="permission denied for table visits"):
        connect(served, "bob").run(LEARN)
    with pytest.raises(AccessDenied, match="permission denied"):
        admin.run(LEARN)


def test_a_revoked_grant_learns_no_model(ann, admin):
    ann.run(f"PREPARE model AS {LEARN}")
    admin.run("REVOKE AGGREGATE ON visits FROM ann CASCADE")
    with pytest.raises(AccessDenied):
        ann.run("EXECUTE model")


def test_a_masked_column_is_no_feature(ann, admin):
    admin.run("CREATE MASK m ON visits (stay) USING (NULL)")
    with pytest.raises(AccessDenied):
        ann.run("SELECT discreet_learn('visits', target => 'ward', features => 'stay')")
    found = ann.run("SELECT discreet_learn('visits', target => 'ward')")
    model = read_model(found.table.column(0)[0].as_py())
    assert [column.name for column in model.space.features] == ["cost"]


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("SELECT discreet_learn()", StatementFailed),
        ("SELECT discreet_learn('visits', 'ward')", StatementFailed),
        ("SELECT discreet_learn('visits', target => 'ward', target => 'ward')", StatementFailed),
        ("SELECT discreet_learn('nowhere', target => 'ward')", StatementFailed),
        ("SELECT discreet_learn('visits', target => 'ward', learner => 'magic')", WrongUsage),
        ("SELECT discreet_learn('visits', target => 'ward', magic => 1)", WrongUsage),
        ("SELECT discreet_learn('visits', target => 'person')", WrongUsage),
        ("SELECT discreet_learn('visits')", WrongUsage),
    ],
)
def test_what_cannot_be_learned_is_refused_and_costs_nothing(ann, text, error):
    with pytest.raises(error):
        ann.run(text)
    lines = [line for (line,) in ann.rows(f"EXPLAIN PRIVACY {LEARN}")]
    assert "Left: epsilon 2" in lines[0]


@pytest.mark.parametrize("name", ["public.visits", "VISITS", '"public"."visits"'])
def test_a_table_is_named_as_in_sql(ann, name):
    ann.run(LEARN)
    again = ann.run(LEARN.replace("'visits'", f"'{name}'"))
    assert "The same model again is free" in again.notices[0].message


@pytest.mark.parametrize("name", ["", "..", "a b", "a.b.c.public.visits", '"visits'])
def test_what_is_no_name_is_refused(ann, name):
    with pytest.raises(StatementFailed, match="invalid name"):
        ann.run(LEARN.replace("'visits'", f"'{name}'"))


STAYS = (
    POLICY
    + """
  clinic.stays:
    unit: person
    limits: {rows-per-unit: 3}
    columns:
      person: {role: identifier, kind: integer}
      ward: {role: sensitive, values: [a, b]}
      cost: {role: sensitive, kind: integer, bounds: [0, 10]}
"""
)


@pytest.fixture
def of_clinic(open_server, connect, tmp_path):
    (tmp_path / "visits.csv").write_text("person,ward,cost,stay\n1,a,1,1\n2,b,2,2\n")
    (tmp_path / "policy.yaml").write_text(STAYS)
    served = open_server(policy=tmp_path / "policy.yaml", epsilon="1")
    admin = connect(served)
    admin.run("CREATE USER ann; CREATE SCHEMA clinic; GRANT USAGE ON SCHEMA clinic TO ann")
    admin.run("CREATE TABLE clinic.stays (person int, ward text, cost int)")
    rows = ", ".join(f"({n}, '{'ab'[n % 2]}', {n % 2 * 9})" for n in range(300))
    admin.run(f"INSERT INTO clinic.stays VALUES {rows}")
    admin.run("CREATE TABLE stays (person int, ward text, cost int)")
    for table in ("clinic.stays", "stays", "visits"):
        budget = "EPSILON 4, DELTA 0.00001"
        admin.run(f"GRANT AGGREGATE ON {table} TO ann WITH BUDGET ({budget})")
    return connect(served, "ann")


def test_a_policy_declares_a_table_of_another_schema(of_clinic):
    found = of_clinic.run("SELECT discreet_learn('clinic.stays', target => 'ward')")
    model = read_model(found.table.column(0)[0].as_py())
    assert [column.name for column in model.space.features] == ["cost"]
    ((rows,),) = of_clinic.rows("SELECT count(*) FROM Clinic.stays WHERE clinic.stays.cost > 5")
    assert 100 < rows < 200


def test_a_table_of_another_schema_lends_its_policy_to_no_other(of_clinic):
    with pytest.raises(StatementFailed, match='does not define the unit of "stays"'):
        of_clinic.run("SELECT discreet_learn('stays', target => 'ward')")
    with pytest.raises(StatementFailed, match="does not exist"):
        of_clinic.run("SELECT discreet_learn('\"clinic.stays\"', target => 'ward')")


def test_the_journal_has_the_price(served, ann):
    ann.run(LEARN)
    entries = [
        entry.event
        for entry in served.server.journal.entries()
        if "discreet_learn" in entry.event.statement
    ]
    assert entries[-1].kind == "question"
    assert float(entries[-1].price["epsilon"]) == 1
