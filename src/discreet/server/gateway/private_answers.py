"""Private queries: answered under differential privacy, from the budget of a grant."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from typing import Any, TypeVar

from sqlglot import exp

from discreet.answer.answer import Answer
from discreet.answer.cancellation import CancelToken
from discreet.answer.catalog import Catalog, CatalogTable
from discreet.answer.curator import Curator
from discreet.answer.explain import Explanation
from discreet.answer.mechanism import MechanismResult
from discreet.answer.plan import Noise, Plan
from discreet.answer.statement import DIALECT
from discreet.answer.weighting import weigh_query
from discreet.answer.wording import (
    describe_price,
    describe_workload,
    format_amounts,
    format_ranks,
    format_share,
    format_short,
)
from discreet.answer.workload_answer import WorkloadExplanation
from discreet.arrow import pc
from discreet.dp.ledger.ledger import Ledger
from discreet.engines.databases.database import Database, ResultField
from discreet.engines.duckdb.served import ServedDuckDB
from discreet.engines.engine import ArrowTable
from discreet.errors import AccessDenied, EngineFailed, StatementFailed
from discreet.guard.access.authority import Allowance, Authority, Relation, Subject
from discreet.guard.access.decide import masked_columns
from discreet.guard.rewrite.authorize import relations_of
from discreet.learning.model_order import ModelTerms, order_model
from discreet.policy import model
from discreet.policy.answer_model import BudgetPolicy, WorkloadPolicy
from discreet.server.gateway.aggregate_grants import (
    allowance_of,
    cell_columns,
    may_read_others,
    name_tables,
    payer_of,
    require_all_rows,
    require_seen,
)
from discreet.server.gateway.curator_pool import CuratorPool, is_lost
from discreet.server.gateway.policy_tables import (
    find_policy_table,
    name_in_questions,
    require_distinct_names,
)
from discreet.server.gateway.variables import SessionVariables
from discreet.server.gateway.workload_members import find_member, parse_member
from discreet.server.session import Notice, PrivacyCost
from discreet.sql import build
from discreet.sql.types import arrow_type

QUESTION_TRAITS = ServedDuckDB.traits  # how a question writes values, whatever the database
Answered = TypeVar("Answered")
PolicyPart = TypeVar("PolicyPart", model.Policy | None, model.TablePolicy | None)

CURATORS_CACHED = 32  # curators: one for each payer and state of the tables
# A table's total budget where the policy has none: beyond it there is little protection left.
_WHOLE = BudgetPolicy(Decimal(10), Decimal("1e-5"))


@dataclass(frozen=True)
class PermittedQuestion:
    """A query that may be answered: its text, its cost limits, and the grant that pays.

    `payer` is the role's name; `identity` is its permanent identity, by which the ledger knows it.
    `hidden` are the columns of each relation that are masked for the sender, and that their queries
    cannot name.
    """

    text: str
    relations: tuple[Relation, ...]
    payer: str
    identity: str
    allowances: tuple[Allowance | None, ...]
    hidden: tuple[frozenset[str], ...]
    epsilon: str
    delta: str
    noise: Noise | None
    confidence: float
    cut_share: str
    workload: tuple[str, ...] = ()  # questions that are paid for together with it
    place: int = 0  # which of them it is


class PrivateAnswers:
    """Answers queries, each from the budget of the role that was granted AGGREGATE."""

    def __init__(
        self,
        database: Database,
        ledger: Ledger,
        policy: model.Policy | None,
        *,
        clock: Callable[[], datetime],
        quantum: float = 0.0,
        most_rows: int | None = None,
    ) -> None:
        self._most_rows = most_rows
        self._database, self._ledger, self._policy = database, ledger, policy
        self._clock, self._quantum = clock, quantum
        self._curators = CuratorPool(CURATORS_CACHED)

    def read(
        self,
        query: exp.Query,
        relations: Sequence[Relation],
        authority: Authority,
        subject: Subject,
        variables: SessionVariables,
    ) -> PermittedQuestion | None:
        """Return a query as a private query, or None if its sender may not aggregate all its tables.

        A query that is one of the workload which the session has chosen is asked together with the others.
        """
        workload = find_member(self._policy, variables.get("discreet.workload"), query)
        if workload is None:
            return self._permit_question(query, relations, authority, subject, variables)
        declared, place = workload
        asked = self._permit_question(query, relations, authority, subject, variables, declared)
        if asked is None:
            return None
        members: list[PermittedQuestion] = []
        for number, text in enumerate(declared.queries, 1):
            tree = parse_member(number, text)
            named = relations_of(tree, authority, subject)
            one = self._permit_question(tree, named, authority, subject, variables, declared)
            if one is None or one.identity != asked.identity:
                raise AccessDenied(
                    f"permission denied for statement {number} of the workload",
                    hint="A workload is paid for as one: ask for AGGREGATE on all its tables, or RESET "
                    "discreet.workload to ask this query alone.",
                )
            members.append(one)
        return _join_members(asked, members, place)

    def _permit_question(
        self,
        query: exp.Query,
        relations: Sequence[Relation],
        authority: Authority,
        subject: Subject,
        variables: SessionVariables,
        workload: WorkloadPolicy | None = None,
    ) -> PermittedQuestion | None:
        """Return a query as a private query at its own price, or at that of its workload."""
        if not relations:
            return None
        private = [relation for relation in relations if not self._is_public(relation)]
        if not private or not may_read_others(authority, subject, relations, private):
            return None
        payer = payer_of(authority, subject, private)
        if payer is None:
            return None
        require_distinct_names(relations)
        if query.find(exp.Lock) is not None:  # the dialect of questions has no such clause
            raise StatementFailed("0A000", "a question locks no rows: leave FOR UPDATE out")
        for relation in private:
            self._require_askable(relation)
            require_all_rows(authority, subject, relation)
        if variables.get("discreet.weighted") == "on":
            # Before it is decided what the sender may see: the weight is one of the columns.
            query = self._weigh_relations(name_tables(query), relations)
        hidden = tuple(masked_columns(authority, subject.role, one) for one in relations)
        require_seen(query, relations, hidden)
        epsilon, delta = variables.get("discreet.epsilon"), variables.get("discreet.delta") or "0"
        if workload is not None:
            epsilon, delta = str(workload.epsilon), str(workload.delta)
        if not epsilon:
            raise StatementFailed(
                "22023",
                "the question has no price",
                hint="You may ask for aggregates, such as count(*), and say first what one may cost: "
                "SET discreet.epsilon = 0.1",
            )
        noise = variables.get("discreet.noise") or None
        return PermittedQuestion(
            name_tables(query).sql(dialect=DIALECT, comments=False),
            tuple(relations),
            payer,
            authority.identity_of(payer) or payer,
            tuple(allowance_of(payer, relation) for relation in relations),
            hidden,
            epsilon,
            delta,
            noise,  # pyright: ignore[reportArgumentType]
            float(variables.get("discreet.confidence")),
            variables.get("discreet.cut_share"),
        )

    def _weigh_relations(self, query: exp.Query, relations: Sequence[Relation]) -> exp.Query:
        policies = {name_in_questions(one): self._policy_table(one) for one in relations}

        def weight_of(name: str) -> str | None:
            policy = policies.get(name)
            return policy.weight if policy else None

        return weigh_query(query, weight_of)

    def check_allowance(self, relation: Relation, allowance: Allowance) -> None:
        """Refuse to grant a role more than the table's total budget.

        Raises:
            StatementFailed: 22023, with the table's budget.
        """
        table_policy = self._policy_table(relation)
        declared = (
            table_policy.budget if table_policy else None,
            self._policy.budget if self._policy else None,
        )
        for whole in [one for one in declared if one is not None] or [_WHOLE]:
            if allowance.epsilon > whole.epsilon or allowance.delta > whole.delta:
                raise StatementFailed(
                    "22023",
                    f'the budget is more than "{relation.name}" has in all: '
                    f"{format_amounts(float(whole.epsilon), float(whole.delta))}",
                    hint="Grant at most that, or raise the table's budget in the server's policy.",
                )

    def describe(self, asked: PermittedQuestion) -> tuple[ResultField, ...]:
        """Return the columns of the answer; nothing is read or spent."""
        with self._borrow_curator(asked) as curator:
            if asked.workload:
                schema = curator.shape_all(asked.workload, **_workload_price(asked))[asked.place]
            else:
                schema = curator.shape(_plan(curator, asked)[0])
        return tuple(ResultField(item.name, _answer_type(item.type)) for item in schema)

    def explain(self, asked: PermittedQuestion) -> tuple[list[str], PrivacyCost]:
        """Return lines that explain the cost and the expected error of a query, and the cost itself."""
        with self._borrow_curator(asked) as curator:
            if asked.workload:
                whole = curator.explain_all(
                    asked.workload, confidence=asked.confidence, **_workload_price(asked)
                )
                lines = describe_workload(whole, asked.place + 1)
                return lines, _cost_of(asked, whole, within=lines[1:])
            plan, text = _plan(curator, asked)
            found = curator.explain_plan(plan, text, confidence=asked.confidence)
        lines: list[str] = []
        for item in found.expected:
            if item.ranks is not None:
                lines.append(f"{item.aggregate}: within {format_short(round(item.ranks))} ranks")
                continue
            share = f" ({format_share(item.relative)})" if item.relative is not None else ""
            lines.append(
                f"{item.aggregate}: ± {format_short(item.within)}{share} in a group of {found.size:,} rows, "
                f"at {format_share(found.confidence)} confidence"
            )
        cost = _cost_of(asked, found, within=lines)
        return [describe_price(found), *lines, *found.cautions], cost

    def ask(self, asked: PermittedQuestion, stop: CancelToken | None = None) -> Answer:
        """Answer the query and charge it; repeating it on the same data is free."""
        return self._ask_twice(asked, lambda curator: _ask_curator(curator, asked, stop))

    def learn(
        self, asked: PermittedQuestion, terms: ModelTerms, stop: CancelToken | None = None
    ) -> MechanismResult:
        """Learn a model of the table that is permitted, and charge it; the same request again is free."""
        name = name_in_questions(asked.relations[0])
        return self._ask_twice(
            asked, lambda curator: order_model(curator, name, terms).pay(stop=stop)
        )

    def explain_model(self, asked: PermittedQuestion, terms: ModelTerms) -> list[str]:
        """Return lines that explain what a model would cost; nothing is read or spent."""
        with self._borrow_curator(asked) as curator:
            order = order_model(curator, name_in_questions(asked.relations[0]), terms)
            return order.explain()

    def _ask_twice(self, asked: PermittedQuestion, ask: Callable[[Curator], Answered]) -> Answered:
        """Return what `ask` has of a curator, of a second one if the first lost its database."""
        with self._borrow_curator(asked) as curator:
            try:
                return ask(curator)
            except EngineFailed as error:
                if not is_lost(curator):  # the message is our own: it cannot be computed
                    raise StatementFailed("22000", error.summary) from None
        # The connection to the database was lost: the budget of the query stays reserved.
        with self._borrow_curator(asked) as curator:
            return ask(curator)

    def close(self) -> None:
        """Close all readers."""
        self._curators.close()

    def _borrow_curator(self, asked: PermittedQuestion) -> AbstractContextManager[Curator]:
        versions = tuple(self._database.version(one.physical) for one in asked.relations)
        key = (
            asked.payer,
            asked.identity,
            asked.allowances,
            asked.relations,
            asked.hidden,
            versions,
        )
        return self._curators.borrow(key, lambda: self._open(asked, versions))

    def _open(self, asked: PermittedQuestion, versions: tuple[str, ...]) -> Curator:
        reader = self._database.reader()
        try:
            held = {
                name_in_questions(relation): replace(
                    self._held_table(reader, relation, asked, number), version=versions[number]
                )
                for number, relation in enumerate(asked.relations)
            }
        except BaseException:
            reader.close()
            raise
        return Curator(
            Catalog({name: (lambda item=item: item) for name, item in held.items()}),
            reader,
            self._ledger,
            policy=_as_payer(self._policy, asked),
            analyst=asked.identity,
            quantum=self._quantum,
            clock=self._clock,
            most_rows=self._most_rows,
        )

    def _held_table(
        self, reader: Any, relation: Relation, asked: PermittedQuestion, number: int
    ) -> CatalogTable:
        opened = reader.table(build.table(*relation.physical), label=relation.name)
        hidden = {*cell_columns(relation), *asked.hidden[number]}
        kept = tuple(column for column in opened.columns if column.name not in hidden)
        table_policy, allowance = (
            _as_payer(self._policy_table(relation), asked),
            asked.allowances[number],
        )
        if table_policy is not None and allowance is not None:
            whole = table_policy.budget or (self._policy and self._policy.budget) or _WHOLE
            own = BudgetPolicy(allowance.epsilon, allowance.delta, whole.accounting)
            analysts = {**whole.analysts, asked.identity: own}
            # A table that the policy calls public is not, once the owner restricts it.
            is_public = self._is_public(relation)
            table_policy = replace(
                table_policy, budget=replace(whole, analysts=analysts), public=is_public
            )
        return CatalogTable(
            name_in_questions(relation),
            replace(opened, columns=kept),
            table_policy,
            # A table that is renamed keeps its id, and so its account.
            account=f"table:{(table_policy and table_policy.id) or f'{relation.schema}.{relation.name}'}",
            version="",
            links=tuple(name for key in relation.foreign_keys for name in key.columns),
        )

    def _policy_table(self, relation: Relation) -> model.TablePolicy | None:
        return find_policy_table(self._policy, relation)

    def _is_public(self, relation: Relation) -> bool:
        table_policy = self._policy_table(relation)
        is_open = relation.kind == "table" and not (
            relation.multilevel or relation.row_security or relation.masks
        )
        return is_open and table_policy is not None and table_policy.public

    def _require_askable(self, relation: Relation) -> None:
        if relation.kind != "table" or relation.multilevel:
            raise StatementFailed(
                "0A000",
                f'questions about "{relation.name}" are not answered: it is a view or has labels',
                hint="Query its base table.",
            )
        table_policy = self._policy_table(relation)
        if table_policy is None:
            raise StatementFailed(
                "55000",
                f'the policy does not define the unit of "{name_in_questions(relation)}"',
                hint="Add the table, its unit and its bounds to the server's policy.",
            )
        period = table_policy.unit_period.column if table_policy.unit_period else None
        whose = {name for name in (table_policy.unit, period) if name is not None}
        known = {column.name for column in relation.columns if column.key is None}
        if not whose <= known:
            # Encrypted cells of one person differ: every row would count as another person.
            raise StatementFailed(
                "55000",
                f'the unit column of "{relation.name}" is missing or encrypted',
                hint="Encrypt other columns, or let the server's policy name another unit.",
            )


def _as_payer(table_policy: PolicyPart, asked: PermittedQuestion) -> PolicyPart:
    """Return a policy, or its part on a table, with the payer's budget under their identity."""
    if table_policy is None or table_policy.budget is None or asked.payer == asked.identity:
        return table_policy
    analysts = {
        who: own for who, own in table_policy.budget.analysts.items() if who != asked.identity
    }
    if asked.payer in analysts:
        analysts[asked.identity] = analysts[asked.payer]
    return replace(table_policy, budget=replace(table_policy.budget, analysts=analysts))


def _cost_of(
    asked: PermittedQuestion, found: Explanation | WorkloadExplanation, *, within: Sequence[str]
) -> PrivacyCost:
    """Return what a question would cost."""
    return PrivacyCost(
        asked.payer,
        found.epsilon,
        found.delta,
        left=_left_amounts(found.remaining),
        granted=_granted_amounts(asked),
        within=tuple(within),
        cautions=found.cautions,
        confidence=found.confidence,
    )


def cost_of_answer(asked: PermittedQuestion, answer: Answer) -> PrivacyCost:
    """Return what an answer cost, with the half width of each cell's interval."""
    halves = tuple(
        tuple(None if error is None else (error.high - error.low) / 2 for error in row)
        for row in answer.error
    )
    return PrivacyCost(
        asked.payer,
        answer.spent["epsilon"],
        answer.spent["delta"],
        left=_left_amounts(answer.remaining),
        granted=_granted_amounts(asked),
        cautions=answer.cautions,
        confidence=answer.confidence,
        is_free=answer.cached,
        errors=halves,
    )


def _left_amounts(remaining: Mapping[str, Any]) -> dict[str, float]:
    return {name: float(remaining.get(name) or 0) for name in ("epsilon", "delta")}


def _granted_amounts(asked: PermittedQuestion) -> dict[str, float]:
    """Return the smallest budget of the grants that a question needs, empty without one."""
    granted = [one for one in asked.allowances if one is not None]
    if not granted:
        return {}
    return {
        "epsilon": float(min(one.epsilon for one in granted)),
        "delta": float(min(one.delta for one in granted)),
    }


def _plan(curator: Curator, asked: PermittedQuestion) -> tuple[Plan, str]:
    return curator.plan(
        asked.text,
        epsilon=asked.epsilon,
        delta=asked.delta,
        noise=asked.noise,
        cut_share=asked.cut_share,
    )


def _workload_price(asked: PermittedQuestion) -> dict[str, Any]:
    return {"epsilon": asked.epsilon, "delta": asked.delta, "cut_share": asked.cut_share}


def _join_members(
    asked: PermittedQuestion, members: Sequence[PermittedQuestion], place: int
) -> PermittedQuestion:
    """Return a question with all that its workload reads."""
    read = {
        relation.key: (relation, allowance, hidden)
        for one in members
        for relation, allowance, hidden in zip(
            one.relations, one.allowances, one.hidden, strict=True
        )
    }
    relations, allowances, hidden = zip(*read.values(), strict=True)
    return replace(
        asked,
        relations=relations,
        allowances=allowances,
        hidden=hidden,
        workload=tuple(one.text for one in members),
        place=place,
    )


def _ask_curator(curator: Curator, asked: PermittedQuestion, stop: CancelToken | None) -> Answer:
    if asked.workload:
        found = curator.ask_all(
            asked.workload, confidence=asked.confidence, stop=stop, **_workload_price(asked)
        )
        return found[asked.place]
    return curator.ask(
        asked.text,
        epsilon=asked.epsilon,
        delta=asked.delta,
        noise=asked.noise,
        confidence=asked.confidence,
        cut_share=asked.cut_share,
        stop=stop,
    )


def spent_notices(
    paid: Answer | MechanismResult, *, what: str, detail: str | None = None
) -> tuple[Notice, ...]:
    """Return the notices of what was paid for: cost, what is left, and cautions."""
    left = format_amounts(paid.remaining["epsilon"], paid.remaining["delta"])
    spent = format_amounts(paid.spent["epsilon"], paid.spent["delta"])
    cost = f"The same {what} again is free." if paid.cached else f"Spent {spent}."
    cautions = [Notice("WARNING", caution) for caution in paid.cautions]
    return (Notice("NOTICE", f"{cost} Left: {left}.", detail=detail), *cautions)


def answer_notices(answer: Answer) -> tuple[Notice, ...]:
    """Return the notices of an answer: cost, what is left, and the expected error."""
    widest = (
        [_widest_error(errors) for errors in zip(*answer.error, strict=True)] if answer.rows else []
    )
    parts = [
        f"{name} ± {format_short(width)}"
        for name, width in zip(answer.columns, widest, strict=False)
        if width is not None
    ]
    parts += [
        f"{name} ± {format_ranks(ranks)}"
        for name, ranks in zip(answer.columns, answer.rank_error, strict=True)
        if ranks is not None
    ]
    detail = f"{format_share(answer.confidence)} confidence: {', '.join(parts)}" if parts else None
    return spent_notices(answer, what="question", detail=detail)


def _widest_error(errors: Sequence[Any]) -> float | None:
    known = [(error.high - error.low) / 2 for error in errors if error is not None]
    return max(known, default=None)


def cast_answer(table: ArrowTable, fields: Sequence[ResultField]) -> ArrowTable:
    """Return the answer's columns in the types that were described before."""
    wanted = {name: arrow_type(name) for name in ("text", "int8", "float8", "bool", "date")}
    try:
        columns = [
            _round_count(column, field).cast(wanted[field.type]) if field.type in wanted else column
            for column, field in zip(table.columns, fields, strict=True)
        ]
    except ValueError:
        raise StatementFailed("22003", "a number of the answer is out of range") from None
    return type(table).from_arrays(columns, names=[field.name for field in fields])


def _round_count(column: Any, field: ResultField) -> Any:
    """Return a count with decimals, as workloads have, as the whole number that was described before."""
    import pyarrow as pa

    return (
        pc.round(column) if field.type == "int8" and pa.types.is_floating(column.type) else column
    )


def _answer_type(kind: Any) -> str:
    """Return PostgreSQL's name for a type of an answer."""
    import pyarrow as pa

    tests = (
        (pa.types.is_boolean, "bool"),
        (pa.types.is_integer, "int8"),
        (pa.types.is_floating, "float8"),
        (pa.types.is_decimal, "numeric"),
        (pa.types.is_date, "date"),
        (pa.types.is_timestamp, "timestamp"),
        (pa.types.is_time, "time"),
    )
    return next((name for test, name in tests if test(kind)), "text")
