"""Declassification: the only way to lower a label, by an authorized role and on purpose.

Cells get a lower label. If the entity had another value at that label, the declassified one replaces
it, and versions of a row that become equal are merged: this is how polyinstantiated rows are
resolved.
"""

from __future__ import annotations

from sqlglot import exp

from discreet.engines.databases.database import DatabaseConnection
from discreet.errors import StatementFailed
from discreet.guard.access.authority import Relation
from discreet.guard.levels.constraints import duplicate, enforce_rules
from discreet.guard.levels.draft import WriteDraft, draft_delete
from discreet.guard.levels.lattice import Label, LabelLattice
from discreet.guard.levels.physical import KEY_LABEL, attributes, label_column, physical_table
from discreet.guard.levels.read import ClearanceView, is_visible
from discreet.guard.levels.trees import (
    case_when,
    conjunction,
    disjunction,
    equality,
    is_value,
    join_source,
    negate,
    select_ones,
)
from discreet.guard.levels.write import (
    assign_column,
    change_entities,
    clean,
    count_draft_rows,
    discard_at_end,
    entities,
)
from discreet.sql import build


def declassify_cells(
    connection: DatabaseConnection,
    relation: Relation,
    lattice: LabelLattice,
    clearance: Label,
    *,
    column: str,
    source: Label,
    target: Label,
    condition: exp.Expr | None,
) -> int:
    """Give cells of `column` labeled `source` the label `target`, and return the number of rows.

    Rows are those that `clearance` sees and that meet `condition`. A column of the key stands for
    the whole key. The caller checks the authorization.

    Raises:
        StatementFailed: 22023 if `target` is not below `source`, or is below the label of a key;
            42501 if `clearance` does not dominate `source`; 42703; 23505 if a key exists already.
    """
    if relation.column(column) is None:
        raise StatementFailed("42703", f'column "{column}" does not exist')
    if source == target or not lattice.dominates(source, target):
        raise StatementFailed("22023", f'label "{target}" is not below label "{source}"')
    if not lattice.dominates(clearance, source):
        raise StatementFailed(
            "42501", f'clearance "{clearance}" does not dominate label "{source}"'
        )
    is_key = column in relation.primary_key
    label = build.column(KEY_LABEL if is_key else label_column(column), of=relation.name)
    labeled = equality(label, build.number(lattice.code(source)))
    wanted = labeled if condition is None else conjunction([condition.copy(), labeled])
    sight = ClearanceView(relation, lattice, clearance)
    draft = draft_delete(connection, sight, wanted, alias=relation.name)
    with discard_at_end(connection, draft):
        if is_key:
            _lower_key(connection, draft, target)
        else:
            _lower_cells(connection, draft, column, (source, target))
            clean(connection, relation, entities(draft))
        return count_draft_rows(connection, draft)


def _lower_cells(
    connection: DatabaseConnection, draft: WriteDraft, name: str, labels: tuple[Label, Label]
) -> None:
    relation, lattice = draft.sight.relation, draft.sight.lattice
    source, target = (build.number(lattice.code(label)) for label in labels)
    at_target = ClearanceView(relation, lattice, labels[1])
    above = negate(is_visible(at_target, build.column(KEY_LABEL)))
    failure = StatementFailed(
        "22023",
        f'label "{labels[1]}" is below the label of a key',
        hint="Declassify the key first.",
    )
    enforce_rules(connection, [(select_ones(draft.table(), above), failure)])
    label = build.column(label_column(name), of="old")
    hit = disjunction(equality(label, source), equality(label.copy(), target))
    sets = [
        assign_column(name, draft.cell("v", name, of="new")),
        assign_column(label_column(name), target.copy()),
    ]
    there = is_value(build.column(name, of="old"))
    connection.execute(change_entities(draft, sets, there, hit), touches=[relation.physical])


def _lower_key(connection: DatabaseConnection, draft: WriteDraft, target: Label) -> None:
    relation = draft.sight.relation
    code = build.number(draft.sight.lattice.code(target))
    is_taken = equality(build.column(KEY_LABEL, of="old"), code)
    taken = join_source(
        select_ones(draft.table("new")),
        physical_table(relation, alias="old"),
        draft.same_key("old", "new"),
        is_taken,
    )
    enforce_rules(connection, [(taken, duplicate(f"{relation.name}_pkey"))])
    sets = [assign_column(KEY_LABEL, code.copy())]
    for attribute in attributes(relation):
        missing = build.is_null(build.column(attribute.name, of="old"))
        label = label_column(attribute.name)
        sets.append(
            assign_column(label, case_when(missing, code.copy(), build.column(label, of="old")))
        )
    connection.execute(change_entities(draft, sets), touches=[relation.physical])
