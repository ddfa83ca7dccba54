"""A small stage for tests: a role sends a statement, and the next authority results."""

from __future__ import annotations

from typing import TYPE_CHECKING

from discreet.errors import StatementFailed
from discreet.guard.access.apply import apply
from discreet.guard.access.authority import Authority, Privilege, RelationColumn, Subject
from discreet.guard.access.decide import privilege_on
from discreet.guard.access.initial import initial_authority
from discreet.guard.statements.definitions import parse_definition

if TYPE_CHECKING:
    from discreet.guard.access.authority import Relation, RevokeScope


class Stage:
    """The statements so far, with their senders."""

    def __init__(self, *script: str, scope: RevokeScope = "owner") -> None:
        self.authority: Authority = initial_authority("admin")
        self.scope: RevokeScope = scope
        self.notices: list[str] = []
        self.play(*script)

    def play(self, *script: str) -> Stage:
        """Let each line `who: statement` happen."""
        for line in script:
            who, _, sql = line.partition(": ")
            self.say(who, sql)
        return self

    def say(self, who: str, sql: str, columns: str = "") -> None:
        statement = parse_definition(sql)
        assert statement is not None, sql
        applied = apply(
            self.authority,
            statement,
            Subject(who, who),
            revoke_scope=self.scope,
            columns=[RelationColumn(name, "integer") for name in columns.split()],
        )
        self.authority = applied.authority
        self.notices = [note.message for note in applied.notices]

    def refuses(self, line: str) -> str:
        """Return the SQLSTATE of a line that fails, after which everything is as it was."""
        before = self.authority
        try:
            self.play(line)
        except StatementFailed as error:
            assert self.authority == before
            return error.sqlstate
        return "00000"

    def relation(self, name: str) -> Relation:
        return self.authority.relations["public", name]

    def may(self, who: str, privilege: str, name: str, column: str | None = None) -> bool:
        found = privilege_on(self.authority, who, self.relation(name), Privilege(privilege), column)
        return found.allowed

    def why(self, who: str, privilege: str, name: str, column: str | None = None) -> str:
        found = privilege_on(self.authority, who, self.relation(name), Privilege(privilege), column)
        return found.reason
