"""An additive model or trees as one SQL query, which scores the rows of a table in their own database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlglot import exp

from discreet.domain.cell_expressions import value_literal
from discreet.engines.render import render_sql
from discreet.errors import WrongUsage, did_you_mean
from discreet.learning.additive import AdditiveModel, Floats
from discreet.learning.export_forms import export_error
from discreet.learning.model_file import SavedPredictor
from discreet.learning.tree_model import TreeModel
from discreet.sql import build
from discreet.sql.search import search_cases

DIALECTS = ("duckdb", "postgres", "spark")
PREDICTION = "prediction"
_FARTHEST = (
    500  # exp() of what lies beyond fails on some engines, and is 0 or 1 to every digit that shows
)
_DOUBLE = exp.DataType.Type.DOUBLE


def write_scoring_query(
    saved: SavedPredictor, *, table: str, keep: Sequence[str] | None, dialect: str
) -> str:
    """Return the query that scores rows of a table, as text of a dialect.

    Raises:
        WrongUsage: The model has no query, or the dialect is unknown.
    """
    if dialect not in DIALECTS:
        near = did_you_mean(dialect, DIALECTS)
        raise WrongUsage(
            f"There is no dialect '{dialect}'.{near} Choose one of {', '.join(DIALECTS)}."
        )
    if not isinstance(saved.predictor, (AdditiveModel, TreeModel)):
        raise export_error(saved.learner, ".sql")
    relation = build.table(*table.split("."))
    return render_sql(build_scoring_query(saved.predictor, relation, keep=keep), dialect=dialect)


def build_scoring_query(
    model: AdditiveModel | TreeModel, relation: exp.Table, *, keep: Sequence[str] | None = None
) -> exp.Select:
    """Return a query with the kept columns, the prediction and the chance of each class.

    Codes, scores, chances and the prediction are computed in queries within each other, so that nothing is
    written twice. By default the features are kept.
    """
    kept = list(dict.fromkeys(_feature_names(model) if keep is None else keep))
    codes = {
        f"discreet_code_{place}": column.code(build.column(column.name, of="source_rows"))
        for place, column in enumerate(model.space.features)
    }
    named = {name: build.column(name, of="source_rows") for name in kept}
    query = _select_named(named | codes, build.aliased_table(relation, "source_rows"))
    if isinstance(model, TreeModel):
        query = _add_leaf_chances(model, build.computed_once(query, "coded"), kept)
    else:
        query = _add_scores(model, build.subquery(query, "coded"), kept)
        if model.link == "identity":
            number = _clamp_value(build.column("discreet_score_0"), model.bounds)
            return _select_named(
                _name_columns(kept) | {PREDICTION: number}, build.subquery(query, "scored")
            )
        query = _weigh_classes(model, query, kept)
    classes = chance_names(model.space.classes)
    query = _select_named(
        _name_columns(kept) | _divide_weights(classes), build.subquery(query, "weighed")
    )
    chosen = _choose_class(model, classes)
    return _select_named(
        _name_columns(kept) | {PREDICTION: chosen} | _name_columns(classes),
        build.subquery(query, "chances"),
    )


def _add_scores(model: AdditiveModel, coded: exp.Expr, kept: Sequence[str]) -> exp.Select:
    scores = {
        f"discreet_score_{place}": _add_shapes(model, place)
        for place in range(len(model.intercept))
    }
    return _select_named(_name_columns(kept) | scores, coded)


def _add_leaf_chances(model: TreeModel, coded: exp.Expr, kept: Sequence[str]) -> exp.Select:
    """Return the sum over trees of each class's chance at the leaf of a row; leaves are found first."""
    codes = [build.column(f"discreet_code_{place}") for place in range(len(model.space.features))]
    leaves = {
        f"discreet_leaf_{number}": one.tree.leaf_expression(codes)
        for number, one in enumerate(model.trees)
    }
    found = _select_named(_name_columns(kept) | leaves, coded)
    weights = {
        f"discreet_weight_{place}": _add_trees(model, place)
        for place in range(len(model.space.classes))
    }
    return _select_named(_name_columns(kept) | weights, build.computed_once(found, "leaves"))


def _add_trees(model: TreeModel, place: int) -> exp.Expr:
    total = _number_literal(0)
    for number, one in enumerate(model.trees):
        chance = _look_up(build.column(f"discreet_leaf_{number}"), one.chances[:, place])
        total = exp.Paren(this=exp.Add(this=total, expression=chance))
    return total


def chance_names(classes: Sequence[Any]) -> list[str]:
    """Return the names of the columns that hold the chance of each class.

    >>> chance_names(["no", "yes"])
    ['chance_no', 'chance_yes']
    """
    return [f"chance_{str(one).lower() if isinstance(one, bool) else one}" for one in classes]


def _feature_names(model: AdditiveModel | TreeModel) -> list[str]:
    return [column.name for column in model.space.features]


def _name_columns(names: Sequence[str]) -> dict[str, exp.Expr]:
    return {name: build.column(name) for name in names}


def _select_named(named: dict[str, exp.Expr], source: exp.Expr) -> exp.Select:
    return build.select(
        *(build.alias_as(tree, name) for name, tree in named.items()), source=source
    )


def _add_shapes(model: AdditiveModel, score: int) -> exp.Expr:
    total = _number_literal(model.intercept[score])
    for place, shape in enumerate(model.shapes):
        part = _look_up(build.column(f"discreet_code_{place}"), shape[:, score])
        total = exp.Add(this=total, expression=part)
    return total


def _look_up(code: exp.Expr, shape: Floats) -> exp.Expr:
    """Return what a code adds; neighbors that add the same are looked up together."""
    changes = np.flatnonzero(np.diff(shape)) + 1
    results = [_number_literal(shape[start]) for start in (0, *changes.tolist())]
    return search_cases(code, [build.number(int(start)) for start in changes], results)


def _number_literal(value: float) -> exp.Expr:
    """Return a double: as a plain literal it would be a decimal on some engines."""
    text = exp.cast(build.text(repr(abs(float(value)))), _DOUBLE)
    return exp.Paren(this=exp.Neg(this=text)) if value < 0 else text


def _clamp_value(tree: exp.Expr, bounds: tuple[float, float] | None) -> exp.Expr:
    if bounds is None:
        return tree
    low, high = (_number_literal(bound) for bound in bounds)
    return exp.Least(this=exp.Greatest(this=tree, expressions=[low]), expressions=[high])


def _weigh_classes(model: AdditiveModel, query: exp.Select, kept: Sequence[str]) -> exp.Select:
    """Return a weight of each class that is in proportion to its chance; the largest is about 1."""
    if model.link == "logistic":
        score = _clamp_value(build.column("discreet_score_0"), (-_FARTHEST, _FARTHEST))
        weights = [_number_literal(1), exp.Exp(this=score)]
    else:
        scores = [build.column(f"discreet_score_{place}") for place in range(len(model.intercept))]
        most = exp.Greatest(this=scores[0].copy(), expressions=[one.copy() for one in scores[1:]])
        weights = [
            exp.Exp(
                this=exp.Greatest(
                    this=exp.Sub(this=one, expression=most.copy()),
                    expressions=[_number_literal(-_FARTHEST)],
                )
            )
            for one in scores
        ]
    named = {f"discreet_weight_{place}": one for place, one in enumerate(weights)}
    return _select_named(_name_columns(kept) | named, build.subquery(query, "scored"))


def _divide_weights(classes: Sequence[str]) -> dict[str, exp.Expr]:
    weights = [build.column(f"discreet_weight_{place}") for place in range(len(classes))]
    whole: exp.Expr = weights[0].copy()
    for one in weights[1:]:
        whole = exp.Add(this=whole, expression=one.copy())
    return {
        name: exp.Div(this=one, expression=exp.Paren(this=whole.copy()))
        for name, one in zip(classes, weights, strict=True)
    }


def _choose_class(model: AdditiveModel | TreeModel, names: Sequence[str]) -> exp.Expr:
    """Return the class whose chance is largest, the first of equal ones."""
    target = model.space.target
    values = [
        value_literal(one, target.kind) if target is not None else build.text(str(one))
        for one in model.space.classes
    ]
    ifs = [
        exp.If(
            this=build.all_of(
                exp.GTE(this=build.column(name), expression=build.column(other))
                for other in names[place + 1 :]
            ),
            true=value,
        )
        for place, (name, value) in enumerate(zip(names[:-1], values[:-1], strict=True))
    ]
    return exp.Case(ifs=ifs, default=values[-1])
