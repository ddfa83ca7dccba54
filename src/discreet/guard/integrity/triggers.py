"""Triggers: conditions on the changes of a write, evaluated on all its rows at once."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Literal

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection, EngineTraits
from discreet.errors import AccessDenied, StatementFailed
from discreet.guard.access.attached import may_trigger
from discreet.guard.access.authority import Authority, Event, Relation, Subject, Trigger
from discreet.guard.integrity.changes import new, old
from discreet.guard.integrity.conditions import compile_condition
from discreet.guard.rewrite.permitted import Source, plain_source
from discreet.sql import build

Moment = Literal["before", "after"]
_CHANGES = "changes"  # the name of the changes in a condition


@dataclass(frozen=True)
class TriggerMonitor:
    """Checks of a write before and after it happens, which may refuse it.

    Conditions run with the privileges of the relation's owner, or of the role that attached them,
    while current_user is the writer; they see other relations as of that time of the transaction.
    """

    connection: DatabaseConnection
    relation: Relation
    authority: Authority
    subject: Subject
    traits: EngineTraits
    source: Source = plain_source

    def needs_rows(self, event: Event, changed: Collection[str]) -> bool:
        """Return whether a trigger needs single rows of such a write, or runs before it.

        A check before the write must not run before this transaction has the right to write.
        """
        return any(
            trigger.each == "ROW" or trigger.timing == "BEFORE"
            for trigger in self._fired_triggers(event, changed)
        )

    def rows(
        self, moment: Moment, event: Event, changed: Collection[str], changes: exp.Query
    ) -> None:
        """Refuse the write if a row trigger's condition is true of a row of `changes`.

        Raises:
            StatementFailed: P0001, with the trigger's message.
        """
        for trigger in self._fired_triggers(event, changed):
            if trigger.each != "ROW" or trigger.timing.lower() != moment:
                continue
            rows = {
                "old": (self.relation, _cell_builder(old)),
                "new": (self.relation, _cell_builder(new)),
            }
            condition = self._compile_trigger(trigger, rows)
            self._refuse_if(_select_matches(changes, condition), trigger)

    def statement(self, moment: Moment, event: Event, changed: Collection[str]) -> None:
        """Refuse the write if a statement trigger's condition is true.

        Raises:
            StatementFailed: P0001, with the trigger's message.
        """
        for trigger in self._fired_triggers(event, changed):
            if trigger.each != "STATEMENT" or trigger.timing.lower() != moment:
                continue
            condition = self._compile_trigger(trigger, {})
            holds = exp.select(build.number(1)).where(condition)
            self._refuse_if(holds, trigger)

    def policy(self, with_check: exp.Expr, changes: exp.Query) -> None:
        """Refuse the write unless a condition on the row called `new` is true of all new rows.

        Raises:
            AccessDenied: 42501.
        """
        if self._fails_any(with_check, changes):
            name = self.relation.name
            raise AccessDenied(f'new row violates row-level security policy for table "{name}"')

    def view(self, check: exp.Expr, changes: exp.Query) -> None:
        """Refuse the write unless WITH CHECK OPTION of a view holds of all new rows.

        Raises:
            StatementFailed: 44000.
        """
        if self._fails_any(check, changes):
            raise StatementFailed("44000", "new row violates check option for the view")

    def _fails_any(self, check: exp.Expr, changes: exp.Query) -> bool:
        """Whether a condition on the row called `new` is not true of a new row."""
        holder = exp.Paren(this=check.copy())
        for column in list(holder.find_all(exp.Column)):
            if column.table == "new":
                column.replace(_cell_builder(new)(column.name))
        fails = exp.not_(exp.Coalesce(this=holder, expressions=[exp.false()]))
        return self._is_any(_select_matches(changes, fails))

    def _fired_triggers(self, event: Event, changed: Collection[str]) -> list[Trigger]:
        return [
            trigger
            for trigger in sorted(self.relation.triggers, key=lambda item: item.name)
            if event in trigger.events
            and (event != "UPDATE" or not trigger.columns or set(trigger.columns) & set(changed))
        ]

    def _compile_trigger(
        self, trigger: Trigger, rows: dict[str, tuple[Relation, Callable[[str], exp.Expr]]]
    ) -> exp.Expr:
        _require_ground(trigger, self.relation, self.authority)
        return compile_condition(
            trigger.condition,
            rows,
            self.authority,
            self.subject,
            traits=self.traits,
            source=self.source,
            role=trigger.maker or self.relation.owner,
        )

    def _refuse_if(self, query: exp.Select, trigger: Trigger) -> None:
        if self._is_any(query):
            raise StatementFailed("P0001", trigger.message)

    def _is_any(self, query: exp.Select) -> bool:
        return self.connection.query(query.limit(1)).num_rows > 0


def check_trigger(
    trigger: Trigger,
    relation: Relation,
    authority: Authority,
    subject: Subject,
    *,
    traits: EngineTraits,
) -> None:
    """Refuse a trigger whose condition could not run: for CREATE TRIGGER.

    Raises:
        StatementFailed: As the condition fails; 42P17 for OLD or NEW in a statement trigger.
    """
    rows: dict[str, tuple[Relation, Callable[[str], exp.Expr]]] = {}
    if trigger.each == "ROW":
        if trigger.events == ("INSERT",):
            rows = {"new": (relation, _cell_builder(new))}
        elif trigger.events == ("DELETE",):
            rows = {"old": (relation, _cell_builder(old))}
        else:
            rows = {"old": (relation, _cell_builder(old)), "new": (relation, _cell_builder(new))}
    role = trigger.maker or relation.owner
    compile_condition(trigger.condition, rows, authority, subject, traits=traits, role=role)


def watch_levels(
    watch: TriggerMonitor,
    event: Event,
    changed: Collection[str],
    with_check: exp.Expr | None = None,
) -> Callable[[Moment, exp.Query], None]:
    """Return the checks of a write to a multi-level relation: `discreet.guard.levels` calls them."""

    def look(moment: Moment, changes: exp.Query) -> None:
        watch_rows(watch, moment, event, changed, changes, with_check=with_check)

    return look


def watch_rows(
    watch: TriggerMonitor,
    moment: Moment,
    event: Event,
    changed: Collection[str],
    changes: exp.Query,
    *,
    with_check: exp.Expr | None = None,
) -> None:
    """Run the triggers and, before the write, the row policy on the changes.

    Raises:
        StatementFailed: P0001 by a trigger, 42501 by the policy.
    """
    if moment == "before":
        watch.statement(moment, event, changed)
    watch.rows(moment, event, changed, changes)
    if moment == "before" and with_check is not None and event != "DELETE":
        watch.policy(with_check, changes)
    if moment == "after":
        watch.statement(moment, event, changed)


def _require_ground(trigger: Trigger, relation: Relation, authority: Authority) -> None:
    """Refuse a trigger whose creator lost the privileges: its condition would reveal data to them.

    The write is refused rather than allowed, since the trigger may be there to stop it.
    """
    if trigger.maker is None:
        return
    decision = may_trigger(authority, trigger.maker, relation, trigger)
    if not decision:
        raise AccessDenied(
            f'trigger "{trigger.name}" for table "{relation.name}" lost the rights it was attached with',
            reason=f"{trigger.maker} attached it: {decision.reason}",
            hint="The owner of the table can drop it and create it again.",
        )


def _cell_builder(side: Callable[[str], str]) -> Callable[[str], exp.Expr]:
    return lambda name: build.column(side(name), of=_CHANGES)


def _select_matches(changes: exp.Query, condition: exp.Expr) -> exp.Select:
    source = build.subquery(changes.copy(), _CHANGES)
    return build.select(build.alias_as(build.number(1), "one"), source=source).where(condition)
