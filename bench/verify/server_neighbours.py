"""Neighbors behind a server: who may only ask learns nothing for free, whatever views and policies there are.

Run with `python -m bench.verify.server_neighbours [--seconds 60] [--seed 1]`. Two servers with the same
roles, views of views, row policies, masks and anonymized views differ in the rows of one person. A user with
AGGREGATE asks about tables and views and reads the system catalog: rows of the catalog, errors, columns and
explanations must be equal, and the exact statistics of what is answered may differ by no more than what is
paid. A planted fault, a granted view that counts rows, must be found.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from bench.verify.loss import Side, Verdict, compare
from discreet.errors import DiscreetError
from discreet.guard.identity.authenticator import ClientInfo
from discreet.server.pg.failures import as_statement_failed
from discreet.server.settings import read_settings
from discreet.server.startup import open_server

if TYPE_CHECKING:
    from collections.abc import Sequence

    from discreet.server.gateway.private_answers import PermittedQuestion

PEOPLE = 9
PROBES = 24
_POLICY = """
tables:
  visits:
    source: visits.csv
    unit: person
    budget: {{epsilon: 1000, delta: 1e-3}}
    limits: {{rows-per-unit: {rows}}}
    columns:
      person: {{role: identifier, kind: integer}}
      ward: {{role: sensitive, kind: text, values: [a, b, c]}}
      cost: {{role: sensitive, kind: integer, bounds: [0, 10]}}
      note: {{role: sensitive, kind: text}}
  patients:
    source: patients.csv
    unit: person
    budget: {{epsilon: 1000, delta: 1e-3}}
    limits: {{rows-per-unit: 1}}
    columns:
      person: {{role: identifier, kind: integer}}
      age: {{role: sensitive, kind: integer, bounds: [0, 120]}}
"""
_VIEWS = (
    "CREATE VIEW plain AS SELECT * FROM visits",
    "CREATE VIEW nested WITH (security_invoker) AS SELECT person, cost FROM plain",
    "CREATE VIEW counted AS SELECT ward, count(*) AS n FROM nested JOIN visits USING (person) GROUP BY ward",
    "CREATE VIEW barrier WITH (security_barrier) AS SELECT * FROM visits WHERE cost > 1",
    "CREATE VIEW both_tables AS SELECT v.cost, p.age FROM visits v JOIN patients p ON v.person = p.person",
    "CREATE ANONYMIZED VIEW safe AS SELECT age FROM patients WITH (k = 2, quasi = 'age', accept_risk = 'a test')",
)
_MORE = (
    "CREATE MASK hidden ON visits (note) TO ann USING ('x')",
    "ALTER TABLE visits ENABLE ROW LEVEL SECURITY; CREATE POLICY own ON visits TO boss USING (cost > 1)",
    "CREATE MASK rounded ON patients (age) TO boss USING (0)",
    "CREATE ROLE analysts; GRANT analysts TO ann; GRANT AGGREGATE ON visits TO analysts WITH BUDGET (EPSILON 5)",
)
# What is asked about, with its columns.
_SOURCES = (
    *(("visits", "ward cost note"),) * 5,
    *(("patients", "age"),) * 2,
    *(("visits v JOIN patients p ON v.person = p.person", "ward cost note age"),) * 3,
    ("(SELECT person, max(cost) AS cost FROM visits GROUP BY person) x", "cost"),
    *(("plain", "ward cost note"), ("(SELECT * FROM plain) x", "ward cost note")),
    *(("nested", "cost"), ("counted", "ward n"), ("barrier", "ward cost note")),
    *(("both_tables", "cost age"), ("safe", "age"), ("visits JOIN safe ON true", "ward cost")),
)
_WANTED = ("count(*)", "sum({})", "avg({})", "count(DISTINCT {})", "median({})", "max({})", "{}")
_CATALOG = (
    "SELECT relname, reltuples, relpages, relhasindex FROM pg_class ORDER BY 1, 2, 3",
    "SELECT * FROM pg_stats",
    "SELECT * FROM pg_stat_user_tables",
    "SELECT pg_relation_size('visits'), pg_total_relation_size('visits')",
    "SELECT * FROM information_schema.columns WHERE table_schema = 'public' ORDER BY 3, 5",
    "EXPLAIN SELECT count(*) FROM visits WHERE cost = 3",
    "EXPLAIN SELECT count(*) FROM counted",
    "SELECT count(*) FROM visits WHERE 1 / (cost - 3) > 0",
    "INSERT INTO visits VALUES (1, 'a', 1, 'x')",
    "SELECT cost FROM visits LIMIT 1",
    "CREATE VIEW mine AS SELECT count(*) FROM visits",
    "COPY visits TO STDOUT",
)


@dataclass
class _Served:
    """One of the two servers, with the session of who may only ask."""

    server: Any
    session: Any
    asked: PermittedQuestion | None = None

    def __post_init__(self) -> None:
        answers = self.server.context.private_answers
        read = answers.read

        def remember(*arguments: Any) -> PermittedQuestion | None:
            self.asked = read(*arguments)
            return self.asked

        answers.read = remember

    def show(self, sql: str, *, is_run: bool) -> str:
        """Return what the user sees of a statement: its columns, its rows if it is free, or its error."""
        self.asked = None
        try:
            (statement,) = self.session.split(sql)
            prepared = self.session.prepare(statement)
            if self.asked is not None or not is_run:
                return f"{prepared.fields}"
            outcome = self.session.run(prepared)
        except DiscreetError as error:
            failed = as_statement_failed(error)
            return f"{failed.sqlstate}: {failed} {getattr(failed, 'hint', '')}"
        rows = [] if outcome.table is None else outcome.table.to_pylist()
        return f"{prepared.fields} {rows} {[notice.message for notice in outcome.notices]}"


def examine(seed: int, *, is_planted: bool = False) -> tuple[int, list[str]]:
    """Return how many statements were compared in one world, and what distinguishes the neighbors."""
    chance = Random(seed)
    visits = [
        (
            chance.randrange(PEOPLE),
            chance.choice("abcd"),
            chance.randint(-5, 20),
            f"n{chance.randrange(4)}",
        )
        for _ in range(chance.randint(1, 40))
    ]
    patients = [(person, chance.randint(0, 130)) for person in range(PEOPLE)]
    definitions = [*_VIEWS, *chance.sample(_MORE, chance.randint(0, len(_MORE)))]
    policy = _POLICY.format(rows=chance.choice((1, 2, 5)))
    found: list[str] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="discreet-served-")))
        pair: list[_Served] = []
        for name, gone in (("there", None), ("gone", 0)):
            rows = ([row for row in table if row[0] != gone] for table in (visits, patients))
            served = _start(folder / name, policy, *rows, definitions, is_planted=is_planted)
            stack.enter_context(closing(served.server))
            pair.append(served)
        statements = [*_CATALOG, *(["SELECT * FROM leak"] if is_planted else [])]
        statements += [_question(chance) for _ in range(PROBES)]
        for sql in statements:
            fault = _compare_statement(sql, *pair)
            if fault is not None:
                found.append(f"[seed {seed}] {sql}: {fault}")
    return len(statements), found


def _start(
    folder: Path,
    policy: str,
    visits: Sequence[tuple[Any, ...]],
    patients: Sequence[tuple[Any, ...]],
    definitions: Sequence[str],
    *,
    is_planted: bool,
) -> _Served:
    folder.mkdir()
    for name, names, rows in (
        ("visits", "person,ward,cost,note", visits),
        ("patients", "person,age", patients),
    ):
        lines = [names, *(",".join(map(str, row)) for row in rows)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    (folder / "policy.yaml").write_text(policy)
    memory = dict.fromkeys(("control", "ledger", "journal"), ":memory:")
    settings = read_settings(folder / "data", port=0, policy=folder / "policy.yaml", **memory)
    server = open_server(settings).server
    admin = server.open_session(_client("admin"), {}, "test")
    planted = ["CREATE VIEW leak AS SELECT count(*) FROM visits", "GRANT SELECT ON leak TO ann"]
    for sql in (
        "CREATE USER ann; CREATE USER boss",
        *definitions,
        "GRANT AGGREGATE ON visits, patients TO ann WITH BUDGET (EPSILON 1000)",
        *(planted if is_planted else ()),
    ):
        for statement in admin.split(sql):
            admin.run(admin.prepare(statement))
    session = server.open_session(_client("ann"), {}, "test")
    for statement in session.split("SET discreet.epsilon = 1; SET discreet.delta = 0.000001"):
        session.run(session.prepare(statement))
    return _Served(server, session)


def _client(name: str) -> ClientInfo:
    return ClientInfo(name, "127.0.0.1", is_local=True, is_encrypted=True)


def _question(chance: Random) -> str:
    source, known = chance.choice(_SOURCES)
    columns = known.split()
    wanted = chance.choice(_WANTED).format(chance.choice(columns))
    sql = f"SELECT {wanted} FROM {source}"
    if chance.random() < 0.3:
        sql += f" WHERE {chance.choice(columns)} IN (3, 4)"
    if chance.random() < 0.4:
        sql += f" GROUP BY {chance.choice(columns)}"
    return sql


def _compare_statement(sql: str, there: _Served, gone: _Served) -> str | None:
    shown = [one.show(sql, is_run=True) for one in (there, gone)]
    if shown[0] != shown[1]:
        return f"before paying: {shown[0][:300]} | {shown[1][:300]}"
    if there.asked is None or gone.asked is None:
        return None
    explained = [one.show(f"EXPLAIN {sql}", is_run=True) for one in (there, gone)]
    if explained[0] != explained[1]:
        return f"explained: {explained[0][:300]} | {explained[1][:300]}"
    verdict = _weigh(sql, there, gone)
    return verdict.fault


def _weigh(sql: str, there: _Served, gone: _Served) -> Verdict:
    with ExitStack() as stack:
        sides: list[Side] = []
        for one in (there, gone):
            one.show(sql, is_run=False)
            asked, answers = one.asked, one.server.context.private_answers
            curator = stack.enter_context(answers._borrow_curator(asked))
            sides.append(Side(curator.catalog, curator.engine))
        text = there.asked.text if there.asked else sql
        return compare(text, *sides, noise="laplace")


def main() -> int:
    """Print how much was compared, and every finding."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    until, seed, compared, found = time.monotonic() + arguments.seconds, arguments.seed, 0, []
    while time.monotonic() < until:
        count, fresh = examine(seed)
        compared, seed = compared + count, seed + 1
        print(*fresh, sep="\n", end="\n" if fresh else "", flush=True)
        found += fresh
    planted = examine(1, is_planted=True)[1]
    print(
        f"{seed - arguments.seed} worlds, {compared:,} statements compared, {len(found)} findings"
    )
    if not planted:
        print("The planted fault was not found: the verification does not work.")
    return 1 if found or not planted else 0


if __name__ == "__main__":
    sys.exit(main())
