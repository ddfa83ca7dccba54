"""The textbook's inference attacks against the textbook's controls: what each stops, and what passes it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import pytest

from discreet.errors import AccessDenied, DiscreetError, StatementFailed
from discreet.server.gateway import answer_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.server.gateway.conftest import Client

    from discreet.server.startup import OpenedServer

PEOPLE = [("Alice", 32, "N2L 0G7", 55_000), ("Bob", 34, "N2L 3E4", 65_000)] + [
    (f"P{i:02}", 21 + i % 18, f"N2L {i % 5}A1", 35_000 + 997 * i) for i in range(38)
]
ALICE = 55_000
TOTAL = sum(person[3] for person in PEOPLE)
SUM = "SELECT sum(salary) FROM employee"
CROWD = f"{SUM} WHERE name = 'Alice' OR age < 30"
REST = f"{SUM} WHERE name = 'Alice' OR NOT age < 30"


@pytest.fixture
def admin(server: OpenedServer, connect: Callable[..., Client]) -> Client:
    client = connect(server)
    client.run("CREATE TABLE employee (name text PRIMARY KEY, age int, zip text, salary int)")
    rows = ", ".join(f"('{n}', {a}, '{z}', {s})" for n, a, z, s in PEOPLE)
    client.run(f"INSERT INTO employee VALUES {rows}")
    client.run("CREATE ROLE analysts; CREATE USER eve IN ROLE analysts; CREATE USER zoe")
    client.run("GRANT analysts TO zoe")
    return client


@pytest.fixture
def eve(
    admin: Client, server: OpenedServer, connect: Callable[..., Client]
) -> Callable[[str], Client]:
    """Return the textbook's adversary under a control."""

    def under(rules: str, user: str = "eve") -> Client:
        admin.run(f"CREATE CONTROL seed ON employee TO analysts WITH ({rules})")
        return connect(server, user)

    return under


def value(client: Client, text: str, *values: object) -> int:
    ((found,),) = client.rows(text, *values)
    return int(found)


def refusal(client: Client, text: str, *values: object) -> StatementFailed:
    with pytest.raises(StatementFailed) as refused:
        client.run(text, *values)
    return refused.value


def tracked(client: Client) -> int:
    """The textbook's tracker: a person or a crowd, a person or the rest, less everyone."""
    return value(client, CROWD) + value(client, REST) - value(client, SUM)


# C15: the direct attack


def test_a_question_about_one_person_is_refused(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4")
    text = f"{SUM} WHERE name = 'Alice' AND (age < 30 OR age >= 30)"
    refused = refusal(adversary, text)
    assert (refused.sqlstate, str(refused)) == (
        "42501",
        "the question is about too few or too many people",
    )


def test_a_question_about_a_crowd_is_answered_exactly_and_with_a_warning(
    eve: Callable[..., Client],
) -> None:
    adversary = eve("size = 4")
    outcome = adversary.run(
        "SELECT count(*) AS n, sum(salary), avg(salary), count(zip) "
        "FROM employee AS e WHERE e.age < 30"
    )
    young = [person[3] for person in PEOPLE if person[1] < 30]
    assert outcome.table is not None
    n, total, mean, zips = (column.to_pylist()[0] for column in outcome.table.columns)
    assert (n, total, zips) == (len(young), sum(young), len(young))
    assert float(mean) == pytest.approx(sum(young) / len(young))
    (notice,) = outcome.notices
    assert notice.severity == "WARNING"
    assert "tracker" in notice.message


# C16: everybody less everybody else


def test_everybody_but_one_is_refused_with_the_same_words(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4, everybody = on")
    assert value(adversary, SUM) == TOTAL
    complement = refusal(adversary, f"{SUM} WHERE name <> 'Alice'")
    direct = refusal(adversary, f"{SUM} WHERE name = 'Alice'")
    assert str(complement) == str(direct)


def test_everybody_is_refused_unless_the_control_says_otherwise(
    eve: Callable[..., Client],
) -> None:
    refusal(eve("size = 4"), SUM)


# C17: the tracker


def test_the_tracker_breaks_a_rule_about_sizes(eve: Callable[..., Client]) -> None:
    assert tracked(eve("size = 4, everybody = on")) == ALICE


def test_the_tracker_needs_no_question_about_everybody(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 10")
    everybody = value(adversary, f"{SUM} WHERE age < 30") + value(
        adversary, f"{SUM} WHERE NOT age < 30"
    )
    assert value(adversary, CROWD) + value(adversary, REST) - everybody == ALICE


@pytest.mark.parametrize("rule", ["overlap = 10", "audit = on"])
def test_overlaps_and_the_audit_stop_the_tracker(eve: Callable[..., Client], rule: str) -> None:
    adversary = eve(f"size = 4, everybody = on, {rule}")
    with pytest.raises(AccessDenied, match="too close to earlier ones"):
        tracked(adversary)


def test_the_audit_permits_what_determines_no_value(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4, everybody = on, audit = on")
    assert value(adversary, SUM) == TOTAL
    young = value(adversary, f"{SUM} WHERE age < 30")
    assert value(adversary, f"{SUM} WHERE age >= 30") == TOTAL - young
    assert (
        str(refusal(adversary, f"{SUM} WHERE age < 30 OR name = 'Alice'"))
        == answer_history.TOO_CLOSE
    )
    # Values of another column are other unknowns.
    assert value(adversary, "SELECT sum(age) FROM employee WHERE age < 30 OR name = 'Alice'")


def test_counts_find_a_postcode_in_spite_of_the_rule_about_sizes(
    eve: Callable[..., Client],
) -> None:  # C19
    adversary = eve("size = 4, everybody = on")
    count = "SELECT count(*) FROM employee WHERE"
    for postcode, is_hers in (("N2L 0G7", True), ("N2L 3E4", False)):
        hers = f"(name = 'Alice' AND zip = '{postcode}')"
        found = value(adversary, f"{count} {hers} OR age < 30") + value(
            adversary, f"{count} {hers} OR NOT age < 30"
        )
        assert found == len(PEOPLE) + is_hers


def test_the_same_question_again_is_answered_however_it_is_written(
    eve: Callable[..., Client],
) -> None:
    adversary = eve("size = 4, overlap = 0, audit = on")
    first = value(adversary, f"{SUM} WHERE age < 30")
    assert value(adversary, f"{SUM} WHERE NOT (age > 29)") == first
    assert value(adversary, "SELECT sum(salary) FROM employee WHERE age < $1", 30) == first


# Who asks


def test_members_of_a_role_share_what_was_answered(
    eve: Callable[..., Client], connect: Callable[..., Client], server: OpenedServer
) -> None:
    adversary = eve("size = 4, audit = on")
    value(adversary, CROWD)
    other = connect(server, "zoe")
    value(other, CROWD)
    refusal(other, f"{SUM} WHERE age < 30")


def test_another_role_does_not_hide_who_asks(admin: Client, eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4, audit = on")
    admin.run("CREATE ROLE others ROLE eve; CREATE CONTROL two ON employee TO others WITH (size=4)")
    value(adversary, CROWD)
    adversary.run("SET ROLE others")
    value(adversary, f"{SUM} WHERE age < 30 AND zip <> 'N2L 0A1'")
    admin.run("DROP CONTROL two ON employee; DROP CONTROL seed ON employee")
    admin.run("CREATE CONTROL two ON employee TO others WITH (size = 4, audit = on)")
    refusal(adversary, f"{SUM} WHERE age < 30")


def test_a_new_name_does_not_hide_who_asked(
    admin: Client, server: OpenedServer, connect: Callable[..., Client]
) -> None:
    admin.run("CREATE CONTROL own ON employee TO zoe WITH (size = 4, audit = on)")
    value(connect(server, "zoe"), CROWD)
    admin.run("ALTER ROLE zoe RENAME TO joe")
    refusal(connect(server, "joe"), f"{SUM} WHERE age < 30")


def test_who_has_no_control_or_no_longer_is_denied_as_before(
    admin: Client, eve: Callable[..., Client], connect: Callable[..., Client], server: OpenedServer
) -> None:
    adversary = eve("size = 4")
    admin.run("CREATE USER mallory")
    assert str(refusal(connect(server, "mallory"), CROWD)) == (
        "permission denied for table employee"
    )
    (statement,) = adversary.session.split(CROWD)
    prepared = adversary.session.prepare(statement)
    admin.run("DROP CONTROL seed ON employee")
    with pytest.raises(AccessDenied):
        adversary.session.run(prepared)


def test_who_may_write_rows_cannot_fill_up_a_crowd(
    admin: Client, eve: Callable[..., Client]
) -> None:
    adversary = eve("size = 4")
    admin.run("GRANT INSERT ON employee TO eve")
    assert refusal(adversary, CROWD).sqlstate == "42501"


def test_select_and_aggregate_come_before_a_control(
    admin: Client, eve: Callable[..., Client]
) -> None:
    adversary = eve("size = 4")
    admin.run("GRANT AGGREGATE ON employee TO eve WITH BUDGET (EPSILON 1)")
    assert "policy" in str(refusal(adversary, CROWD))  # which differential privacy needs
    admin.run("GRANT SELECT ON employee TO eve")
    assert value(adversary, f"{SUM} WHERE name = 'Alice'") == ALICE


# What may be asked


UNJUDGED = [
    "SELECT salary FROM employee",
    "SELECT max(salary) FROM employee WHERE age < 30",
    "SELECT sum(salary) + 0 FROM employee WHERE age < 30",
    "SELECT sum(salary * age) FROM employee WHERE age < 30",
    "SELECT sum(DISTINCT salary) FROM employee WHERE age < 30",
    "SELECT sum(salary) FILTER (WHERE name = 'Alice') FROM employee WHERE age < 30",
    "SELECT sum(salary) OVER () FROM employee WHERE age < 30",
    "SELECT age, sum(salary) FROM employee GROUP BY age",
    "SELECT sum(salary) FROM employee HAVING count(*) > 5",
    "SELECT sum(salary) FROM employee WHERE age < (SELECT avg(age) FROM employee)",
    "SELECT sum(a.salary) FROM employee a JOIN employee b ON a.name = b.name",
    "SELECT sum(salary) FROM (SELECT * FROM employee) AS e",
    "WITH e AS (SELECT * FROM employee) SELECT sum(salary) FROM e",
    "SELECT sum(salary) FROM employee WHERE 1 / (salary - 55000) = 0",
    "SELECT sum(salary) FROM employee WHERE CAST(zip AS int) = 1",
    "SELECT sum(salary) FROM employee WHERE name LIKE 'A\\'",
    "SELECT sum(salary) FROM employee WHERE name LIKE zip",
    "SELECT sum(salary) FROM employee WHERE age < 30 LIMIT 1",
    "SELECT sum(salary) FROM employee WHERE age < 30 UNION ALL SELECT 1",
    "SELECT sum(salary) FROM employee WHERE name = current_user",
]


def test_what_a_control_cannot_judge_is_denied(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4")
    for text in UNJUDGED:
        refused = refusal(adversary, text)
        assert refused.sqlstate == "42501", text
        assert "sum(column)" in (refused.hint or ""), text


def test_no_error_depends_on_a_row(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4")
    for wrong in ("age = 'x'", "age = CAST('x' AS int)", "age IN (1, 'x')"):
        for name in ("Alice", "Nobody"):
            text = f"{SUM} WHERE (name = '{name}' AND {wrong}) OR age < 30"
            assert refusal(adversary, text).sqlstate == "22P02"


def test_people_without_a_value_do_not_fill_up_a_crowd(
    admin: Client, eve: Callable[..., Client]
) -> None:
    admin.run("UPDATE employee SET salary = NULL WHERE age < 30 AND name <> 'P00'")
    adversary = eve("size = 4")
    assert value(adversary, "SELECT count(*) FROM employee WHERE age < 30") > 4
    refusal(adversary, f"{SUM} WHERE age < 30")


def test_a_table_without_people_is_not_asked_about(
    admin: Client, server: OpenedServer, connect: Callable[..., Client]
) -> None:
    admin.run("CREATE TABLE loose (x int); CREATE CONTROL c ON loose TO PUBLIC WITH (size = 2)")
    assert refusal(connect(server, "eve"), "SELECT sum(x) FROM loose").sqlstate == "55000"


def test_a_person_of_the_policy_has_many_rows(
    hospital: OpenedServer, connect: Callable[..., Client]
) -> None:
    admin = connect(hospital)
    admin.run("CREATE USER eve; CREATE CONTROL c ON visits TO eve WITH (size = 50)")
    ((of_whom,),) = admin.rows("SELECT patient_id FROM visits GROUP BY 1 ORDER BY count(*) LIMIT 1")
    adversary = connect(hospital, "eve")
    refusal(adversary, f"SELECT count(*) FROM visits WHERE patient_id = '{of_whom}'")
    assert value(adversary, f"SELECT count(*) FROM visits WHERE patient_id > '{of_whom}0'")
    admin.run("DROP CONTROL c ON visits; CREATE CONTROL d ON visits TO eve WITH (size=50, audit)")
    text = "SELECT count(*) FROM visits WHERE patient_id <= 'P01000'"
    value(adversary, text)
    # How many rows a person has is a value, too.
    assert str(refusal(adversary, f"{text} AND patient_id <> 'P00500'")) == answer_history.TOO_CLOSE
    some = refusal(adversary, "SELECT count(*) FROM visits WHERE ward = 'pulmonology'")
    assert "some rows of a person" in str(some)


# What is kept, and when


def test_describing_counts_as_no_answer(eve: Callable[..., Client], server: OpenedServer) -> None:
    adversary = eve("size = 4, audit = on")
    (statement,) = adversary.session.split(CROWD)
    prepared = adversary.session.prepare(statement)
    assert prepared.fields is not None
    assert [(one.name, one.type) for one in prepared.fields] == [("sum", "int8")]
    lines = adversary.rows(f"EXPLAIN {CROWD}")
    assert "control seed" in lines[0][0]
    assert server.server.control.documents(answer_history.KIND) == {}
    value(adversary, f"{SUM} WHERE age < 30")
    with pytest.raises(AccessDenied):
        adversary.session.run(prepared)


def test_an_answer_is_given_even_if_the_transaction_is_undone(eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4, audit = on")
    adversary.run("BEGIN")
    value(adversary, CROWD)
    adversary.run("ROLLBACK")
    refusal(adversary, f"{SUM} WHERE age < 30")


def test_a_restart_forgets_no_answer(
    eve: Callable[..., Client],
    server: OpenedServer,
    open_server: Callable[..., OpenedServer],
    connect: Callable[..., Client],
) -> None:
    value(eve("size = 4, audit = on"), CROWD)
    server.server.close()
    again = connect(open_server(), "eve")
    refusal(again, f"{SUM} WHERE age < 30")
    value(again, CROWD)


def test_people_are_known_again_whatever_happens_to_rows(
    admin: Client, eve: Callable[..., Client]
) -> None:
    adversary = eve("size = 4, audit = on")
    value(adversary, CROWD)
    admin.run("DELETE FROM employee WHERE name = 'Alice'")
    refusal(adversary, f"{SUM} WHERE age < 30")
    admin.run("INSERT INTO employee VALUES ('Alice', 33, 'N2L 0G7', 56000)")
    value(adversary, CROWD)


def test_of_two_halves_of_an_attack_at_once_one_is_answered(
    eve: Callable[..., Client], server: OpenedServer, connect: Callable[..., Client]
) -> None:
    eve("size = 4, audit = on")
    for crowd in range(22, 30):
        halves = [
            f"age < {crowd} OR zip = 'N2L 1A1'",
            f"age < {crowd} OR zip = 'N2L 1A1' OR name = 'Alice'",
        ]
        start, answers = threading.Barrier(len(halves)), list[object]()

        def go(
            half: str, start: threading.Barrier = start, answers: list[object] = answers
        ) -> None:
            client = connect(server, "eve")
            start.wait()
            try:
                answers.append(value(client, f"{SUM} WHERE {half}"))
            except DiscreetError as refused:
                answers.append(refused)

        threads = [threading.Thread(target=go, args=(half,)) for half in halves]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(isinstance(answer, int) for answer in answers) <= 1
        assert len(answers) == 2


def test_no_more_is_answered_than_can_be_kept(
    eve: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_history, "MOST_ANSWERS", 2)
    adversary = eve("size = 4")
    value(adversary, f"{SUM} WHERE age < 30")
    value(adversary, f"{SUM} WHERE age < 31")
    assert refusal(adversary, f"{SUM} WHERE age < 32").sqlstate == "53400"
    value(adversary, f"{SUM} WHERE age < 31")


def test_the_journal_names_the_control_and_the_rule(
    eve: Callable[..., Client], server: OpenedServer
) -> None:
    adversary = eve("size = 4, everybody = on, audit = on")
    value(adversary, SUM)
    refusal(adversary, f"{SUM} WHERE name = 'Alice'")
    value(adversary, f"{SUM} WHERE age < 30")
    refusal(adversary, f"{SUM} WHERE age < 30 OR name = 'Alice'")
    result = [
        (event.decision, event.reason)
        for event in (entry.event for entry in server.server.journal.entries())
        if event.user == "eve" and event.kind == "question"
    ]
    assert result == [
        ("allowed", "control seed"),
        ("denied", "control seed: size"),
        ("allowed", "control seed"),
        ("denied", "control seed: audit"),
    ]


def test_who_can_become_a_writer_cannot_ask(admin: Client, eve: Callable[..., Client]) -> None:
    adversary = eve("size = 4")
    value(adversary, CROWD)
    admin.run("CREATE ROLE clerks; GRANT INSERT ON employee TO clerks")
    admin.run("GRANT clerks TO eve WITH INHERIT FALSE, SET TRUE")
    assert refusal(adversary, CROWD).sqlstate == "42501"


def test_masks_and_row_policies_hold_under_a_control(
    admin: Client, eve: Callable[..., Client]
) -> None:
    adversary = eve("size = 4")
    admin.run("CREATE MASK pay ON employee (salary) TO analysts USING (0)")
    assert refusal(adversary, CROWD).sqlstate == "42501"
    counted = "SELECT count(*) FROM employee WHERE age < 30"
    value(adversary, counted)
    admin.run("ALTER TABLE employee ENABLE ROW LEVEL SECURITY")
    admin.run("CREATE POLICY young ON employee TO analysts USING (age < 25)")
    assert refusal(adversary, counted).sqlstate == "42501"
