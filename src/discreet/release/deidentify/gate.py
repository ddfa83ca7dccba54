"""The gate of de-identification: rows are attacked before they are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from discreet.attacks.finding import Finding
from discreet.attacks.hashes.dictionary import DictionaryOptions, attack_table
from discreet.attacks.linkage.link import link_people
from discreet.attacks.manifest import hierarchies_of, promised_k
from discreet.engines.engine import Kind, Table
from discreet.engines.scratch import ScratchEngine
from discreet.policy import model
from discreet.policy.attack_tolerance import DEFAULT, default_tolerance
from discreet.release.deidentify.source import SourceTable
from discreet.release.gate import (
    Gate,
    GateResult,
    KnownPeople,
    attack_jointly,
    known_from_earlier,
    read_earlier,
    sample_people,
)
from discreet.release.history import EarlierRelease


@dataclass(frozen=True)
class DeidentifiedRows:
    """Rows that are ready to be written: what outsiders may know of them, and which are pseudonyms."""

    table: Table
    quasi: Sequence[str]
    pseudonyms: Sequence[str] = ()


def pass_gate(
    made: DeidentifiedRows,
    source: SourceTable,
    *,
    accepted: str | None,
    refuses: bool = True,
    earlier: Sequence[EarlierRelease] = (),
) -> GateResult:
    """Attack what was made; return what was found.

    Linkage is tried by people who know the values as they are published; pseudonyms with what the
    source holds and with usual numbers and dates; and earlier releases of the same people are joined
    with this one.

    Raises:
        RiskNotTolerated: An attack learns more than the policy tolerates, and the risk was not accepted.
    """
    asked = source.policy or model.TablePolicy(source.table.label, ())
    with ScratchEngine(made.table.engine) as scratch:
        release = replace(made.table, engine=scratch)
        findings = [
            *_attack_linkage(release, made.quasi, asked),
            *_attack_pseudonyms(release, made, source.table),
        ]
        together = _attack_with_earlier(release, made, asked, earlier)
    gate = Gate(asked, accepted=accepted, refuses=refuses)
    # Safe Harbor and pseudonyms promise what they remove, not that no one is found: without
    # a stated tolerance, findings are reported and block nothing, except a pseudonym that is undone.
    stated = asked.tolerance
    undone = {"dictionary": default_tolerance()["dictionary"]}
    tolerance = stated if DEFAULT in stated else {**undone, **stated}
    return gate.decide(
        [*findings, *together.findings],
        together.cautions,
        tolerance=tolerance,
        not_tried=together.not_tried,
    )


def _attack_with_earlier(
    release: Table,
    made: DeidentifiedRows,
    asked: model.TablePolicy,
    earlier: Sequence[EarlierRelease],
) -> GateResult:
    quasi = [name for name in made.quasi if release.column(name) is not None]
    if not earlier:
        return GateResult()
    before = read_earlier(earlier, engine=release.engine)
    others = [column.name for column in release.columns if column.name not in quasi]
    sensitive = [name for name in asked.with_role(model.ColumnRole.SENSITIVE) if name in others]
    kept = [name for name in others if name not in sensitive]
    people = sample_people(release, [*quasi, *others], engine=release.engine)
    # People are known as they are in these rows: what is not published here is not known of them.
    expected = known_from_earlier(before, [*quasi, *others], asked)
    more = [name for name in expected if name in others]
    hierarchies, k = hierarchies_of(asked), promised_k(asked)
    known = KnownPeople(people, quasi, sensitive, kept, hierarchies, k, more)
    return attack_jointly(known, release, before)


def _attack_linkage(
    release: Table, quasi: Sequence[str], asked: model.TablePolicy
) -> list[Finding]:
    known = [name for name in quasi if release.column(name) is not None]
    if not known:
        return []
    sensitive = [
        name for name in asked.with_role(model.ColumnRole.SENSITIVE) if release.column(name)
    ]
    people = sample_people(release, known, engine=release.engine)
    learned = [name for name in sensitive if name not in known]
    return [link_people(release, people, on={name: name for name in known}, sensitive=learned)]


def _attack_pseudonyms(
    release: Table, made: DeidentifiedRows, source: Table
) -> tuple[Finding, ...]:
    columns = tuple(
        column
        for column in release.columns
        if column.name in made.pseudonyms and column.kind in (Kind.TEXT, Kind.INTEGER)
    )
    if not columns:
        return ()
    # Millions of texts of known forms would take minutes, and a keyed pseudonym is none of them.
    tools = DictionaryOptions(forms_limit=0)
    return attack_table(replace(release, columns=columns), known=[source], tools=tools)
