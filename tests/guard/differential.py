"""Random statements about roles and rights, for two systems that must answer alike.

`steps(seed, prefix=…)` yields who sends what. Run each step on PostgreSQL 16 and on discreet (the
functions of guard.access, or a running server) and compare SQLSTATEs; `state_of` has the queries that
show what PostgreSQL then believes.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

TABLES = ("t0", "t1", "t2")
VIEWS = ("v0", "v1")
COLUMNS = ("a", "b", "c")
TABLE_RIGHTS = ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE", "REFERENCES", "TRIGGER")
COLUMN_RIGHTS = ("SELECT", "INSERT", "UPDATE", "REFERENCES")


@dataclass(frozen=True)
class Need:
    """A right that a probe needs: of a column, of any column (`*`), or of the whole relation."""

    privilege: str
    column: str | None = None


@dataclass(frozen=True)
class Given:
    """A grant that was sent before, so that later ones can build on it or take it back."""

    sender: str
    what: str  # rights and object, or the role
    grantee: str


@dataclass(frozen=True)
class Step:
    """`user` is logged in and has SET ROLE to `role`, unless None; then `sql` is sent.

    A probe reads or writes `relation` and needs `needs`; it changes nothing that is compared.
    """

    user: str
    role: str | None
    sql: str
    relation: str | None = None
    needs: tuple[Need, ...] = ()


class Steps:
    """Choices of one sequence; `admin` is the first superuser."""

    def __init__(self, seed: int, *, prefix: str, admin: str, roles: int = 6) -> None:
        self.chance = random.Random(seed)
        self.admin = admin
        self.roles = [f"{prefix}r{number}" for number in range(roles)]
        self.rights_given: list[Given] = []  # with grant option
        self.roles_given: list[Given] = []  # with admin option

    def prepare(self) -> Iterator[Step]:
        """Create roles that can do something, and tables that belong to some of them."""
        for number, name in enumerate(self.roles):
            extra = " CREATEROLE" if number in (0, 1) else ""
            extra += " NOINHERIT" if number == 3 else ""
            yield Step(self.admin, None, f"CREATE ROLE {name}{extra}")
        for name in self.roles[:3]:
            yield Step(self.admin, None, f"GRANT CREATE ON SCHEMA public TO {name}")
        for name, owner in zip(TABLES, self.roles[:2] * 2, strict=False):
            yield Step(owner, None, self.create_table(name))
        yield Step(self.roles[0], None, "CREATE VIEW v0 AS SELECT a, b FROM t0")
        for name in self.roles[1:4]:
            yield Step(self.admin, None, f"GRANT {self.roles[0]} TO {name} WITH ADMIN OPTION")

    def create_table(self, name: str) -> str:
        return f"CREATE TABLE {name} (a integer, b integer, c integer)"

    def steps(self, count: int) -> Iterator[Step]:
        """Yield `count` steps."""
        makers = [
            (self.grant, 14),
            (self.grant_on, 14),
            (self.revoke, 10),
            (self.take_back, 9),
            (self.grant_role, 9),
            (self.grant_role_on, 10),
            (self.revoke_role, 7),
            (self.take_role_back, 7),
            (self.probe, 18),
            (self.create_role, 5),
            (self.drop_role, 4),
            (self.alter_role, 3),
            (self.grant_schema, 4),
            (self.alter_owner, 4),
            (self.objects, 5),
        ]
        kinds, weights = zip(*makers, strict=True)
        for _ in range(count):
            maker = self.chance.choices(kinds, weights)[0]
            made = maker()
            user, role = self.sender()
            if isinstance(made, str):
                made = Step("", None, made)
            if made.user:
                yield made
            else:
                yield Step(user, role, made.sql, made.relation, made.needs)

    def _remember(self, given: list[Given], sender: str, what: str, grantee: str) -> None:
        given.append(Given(sender, what, grantee))
        del given[:-12]

    def _relied_on(self, given: list[Given]) -> Given:
        """Return a grant, rather one that another grant rests on."""
        relied = [
            one
            for one in given
            if any((one.grantee, one.what) == (other.sender, other.what) for other in given)
        ]
        return self.chance.choice(relied if relied and self.chance.random() < 0.7 else given)

    def grant_on(self) -> Step:
        """Grant with grant option what was granted before, or what an owner may grant."""
        if self.rights_given and self.chance.random() < 0.65:
            before = self.chance.choice(self.rights_given)
            sender, what = before.grantee, before.what
        else:
            right = self.chance.choice(["SELECT", "UPDATE", "SELECT (a)", "SELECT (b), UPDATE (b)"])
            sender, what = self.admin, f"{right} ON {self.chance.choice(TABLES)}"
        grantee = self.role()
        self._remember(self.rights_given, sender, what, grantee)
        return Step(sender, None, f"GRANT {what} TO {grantee} WITH GRANT OPTION")

    def take_back(self) -> Step | str:
        """Revoke what was granted before, as the role that granted it."""
        if not self.rights_given:
            return self.revoke()
        given = self._relied_on(self.rights_given)
        only = self.maybe("GRANT OPTION FOR ")
        sql = f"REVOKE {only}{given.what} FROM {given.grantee}{self.ending()}"
        return Step(given.sender, None, sql)

    def grant_role_on(self) -> Step:
        """Grant with ADMIN what was granted before, or what the superuser may grant."""
        if self.roles_given and self.chance.random() < 0.65:
            before = self.chance.choice(self.roles_given)
            sender, what = before.grantee, before.what
        else:
            sender, what = self.admin, self.role()
        member = self.role()
        self._remember(self.roles_given, sender, what, member)
        others = self.maybe(f", INHERIT {self.chance.choice(['TRUE', 'FALSE'])}")
        return Step(sender, None, f"GRANT {what} TO {member} WITH ADMIN OPTION{others}")

    def take_role_back(self) -> Step | str:
        """Revoke a membership that was granted before, as the role that granted it."""
        if not self.roles_given:
            return self.revoke_role()
        given = self._relied_on(self.roles_given)
        option = self.maybe("ADMIN OPTION FOR ")
        sql = f"REVOKE {option}{given.what} FROM {given.grantee}{self.ending()}"
        return Step(given.sender, None, sql)

    def sender(self) -> tuple[str, str | None]:
        user = self.admin if self.chance.random() < 0.15 else self.role()
        return user, self.role() if self.chance.random() < 0.3 else None

    def role(self) -> str:
        return self.chance.choice(self.roles)

    def some(self, pool: tuple[str, ...] | list[str], most: int = 2) -> list[str]:
        return self.chance.sample(pool, self.chance.randint(1, most))

    def maybe(self, text: str, share: float = 0.3) -> str:
        return text if self.chance.random() < share else ""

    def grantees(self) -> str:
        chosen = self.some(self.roles, 2)
        if self.chance.random() < 0.1:
            chosen.append("PUBLIC")
        return ", ".join(chosen)

    def rights(self) -> str:
        draw = self.chance.random()
        if draw < 0.12:
            return "ALL"
        if draw < 0.18:
            return f"ALL ({', '.join(self.some(COLUMNS))})"
        if draw < 0.2:
            return "USAGE"
        if draw < 0.55:
            return ", ".join(
                f"{right} ({', '.join(self.some(COLUMNS))})" for right in self.some(COLUMN_RIGHTS)
            )
        return ", ".join(self.some(TABLE_RIGHTS, 3))

    def targets(self) -> str:
        if self.chance.random() < 0.05:
            return "ALL TABLES IN SCHEMA public"
        if self.chance.random() < 0.03:
            return "nowhere"
        return ", ".join(self.some(TABLES + VIEWS, 2 if self.chance.random() < 0.15 else 1))

    def granted_by(self) -> str:
        return self.maybe(f" GRANTED BY {self.chance.choice([*self.roles, 'CURRENT_USER'])}", 0.12)

    def ending(self) -> str:
        return self.chance.choice(["", "", " CASCADE", " CASCADE", " RESTRICT"])

    def grant(self) -> str:
        option = self.maybe(" WITH GRANT OPTION", 0.5)
        by = self.granted_by()
        return f"GRANT {self.rights()} ON {self.targets()} TO {self.grantees()}{option}{by}"

    def revoke(self) -> str:
        only = self.maybe("GRANT OPTION FOR ", 0.2)
        whom, by, end = self.grantees(), self.granted_by(), self.ending()
        return f"REVOKE {only}{self.rights()} ON {self.targets()} FROM {whom}{by}{end}"

    def grant_schema(self) -> str:
        right = self.chance.choice(["USAGE", "CREATE", "ALL", "SELECT"])
        if self.chance.random() < 0.7:
            option = self.maybe(" WITH GRANT OPTION")
            return f"GRANT {right} ON SCHEMA public TO {self.grantees()}{option}"
        return f"REVOKE {right} ON SCHEMA public FROM {self.role()}{self.ending()}"

    def grant_role(self) -> str:
        words = [("ADMIN", 0.6), ("INHERIT", 0.3), ("SET", 0.2)]
        options = [
            f"{word} {self.chance.choice(['OPTION', 'TRUE', 'FALSE'])}"
            for word, share in words
            if self.chance.random() < share
        ]
        clause = f" WITH {', '.join(options)}" if options else ""
        roles, members = ", ".join(self.some(self.roles, 2)), ", ".join(self.some(self.roles, 2))
        return f"GRANT {roles} TO {members}{clause}{self.membership_by()}"

    def membership_by(self) -> str:
        return self.maybe(f" GRANTED BY {self.chance.choice([*self.roles, self.admin])}", 0.3)

    def revoke_role(self) -> str:
        option = self.maybe(f"{self.chance.choice(['ADMIN', 'INHERIT', 'SET'])} OPTION FOR ", 0.35)
        roles, members = self.role(), ", ".join(self.some(self.roles, 2))
        return f"REVOKE {option}{roles} FROM {members}{self.membership_by()}{self.ending()}"

    def attributes(self) -> list[str]:
        words = ["CREATEROLE", "NOCREATEROLE", "CREATEDB", "NOINHERIT", "INHERIT", "LOGIN"]
        words += ["BYPASSRLS", "NOSUPERUSER"] + (
            ["SUPERUSER"] if self.chance.random() < 0.2 else []
        )
        chosen = self.chance.sample(words, self.chance.randint(0, 2))
        if len({word.removeprefix("NO") for word in chosen}) < len(chosen):
            return chosen[:1]
        return chosen

    def create_role(self) -> str:
        clauses = self.attributes()
        for words in ("IN ROLE", "ROLE", "ADMIN"):
            if self.chance.random() < 0.2:
                clauses.append(f"{words} {self.role()}")
        return " ".join(["CREATE ROLE", self.role(), *clauses])

    def drop_role(self) -> str:
        return f"DROP ROLE {self.maybe('IF EXISTS ')}{', '.join(self.some(self.roles, 2))}"

    def alter_role(self) -> str:
        if self.chance.random() < 0.25:
            return f"ALTER ROLE {self.role()} RENAME TO {self.role()}"
        return " ".join(["ALTER ROLE", self.role(), *self.attributes()])

    def alter_owner(self) -> str:
        kind, name = self.chance.choice(
            [("TABLE", t) for t in TABLES] + [("VIEW", v) for v in VIEWS]
        )
        return f"ALTER {kind} {name} OWNER TO {self.role()}"

    def objects(self) -> str:
        name, view = self.chance.choice(TABLES), self.chance.choice(VIEWS)
        return self.chance.choice(
            [
                self.create_table(name),
                f"DROP TABLE {self.maybe('IF EXISTS ')}{name}{self.ending()}",
                f"CREATE VIEW {view} AS SELECT a, b FROM {name}",
                f"CREATE OR REPLACE VIEW {view} AS SELECT a, b FROM {name}",
                "CREATE VIEW v1 AS SELECT a, b FROM v0",
                f"DROP VIEW {self.maybe('IF EXISTS ')}{view}{self.ending()}",
            ]
        )

    def probe(self) -> Step:
        relation = self.chance.choice(TABLES + VIEWS)
        column, other = self.chance.choice("ab"), self.chance.choice("ab")
        reads = [
            (f"SELECT {column} FROM {relation}", (Need("SELECT", column),)),
            (f"SELECT count(*) FROM {relation}", (Need("SELECT", "*"),)),
            (
                f"SELECT {column} FROM {relation} ORDER BY {other}",
                (Need("SELECT", column), Need("SELECT", other)),
            ),
        ]
        writes = [
            (f"INSERT INTO {relation} ({column}) VALUES (NULL)", (Need("INSERT", column),)),
            (f"UPDATE {relation} SET {column} = NULL", (Need("UPDATE", column),)),
            (
                f"UPDATE {relation} SET {column} = NULL WHERE {other} = 1",
                (Need("UPDATE", column), Need("SELECT", other)),
            ),
            (f"DELETE FROM {relation}", (Need("DELETE"),)),
            (
                f"DELETE FROM {relation} WHERE {column} = 1",
                (Need("DELETE"), Need("SELECT", column)),
            ),
        ]
        sql, needs = self.chance.choice(reads if relation in VIEWS else reads + writes)
        return Step("", None, sql, relation, needs)
