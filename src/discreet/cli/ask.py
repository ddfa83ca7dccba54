"""`discreet ask`: one question, one private answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from discreet.answer.wording import format_answer_cell, format_key, format_ranks
from discreet.cli import curator_options, options, output

if TYPE_CHECKING:
    from discreet.answer.answer import Answer, CellError

EXAMPLES = """\b
Examples:
  discreet ask people.csv "SELECT count(*) FROM people" --epsilon 0.5
  discreet ask people.csv "SELECT sex, avg(age) FROM people GROUP BY sex" \\
      --policy policy.yaml --epsilon 1
  discreet ask people.csv "SELECT town, count(*) FROM people GROUP BY town" \\
      --epsilon 1 --delta 1e-6 --json
"""


@click.command(cls=options.SourceCommand, epilog=EXAMPLES)
@curator_options.question_options
@click.option("--consistent", is_flag=True, help="No negative counts.")
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show what it would cost and spend nothing, as `discreet explain` does.",
)
def command(
    source: str,
    question: str,
    *,
    epsilon: str,
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
    The same question on the same data returns the same answer, at no cost.
    """
    with curator_options.open_curator_for(source, **choices) as curator:
        if dry_run:
            from discreet.cli.explain import show_explanation

            explained = curator.explain(
                question,
                epsilon=epsilon,
                delta=delta,
                noise=noise,
                cut_share=cut_share,
                confidence=confidence,
                weighted=weighted,
            )
            show_explanation(explained, as_json=as_json)
            return
        with output.progress() as step:
            step("asking", 0, 1)
            answer = curator.ask(
                question,
                epsilon=epsilon,
                delta=delta,
                noise=noise,
                confidence=confidence,
                consistent=consistent,
                weighted=weighted,
                cut_share=cut_share,
            )
    if as_json:
        output.print_json(answer)
    else:
        _print(answer)


def _print(answer: Answer) -> None:
    to = output.console()
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
    left = answer.remaining
    spent = curator_options.format_amounts(answer.spent["epsilon"], answer.spent["delta"])
    if answer.cached:
        spent = "nothing: this question was answered before"
    remaining = curator_options.format_amounts(left["epsilon"], left["delta"])
    output.print_sentence(to, f"\nSpent {spent}. Left: {remaining}.")
    for caution in answer.cautions:
        click.echo(output.replace_control_characters(f"! {caution}"), err=True)


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
