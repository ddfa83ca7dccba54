"""A model as PMML 4.4: a regression on derived fields, or trees on them.

A derived field is what a feature adds to a score, or the number of the group that its value is in. Every evaluator
knows the elements that are used: Discretize, MapValues, RegressionModel, TreeModel, MiningModel.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
from numpy.typing import NDArray

from discreet.errors import WrongUsage
from discreet.learning.additive import AdditiveModel, Floats
from discreet.learning.export_forms import export_error
from discreet.learning.feature_scores import FeatureScores, list_feature_groups, list_feature_scores
from discreet.learning.features import FeatureSpace
from discreet.learning.model_file import SavedPredictor
from discreet.learning.tree_model import LeafTree, TreeModel
from discreet.writing import write_atomically

_NAMESPACE = "http://www.dmg.org/PMML-4_4"
_DATA = f"{_NAMESPACE}/data"


def write_pmml(saved: SavedPredictor, path: Path) -> None:
    """Write a model as a PMML file."""
    write_atomically(path, build_pmml(saved))


def build_pmml(saved: SavedPredictor) -> str:
    """Return a model as a PMML document.

    Raises:
        WrongUsage: Models of this learner have no such form, or a value of it cannot stand in XML.
    """
    model, space = saved.predictor, saved.space
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "xmlns:data": _DATA, "version": "4.4"})
    said = ", ".join(f"{name} {value}" for name, value in saved.privacy.items())
    header = ET.SubElement(root, "Header", {"description": f"{saved.learner}; {said}"})
    ET.SubElement(header, "Application", {"name": "discreet", "version": version("discreet")})
    if isinstance(model, AdditiveModel):
        _add_fields(root, space, list_feature_scores(model), scores=len(model.intercept))
        _add_regression(root, model)
    elif isinstance(model, TreeModel):
        _add_fields(root, space, list_feature_groups(model), scores=1)
        _add_trees(root, model)
    else:
        raise export_error(saved.learner, ".pmml")
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=True)
    try:
        ET.fromstring(text)  # noqa: S314 -- our own text, which must be XML
    except ET.ParseError:
        raise WrongUsage(
            "A name or a value of the model has a character that XML does not allow. Export ONNX instead."
        ) from None
    return text + "\n"


def _add_fields(
    root: ET.Element, space: FeatureSpace, features: Sequence[FeatureScores], *, scores: int
) -> None:
    """Add the features, the target, and what is derived of each feature."""
    _add_dictionary(root, space, features)
    transformations = ET.SubElement(root, "TransformationDictionary")
    for one in features:
        for score in range(scores):
            _add_part(transformations, one, score)


def _add_dictionary(
    root: ET.Element, space: FeatureSpace, features: Sequence[FeatureScores]
) -> None:
    target = _name_target(space)
    dictionary = ET.SubElement(root, "DataDictionary")
    for one in features:
        is_text = one.form == "texts"
        kinds = {
            "optype": "categorical" if is_text else "continuous",
            "dataType": "string" if is_text else "double",
        }
        ET.SubElement(dictionary, "DataField", {"name": one.name, **kinds})
    if space.task == "regression":
        kinds = {"optype": "continuous", "dataType": "double"}
        ET.SubElement(dictionary, "DataField", {"name": target, **kinds})
        return
    kinds = {"optype": "categorical", "dataType": "string"}
    field = ET.SubElement(dictionary, "DataField", {"name": target, **kinds})
    for one in space.classes:
        ET.SubElement(field, "Value", {"value": name_class(one)})


def name_class(value: object) -> str:
    """Return a class as text.

    >>> name_class(True), name_class(3), name_class("yes")
    ('true', '3', 'yes')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


def _name_target(space: FeatureSpace) -> str:
    return "" if space.target is None else space.target.name


def _name_part(name: str, score: int) -> str:
    return f"discreet_{score}_{name}"


def _add_part(parent: ET.Element, one: FeatureScores, score: int) -> None:
    """Add a derived field: what a feature adds to one score."""
    kinds = {"optype": "continuous", "dataType": "double"}
    field = ET.SubElement(parent, "DerivedField", {"name": _name_part(one.name, score), **kinds})
    ends = {
        "defaultValue": repr(float(one.other[score])),
        "mapMissingTo": repr(float(one.missing[score])),
        "dataType": "double",
    }
    values = [float(value) for value in one.values[:, score]]
    if one.form == "texts":
        mapped = ET.SubElement(field, "MapValues", {"outputColumn": "data:added", **ends})
        ET.SubElement(mapped, "FieldColumnPair", {"field": one.name, "column": "data:value"})
        table = ET.SubElement(mapped, "InlineTable")
        for text, value in zip(one.texts, values, strict=True):
            row = ET.SubElement(table, "row")
            ET.SubElement(row, "data:value").text = text
            ET.SubElement(row, "data:added").text = repr(value)
        return
    binned = ET.SubElement(field, "Discretize", {"field": one.name, **ends})
    for value, margins in zip(values, _list_intervals(one), strict=True):
        bin_of = ET.SubElement(binned, "DiscretizeBin", {"binValue": repr(value)})
        ET.SubElement(bin_of, "Interval", margins)


def _list_intervals(one: FeatureScores) -> list[dict[str, str]]:
    numbers = [repr(float(number)) for number in one.numbers]
    if one.form == "points":
        return [
            {"closure": "closedClosed", "leftMargin": number, "rightMargin": number}
            for number in numbers
        ]
    if not numbers:
        largest = repr(float(np.finfo(float).max))
        return [{"closure": "openClosed", "rightMargin": largest}]
    inner = [
        {"closure": "closedOpen", "leftMargin": low, "rightMargin": high}
        for low, high in pairwise(numbers)
    ]
    first = {"closure": "openOpen", "rightMargin": numbers[0]}
    return [first, *inner, {"closure": "closedOpen", "leftMargin": numbers[-1]}]


def _add_regression(root: ET.Element, model: AdditiveModel) -> None:
    is_number = model.link == "identity"
    kind = {"functionName": "regression" if is_number else "classification"}
    if not is_number:
        kind["normalizationMethod"] = "softmax"
    regression = ET.SubElement(root, "RegressionModel", {"modelName": "discreet", **kind})
    _add_schema(regression, model.space)
    _add_output(regression, model.space)
    if model.bounds is not None:
        low, high = (repr(float(end)) for end in model.bounds)
        targets = ET.SubElement(regression, "Targets")
        target = {"field": _name_target(model.space), "min": low, "max": high}
        ET.SubElement(targets, "Target", target)
    _add_tables(regression, model)


def _add_schema(parent: ET.Element, space: FeatureSpace) -> None:
    schema = ET.SubElement(parent, "MiningSchema")
    for one in space.features:
        ET.SubElement(schema, "MiningField", {"name": one.name, "invalidValueTreatment": "asIs"})
    ET.SubElement(schema, "MiningField", {"name": _name_target(space), "usageType": "target"})


def _add_output(parent: ET.Element, space: FeatureSpace) -> None:
    output = ET.SubElement(parent, "Output")
    predicted = {"name": f"predicted_{_name_target(space)}", "feature": "predictedValue"}
    number = {"optype": "continuous", "dataType": "double"}
    is_number = space.task == "regression"
    kinds = number if is_number else {"optype": "categorical", "dataType": "string"}
    ET.SubElement(output, "OutputField", predicted | kinds)
    for one in space.classes:
        said = {"name": f"probability_{name_class(one)}", "feature": "probability"}
        ET.SubElement(output, "OutputField", said | number | {"value": name_class(one)})


def _add_tables(regression: ET.Element, model: AdditiveModel) -> None:
    """Add a table for each score; of two classes, the first one has a score of 0."""
    if model.link == "logistic":
        first = {"intercept": "0.0", "targetCategory": name_class(model.space.classes[0])}
        ET.SubElement(regression, "RegressionTable", first)
    for score, start in enumerate(model.intercept):
        said = {"intercept": repr(float(start))}
        if model.link != "identity":
            place = 1 if model.link == "logistic" else score
            said["targetCategory"] = name_class(model.space.classes[place])
        table = ET.SubElement(regression, "RegressionTable", said)
        for one in model.space.features:
            ET.SubElement(
                table,
                "NumericPredictor",
                {"name": _name_part(one.name, score), "coefficient": "1.0"},
            )


def _add_trees(root: ET.Element, model: TreeModel) -> None:
    """Add a tree, or several whose chances are averaged."""
    groups = model.list_groups()
    kind = {"functionName": "classification"}
    if len(model.trees) == 1:
        only = _add_tree(root, model, model.trees[0], groups)
        only.set("modelName", "discreet")
        return
    forest = ET.SubElement(root, "MiningModel", {"modelName": "discreet", **kind})
    _add_schema(forest, model.space)
    _add_output(forest, model.space)
    segments = ET.SubElement(forest, "Segmentation", {"multipleModelMethod": "average"})
    for place, one in enumerate(model.trees):
        segment = ET.SubElement(segments, "Segment", {"id": str(place + 1)})
        ET.SubElement(segment, "True")
        _add_tree(segment, model, one, groups)


def _add_tree(
    parent: ET.Element, model: TreeModel, one: LeafTree, groups: Sequence[NDArray[np.intp]]
) -> ET.Element:
    """Add a tree; the conditions of nodes are on numbers of groups of codes."""
    kind = {"functionName": "classification", "splitCharacteristic": "multiSplit"}
    added = ET.SubElement(parent, "TreeModel", kind)
    _add_schema(added, model.space)
    if len(model.trees) == 1:
        _add_output(added, model.space)
    nodes = {0: ET.SubElement(added, "Node", {"id": "0"})}
    ET.SubElement(nodes[0], "True")
    leaves = iter(one.chances)
    for node, split in enumerate(one.tree.splits):  # no child precedes its parent
        if split is None:
            _add_chances(nodes[node], model.space, next(leaves))
            continue
        starts = groups[split.column]
        field = _name_part(model.space.features[split.column].name, 0)
        following = split.spread(int(starts[-1]) + 1)[starts]
        for child, condition in _list_conditions(following, field):
            nodes[child] = ET.SubElement(nodes[node], "Node", {"id": str(child)})
            nodes[child].append(condition)
    return added


def _list_conditions(
    following: NDArray[np.integer[Any]], field: str
) -> Iterator[tuple[int, ET.Element]]:
    """Return the children of a node, each with the condition under which it is the first that a row fits."""
    *children, last = dict.fromkeys(following.tolist())
    before = 0
    for child in children:
        groups = np.flatnonzero(following == child)
        before += len(groups)
        if groups[-1] < before:  # all groups before are those of earlier children
            limit = {"field": field, "operator": "lessThan", "value": str(before)}
            yield child, ET.Element("SimplePredicate", limit)
            continue
        listed = ET.Element("SimpleSetPredicate", {"field": field, "booleanOperator": "isIn"})
        array = ET.SubElement(listed, "Array", {"n": str(len(groups)), "type": "real"})
        array.text = " ".join(str(float(group)) for group in groups)
        yield child, listed
    yield last, ET.Element("True")


def _add_chances(leaf: ET.Element, space: FeatureSpace, chances: Floats) -> None:
    """Add the chances of a leaf; counts are in proportion to them, for programs that read counts alone."""
    leaf.set("score", name_class(space.classes[int(chances.argmax())]))
    for value, chance in zip(space.classes, chances.tolist(), strict=True):
        said = {"recordCount": repr(chance), "probability": repr(chance)}
        ET.SubElement(leaf, "ScoreDistribution", {"value": name_class(value), **said})
