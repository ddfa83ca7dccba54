"""What an attack is given, and every attack that a published table admits."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from discreet.attacks.finding import Finding, worst_first
from discreet.attacks.options import INPUTS, SEED, default_options
from discreet.engines.engine import Table
from discreet.errors import Bug, DiscreetError, WrongUsage
from discreet.policy import model
from discreet.progress import Progress, ignore_progress
from discreet.registry import ATTACKS, AttackSpec
from discreet.result import TabularResult

if TYPE_CHECKING:
    import numpy as np

    from discreet.attacks.classes.histograms import Classes
    from discreet.attacks.models.trial import ModelTrial
    from discreet.attacks.synthetic.trial import SyntheticTrial
    from discreet.measure.roles import RoleBinding


@dataclass(frozen=True)
class AttackInput:
    """The target of an attack, and what the adversary has beside it.

    Attributes:
        rng: The source of chance.
        binding: The target with the roles of its columns, where the attack uses them.
        opened: The target as a table, where it does not.
        label: What the target is called.
        describe: Reads what its policy or its manifest says of it; see `described`.
        known: A list of people, on the target's engine.
        on: Columns by which they are found; default the quasi-identifiers that both sides have.
        earlier: Releases of the same people made before, on the target's engine.
        trial: The target as synthetic data, beside its source and a control group.
        model_trial: The target as a trained model, beside the people it was trained on and others.
        jointly: Whether several sensitive columns are attacked alone and as one, or only alone.
        reading: How tables beside the target are read.
        clock: Gives seconds, where an attack may measure its speed.
        closing: Closes what the attack opens.
    """

    rng: np.random.Generator
    binding: RoleBinding | None = None
    opened: Table | None = None
    label: str = ""
    describe: Callable[[], model.TablePolicy | None] | None = None
    known: Table | None = None
    on: Sequence[str] | None = None
    earlier: tuple[Table, ...] = ()
    trial: SyntheticTrial | None = None
    model_trial: ModelTrial | None = None
    jointly: bool = True
    reading: Mapping[str, Any] = field(default_factory=dict[str, Any])
    clock: Callable[[], float] | None = None
    closing: ExitStack = field(default_factory=ExitStack, compare=False, repr=False)

    @property
    def release(self) -> RoleBinding:
        """The target with the roles of its columns."""
        if self.binding is None:
            raise Bug("An attack asked for the roles of a target that was opened without them.")
        return self.binding

    @property
    def model(self) -> ModelTrial:
        """The target as a trained model, beside its people."""
        if self.model_trial is None:
            raise Bug("An attack asked for a trained model, and its target was opened as a table.")
        return self.model_trial

    @property
    def table(self) -> Table:
        """The target as a table."""
        if self.opened is not None:
            return self.opened
        return self.release.subject.table

    @cached_property
    def described(self) -> model.TablePolicy | None:
        """What policy or manifest say of the target, such as hierarchies; read when it is used."""
        if self.describe is not None:
            return self.describe()
        return self.binding.policy if self.binding is not None else None

    @cached_property
    def classes(self) -> Classes:
        """The classes of the release with their sensitive values, read once."""
        from discreet.attacks.classes.histograms import read_classes

        classes = read_classes(self.release)
        return classes if self.jointly else replace(classes, jointly=None)

    @property
    def quasi(self) -> tuple[str, ...]:
        """The quasi-identifiers: as bound, else as policy or manifest say."""
        if self.binding is not None:
            return tuple(column.name for column in self.binding.subject.quasi)
        role = model.ColumnRole.QUASI_IDENTIFIER
        return self.described.with_role(role) if self.described else ()

    @property
    def sensitive(self) -> tuple[str, ...]:
        """The sensitive columns: as bound, else as policy or manifest say."""
        if self.binding is not None:
            return tuple(column.name for column in self.binding.subject.sensitive)
        return self.described.with_role(model.ColumnRole.SENSITIVE) if self.described else ()

    def choose_sensitive(self, named: Sequence[str] | None) -> tuple[str, ...]:
        """Return the columns to learn: those named, else the sensitive ones.

        Raises:
            WrongUsage: There is none.
        """
        found = tuple(named) if named is not None else self.sensitive
        if not found:
            raise WrongUsage(
                "Say what is to be learned: --sensitive diagnosis, or a policy with a sensitive "
                "column."
            )
        return found

    def choose_join_columns(
        self, people: Table, named: Sequence[str] | None, *, hidden: Sequence[str]
    ) -> dict[str, str]:
        """Return the released column of each column of `people` by which they are found.

        It is what the user names, else the quasi-identifiers, else all columns that the list and
        every release share, without `hidden` ones.

        Raises:
            WrongUsage: There is none.
        """
        releases = (self.table, *self.earlier)
        if named is not None:
            pairs = [each.partition("=") for each in named]
            return {mine: theirs or mine for mine, _, theirs in pairs}
        if self.binding is not None:  # one of all attacks, where the list may have other columns
            return {
                name: name
                for name in self.quasi
                if people.column(name) and any(release.column(name) for release in releases)
            }
        shared = self.quasi or [
            column.name
            for column in people.columns
            if column.name not in hidden and all(each.column(column.name) for each in releases)
        ]
        if not shared:
            raise WrongUsage(
                f"{people.label} shares no column with all releases. Say which columns belong "
                "together: --on age,zip=postcode."
            )
        return {name: name for name in shared}

    def open_beside(self, source: object) -> Table:
        """Return a table on the target's engine, where both can be joined."""
        from discreet.engines.connect import open_table
        from discreet.engines.scratch import innermost

        if isinstance(source, Table):
            return source
        engine = self.table.engine
        return replace(open_table(source, engine=innermost(engine), **self.reading), engine=engine)

    def open_other(self, source: object) -> Table:
        """Return a table on an engine of its own, closed with the target."""
        from discreet.engines.connect import opened_table

        return self.closing.enter_context(opened_table(source))


@dataclass(frozen=True)
class AttackReport(TabularResult):
    """What attacks found, worst first; its `to_dict()` holds aggregates only.

    Attributes:
        findings: The findings; iterating over the report gives them as well.
        not_tried: Why attacks were not tried, by attack.
        cautions: What a reader should know, such as that roles of columns were guessed.
    """

    _records: ClassVar[str] = "findings"

    findings: tuple[Finding, ...]
    not_tried: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    cautions: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Finding]:
        return iter(self.findings)

    def __len__(self) -> int:
        return len(self.findings)

    def __getitem__(self, index: int) -> Finding:
        return self.findings[index]

    @property
    def exceeds(self) -> bool:
        """Whether a finding exceeds its tolerance."""
        return any(found.exceeds for found in self.findings)


def run_attack(
    spec: AttackSpec, given: Any, options: Mapping[str, Any] | None = None
) -> Sequence[Finding]:
    """Run one attack on what it is given; an option that is not stated has its default."""
    values = default_options(spec) if options is None else options
    # What is opened or drawn from is in `given`.
    taken = {"seed", "manifest", *(one.name for need in spec.needs for one in INPUTS.get(need, ()))}
    own = [option for option in spec.options if option.name not in taken]
    return spec.run(given, **{one.parameter or one.name: values[one.name] for one in own})


def attack_all(given: AttackInput, *, progress: Progress = ignore_progress) -> AttackReport:
    """Run every attack that the release admits; one that cannot run is reported, not fatal."""
    findings: list[Finding] = []
    reasons: dict[tuple[object, ...], list[str]] = {}
    fitting = [spec for spec in ATTACKS.all() if spec.run_all]
    for done, spec in enumerate(fitting):
        progress("attacks", done, len(fitting))
        reason = missing_input(spec, given)
        if not reason:
            try:
                findings += run_attack(spec, given)
            except DiscreetError as error:
                reason = str(error)
        if reason:  # attacks that read the same and need the same are named together
            reasons.setdefault((spec.target, spec.needs, reason), []).append(spec.name)
    progress("attacks", len(fitting), len(fitting))
    not_tried = {", ".join(names): str(key[-1]) for key, names in reasons.items()}
    return AttackReport(worst_first(findings), {**not_tried, **ATTACKS.broken()})


def missing_input(spec: AttackSpec, given: AttackInput) -> str:
    """Return what `spec` needs and `given` lacks, in words; nothing lacking is empty."""
    lacking = {
        "trial": ("it is for synthetic data (--source and --control)", given.trial is None),
        "known": ("no list of known people was given (--known)", given.known is None),
        "earlier": ("no earlier release (--earlier)", not given.earlier),
        "sensitive": ("no column is named sensitive", not given.sensitive),
    }
    return next((lacking[need][0] for need in spec.needs if lacking[need][1]), "")


def _run_all(given: AttackInput) -> Sequence[Finding]:
    return attack_all(given).findings


ALL = AttackSpec(
    name="all",
    summary="every attack that a table admits, worst finding first",
    description="""Run every attack that RELEASE admits, and print the worst finding first.

What an attack needs beside the release decides whether it can run: a list of people, earlier
releases, the source of synthetic data and a control group. What was not tried is said on stderr.
""",
    target="release",
    needs=("known", "earlier", "trial"),
    run=_run_all,
    options=(
        *(replace(option, required=False) for need in INPUTS.values() for option in need),
        SEED,
    ),
    examples=(
        "discreet attack all released.csv --policy policy.yaml",
        "discreet attack all released.csv --quasi age,zip --sensitive diagnosis --known voters.csv",
        (
            "discreet attack all synthetic.csv --source people.csv --control others.csv "
            "--sensitive diagnosis"
        ),
    ),
)
"""All attacks as one: not in the registry, since it finds nothing of its own."""
