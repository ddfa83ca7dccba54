"""`discreet.write_report`: a result as one self-contained page."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, cast

from discreet.attacks.all_attacks import AttackReport
from discreet.attacks.finding import Finding
from discreet.errors import WrongUsage
from discreet.learning.record import LearnedModel
from discreet.measure.assessment import Assessment
from discreet.release.deidentify.expert import Determination
from discreet.release.deidentify.record import Deidentified
from discreet.release.release import Release
from discreet.release.synthesize.record import SyntheticRelease, SyntheticTables
from discreet.writing import require_writable_path


def write_report(
    result: Assessment
    | Release
    | Deidentified
    | Determination
    | SyntheticRelease
    | SyntheticTables
    | LearnedModel
    | AttackReport
    | Finding
    | Sequence[Finding],
    path: str | Path,
) -> None:
    """Write a page about a result, aggregates only: what `--report` writes on the command line.

    Args:
        result: What `assess`, `check`, `anonymize`, `deidentify`, `synthesize`, `synthesize_tables` or `learn` returned, or
            findings of attacks.
        path: Where the page goes, such as `report.html`; a file that is there is replaced.

    Raises:
        MissingExtra: `discreet[report]` is not installed.
        OutputRefused: It cannot be written there.
        WrongUsage: There is no page for such a result.

    >>> from discreet.measure.assess import assess
    >>> write_report(assess("doctors.csv", quasi=["ward"]), "doctors.html")
    >>> Path("doctors.html").read_text("utf-8").startswith("<!doctype html>")
    True
    """
    from discreet.report.assessment import write_assessment_report
    from discreet.report.deidentified import write_deidentified_report
    from discreet.report.expert import write_expert_report
    from discreet.report.findings import write_findings_report
    from discreet.report.model_card import write_model_card
    from discreet.report.release import write_release_report

    place = Path(path)
    require_writable_path(place)
    writers: tuple[tuple[type, Callable[[Any, Path], None]], ...] = (
        (Assessment, write_assessment_report),
        (Release, write_release_report),
        (Determination, write_expert_report),
        (Deidentified, write_deidentified_report),
        (SyntheticRelease, _write_synthetic),
        (SyntheticTables, _write_synthetic),
        (LearnedModel, write_model_card),
    )
    write = next((one for kind, one in writers if isinstance(result, kind)), None)
    if write is not None:
        write(cast("Any", result), place)
        return
    match result:
        case AttackReport():
            write_findings_report(result.findings, place)
        case Finding() | [Finding(), *_]:
            write_findings_report([result] if isinstance(result, Finding) else result, place)
        case _:
            raise WrongUsage("There is no page for this result. Show it in a notebook instead.")


def _write_synthetic(result: SyntheticRelease | SyntheticTables, place: Path) -> None:
    from discreet.report.synthetic import write_synthetic_report
    from discreet.report.synthetic_tables import write_tables_report

    if isinstance(result, SyntheticTables):
        write_tables_report(result, place)
    else:
        write_synthetic_report(result, place)
