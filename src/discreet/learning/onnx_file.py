"""A model as an ONNX graph: typed inputs, one for each feature, and the label and the chances of classes.

ONNX 1.10 with operators of version 15 and those of `ai.onnx.ml` of version 2, which runtimes have since 2021.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import MissingExtra
from discreet.learning.additive import AdditiveModel, Floats
from discreet.learning.export_forms import export_error
from discreet.learning.feature_scores import FeatureScores, list_feature_groups, list_feature_scores
from discreet.learning.features import FeatureSpace
from discreet.learning.model_file import SavedPredictor
from discreet.learning.tree_model import TreeModel
from discreet.writing import write_atomically

if TYPE_CHECKING:
    from onnx import ModelProto

_OPSET, _ML_OPSET, _FORMAT = 15, 2, 8
_ROWS = "rows"
_INNER = "discreet_"  # what names inside the graph begin with, so that none is a feature's


def require_onnx() -> None:
    """Refuse, before any work is done, to write a file whose library is missing.

    Raises:
        MissingExtra: `discreet[onnx]` is not installed.
    """
    if find_spec("onnx") is None:
        raise MissingExtra(what="A model as ONNX", extra="onnx")


def write_onnx(saved: SavedPredictor, path: Path) -> None:
    """Write a model as an ONNX file."""
    write_atomically(path, build_onnx(saved).SerializeToString())


def build_onnx(saved: SavedPredictor) -> ModelProto:
    """Return a model as an ONNX graph.

    Raises:
        MissingExtra: `discreet[onnx]` is not installed.
        WrongUsage: Models of this learner have no such form.
    """
    require_onnx()
    from onnx import TensorProto, helper

    model = saved.predictor
    graph = _Graph(TensorProto, helper)
    if isinstance(model, AdditiveModel):
        features = list_feature_scores(model)
        result = graph.add_scores(model, features)
    elif isinstance(model, TreeModel):
        features = list_feature_groups(model)
        result = graph.add_trees(model, features)
    else:
        raise export_error(saved.learner, ".onnx")
    inputs = [
        helper.make_tensor_value_info(
            one.name,
            TensorProto.STRING if one.form == "texts" else TensorProto.DOUBLE,
            [_ROWS, 1],
        )
        for one in features
    ]
    names = [one.name for one in features]
    if isinstance(model, AdditiveModel) and model.link == "identity":
        outputs = [graph.finish_number(model, result, names)]
    else:
        outputs = graph.finish_classes(model.space, result, names)
    built = helper.make_model(
        helper.make_graph(
            graph.nodes, "discreet_model", inputs, outputs, initializer=graph.constants
        ),
        producer_name="discreet",
        ir_version=_FORMAT,
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
    )
    said = {name: str(value) for name, value in saved.privacy.items()}
    helper.set_model_props(built, {"learner": saved.learner, **said})
    return built


class _Graph:
    """Nodes and constants of a graph that is being built."""

    def __init__(self, types: Any, helper: Any) -> None:
        self._types, self._helper = types, helper
        self.nodes: list[Any] = []
        self.constants: list[Any] = []

    def add(
        self, operator: str, inputs: Sequence[str], name: str, *, domain: str = "", **options: Any
    ) -> str:
        """Add a node with one result, and return its name."""
        result = _INNER + name
        self.nodes.append(
            self._helper.make_node(operator, list(inputs), [result], domain=domain, **options)
        )
        return result

    def add_constant(self, name: str, values: Any) -> str:
        """Add a constant of doubles, whole numbers or texts, and return its name."""
        full = _INNER + name
        array = np.asarray(values)
        kinds = {"f": self._types.DOUBLE, "i": self._types.INT64, "b": self._types.BOOL}
        kind = kinds.get(array.dtype.kind, self._types.STRING)
        flat = array.ravel().tolist()
        if kind == self._types.STRING:
            flat = [str(one).encode() for one in flat]
        self.constants.append(self._helper.make_tensor(full, kind, array.shape, flat))
        return full

    def add_feature(self, one: FeatureScores, tag: str) -> str:
        """Add what a feature adds to each score."""
        if one.form == "texts":
            return self._look_up_texts(one, tag)
        if not len(one.numbers):
            found = self.add_constant(
                f"only_{tag}", one.values[:1] if len(one.values) else one.other[None, :]
            )
            return self._replace_missing(one, found, tag)
        operator = "GreaterOrEqual" if one.form == "steps" else "Equal"
        start = one.values[0] if one.form == "steps" else one.other
        changes = np.diff(one.values, axis=0) if one.form == "steps" else one.values - one.other
        numbers = self.add_constant(f"numbers_{tag}", one.numbers[None, :])
        is_met = self.add(operator, [one.name, numbers], f"met_{tag}")
        counted = self.add("Cast", [is_met], f"counted_{tag}", to=self._types.DOUBLE)
        weights = self.add_constant(f"changes_{tag}", changes)
        moved = self.add("MatMul", [counted, weights], f"moved_{tag}")
        first = self.add_constant(f"start_{tag}", start[None, :])
        return self._replace_missing(one, self.add("Add", [moved, first], f"number_{tag}"), tag)

    def _replace_missing(self, one: FeatureScores, found: str, tag: str) -> str:
        missing = self.add_constant(f"missing_{tag}", one.missing[None, :])
        is_missing = self.add("IsNaN", [one.name], f"none_{tag}")
        return self.add("Where", [is_missing, missing, found], f"part_{tag}")

    def _look_up_texts(self, one: FeatureScores, tag: str) -> str:
        """Add a lookup; an empty text is a missing value, unless it is listed."""
        texts, rows = list(one.texts), [*one.values]
        if "" not in texts:
            texts.append("")
            rows.append(one.missing)
        code = self.add(
            "LabelEncoder",
            [one.name],
            f"code_{tag}",
            domain="ai.onnx.ml",
            keys_strings=texts,
            values_int64s=list(range(len(texts))),
            default_int64=len(texts),
        )
        table = self.add_constant(f"table_{tag}", np.array([*rows, one.other]))
        flat = self.add("Reshape", [code, self.add_constant(f"flat_{tag}", [-1])], f"row_{tag}")
        return self.add("Gather", [table, flat], f"part_{tag}", axis=0)

    def add_scores(self, model: AdditiveModel, features: Sequence[FeatureScores]) -> str:
        """Add chances of classes, or the number before it is clamped."""
        parts = [self.add_feature(one, f"{place}") for place, one in enumerate(features)]
        start = self.add_constant("intercept", model.intercept[None, :])
        scores = self.add("Sum", [start, *parts], "scores")
        if model.link == "identity":
            return scores
        if model.link == "softmax":
            return self.add("Softmax", [scores], "chances", axis=1)
        second = self.add("Sigmoid", [scores], "second")
        first = self.add("Sub", [self.add_constant("one", [[1.0]]), second], "first")
        return self.add("Concat", [first, second], "chances", axis=1)

    def add_trees(self, model: TreeModel, features: Sequence[FeatureScores]) -> str:
        """Add chances of classes: all trees are walked at once, a level at a time.

        The nodes of all trees have numbers, and a row is at one node of each tree. A table has, from each node's
        own place on, the next node for each group of codes. A leaf leads to itself: it looks at a last column of zeros.
        """
        walk = _TreeWalk.of_model(model)
        parts = [self.add_feature(one, f"{place}") for place, one in enumerate(features)]
        real = self.add("Concat", parts, "real_groups", axis=1)
        groups = self.add("Cast", [real], "feature_groups", to=self._types.INT64)
        one = self.add("Cast", [parts[0]], "one_group", to=self._types.INT64)
        zero = self.add("Sub", [one, one], "zero")
        groups = self.add("Concat", [groups, zero], "groups", axis=1)
        at = self.add("Add", [zero, self.add_constant("roots", walk.roots[None, :])], "start")
        columns, places, following = (
            self.add_constant(name, values)
            for name, values in (
                ("columns", walk.columns),
                ("places", walk.places),
                ("following", walk.following),
            )
        )
        for level in range(walk.depth):
            column = self.add("Gather", [columns, at], f"column_{level}")
            group = self.add("GatherElements", [groups, column], f"group_{level}", axis=1)
            place = self.add("Gather", [places, at], f"place_{level}")
            entry = self.add("Add", [place, group], f"entry_{level}")
            at = self.add("Gather", [following, entry], f"node_{level}")
        found = self.add("Gather", [self.add_constant("leaves", walk.chances), at], "found")
        total = self.add("ReduceSum", [found, self.add_constant("trees", [1])], "total", keepdims=0)
        last = self.add_constant("classes_axis", [1])
        whole = self.add("ReduceSum", [total, last], "whole", keepdims=1)
        return self.add("Div", [total, whole], "chances")

    def finish_classes(
        self, space: FeatureSpace, chances: str, features: Sequence[str]
    ) -> list[Any]:
        """Add the class whose chance is largest, and return the outputs; their names are no features'."""
        place = self.add("ArgMax", [chances], "place", axis=1, keepdims=0)
        classes = np.array(_plain_classes(space))
        listed = self.add_constant("classes", classes)
        label, chance = (_free_name(one, features) for one in ("label", "probabilities"))
        self.nodes.append(self._helper.make_node("Gather", [listed, place], [label], axis=0))
        self.nodes.append(self._helper.make_node("Identity", [chances], [chance]))
        kind = next(one.data_type for one in self.constants if one.name == listed)
        return [
            self._helper.make_tensor_value_info(label, kind, [_ROWS]),
            self._helper.make_tensor_value_info(chance, self._types.DOUBLE, [_ROWS, len(classes)]),
        ]

    def finish_number(self, model: AdditiveModel, number: str, features: Sequence[str]) -> Any:
        """Add the number between its bounds, and return the output; its name is no feature's."""
        low, high = model.bounds or (-np.inf, np.inf)
        ends = [self.add_constant("low", low), self.add_constant("high", high)]
        name = _free_name("prediction", features)
        self.nodes.append(self._helper.make_node("Clip", [number, *ends], [name]))
        return self._helper.make_tensor_value_info(name, self._types.DOUBLE, [_ROWS, 1])


@dataclass(frozen=True)
class _TreeWalk:
    """The nodes of all trees as tables.

    Attributes:
        roots: The root of each tree.
        columns: The feature that each node looks at; one after the last for leaves.
        places: Where each node's part of `following` begins.
        following: The next node for each group of codes.
        chances: The chance of each class at each node, 0 for those that are no leaves.
        depth: How many splits lie above the deepest leaf.
    """

    roots: NDArray[np.int64]
    columns: NDArray[np.int64]
    places: NDArray[np.int64]
    following: NDArray[np.int64]
    chances: Floats
    depth: int

    @staticmethod
    def of_model(model: TreeModel) -> _TreeWalk:
        """Return the tables of a model."""
        groups, sizes = model.list_groups(), [len(one.tree.splits) for one in model.trees]
        firsts = np.cumsum([0, *sizes])
        columns: list[int] = []
        parts: list[NDArray[np.integer[Any]]] = []
        chances = np.zeros((sum(sizes), len(model.space.classes)))
        for first, one in zip(firsts.tolist(), model.trees, strict=False):
            chances[first + np.array(one.tree.leaves)] = one.chances
            for node, split in enumerate(one.tree.splits):
                if split is None:
                    columns.append(len(groups))
                    parts.append(np.array([first + node]))
                    continue
                columns.append(split.column)
                starts = groups[split.column]
                parts.append(first + split.spread(int(starts[-1]) + 1)[starts])
        return _TreeWalk(
            firsts[:-1],
            np.array(columns),
            np.cumsum([0, *(len(one) for one in parts[:-1])]),
            np.concatenate(parts).astype(np.int64),
            chances,
            max(one.tree.depth for one in model.trees),
        )


def _plain_classes(space: FeatureSpace) -> list[Any]:
    """Return the classes as ONNX has them: dates and times as text."""
    return [
        one if isinstance(one, (bool, int, float, str)) else one.isoformat()
        for one in space.classes
    ]


def _free_name(name: str, features: Sequence[str]) -> str:
    while name in features:
        name += "_"
    return name
