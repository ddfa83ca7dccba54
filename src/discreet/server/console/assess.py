"""Assess a table: how identifiable its people are, from its rows as SQL returns them."""

from __future__ import annotations

import shlex
from threading import BoundedSemaphore
from typing import Any

from markupsafe import Markup
from starlette.responses import Response

from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.measure.assess import assess
from discreet.measure.assessment import Assessment
from discreet.report.notebook import assessment_card
from discreet.report.notebook_html import TextTable, draw_row_chart
from discreet.server.console.exposure import DIALECT, policy_of
from discreet.server.console.pages import SameAs
from discreet.server.console.requests import ConsoleRequest, run_text
from discreet.sql import build

MOST_ROWS = 200_000  # of a table that is assessed here; the command line has no limit
_turn = BoundedSemaphore(1)  # an assessment takes a core, and memory for the rows


def show_assess_page(asked: ConsoleRequest) -> Response:
    """Return the page of a table, with what was found in this session if the table is still the same."""
    relation = _find_relation(asked)
    return _render_page(asked, relation, asked.session.found.get(_key_of(asked, relation)))


def take_assessment(asked: ConsoleRequest) -> Response:
    """Assess the table now, and return the page."""
    relation = _find_relation(asked)
    if not _turn.acquire(blocking=False):
        raise StatementFailed("53300", "another table is assessed now", hint="Try again soon.")
    try:
        key = _key_of(asked, relation)
        found = _assess_rows(asked, relation)
    finally:
        _turn.release()
    asked.session.keep(key, found)
    return _render_page(asked, relation, found)


def _find_relation(asked: ConsoleRequest) -> Relation:
    asked.require_superuser("assess a table")
    name = asked.form.get("schema", "public"), asked.form.get("table", "")
    relation = asked.server.control.authority().relations.get(name)
    if relation is None:
        raise StatementFailed("42P01", "there is no such table", hint="Choose one on Home.")
    return relation


def _assess_rows(asked: ConsoleRequest, relation: Relation) -> Assessment:
    table = policy_of(asked, relation)
    with asked.open_session() as session:
        rows = run_text(session, _rows_query(relation)).table
    if rows is None or rows.num_rows > MOST_ROWS:
        raise StatementFailed(
            "54000",
            f"the table has more than {MOST_ROWS:,} rows",
            hint="Assess it with `discreet assess`, which has no such limit.",
        )
    policy = asked.server.policy if table is not None else None
    return assess(rows, policy, table=None if policy is None else relation.name)


def _rows_query(relation: Relation) -> str:
    columns = [build.column(column.name) for column in relation.columns]
    source = build.table(relation.schema, relation.name)
    return build.select(*columns, source=source).limit(MOST_ROWS + 1).sql(dialect=DIALECT)


def _key_of(asked: ConsoleRequest, relation: Relation) -> Any:
    return "assessment", relation.key, asked.server.database.version(relation.physical)


def _render_page(asked: ConsoleRequest, relation: Relation, found: Assessment | None) -> Response:
    parts: dict[str, Any] = {"tables": (), "charts": (), "cautions": ()}
    verdict = f"How identifiable are the people in {relation.name}?"
    if found is not None:
        card = assessment_card(found)
        verdict = card.headline.replace(found.source, relation.name)
        drawn = [(one.title, Markup(draw_row_chart(one))) for one in card.charts if one.rows]  # noqa: S704 -- it escapes
        tables = [*card.tables, _tabulate_columns(found), _tabulate_combinations(found)]
        parts = {
            "tables": [(table, _number_columns(table)) for table in tables if table.rows],
            "charts": drawn,
            "cautions": card.cautions,
        }
    policy = policy_of(asked, relation)
    same = _same_elsewhere(relation, has_policy=policy is not None)
    return asked.render(
        "assess.html.j2",
        verdict=verdict,
        relation=relation,
        found=found,
        has_policy=policy is not None,
        same=same,
        **parts,
    )


def _number_columns(table: TextTable) -> frozenset[int]:
    """Return the columns, counted from 0, that hold numbers, which are set to the right."""
    return frozenset(
        place
        for place in range(1, len(table.header))
        if all(row[place][:1].isdigit() for row in table.rows)
    )


def _tabulate_columns(found: Assessment) -> TextTable:
    ranked = sorted(found.columns, key=lambda column: -column.unique)
    rows = [
        (one.column, one.role, f"{one.distinct:,}", f"{one.missing:,}", f"{one.unique:,}")
        for one in ranked
    ]
    header = ("Column", "Role", "Distinct values", "Missing", "Unique people")
    return TextTable("Columns by themselves", rows, header=header)


def _tabulate_combinations(found: Assessment) -> TextTable:
    searched = found.combinations
    rows = [
        (" + ".join(one.columns), f"{one.unique:,}", f"{one.minimal:,}")
        for one in (searched.most_exposing if searched is not None else ())
        if one.minimal
    ]
    header = ("Columns", "Unique people", "Of them, on no smaller set")
    return TextTable("The smallest sets of columns that single people out", rows, header=header)


def _same_elsewhere(relation: Relation, *, has_policy: bool) -> SameAs:
    source = "postgresql://…"
    options = ["--policy", "policy.yaml"] if has_policy else []
    command = [*("discreet", "assess"), source, "--table", relation.name, *options]
    policy = ', "policy.yaml"' if has_policy else ""
    python = (
        "import discreet\n\n"
        f"found = discreet.assess({source!r}{policy}, table={relation.name!r})\nprint(found)"
    )
    words = f"{shlex.join(command)} --report report.html"
    return SameAs(words, python, f"{_rows_query(relation)};")
