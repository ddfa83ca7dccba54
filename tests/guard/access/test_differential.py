"""PostgreSQL 16 and the authority give the same verdicts, and believe the same afterwards."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from tests.guard.differential import TABLE_RIGHTS, Need, Step, Steps

from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import (
    COLUMN_PRIVILEGES,
    Authority,
    Privilege,
    Relation,
    Subject,
)
from discreet.guard.access.decide import (
    any_column_privilege,
    can_set,
    has_privs_of,
    privilege_on,
    relation_acl,
    schema_acl,
    schema_privilege,
)
from discreet.guard.access.dependents import named_in, parse_stored_sql
from discreet.guard.access.initial import initial_authority
from discreet.guard.access.reach import is_in, is_superuser
from discreet.guard.statements.definitions import parse_definition
from discreet.guard.statements.objects import CreateView

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.postgres

SOAK = int(os.environ.get("DISCREET_SOAK", "0"))
SEQUENCES = range(SOAK or 3)
LENGTH = 400
LOOK_EVERY = 40
SYSTEM_COLUMNS = ("tableoid", "cmax", "xmax", "cmin", "xmin", "ctid")  # there are none here


class Postgres:
    """The oracle: one connection of the superuser, who becomes the sender of each step."""

    def __init__(self, url: str, name: str) -> None:
        import psycopg

        self.psycopg = psycopg
        self.name = name
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name}")
        self.url = url
        self.connection = psycopg.connect(url, dbname=name, autocommit=True)
        self.admin = self.rows("SELECT current_user")[0][0]
        self.connection.execute(f"ALTER SCHEMA public OWNER TO {self.admin}")
        self.notices: list[str] = []
        self.connection.add_notice_handler(self._heard)

    def _heard(self, diagnostic: Any) -> None:
        message = str(diagnostic.message_primary)
        if not any(f'column "{name}"' in message for name in SYSTEM_COLUMNS):
            self.notices.append(message)

    def rows(self, sql: str) -> list[tuple[Any, ...]]:
        return self.connection.execute(sql).fetchall()

    def run(self, step: Step) -> tuple[str, list[str]]:
        self.notices.clear()
        self.connection.execute("RESET SESSION AUTHORIZATION")
        try:
            with self.connection.transaction():
                self.connection.execute(f"SET SESSION AUTHORIZATION {step.user}")
                if step.role is not None:
                    self.connection.execute(f"SET ROLE {step.role}")
                self.connection.execute(step.sql)
                if step.relation is not None:
                    raise self.psycopg.Rollback
        except self.psycopg.Error as error:
            return error.sqlstate or "", []
        finally:
            self.connection.execute("RESET ROLE")
            self.connection.execute("RESET SESSION AUTHORIZATION")
        return "00000", list(self.notices)

    def close(self, prefix: str) -> None:
        self.connection.close()
        with self.psycopg.connect(self.url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {self.name}")
            named = connection.execute(
                "SELECT rolname FROM pg_roles WHERE rolname LIKE %s", (f"{prefix}%",)
            ).fetchall()
            if named:
                connection.execute(f"DROP ROLE {', '.join(row[0] for row in named)}")

    def state(self, prefix: str) -> dict[str, set[tuple[Any, ...]]]:
        """What it believes: roles, memberships and every list of rights."""
        known = "(SELECT 0::oid AS oid, '' AS name UNION ALL SELECT oid, rolname FROM pg_authid)"
        listed = f"""
            SELECT object, part, g.name, o.name, privilege_type, is_grantable FROM (
                SELECT relname AS object, '' AS part,
                       coalesce(relacl, acldefault('r', relowner)) AS acl
                  FROM pg_class WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','v')
                UNION ALL SELECT relname, attname, attacl FROM pg_class c JOIN pg_attribute a
                    ON a.attrelid = c.oid AND attnum > 0 AND attacl IS NOT NULL
                  WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','v')
                UNION ALL SELECT 'schema public', '', nspacl FROM pg_namespace
                    WHERE nspname = 'public'
            ) x CROSS JOIN LATERAL aclexplode(acl) e
            JOIN {known} g ON g.oid = e.grantee JOIN {known} o ON o.oid = e.grantor"""
        return {
            "roles": set(
                self.rows(
                    f"""SELECT rolname, rolsuper, rolcreaterole, rolcreatedb, rolinherit, rolcanlogin,
                    rolbypassrls FROM pg_authid WHERE rolname LIKE '{prefix}%'"""
                )
            ),
            "memberships": set(
                self.rows(
                    f"""SELECT r.rolname, m.rolname, g.rolname, admin_option, inherit_option, set_option
                    FROM pg_auth_members a JOIN pg_authid r ON r.oid = roleid
                    JOIN pg_authid m ON m.oid = member JOIN pg_authid g ON g.oid = grantor
                    WHERE r.rolname LIKE '{prefix}%'"""
                )
            ),
            "owners": set(
                self.rows(
                    """SELECT relname, relkind::text, pg_get_userbyid(relowner) FROM pg_class
                    WHERE relnamespace = 'public'::regnamespace AND relkind IN ('r','v')"""
                )
            ),
            "rights": set(self.rows(listed)),
        }

    def matrix(self, authority: Authority) -> dict[tuple[str, ...], bool]:
        """What it says may be done, by whom."""
        roles = [name for name in authority.roles if name not in ("security_officer", self.admin)]
        pairs = self.rows(
            f"""SELECT a, b, pg_has_role(a, b, 'USAGE'), pg_has_role(a, b, 'SET'),
                       pg_has_role(a, b, 'MEMBER')
                FROM unnest(ARRAY{roles or [""]}::text[]) a, unnest(ARRAY{roles or [""]}::text[]) b"""
            if roles
            else "SELECT WHERE false"
        )
        out: dict[tuple[str, ...], bool] = {}
        for a, b, usage, can, member in pairs:
            out |= {("usage", a, b): usage, ("set", a, b): can, ("member", a, b): member}
        tables = [relation.name for relation in authority.relations.values()]
        if not roles or not tables:
            return out
        of_tables = self.rows(
            f"""SELECT r, t, p, has_table_privilege(r, t, p) FROM unnest(ARRAY{roles}) r,
            unnest(ARRAY{tables}) t, unnest(ARRAY{list(TABLE_RIGHTS)}) p"""
        )
        of_columns = self.rows(
            f"""SELECT r, t, p, c, has_column_privilege(r, t, c, p) FROM unnest(ARRAY{roles}) r,
            unnest(ARRAY{tables}) t, unnest(ARRAY['a', 'b']) c,
            unnest(ARRAY{[str(one) for one in COLUMN_PRIVILEGES]}) p"""
        )
        return out | {tuple(row[:-1]): row[-1] for row in (*of_tables, *of_columns)}


class Model:
    """The authority, and the sender of each step."""

    def __init__(self, admin: str) -> None:
        self.authority = initial_authority(admin)

    def run(self, step: Step) -> tuple[str, list[str]]:
        authority = self.authority
        if step.user not in authority.roles:
            return "22023", []
        role = step.role or step.user
        if role not in authority.roles:
            return "22023", []
        if not can_set(authority, step.user, role):
            return "42501", []
        subject = Subject(step.user, role)
        try:
            if step.relation is not None:
                self._probe(step, role)
                return "00000", []
            statement = parse_definition(step.sql)
            assert statement is not None
            columns = self._columns(statement, role) if isinstance(statement, CreateView) else ()
            applied = apply(authority, statement, subject, revoke_scope="grantor", columns=columns)
        except StatementFailed as error:
            return error.sqlstate, []
        self.authority = applied.authority
        return "00000", [note.message for note in applied.notices]

    def _columns(self, statement: CreateView, role: str):
        (name,) = named_in(statement.query)
        found = self.authority.relations.get(name)
        if found is None or not schema_privilege(self.authority, role, "public", Privilege.USAGE):
            raise StatementFailed("42P01", "relation does not exist")
        return [replace(found.column(name), acl=()) for name in ("a", "b")]

    def _probe(self, step: Step, role: str) -> None:
        found = self.authority.relations.get(("public", step.relation or ""))
        if found is None or not schema_privilege(self.authority, role, "public", Privilege.USAGE):
            raise StatementFailed("42P01", "relation does not exist")
        self._need(found, step.needs, role)

    def _need(self, relation: Relation, needs: tuple[Need, ...], role: str) -> None:
        for need in needs:
            privilege = Privilege(need.privilege)
            decision = (
                any_column_privilege(self.authority, role, relation, privilege)
                if need.column == "*"
                else privilege_on(self.authority, role, relation, privilege, need.column)
            )
            if not decision:
                raise StatementFailed("42501", decision.reason)
        if relation.query is not None:  # what is below is read with the rights of the view's owner
            (below,) = named_in(parse_stored_sql(relation.query))
            wanted = (Need("SELECT", "a"), Need("SELECT", "b"))
            self._need(self.authority.relations[below], wanted, relation.owner)

    def state(self, prefix: str) -> dict[str, set[tuple[Any, ...]]]:
        authority = self.authority
        rights = {
            ("schema public", "", e.grantee, e.grantor, str(e.privilege), e.grantable)
            for e in schema_acl(authority, authority.schemas["public"]).entries
        }
        for relation in authority.relations.values():
            lists = {"": relation_acl(authority, relation).entries}
            lists |= {column.name: column.acl for column in relation.columns}
            rights |= {
                (relation.name, part, e.grantee, e.grantor, str(e.privilege), e.grantable)
                for part, entries in lists.items()
                for e in entries
            }
        return {
            "roles": {
                (r.name, r.superuser, r.createrole, r.createdb, r.inherit, r.login, r.bypassrls)
                for r in authority.roles.values()
                if r.name.startswith(prefix)
            },
            "memberships": {
                (e.role, e.member, e.grantor, e.admin, e.inherit, e.set)
                for e in authority.memberships
            },
            "owners": {
                (r.name, "r" if r.kind == "table" else "v", r.owner)
                for r in authority.relations.values()
            },
            "rights": rights,
        }

    def matrix(self, admin: str) -> dict[tuple[str, ...], bool]:
        authority = self.authority
        roles = [name for name in authority.roles if name not in ("security_officer", admin)]
        out: dict[tuple[str, ...], bool] = {}
        for a in roles:
            for b in roles:
                out["usage", a, b] = has_privs_of(authority, a, b)
                out["set", a, b] = can_set(authority, a, b)
                out["member", a, b] = is_superuser(authority, a) or is_in(authority, a, b)
            for relation in authority.relations.values():
                for right in TABLE_RIGHTS:
                    decision = privilege_on(authority, a, relation, Privilege(right))
                    out[a, relation.name, right] = bool(decision)
                for right in COLUMN_PRIVILEGES:
                    for column in "ab":
                        decision = privilege_on(authority, a, relation, right, column)
                        out[a, relation.name, str(right), column] = bool(decision)
        return out


@pytest.fixture(params=SEQUENCES)
def oracle(
    request: pytest.FixtureRequest, postgres_16_url: str
) -> Iterator[tuple[Postgres, str, int]]:
    prefix = f"d{os.getpid()}x{request.param}"
    oracle = Postgres(postgres_16_url, f"{prefix}db")
    yield oracle, f"{prefix}", request.param
    oracle.close(f"{prefix}")


def like(sqlstate: str) -> str:
    """PostgreSQL says `no possible grantors` as an internal error; it is a missing right."""
    return "42501" if sqlstate == "XX000" else sqlstate


def test_postgresql_16_gives_the_same_verdict_at_every_step(oracle: tuple[Postgres, str, int]):
    postgres, prefix, seed = oracle
    made = Steps(seed, prefix=prefix, admin=postgres.admin)
    model = Model(postgres.admin)
    done: list[str] = []
    for number, step in enumerate((*made.prepare(), *made.steps(LENGTH))):
        theirs, their_message = postgres.run(step)
        ours, our_message = model.run(step)
        done.append(f"{number} {step.user}/{step.role}: {step.sql} -> {theirs}")
        history = "\n".join(done[-25:])
        if "ALL TABLES" in step.sql and "00000" not in (ours, theirs):
            ours = theirs = "refused"  # which relation is refused first is chance there
        assert ours == like(theirs), f"we say {ours}, PostgreSQL {theirs}:\n{history}"
        if not step.sql.startswith("DROP"):  # it says in its own words what falls along
            assert sorted(our_message) == sorted(their_message), history
        if number % LOOK_EVERY == 0 or number > LENGTH:
            believed = model.state(prefix)
            for what, expected in postgres.state(prefix).items():
                assert believed[what] == expected, f"{what} differ after:\n{history}"
            assert model.matrix(postgres.admin) == postgres.matrix(model.authority), history
