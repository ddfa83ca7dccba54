"""Every attack that a published table admits, with what the adversary is given."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from discreet.attack.finding import Finding, worst_first
from discreet.engines.engine import Table
from discreet.errors import DiscreetError
from discreet.policy import model
from discreet.policy.model import ColumnRole

if TYPE_CHECKING:
    import numpy as np

    from discreet.attack.classes.histograms import Classes
    from discreet.attack.synthetic.trial import SyntheticTrial
    from discreet.measure.roles import RoleBinding


@dataclass(frozen=True)
class AttackInput:
    """A release with the parts of its columns, and what the adversary has beside it.

    Attributes:
        release: The published table.
        described: What its policy or its manifest says of it, such as hierarchies.
        known: A list of people, on the release's engine.
        on: Columns to find them by; default the quasi-identifiers that both sides have.
        earlier: Releases of the same people made before, on the release's engine.
        trial: The release as synthetic data, beside its source and a control group.
        rng: Where chance comes from.
    """

    release: RoleBinding
    rng: np.random.Generator
    described: model.TablePolicy | None = None
    known: Table | None = None
    on: Sequence[str] | None = None
    earlier: tuple[Table, ...] = ()
    trial: SyntheticTrial | None = None


@dataclass(frozen=True)
class AttackReport:
    """What all attacks found, worst first, and why others were not tried, by attack."""

    findings: tuple[Finding, ...]
    not_tried: dict[str, str] = field(default_factory=dict[str, str])


def attack_all(given: AttackInput) -> AttackReport:
    """Run every attack that the release admits; one that cannot run is told, not fatal."""
    findings: list[Finding] = []
    not_tried: dict[str, str] = {}
    for name, attack, missing in _list_attacks(given):
        if missing:
            not_tried[name] = missing
            continue
        try:
            findings += attack()
        except DiscreetError as error:
            not_tried[name] = str(error)
    return AttackReport(worst_first(findings), not_tried)


def _list_attacks(given: AttackInput) -> list[tuple[str, Callable[[], Sequence[Finding]], str]]:
    """Return each attack by name, how it runs, and what it lacks."""
    subject = given.release.subject
    no_secret = "" if subject.sensitive else "no column is named sensitive"
    no_list = "" if given.known is not None else "no list of known people was given (--known)"
    no_past = no_list or ("" if given.earlier else "no earlier release (--earlier)")
    no_trial = "" if given.trial else "it is for synthetic data (--source and --control)"
    no_secret_of_trial = no_trial or no_secret
    return [
        ("linkage", lambda: _attack_by_linkage(given), no_list),
        ("uniqueness", lambda: _attack_by_uniqueness(given), ""),
        ("homogeneity, skewness, similarity, inference", lambda: _attack_classes(given), no_secret),
        ("background", lambda: _attack_by_background(given), no_secret),
        ("composition", lambda: _attack_by_composition(given), no_past),
        ("dictionary", lambda: _attack_by_dictionary(given), ""),
        ("singling-out, linkability, closest", lambda: _attack_synthetic_data(given), no_trial),
        ("attribute", lambda: _attack_by_attribute(given), no_secret_of_trial),
    ]


def _attack_by_linkage(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.linkage.link import link_people
    from discreet.attack.linkage.spec import make_linkage_spec
    from discreet.attack.manifest import hierarchies_of

    if given.known is None:
        return ()
    subject = given.release.subject
    shared = [column.name for column in subject.quasi if given.known.column(column.name)]
    on = given.on or (shared if given.described is None else None)
    secrets = [column.name for column in subject.sensitive]
    wish = make_linkage_spec(
        subject.table, given.known, policy=given.described, on=on, sensitive=secrets or None
    )
    return [
        link_people(
            subject.table,
            given.known,
            on=wish.on,
            sensitive=wish.sensitive,
            hierarchies=hierarchies_of(given.described),
        )
    ]


def _attack_by_uniqueness(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.classes.uniqueness import find_uniqueness
    from discreet.measure.joint import measure_joint

    release = given.release
    return [find_uniqueness(measure_joint(release), target=release.subject.table.label)]


def _attack_classes(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.classes.histograms import read_classes
    from discreet.attack.classes.homogeneity import find_homogeneity
    from discreet.attack.classes.inference import find_inference
    from discreet.attack.classes.skewness import find_skewness

    classes = read_classes(given.release)
    return [
        *(find_homogeneity(told) for told in classes.columns),
        *(find_skewness(told) for told in classes.all),
        *(find_inference(told) for told in classes.all),
        *_attack_by_similarity(given, classes),
    ]


def _attack_by_similarity(given: AttackInput, classes: Classes) -> list[Finding]:
    from discreet.attack.classes.similarity import find_similarity

    policy = given.release.policy or given.described
    return [found for told in classes.columns for found in find_similarity(told, policy=policy)]


def _attack_by_background(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.classes.background import find_all

    return find_all(given.release)


def _attack_by_composition(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.manifest import hierarchies_of, promised_k
    from discreet.attack.releases.composition import Thresholds, find_composition, list_shared

    if given.known is None:
        return ()
    subject = given.release.subject
    tables = (subject.table, *given.earlier)
    quasi = [column.name for column in subject.quasi]
    names = given.on or [
        name
        for name in quasi
        if given.known.column(name) and any(each.column(name) for each in tables)
    ]
    on = {mine: theirs or mine for mine, _, theirs in (name.partition("=") for name in names)}
    sensitive = [column.name for column in subject.sensitive]
    return find_composition(
        given.known,
        tables,
        on=on,
        sensitive=sensitive,
        kept=[name for name in list_shared(tables) if name not in quasi],
        thresholds=Thresholds(k=promised_k(given.described)),
        hierarchies=hierarchies_of(given.described),
    )


def _attack_by_dictionary(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.hashes.dictionary import attack_table

    known = (given.known,) if given.known is not None else ()
    return attack_table(given.release.subject.table, known=known)


def _attack_synthetic_data(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.synthetic.closest import find_closest_people
    from discreet.attack.synthetic.linkability import link_column_sets
    from discreet.attack.synthetic.singling_out import single_out

    if given.trial is None:
        return ()
    return [
        *single_out(given.trial, rng=given.rng),
        link_column_sets(given.trial, rng=given.rng),
        find_closest_people(given.trial, rng=given.rng),
    ]


def _attack_by_attribute(given: AttackInput) -> Sequence[Finding]:
    from discreet.attack.synthetic.attribute import infer_attribute

    if given.trial is None:
        return ()
    secrets = [
        name
        for name, role in given.release.roles.items()
        if role is ColumnRole.SENSITIVE and name in given.trial.names
    ]
    return [infer_attribute(given.trial, name, rng=given.rng) for name in secrets]
