"""Whatever dies, and whenever: what was acknowledged is there, and no budget is overspent."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
import time
from collections import Counter
from contextlib import closing, suppress
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import psycopg
import pytest
from tests.flows.gateways import PASSWORD, POLICY, Client, Gateway, connect, dsn, run

from discreet.dp.ledger import Ledger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.flows.conftest import Discreet

pytestmark = pytest.mark.xdist_group("availability")

SOAK = bool(os.environ.get("DISCREET_SOAK"))
ROUNDS = 40 if SOAK else 3  # of kill -9
PEOPLE = [(number, number % 100) for number in range(1000)]
PRICE = "0.001" if SOAK else "0.02"  # so that the budget lasts as long as the test


def write_policy(folder: Path) -> Path:
    """A policy, and a table to ask about beside it."""
    rows = "".join(f"{number},{age}\n" for number, age in PEOPLE)
    (folder / "people.csv").write_text(f"id,age\n{rows}", "utf-8")
    (folder / "policy.yaml").write_text(POLICY, "utf-8")
    return folder / "policy.yaml"


RIGHTS = (
    "CREATE TABLE kept (who text, n int, PRIMARY KEY (who, n))",
    f"CREATE USER analyst PASSWORD '{PASSWORD}'",
    f"CREATE USER writer PASSWORD '{PASSWORD}'",
    "GRANT AGGREGATE ON people TO analyst WITH BUDGET (EPSILON 1, DELTA 0)",
    "GRANT SELECT, INSERT ON kept TO writer",
)


def writing(who: str) -> Callable[[psycopg.Connection[Any], int], bool]:
    """Insert one row after the other; one that was there is one that no one heard of."""

    def write(connection: psycopg.Connection[Any], number: int) -> bool:
        with suppress(psycopg.errors.UniqueViolation):
            connection.execute("INSERT INTO kept VALUES (%s, %s)", [who, number])
        return True

    return write


def asking(
    answers: dict[int, int], *, first: int, step: int
) -> Callable[[psycopg.Connection[Any], int], bool]:
    """Ask one question after the other until the budget is spent."""

    def ask(connection: psycopg.Connection[Any], number: int) -> bool:
        asked = first + step * number
        try:
            answers[asked] = answer(connection, asked)
        except psycopg.errors.ConfigurationLimitExceeded:
            return False
        return True

    return ask


def answer(connection: psycopg.Connection[Any], number: int) -> int:
    connection.execute(f"SET discreet.epsilon = {PRICE}".encode())
    found = connection.execute(
        f"SELECT count(*) AS n FROM people WHERE id < {number}".encode()
    ).fetchone()
    assert found is not None
    return found[0]


def written(gateway: Gateway, who: str) -> set[int]:
    with closing(connect(gateway)) as connection:
        rows = connection.execute("SELECT n FROM kept WHERE who = %s", [who]).fetchall()
    return {row[0] for row in rows}


def refused(gateway: Gateway, user: str, *statements: str) -> None:
    """The last of the statements is not for this user."""
    *before, last = statements
    with closing(connect(gateway, user=user)) as connection:
        for statement in before:
            connection.execute(statement.encode())
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(last.encode())


def spent(ledger: Ledger, name: str) -> Fraction:
    (account,) = [each for each in ledger.accounts() if name in each.name]
    return ledger.remaining([account])[0].epsilon.spent


# --- a machine dies ---------------------------------------------------------------------------


@pytest.fixture
def short_folder() -> Iterator[Path]:
    """A folder whose name is short enough for a socket, and open to the user of PostgreSQL."""
    with tempfile.TemporaryDirectory(prefix="a-") as folder:
        Path(folder).chmod(0o755)
        yield Path(folder)


@pytest.mark.postgres
def test_a_primary_killed_under_load_loses_nothing_that_two_gateways_acknowledged(
    short_folder: Path, discreet: Discreet, capsys: pytest.CaptureFixture[str]
):
    from tests.stores.cluster import running

    policy = write_policy(short_folder)
    with running(short_folder) as cluster:
        with psycopg.connect(cluster.primary, autocommit=True) as database:
            database.execute("CREATE TABLE people (id int PRIMARY KEY, age int)")
            database.execute("INSERT INTO people SELECT i, i % 100 FROM generate_series(0, 999) i")
        places = [
            word
            for name in ("--database", "--control", "--ledger", "--journal")
            for word in (name, cluster.url)
        ]
        places += ["--policy", str(policy)]
        first = Gateway(short_folder / "one", *places)
        # The journal has one name and one key, whichever gateway signs.
        (short_folder / "two").mkdir(mode=0o700)
        shutil.copytree(short_folder / "one" / "keys", short_folder / "two" / "keys")
        second = Gateway(short_folder / "two", *places)
        try:
            run(first, *RIGHTS, f"CREATE USER guest PASSWORD '{PASSWORD}'")
            run(second, "GRANT SELECT ON people TO guest", "REVOKE SELECT ON people FROM guest")
            answers: list[dict[int, int]] = [{}, {}]
            askers = [
                Client(
                    dsn(*pair, user="analyst"),
                    asking(answers[place], first=10 + place, step=2),
                )
                for place, pair in enumerate([(first, second), (second, first)])
            ]
            writers = [
                Client(dsn(*pair, user="writer"), writing(f"w{place}"))
                for place, pair in enumerate([(first, second), (second, first)])
            ]
            clients = [*askers, *writers]
            for client in clients:
                client.start()
            wait_for(lambda: all(client.done >= 10 for client in clients))
            cluster.crash_primary()
            cluster.promote()
            before = [client.done for client in writers]
            wait_for(
                lambda: all(
                    client.done > done + 10 for client, done in zip(writers, before, strict=True)
                )
            )
            for asker in askers:
                asker.join(300)
            for client in clients:
                client.stop()
            assert [client.failures for client in clients] == [[], [], [], []]
            for place, writer in enumerate(writers):
                assert set(range(writer.done)) <= written(first, f"w{place}")
            check_spending(cluster.standby, first, answers)
            refused(second, "guest", "SELECT * FROM people")
            refused(second, "analyst", "SET discreet.epsilon = 0.1", "SELECT * FROM people")
            report(clients, capsys)
        finally:
            first.stop()
            second.stop()
        key = short_folder / "one" / "keys" / "journal.pub"
        assert discreet("journal", "verify", cluster.standby, "--public-key", key).code == 0


@pytest.mark.soak
@pytest.mark.postgres
def test_a_hundred_clients_lose_nothing_while_each_part_is_killed_in_turn(
    short_folder: Path, discreet: Discreet, capsys: pytest.CaptureFixture[str]
):
    """Both gateways, the standby and the primary; each gateway has every second client first."""
    from tests.stores.cluster import running

    policy = write_policy(short_folder)
    with running(short_folder) as cluster:
        with psycopg.connect(cluster.primary, autocommit=True) as database:
            database.execute("CREATE TABLE people (id int PRIMARY KEY, age int)")
            database.execute("INSERT INTO people SELECT i, i % 100 FROM generate_series(0, 999) i")
        places = ["--policy", str(policy)]
        for name in ("--database", "--control", "--ledger", "--journal"):
            places += [name, cluster.url]
        first = Gateway(short_folder / "one", *places)
        (short_folder / "two").mkdir(mode=0o700)
        shutil.copytree(short_folder / "one" / "keys", short_folder / "two" / "keys")
        second = Gateway(short_folder / "two", *places)
        pairs = [(first, second), (second, first)]
        try:
            run(first, *RIGHTS)
            answers: list[dict[int, int]] = [{} for _ in range(CROWD_ASKS)]
            askers = [
                Client(
                    dsn(*pairs[place % 2], user="analyst"),
                    asking(answers[place], first=10 + place, step=CROWD_ASKS),
                )
                for place in range(CROWD_ASKS)
            ]
            writers = [
                Client(dsn(*pairs[place % 2], user="writer"), writing(f"w{place}"))
                for place in range(CROWD_WRITES)
            ]
            clients = [*askers, *writers]
            for client in clients:
                client.start()
            await_progress(writers)
            kills: list[Callable[[], None]] = [
                first.kill,
                second.kill,
                cluster.crash_standby,
                cluster.crash_primary,
            ]
            returns: list[Callable[[], None]] = [
                first.start,
                second.start,
                cluster.restart_standby,
                cluster.promote,
            ]
            for kill, come_back in zip(kills, returns, strict=True):
                kill()
                time.sleep(1)
                come_back()
                await_progress(writers)
            for client in clients:
                client.stop()
            failures = Counter(text for client in clients for text in client.failures)
            assert not failures, (failures, [*first.log][-20:], [*second.log][-20:])
            for place, writer in enumerate(writers):
                assert set(range(writer.done)) <= written(first, f"w{place}")
            check_spending(cluster.standby, first, answers)
            report(clients, capsys)
        finally:
            first.stop()
            second.stop()
        key = short_folder / "one" / "keys" / "journal.pub"
        assert discreet("journal", "verify", cluster.standby, "--public-key", key).code == 0


CROWD_ASKS, CROWD_WRITES = 20, 80  # clients


def await_progress(clients: list[Client]) -> None:
    """Wait until each of the clients was acknowledged two more times."""
    before = [client.done for client in clients]
    wait_for(
        lambda: all(
            client.done >= done + 2 or not client.is_alive()
            for client, done in zip(clients, before, strict=True)
        ),
        seconds=900,
    )


def check_spending(place: str, gateway: Gateway, answers: list[dict[int, int]]) -> None:
    """No more than the budget was spent, and what was answered is answered again, the same, for nothing."""
    result = {asked: count for each in answers for asked, count in each.items()}
    ledger = Ledger(place)
    assert len(result) * Fraction(PRICE) <= spent(ledger, "analyst") <= 1
    with closing(connect(gateway, user="analyst")) as analyst:
        before = spent(ledger, "analyst")
        assert {asked: answer(analyst, asked) for asked in result} == result
        assert spent(ledger, "analyst") == before
    ledger.verify()
    ledger.close()


def wait_for(is_so: Callable[[], bool], *, seconds: float = 300) -> None:
    until = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < until
        time.sleep(0.02)


def wait_for_work(client: Client) -> None:
    before = client.done
    wait_for(lambda: client.done > before)


def report(clients: list[Client], capsys: pytest.CaptureFixture[str]) -> None:
    """Print what docs/explanation/availability.md quotes."""
    done = [client.done for client in clients]
    cuts = sum(client.cuts for client in clients)
    gaps = sorted(round(client.longest, 1) for client in clients)
    with capsys.disabled():
        print(f"\nacknowledged {sum(done)} by {len(done)} clients, {cuts} cut off", end="")
        print(f", longest gaps {gaps[len(gaps) // 2]} s (median), {gaps[-1]} s (longest)")


# --- a gateway dies ---------------------------------------------------------------------------


def test_a_gateway_killed_at_any_instant_comes_back_with_all_it_acknowledged(
    tmp_path: Path, discreet: Discreet, capsys: pytest.CaptureFixture[str]
):
    data = tmp_path / "data"
    gateway = Gateway(data, "--policy", write_policy(tmp_path))
    try:
        run(gateway, *RIGHTS)
        chance = random.Random(5)
        tables: set[str] = set()
        answers: dict[int, int] = {}
        writer = Client(dsn(gateway, user="writer"), writing("w"))
        definer = Client(dsn(gateway), defining(tables))
        asker = Client(dsn(gateway, user="analyst"), asking(answers, first=10, step=1))
        clients = [writer, definer, asker]
        for client in clients:
            client.start()
        for _ in range(ROUNDS):
            wait_for_work(writer)
            wait_for_work(definer)
            time.sleep(chance.uniform(0.0, 0.5))
            gateway.kill()
            assert discreet("journal", "verify", data).code == 0
            with closing(Ledger(data / "ledger.sqlite")) as ledger:
                ledger.verify()
            gateway.start()
        wait_for(lambda: writer.done > 20 and definer.done > 4 and len(answers) > 4)
        for client in clients:
            client.stop()
        assert [client.failures for client in clients] == [[], [], []]
        assert set(range(writer.done)) <= written(gateway, "w")
        with closing(connect(gateway)) as admin:
            for table in sorted(tables):
                assert admin.execute(f"SELECT * FROM {table}".encode()).fetchall() == [(1,)]
        report(clients, capsys)
    finally:
        gateway.stop()
    with closing(Ledger(data / "ledger.sqlite")) as ledger:
        assert len(answers) * Fraction(PRICE) <= spent(ledger, "analyst") <= 1
        ledger.verify()
    assert discreet("journal", "verify", data).code == 0


def defining(tables: set[str]) -> Callable[[psycopg.Connection[Any], int], bool]:
    """Make tables, fill and grant them, and drop every other one."""

    def define(connection: psycopg.Connection[Any], number: int) -> bool:
        name = f"made_{number}"
        try:
            with connection.transaction():
                connection.execute(f"CREATE TABLE {name} (a int)".encode())
                connection.execute(f"INSERT INTO {name} VALUES (1)".encode())
                connection.execute(f"GRANT SELECT ON {name} TO writer".encode())
        except psycopg.errors.DuplicateTable:
            pass  # it was made, and no one heard of it
        tables.add(name)
        if number % 2:
            tables.discard(name)
            connection.execute(f"DROP TABLE IF EXISTS {name}".encode())
        return True

    return define


# --- one server that goes on ------------------------------------------------------------------


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder = tmp_path_factory.mktemp("server")
    made = Gateway(folder / "data", "--policy", write_policy(folder), "--http-port", "0")
    run(made, *RIGHTS)
    yield made
    made.stop()


def test_a_question_asked_again_after_a_lost_connection_costs_nothing(gateway: Gateway):
    with closing(connect(gateway, user="analyst")) as analyst:
        result = answer(analyst, 500)
    lost = connect(gateway, user="analyst")
    lost.execute(f"SET discreet.epsilon = {PRICE}".encode())
    lost.pgconn.send_query(b"SELECT count(*) AS n FROM people WHERE id < 501")
    lost.pgconn.flush()
    lost.close()  # whether it was answered, no one heard
    with closing(connect(gateway, user="analyst")) as analyst:
        notices: list[str] = []
        analyst.add_notice_handler(lambda notice: notices.append(str(notice.message_primary)))
        assert answer(analyst, 500) == result
        assert "The same question again is free." in notices[0]
        once = answer(analyst, 501)
        assert answer(analyst, 501) == once
    with closing(Ledger(gateway.data / "ledger.sqlite")) as ledger:
        assert spent(ledger, "analyst") == 2 * Fraction(PRICE)


def test_who_is_idle_in_a_transaction_does_not_keep_others_from_writing(gateway: Gateway):
    with closing(connect(gateway, user="writer")) as idle:
        idle.execute("BEGIN")
        idle.execute("INSERT INTO kept VALUES ('idle', 1)")
        idle.execute("SET idle_in_transaction_session_timeout = '300ms'")
        with closing(connect(gateway, user="writer")) as other:
            other.execute("INSERT INTO kept VALUES ('other', 1)")
        with pytest.raises(psycopg.errors.IdleInTransactionSessionTimeout):
            idle.execute("COMMIT")
    assert written(gateway, "idle") == set()
    assert written(gateway, "other") == {1}


def test_a_connection_does_not_go_on_as_another_user_of_its_name(gateway: Gateway):
    run(gateway, f"CREATE USER temp PASSWORD '{PASSWORD}'")
    with closing(connect(gateway, user="temp")) as old:
        assert old.execute("SELECT current_user").fetchone() == ("temp",)
        run(gateway, "DROP ROLE temp", "CREATE USER temp SUPERUSER PASSWORD 'another long one'")
        with pytest.raises(psycopg.errors.InvalidAuthorizationSpecification):
            old.execute("SELECT current_user")
    with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
        connect(gateway, user="temp")
    run(gateway, "DROP ROLE temp")


def test_health_is_reported_to_anyone(gateway: Gateway):
    wait_for(lambda: gateway.web is not None)
    result = httpx.get(f"http://127.0.0.1:{gateway.web}/healthz", timeout=60)
    assert (result.status_code, result.json()["status"]) == (200, "ok")


def test_a_backup_under_load_starts_a_server_with_everything_before_it(
    gateway: Gateway, tmp_path: Path, discreet: Discreet
):
    tables: set[str] = set()
    clients = [
        Client(dsn(gateway, user="writer"), writing("during")),
        Client(dsn(gateway), defining(tables)),
    ]
    for client in clients:
        client.start()
    wait_for(lambda: clients[0].done > 10 and clients[1].done > 2)
    before = clients[0].done
    with closing(connect(gateway)) as admin:
        made = admin.execute("SELECT discreet_backup('under-load.backup')").fetchone()
        with pytest.raises(psycopg.errors.DuplicateFile):
            admin.execute("SELECT discreet_backup('under-load.backup')")
        with pytest.raises(psycopg.errors.InvalidName):
            admin.execute("SELECT discreet_backup('../elsewhere')")
    refused(gateway, "writer", "SELECT discreet_backup('mine')")
    for client in clients:
        client.stop()
    assert made == ("backups/under-load.backup",)
    file = gateway.data / "backups" / "under-load.backup"
    restore = ("restore", file, tmp_path / "restored", "--forget", "a drill")
    assert discreet(*restore).code == 0
    restored = Gateway(tmp_path / "restored", "--policy", gateway.data.parent / "policy.yaml")
    try:
        kept = written(restored, "during")
        assert set(range(before)) <= kept <= set(range(clients[0].done))
        with closing(connect(restored)) as admin:
            rows = admin.execute("SELECT table_name FROM information_schema.tables").fetchall()
            names = [row[0] for row in rows if row[0].startswith("made_")]
            assert names
            for name in names:
                assert admin.execute(f"SELECT * FROM {name}".encode()).fetchall() == [(1,)]
            again = admin.execute("SELECT count(*) FROM people").fetchone()
        assert again == (1000,)
        refused(restored, "writer", "SELECT * FROM people")
    finally:
        restored.stop()
    assert discreet("journal", "verify", tmp_path / "restored").code == 0
