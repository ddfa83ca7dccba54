"""A model as PMML 4.4: a regression on derived fields, each of which is what a feature adds to a score.

Every evaluator knows the elements that are used: Discretize, MapValues, RegressionModel.
"""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from itertools import pairwise
from pathlib import Path
from xml.etree import ElementTree as ET

import numpy as np

from discreet.errors import WrongUsage
from discreet.learning.additive import AdditiveModel
from discreet.learning.export_forms import export_error
from discreet.learning.feature_scores import FeatureScores, list_feature_scores
from discreet.learning.model_file import SavedPredictor
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
    model, target = saved.predictor, saved.space.target
    if not isinstance(model, AdditiveModel) or target is None:
        raise export_error(saved.learner, ".pmml")
    features = list_feature_scores(model)
    root = ET.Element("PMML", {"xmlns": _NAMESPACE, "xmlns:data": _DATA, "version": "4.4"})
    said = ", ".join(f"{name} {value}" for name, value in saved.privacy.items())
    header = ET.SubElement(root, "Header", {"description": f"{saved.learner}; {said}"})
    ET.SubElement(header, "Application", {"name": "discreet", "version": version("discreet")})
    _add_dictionary(root, model, features, target.name)
    transformations = ET.SubElement(root, "TransformationDictionary")
    for one in features:
        for score in range(len(model.intercept)):
            _add_part(transformations, one, score)
    _add_regression(root, model, features, target.name)
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode", xml_declaration=True)
    try:
        ET.fromstring(text)  # noqa: S314 -- our own text, which must be XML
    except ET.ParseError:
        raise WrongUsage(
            "A name or a value of the model has a character that XML does not allow. Export ONNX instead."
        ) from None
    return text + "\n"


def _add_dictionary(
    root: ET.Element, model: AdditiveModel, features: Sequence[FeatureScores], target: str
) -> None:
    dictionary = ET.SubElement(root, "DataDictionary")
    for one in features:
        is_text = one.form == "texts"
        kinds = {
            "optype": "categorical" if is_text else "continuous",
            "dataType": "string" if is_text else "double",
        }
        ET.SubElement(dictionary, "DataField", {"name": one.name, **kinds})
    if model.link == "identity":
        kinds = {"optype": "continuous", "dataType": "double"}
        ET.SubElement(dictionary, "DataField", {"name": target, **kinds})
        return
    kinds = {"optype": "categorical", "dataType": "string"}
    field = ET.SubElement(dictionary, "DataField", {"name": target, **kinds})
    for one in model.space.classes:
        ET.SubElement(field, "Value", {"value": name_class(one)})


def name_class(value: object) -> str:
    """Return a class as text.

    >>> name_class(True), name_class(3), name_class("yes")
    ('true', '3', 'yes')
    """
    return str(value).lower() if isinstance(value, bool) else str(value)


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


def _add_regression(
    root: ET.Element, model: AdditiveModel, features: Sequence[FeatureScores], target: str
) -> None:
    is_number = model.link == "identity"
    kind = {"functionName": "regression" if is_number else "classification"}
    if not is_number:
        kind["normalizationMethod"] = "softmax"
    regression = ET.SubElement(root, "RegressionModel", {"modelName": "discreet", **kind})
    schema = ET.SubElement(regression, "MiningSchema")
    for one in features:
        ET.SubElement(schema, "MiningField", {"name": one.name, "invalidValueTreatment": "asIs"})
    ET.SubElement(schema, "MiningField", {"name": target, "usageType": "target"})
    output = ET.SubElement(regression, "Output")
    predicted = {"name": f"predicted_{target}", "feature": "predictedValue"}
    kinds = {"optype": "continuous", "dataType": "double"}
    if not is_number:
        kinds = {"optype": "categorical", "dataType": "string"}
    ET.SubElement(output, "OutputField", predicted | kinds)
    if not is_number:
        for one in model.space.classes:
            said = {"name": f"probability_{name_class(one)}", "feature": "probability"}
            kinds = {"optype": "continuous", "dataType": "double", "value": name_class(one)}
            ET.SubElement(output, "OutputField", said | kinds)
    elif model.bounds is not None:
        low, high = (repr(float(end)) for end in model.bounds)
        targets = ET.SubElement(regression, "Targets")
        ET.SubElement(targets, "Target", {"field": target, "min": low, "max": high})
    _add_tables(regression, model, features)


def _add_tables(
    regression: ET.Element, model: AdditiveModel, features: Sequence[FeatureScores]
) -> None:
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
        for one in features:
            ET.SubElement(
                table,
                "NumericPredictor",
                {"name": _name_part(one.name, score), "coefficient": "1.0"},
            )
