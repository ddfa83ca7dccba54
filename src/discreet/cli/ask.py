"""`discreet ask`: a question and its private answer, or several that are paid for once."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from discreet.answer.wording import (
    describe_workload_price,
    format_answer_cell,
    format_key,
    format_ranks,
)
from discreet.cli import curator_options, options, output
from discreet.errors import SourceNotFound, WrongUsage

if TYPE_CHECKING:
    from rich.console import Console

    from discreet.answer.answer import Answer, CellError
    from discreet.answer.curator import Curator
    from discreet.answer.workload_answer import WorkloadAnswer, WorkloadExplanation

EXAMPLES = """\b
Examples:
  discreet ask people.csv "SELECT count(*) FROM people" --epsilon 0.5
  discreet ask people.csv "SELECT sex, avg(age) FROM people GROUP BY sex" \\
      --policy policy.yaml --epsilon 1
  discreet ask people.csv "SELECT count(*) FROM people" --from-model model.json
  discreet ask people.csv --workload tables.sql --epsilon 1 --delta 1e-6
"""
_BIASED = (
    "These numbers are those of a synthetic table: they are biased, no interval is known, and what the model did "
    "not measure may be far off. Ask without --from-model for unbiased ones."
)


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@options.source_argument
@click.argument("question", metavar="[SQL]", required=False, callback=options.require_name)
@click.option(
    "--workload",
    metavar="FILE",
    callback=options.require_name,
    help="Ask several SELECTs as one: a file, or a workload of the policy.",
)
@click.option(
    "--from-model",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Count in a model's synthetic rows: free, and biased.",
)
@click.option(
    "--epsilon",
    type=curator_options.AMOUNT,
    metavar="NUMBER",
    help="What it may cost, all aggregates together.",
)
@curator_options.charge_options
@click.option("--consistent", is_flag=True, help="No negative counts.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what it would cost and spend nothing, as `discreet explain` does.",
)
def command(
    source: str,
    question: str | None,
    *,
    workload: str | None,
    from_model: Path | None,
    epsilon: str | None,
    delta: str,
    noise: Any,
    cut_share: str,
    confidence: float,
    weighted: bool,
    consistent: bool,
    dry_run: bool,
    as_json: bool,
    **choices: Any,
) -> None:
    """Answer a question in SQL about SOURCE under differential privacy.

    The table has the name of the file: people.csv is `people`. Aggregates get noise that hides any
    one person; the answer shows the error of each number, what it cost and what is left.
    The same question on the same data returns the same answer, at no cost. Several SELECTs, separated by
    semicolons, are priced together.
    """
    if (question is None) == (workload is None):
        raise click.UsageError("Give either a question in SQL or --workload.")
    if from_model is not None:
        if epsilon is not None or workload is not None or dry_run:
            raise WrongUsage(
                "--from-model costs nothing and takes a question in SQL. Leave out --epsilon, --workload and "
                "--dry-run."
            )
        name = choices["table"] or Path(source).stem
        _ask_model(from_model, question or "", name=name, as_json=as_json)
        return
    with curator_options.open_curator_for(source, **choices) as curator:
        asked: dict[str, Any] = {
            "epsilon": epsilon,
            "delta": delta,
            "cut_share": cut_share,
            "confidence": confidence,
            "weighted": weighted,
        }
        if workload is not None or _has_several(question or ""):
            _refuse_options(noise, consistent=consistent)
            written = _read_workload(curator, workload) if workload is not None else question or ""
            _ask_workload(curator, written, asked, dry_run=dry_run, as_json=as_json)
            return
        if epsilon is None:
            raise click.UsageError("Missing option '--epsilon'.")
        if dry_run:
            from discreet.cli.explain import show_explanation

            explained = curator.explain(question or "", noise=noise, **asked)
            show_explanation(explained, as_json=as_json)
            return
        with output.progress() as step:
            step("asking", 0, 1)
            answer = curator.ask(question or "", noise=noise, consistent=consistent, **asked)
    if as_json:
        output.print_json(answer)
    else:
        _print(answer)


def _ask_model(model: Path, question: str, *, name: str, as_json: bool) -> None:
    """Answer from the rows that were published with a model: no row of a person is read."""
    from discreet.answer.public_rows import answer_from_rows
    from discreet.api.sample import sample
    from discreet.release.synthesize.model_file import read_model

    saved = read_model(model)
    rows = max(1, round(saved.model.columns.total))
    drawn = sample(saved, rows=rows, seed=saved.seed).frame
    answer = answer_from_rows(question, drawn, name=name, cautions=(_BIASED,))
    if as_json:
        output.print_json(answer)
        return
    to = output.console()
    _print_rows(to, answer)
    output.print_sentence(to, f"\nSpent nothing: counted in {rows:,} synthetic rows.")
    for caution in answer.cautions:
        click.echo(output.replace_control_characters(f"! {caution}"), err=True)


def _has_several(question: str) -> bool:
    """Whether a text holds several statements; one that ends with a semicolon does not."""
    if ";" not in question:
        return False
    from discreet.answer.statement import split_questions

    return len(split_questions(question)) > 1


def _refuse_options(noise: str | None, *, consistent: bool) -> None:
    if consistent:
        raise WrongUsage(
            "--consistent does not go with several questions: without negative counts, margins would no "
            "longer add up. Leave it out."
        )
    if noise == "laplace":
        raise WrongUsage("Several questions are measured with Gaussian noise. Leave out --noise.")


def _read_workload(curator: Curator, workload: str) -> str:
    """Return the text of a file, or the name of a workload that the policy declares."""
    declared = curator.policy.workloads if curator.policy is not None else {}
    if workload in declared:
        return workload
    try:
        return Path(workload).read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        known = f" The policy declares: {', '.join(sorted(declared))}." if declared else ""
        raise SourceNotFound(
            f"There is no readable file '{workload}', nor does the policy declare a workload of that name. Write "
            f"SELECTs into a file, separated by semicolons.{known}"
        ) from error


def _ask_workload(
    curator: Curator, written: str, asked: dict[str, Any], *, dry_run: bool, as_json: bool
) -> None:
    if dry_run:
        found = explained = curator.explain_all(written, **asked)
        show = partial(_print_explanation, explained)
    else:
        with output.progress() as step:
            step("asking", 0, 1)
            found = answered = curator.ask_all(written, **asked)
        show = partial(_print_workload, answered)
    if as_json:
        output.print_json(found)
        return
    show()
    for caution in found.cautions:
        click.echo(output.replace_control_characters(f"! {caution}"), err=True)


def _print_workload(found: WorkloadAnswer) -> None:
    to = output.console()
    for number, (question, answer) in enumerate(
        zip(found.questions, found.answers, strict=True), 1
    ):
        output.print_sentence(to, f"\n{number}. {question}" if number > 1 else f"1. {question}")
        _print_rows(to, answer)
    _print_spending(to, found, "these questions were answered before")


def _print_explanation(found: WorkloadExplanation) -> None:
    to = output.console()
    output.print_sentence(to, f"{describe_workload_price(found)} Nothing was spent.")
    title = f"Expected error of each number, at {curator_options.format_share(found.confidence)} confidence"
    lines = [
        [
            str(one.statement),
            one.aggregate,
            "–" if one.groups is None else f"{one.groups:,}",
            curator_options.format_short(one.standard_error),
            curator_options.format_short(one.within)
            if one.ranks is None
            else f"{curator_options.format_short(round(one.ranks))} ranks",
            "together" if one.together else "apart",
        ]
        for one in found.expected
    ]
    header = ["question", "aggregate", "groups", "standard error", "±", "measured"]
    output.print_table(to, title, header, lines, texts=(1, 5))


def _print(answer: Answer) -> None:
    to = output.console()
    _print_rows(to, answer)
    _print_spending(to, answer, "this question was answered before")
    for caution in answer.cautions:
        click.echo(output.replace_control_characters(f"! {caution}"), err=True)


def _print_rows(to: Console, answer: Answer) -> None:
    rows, errors = answer.rows, answer.error
    has_error = [
        any(row[index] is not None for row in errors) for index in range(len(answer.columns))
    ]
    ranks = answer.rank_error
    has_error = [
        known or within is not None for known, within in zip(has_error, ranks, strict=True)
    ]
    header: list[str] = []
    for name, known in zip(answer.columns, has_error, strict=True):
        header += [name, "±"] if known else [name]
    lines = [
        _format_cells(answer.columns, values, mine, has_error, ranks)
        for values, mine in zip(rows, errors, strict=True)
    ]
    title = "Answer"
    if any(has_error):
        title += f" (± {curator_options.format_share(answer.confidence)} confidence, for the noise alone)"
    output.print_table(to, title, header, lines, texts=_text_columns(rows, has_error))
    if not rows:
        output.print_sentence(to, "No group has enough people to be released.")


def _print_spending(to: Console, answer: Answer | WorkloadAnswer, known: str) -> None:
    left = answer.remaining
    spent = curator_options.format_amounts(answer.spent["epsilon"], answer.spent["delta"])
    if answer.cached:
        spent = f"nothing: {known}"
    remaining = curator_options.format_amounts(left["epsilon"], left["delta"])
    output.print_sentence(to, f"\nSpent {spent}. Left: {remaining}.")


def _format_cells(
    names: Sequence[str],
    values: list[Any],
    errors: list[CellError | None],
    has_error: list[bool],
    ranks: Sequence[float | None],
) -> list[str]:
    cells: list[str] = []
    for name, value, error, known, within in zip(
        names, values, errors, has_error, ranks, strict=True
    ):
        half = None if error is None else error.high - value
        cells.append(format_answer_cell(name, value, half) if known else format_key(name, value))
        if within is not None:
            cells.append(format_ranks(within))
            continue
        if known:
            cells.append("" if half is None else curator_options.format_short(float(f"{half:.3g}")))
    return cells


def _text_columns(rows: list[list[Any]], has_error: list[bool]) -> set[int]:
    """Return which printed columns hold words."""
    texts: set[int] = set()
    place = 0
    for index, known in enumerate(has_error):
        if any(isinstance(row[index], str) for row in rows):
            texts.add(place)
        place += 1 + known
    return texts
