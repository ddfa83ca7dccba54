"""`discreet learn`: a private model of a table."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from discreet.cli import curator_options, options, output
from discreet.errors import OutputRefused, WrongUsage

if TYPE_CHECKING:
    from discreet.learning.record import LearnedModel, LearningExplanation

HELP = """\b
Learn a private model that predicts COLUMN of SOURCE, and write it to a file.

\b
  classes      boosting (default), logistic, naive-bayes, tree, forest
  numbers      linear (default), boosting, huber, quantile
  no target    k-means, pca

The engine bounds, codes and counts rows; counts get noise, and the model follows from them alone. The
policy declares which values are possible. The same request again is free.
"""

EXAMPLES = """\b
Examples:
  discreet learn people.csv --policy policy.yaml --target ill --dry-run
  discreet learn people.csv --policy policy.yaml --target ill -o model.json
  discreet learn people.csv --policy policy.yaml --target ill -o model.json \\
      --evaluate 0.1 --subgroups sex --report card.html
"""


@click.command(cls=options.SourceCommand, help=HELP, epilog=EXAMPLES)
@options.source_argument
@click.option("--target", "predicted", metavar="COLUMN", help="The column that is predicted.")
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    default="1",
    show_default=True,
    metavar="NUMBER",
    help="What the model costs.",
)
@click.option(
    "--delta",
    type=curator_options.AMOUNT,
    metavar="NUMBER",
    help="What noise may miss. Default: 1e-9.",
)
@click.option("--learner", metavar="LEARNER", help="How it is learned: one of the above.")
@click.option(
    "--candidates",
    "listed",
    metavar="OPTIONS;…",
    help="Select the best: rounds=3;rounds=10.",
)
@click.option(
    "--features",
    type=options.NAMES,
    metavar="COLUMNS",
    help="What predicts. Default: all that may.",
)
@click.option(
    "--set",
    "stated",
    multiple=True,
    metavar="OPTION=VALUE",
    help="An option of the learner: rounds=5.",
)
@click.option(
    "-o",
    "--output",
    "out",
    metavar="MODEL.json",
    callback=options.require_name,
    help="Where the model goes.",
)
@click.option(
    "--export",
    "exports",
    metavar="FILE",
    multiple=True,
    help="Also write it as .sql, .onnx or .pmml. Repeatable.",
)
@click.option(
    "--dialect",
    type=click.Choice(["duckdb", "postgres", "spark"]),
    default="duckdb",
    metavar="DIALECT",
    help="Of an .sql file: duckdb, postgres, spark.",
)
@click.option(
    "--evaluate",
    type=curator_options.AMOUNT,
    metavar="EPSILON",
    help="Judge the model for so much more.",
)
@click.option(
    "--evaluate-on",
    metavar="SOURCE",
    help="Rows to judge it on. Default: its own.",
)
@click.option(
    "--subgroups",
    type=options.NAMES,
    metavar="COLUMNS",
    help="Groups of rows that are judged apart.",
)
@options.report_option
@options.policy_option
@options.leave_out_option
@curator_options.ledger_option
@curator_options.analyst_option
@click.option("--force", is_flag=True, help="Replace the model if it exists.")
@click.option("--dry-run", is_flag=True, help="Show the price; read and spend nothing.")
@options.reading_options
@options.json_option
def command(
    source: str,
    *,
    out: str | None,
    exports: tuple[str, ...],
    dialect: Literal["duckdb", "postgres", "spark"],
    predicted: str | None,
    stated: tuple[str, ...],
    report: Path | None,
    listed: str | None,
    force: bool,
    dry_run: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Learn a private model that predicts a column of SOURCE."""
    choices |= {"target": predicted, **options.read_assignments(stated, example="rounds=5")}
    if listed is not None:
        choices["candidates"] = [
            options.read_assignments([one.strip() for one in each.split(",")], example="rounds=5")
            for each in listed.split(";")
        ]
    _require_forms(
        exports, choices["learner"], "clustering" if predicted is None else "classification"
    )
    if dry_run:
        if report is not None:
            raise WrongUsage("--dry-run writes nothing. Leave out --report or --dry-run.")
        from discreet.api.learn import explain_learning

        _show_result(explain_learning(source, **choices), as_json=as_json)
        return
    if out is None:
        raise WrongUsage("Name where the model goes with -o MODEL.json, or add --dry-run.")
    others = [str(place) for place in (*exports, report) if place is not None]
    _require_places(source, out, others, force=force)
    if report is not None:
        import_module("discreet.report.model_card")  # a missing library is an error before any work
    from discreet.api.learn import learn

    with output.progress() as step:
        found = learn(source, output=out, force=force, progress=step, **choices)
    for one in exports:
        _export_model(found, Path(one), dialect)
    if report is not None:
        from discreet.report.model_card import write_model_card

        write_model_card(found, report)
    _show_result(found, as_json=as_json, others=others)


def _require_places(source: str, out: str, others: Sequence[str], *, force: bool) -> None:
    """Refuse, before anything is spent, what could not be written afterwards."""
    from discreet.writing import require_writable_path

    places = [Path(one).resolve() for one in (out, *others)]
    if Path(source).resolve() in places:
        raise OutputRefused("The model would replace the source. Name another file with -o.")
    if len(set(places)) < len(places):
        raise OutputRefused("Two outputs have the same name. Name another file.")
    for one in others:
        require_writable_path(Path(one), may_exist=force)


def _require_forms(
    exports: Sequence[str], learner: str | None, task: Literal["clustering", "classification"]
) -> None:
    """Refuse, before anything is spent, a file that could not be written.

    Its form may be unknown or none of the learner's, or its library may be missing. Each task with a target has a
    learner of the same forms by default.
    """
    if not exports:
        return
    from discreet.learning.export_forms import ENDINGS, require_export_form
    from discreet.learning.request import choose_learner

    chosen = choose_learner(learner, task)
    for one in exports:
        ending = Path(one).suffix
        if ending not in ENDINGS:
            raise WrongUsage(f"'{one}' has no ending of an export. Choose .sql, .onnx or .pmml.")
        require_export_form(chosen, ending)
        if ending == ".onnx":
            from discreet.learning.onnx_file import require_onnx

            require_onnx()


def _export_model(
    model: LearnedModel, place: Path, dialect: Literal["duckdb", "postgres", "spark"]
) -> None:
    match place.suffix:
        case ".onnx":
            model.to_onnx(place)
        case ".pmml":
            model.to_pmml(place)
        case _:
            from discreet.writing import write_atomically

            write_atomically(place, model.to_sql(dialect=dialect) + ";\n")


def _show_result(
    found: LearnedModel | LearningExplanation, *, as_json: bool, others: Sequence[str] = ()
) -> None:
    from discreet.learning.performance import describe_performance
    from discreet.learning.record import LearnedModel

    if as_json:
        output.print_json(found)
        return
    to = output.console()
    output.print_sentence(to, found.verdict, style="bold")
    for caution in found.cautions:
        output.print_sentence(to, f"Note: {caution}")
    if isinstance(found, LearnedModel):
        if found.evaluation is not None:
            output.print_sentence(to, describe_performance(found.evaluation))
        spent = "It cost nothing: it was learned before." if found.cached else ""
        left = found.remaining.get("epsilon")
        if not found.cached:
            spent = f"Spent epsilon {found.spent['epsilon']:g}."
        if left is not None:
            spent += f" Left: epsilon {left:g}."
        output.print_sentence(to, spent)
        output.print_sentence(to, f"Written to {', '.join([str(found.output), *others])}.")
