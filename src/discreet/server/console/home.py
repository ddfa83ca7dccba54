"""Home: the tables of a user as cards, and the health of the server."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from starlette.responses import Response

from discreet.errors import DiscreetError
from discreet.formatting import format_count
from discreet.guard.access.authority import Privilege, Relation
from discreet.guard.access.decide import any_column_privilege, budgets_on
from discreet.server.console.access_rules import summarize_access
from discreet.server.console.exposure import (
    DIALECT,
    TableExposure,
    is_measurable,
    known_exposure,
    measure_exposure,
)
from discreet.server.console.pages import BudgetGauge, SameAs
from discreet.server.console.requests import ConsoleRequest, explain_privacy, rows_of, run_text
from discreet.sql import build

if TYPE_CHECKING:
    from discreet.server.gateway.health import Health
    from discreet.server.session import Session

MOST_BUDGETS = 24  # gauges of one page: each plans a question
_PROBE_EPSILON = "0.001"  # of the question whose price is asked for; nothing is spent
TABLES = """
SELECT table_schema, table_name FROM information_schema.tables
WHERE table_schema NOT IN ('pg_catalog', 'information_schema') ORDER BY table_schema, table_name
"""


@dataclass(frozen=True)
class TableCard:
    """A table as its user sees it."""

    relation: Relation
    kind: str
    rights: str
    gauge: BudgetGauge | None = None
    left: str = ""
    exposure: TableExposure | None = None
    is_measurable: bool = False

    @property
    def name(self) -> str:
        """The name, with its schema unless that is the default one."""
        relation = self.relation
        return (
            relation.name if relation.schema == "public" else f"{relation.schema}.{relation.name}"
        )


def show_home(asked: ConsoleRequest) -> Response:
    """Return the page; with `measure`, exposures are measured first."""
    with asked.open_session({"discreet.epsilon": _PROBE_EPSILON}) as session:
        relations = list_relations(asked, session)
        cards = [_make_card(asked, session, one, place) for place, one in enumerate(relations)]
        if asked.form.get("measure"):
            cards = [_measure_card(asked, session, card) for card in cards]
    health = asked.server.health_monitor.check()
    return asked.render(
        "home.html.j2",
        verdict=_word_verdict(cards),
        groups=_group_cards(cards),
        unmeasured=[card for card in cards if card.is_measurable and card.exposure is None],
        health=health,
        health_words=_word_health(health, has_witness=bool(asked.server.settings.audit.witness)),
        same=SameAs(
            "discreet assess patients.csv --policy policy.yaml\ndiscreet budget",
            'import discreet\n\nfound = discreet.assess("patients.csv", "policy.yaml")\nprint(found)',
            next(
                (card.exposure.sql for card in cards if card.exposure is not None), TABLES.strip()
            ),
        ),
    )


def list_relations(asked: ConsoleRequest, session: Session) -> list[Relation]:
    """Return the relations that the catalog shows to the user."""
    relations = asked.server.control.authority().relations
    found = [relations.get((schema, name)) for schema, name in rows_of(run_text(session, TABLES))]
    return [relation for relation in found if relation is not None]


def _group_cards(cards: list[TableCard]) -> list[tuple[str, list[TableCard]]]:
    """Return the cards below headings: what concerns people first."""
    about_people = [card for card in cards if card.is_measurable or card.gauge is not None]
    others = [card for card in cards if card not in about_people]
    groups = (("About people", about_people), ("Other tables and views", others))
    return [(heading, group) for heading, group in groups if group]


def _make_card(
    asked: ConsoleRequest, session: Session, relation: Relation, place: int
) -> TableCard:
    kinds = {"table": "Table", "view": "View", "anonymized": "Anonymized view"}
    authority = asked.server.control.authority()
    rights = summarize_access(authority, asked.user, relation) or "its columns only"
    card = TableCard(relation, kinds[relation.kind], rights)
    if is_measurable(asked, relation):
        card = replace(card, is_measurable=True, exposure=known_exposure(asked, relation))
    can_read = bool(any_column_privilege(authority, asked.user, relation, Privilege.SELECT))
    if not can_read and place < MOST_BUDGETS and budgets_on(authority, asked.user, relation):
        card = _add_budget(card, session)
    return card


def _add_budget(card: TableCard, session: Session) -> TableCard:
    """Return the card with what is left of the budget, as EXPLAIN PRIVACY reports it."""
    query = build.select(
        build.count_star(), source=build.table(card.relation.schema, card.relation.name)
    )
    try:
        cost = explain_privacy(session, query.sql(dialect=DIALECT))
    except DiscreetError:  # no question about it is answered; the card says nothing then
        return card
    if cost is None or not cost.granted:
        return card
    left, granted = cost.left["epsilon"], cost.granted["epsilon"]
    words = f"{left:.3g} of {granted:.3g} epsilon left"
    return replace(
        card, left=words, gauge=BudgetGauge(words, 1 - left / granted if granted else 1.0)
    )


def _measure_card(asked: ConsoleRequest, session: Session, card: TableCard) -> TableCard:
    if not card.is_measurable or card.exposure is not None:
        return card
    return replace(card, exposure=measure_exposure(asked, session, card.relation))


def _word_verdict(cards: list[TableCard]) -> str:
    measured = [card.exposure for card in cards if card.exposure is not None]
    if measured:
        exposed = sum(one.is_exposed for one in measured)
        about = format_count(len(measured), "table of people", "tables of people")
        if not exposed:
            return f"No one stands out in {about}."
        verb = "exposes" if exposed == 1 else "expose"
        return f"{exposed} of {about} {verb} people, if rows were published."
    if not cards:
        return "You have no right to any table yet."
    asking = sum(card.gauge is not None for card in cards)
    if asking:
        return (
            f"You may ask about {format_count(asking, 'table', 'tables')}, each answer for a price."
        )
    return f"You may use {format_count(len(cards), 'table', 'tables')}."


def _word_health(health: Health, *, has_witness: bool) -> str:
    failing = [name for name, is_well in health.parts.items() if not is_well]
    if failing:
        return f"Not reachable: {', '.join(failing)}. Nothing is answered until that is repaired."
    if health.unwitnessed:
        count = format_count(health.unwitnessed, "checkpoint", "checkpoints")
        return f"All parts work. {count} of the journal could not be copied to a witness."
    copies = (
        "every checkpoint has its copies" if has_witness else "no witness keeps its checkpoints"
    )
    return f"Stores, journal and database work; {copies}."
