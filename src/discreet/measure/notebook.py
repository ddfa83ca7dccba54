"""An assessment in a notebook: the verdict, the headline numbers, the criteria; escaped, no style."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

from discreet.formatting import format_percent
from discreet.measure.assessment import Assessment
from discreet.measure.wording import CRITERIA_HEADER, criterion_rows


def render_notebook_html(found: Assessment) -> str:
    """Return `found` as a little HTML: a sentence and two tables, aggregates only."""
    parts = [
        f"<p><strong>{escape(found.verdict)}</strong></p>",
        _render_table("Assessment", _fact_rows(found)),
    ]
    if found.criteria:
        header = (*CRITERIA_HEADER, "Verdict", "People failing", "Classes failing")
        rows = [
            (*row.texts, "✓ holds" if row.holds else "✗ fails", *row.counts)
            for row in criterion_rows(found.criteria, k=found.k)
        ]
        parts.append(_render_table("Criteria", rows, header=header))
    parts += [f"<p>Caution: {escape(caution)}</p>" for caution in found.cautions]
    return f"<div>{''.join(parts)}</div>"


def _fact_rows(found: Assessment) -> list[tuple[str, ...]]:
    unique = format_percent(found.unique / found.people) if found.people else "no people"
    risk = found.risk.prosecutor
    facts = [
        ("Rows", f"{found.rows:,}"),
        ("People", f"{found.people:,}"),
        ("Quasi-identifiers", ", ".join(found.quasi)),
        ("Classes", f"{found.classes:,}"),
        ("Smallest class (k)", "no classes" if found.k is None else f"{found.k:,}"),
        ("Unique people", f"{found.unique:,} ({unique})"),
    ]
    if found.suppressed:
        facts.append(("Suppressed rows", f"{found.suppressed:,}"))
    if risk.worst is not None and risk.average is not None:
        facts.append(("Chance of being found, at worst", format_percent(risk.worst)))
        facts.append(("Chance of being found, on average", format_percent(risk.average)))
    for name, column in found.sensitive.items():
        facts.append((f"{name}: distinct l", f"{column.l.distinct:,}"))
        facts.append((f"{name}: equal t", f"{column.t.equal:.4g}"))
    return facts


def _render_table(
    caption: str, rows: Sequence[Sequence[str]], *, header: Sequence[str] = ()
) -> str:
    names = "".join(f'<th scope="col">{escape(name)}</th>' for name in header)
    head = f"<thead><tr>{names}</tr></thead>" if header else ""
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in others)
        + "</tr>"
        for first, *others in rows
    )
    return f"<table><caption>{escape(caption)}</caption>{head}<tbody>{body}</tbody></table>"
