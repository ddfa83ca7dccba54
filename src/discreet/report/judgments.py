"""What was judged, as CI systems show it: JUnit's XML and SARIF. Counts, shares and names of columns, no values."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any
from urllib.parse import quote, urlsplit
from xml.etree import ElementTree as ET

from discreet.attacks.finding import Finding
from discreet.measure.assessment import Assessment
from discreet.measure.wording import describe_criterion, describe_exposure
from discreet.registry import ATTACKS, CRITERIA


@dataclass(frozen=True)
class Judgment:
    """One thing that was judged: a criterion, an exposure, an attack; `holds` is None where nothing was demanded."""

    rule: str
    name: str
    holds: bool | None
    sentence: str


def judge_assessment(found: Assessment) -> list[Judgment]:
    """Return what `discreet check` judged, in its order."""
    criteria = [
        Judgment(one.criterion, *describe_criterion(one, k=found.k)) for one in found.criteria
    ]
    exposures = [Judgment(one.attack, *describe_exposure(one)) for one in found.exposures]
    undecided = [
        Judgment("undecided", f"undecided {number}", holds=False, sentence=point)
        for number, point in enumerate(found.undecided, start=1)
    ]
    return [*criteria, *exposures, *undecided]


def judge_findings(findings: Iterable[Finding]) -> list[Judgment]:
    """Return what attacks learned, each held against its tolerance."""
    return [
        Judgment(
            one.attack,
            one.title,
            None if one.tolerance is None else not one.exceeds,
            one.verdict,
        )
        for one in findings
    ]


def render_junit(judgments: Sequence[Judgment], *, target: str) -> str:
    """Return JUnit's XML: a suite for the table, a case for each judgment."""
    failed = str(sum(one.holds is False for one in judgments))
    counts = {"tests": str(len(judgments)), "failures": failed, "errors": "0"}
    suites = ET.Element("testsuites", {"name": "discreet", **counts})
    suite = ET.SubElement(suites, "testsuite", {"name": _remove_controls(target), **counts})
    for one in judgments:
        words = {"classname": f"discreet.{one.rule}", "name": _remove_controls(one.name)}
        case = ET.SubElement(suite, "testcase", words)
        if one.holds is False:
            message = _remove_controls(one.sentence)
            ET.SubElement(case, "failure", {"type": one.rule, "message": message}).text = message
    ET.indent(suites)
    return ET.tostring(suites, encoding="unicode", xml_declaration=False)


def render_sarif(judgments: Sequence[Judgment], *, target: str) -> str:
    """Return SARIF 2.1.0: a rule for each criterion or attack, a result for each judgment."""
    rules = {one.rule: None for one in judgments}
    driver = {
        "name": "discreet",
        "semanticVersion": version("discreet"),
        "rules": [_describe_rule(rule) for rule in rules],
    }
    results = [_describe_result(one, target) for one in judgments]
    run = {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
    return json.dumps({"version": "2.1.0", "runs": [run]}, indent=2, ensure_ascii=False)


_KINDS = {True: ("pass", "none"), False: ("fail", "error"), None: ("informational", "none")}
RENDERERS = {"junit": render_junit, "sarif": render_sarif}


def _describe_rule(rule: str) -> dict[str, Any]:
    if rule in CRITERIA:
        words = f"The policy demands {rule}."
    elif rule in ATTACKS:
        words = f"What an attack learns: {ATTACKS.get(rule).summary}."
    else:
        words = "The policy leaves open what must be decided."
    return {"id": rule, "shortDescription": {"text": words}}


def _describe_result(one: Judgment, target: str) -> dict[str, Any]:
    kind, level = _KINDS[one.holds]
    place = {"artifactLocation": {"uri": _format_uri(target)}, "region": {"startLine": 1}}
    return {
        "ruleId": one.rule,
        "kind": kind,
        "level": level,
        "message": {"text": f"{one.name}: {one.sentence}" if one.sentence else one.name},
        "locations": [{"physicalLocation": place}],
        "partialFingerprints": {"judgment/v1": one.name},
    }


def _format_uri(target: str) -> str:
    """Return a path or an address as a URI; a password in it stays here."""
    parts = urlsplit(target)
    if parts.scheme and parts.netloc:
        return f"{parts.scheme}://{quote(parts.hostname or '')}{quote(parts.path)}"
    return quote(target)


def _remove_controls(text: str) -> str:
    """Return a text that XML can carry: names of columns may hold any letter."""
    return "".join(
        letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
