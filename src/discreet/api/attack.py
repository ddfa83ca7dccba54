"""`discreet.attack`: every attack by its name, with the options of the command line as keywords."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass, replace
from decimal import ROUND_DOWN, Decimal
from pathlib import Path, PurePath
from time import perf_counter
from typing import TYPE_CHECKING, Any

from discreet.attacks.all_attacks import ALL, AttackInput, AttackReport, attack_all, run_attack
from discreet.attacks.finding import judge, worst_first
from discreet.attacks.manifest import describe_release, find_manifest, read_published
from discreet.attacks.options import read_attack_options
from discreet.engines.connect import holds_tables, opened_table
from discreet.engines.engine import Table
from discreet.errors import WrongUsage
from discreet.measure.assess import resolve_policy
from discreet.measure.roles import reading_hints, select_table
from discreet.option_values import read_share
from discreet.policy import model
from discreet.policy.attack_tolerance import DEFAULT
from discreet.progress import Progress, follow_phases
from discreet.registry import ATTACKS, AttackSpec

if TYPE_CHECKING:
    import numpy as np

    from discreet.attacks.questions.input import QuestionInput
    from discreet.attacks.questions.interface import Interface
    from discreet.attacks.questions.laboratory import LaboratoryRules

GUESSED = "The roles of the columns were guessed. Name them: --quasi, --sensitive, or --policy."


class AttackFunction:
    """Attack a target by the name of an attack, and return what was learned.

    `discreet.attack(name, target, …)` runs one attack, `discreet.attack.all(target, …)` every attack
    that a published table admits, and `discreet.attack.names()` lists them. Keywords are the options of
    the command line, with `_` for `-`: `discreet attack linkage released.csv --known voters.csv
    --on age,zip` is

    >>> import pyarrow as pa
    >>> released = pa.table({"age": [31, 47], "zip": [10115, 20095], "ill": ["flu", "gout"]})
    >>> voters = pa.table({"name": ["Ann", "Bob"], "age": [31, 47], "zip": [10115, 20095]})
    >>> found = attack("linkage", released, known=voters, on=["age", "zip"], sensitive=["ill"])
    >>> found[0].claimed, found[0].exceeds
    (2, False)
    """

    def __call__(  # noqa: PLR0913 -- the options that every attack has
        self,
        name: str,
        target: object = None,
        /,
        *,
        policy: model.Policy | str | Path | None = None,
        tolerance: float | str | None = None,
        table: object = None,
        delimiter: str | None = None,
        encoding: str | None = None,
        memory: str | None = None,
        progress: Callable[[str, int, int], None] | None = None,
        notify: Callable[[str], None] | None = None,
        **options: Any,
    ) -> AttackReport:
        """Return what the attack `name` learns from `target`, judged by a tolerance.

        Args:
            name: The attack, one of `discreet.attack.names()`.
            target: What is attacked: a path, a URL or a frame; a list of them where the attack is on
                several releases; nothing where it is on a mechanism.
            policy: The policy that states roles of columns and what is tolerated, or its file.
            tolerance: The share that may be learned, such as 0.05 or "5%"; else as the policy says.
            table: The table's name in the database or in the policy.
            delimiter: What separates the columns of a CSV file.
            encoding: The encoding of a CSV file.
            memory: How much memory the engine may use, such as `4GB`.
            progress: Called with a phase's name, what is done and what there is to do.
            notify: Called with each caution as soon as it is known; the report has all of them.
            options: The options of the attack; see `discreet attack NAME --help`.

        Raises:
            WrongUsage: There is no such attack, or an option is unknown, missing or wrong.
        """
        reading = {"table": table, "delimiter": delimiter, "encoding": encoding, "memory": memory}
        stated = {key: value for key, value in reading.items() if value is not None} | options
        request = AttackRequest(
            spec=ALL if name == ALL.name else ATTACKS.get(name),
            target=target,
            stated=stated,
            policy=resolve_policy(policy),
            progress=progress,
            notify=notify,
        )
        return request.run(tolerance=None if tolerance is None else _read_tolerance(tolerance))

    def all(self, target: object, /, **options: Any) -> AttackReport:
        """Return what every attack learns that `target` admits, worst first, and what was not tried.

        Keywords are those of `discreet attack all`: `policy`, `quasi`, `sensitive`, `unit`, `known`, `on`,
        `earlier`, `source`, `control`, `tolerance`, `seed`, and how the target is read.

        >>> import pyarrow as pa
        >>> released = pa.table({"age": ["3*", "3*", "4*"], "ill": ["flu", "flu", "gout"]})
        >>> found = attack.all(released, quasi=["age"], sensitive=["ill"], tolerance="5%")
        >>> found.exceeds, found[0].attack
        (True, 'homogeneity')
        """
        return self(ALL.name, target, **options)

    def names(self) -> dict[str, str]:
        """Return every attack with its one-line description, those of installed packages included.

        >>> attack.names()["linkage"]
        'names put to rows by a list of known people'
        """
        return {spec.name: spec.summary for spec in ATTACKS.all()}


attack = AttackFunction()
"""Attacks a target by the name of an attack."""


@dataclass(frozen=True)
class AttackRequest:
    """An attack with its target and options, as the user states them."""

    spec: AttackSpec
    target: object
    stated: Mapping[str, Any]
    policy: model.Policy | None
    progress: Callable[[str, int, int], None] | None
    notify: Callable[[str], None] | None

    def run(self, *, tolerance: float | None) -> AttackReport:
        """Open the target, attack it, and judge the findings."""
        self._require_target()
        options = read_attack_options(self.spec, self.stated)
        cautions: list[str] = []

        def caution(sentence: str) -> None:
            cautions.append(sentence)
            if self.notify is not None:
                self.notify(sentence)

        with follow_phases(self.progress, first="opening") as progress, ExitStack() as closing:
            given = OpenedTarget(self, options, caution, closing, progress).open()
            allowed = self._find_tolerance(tolerance, given, options)
            if self.spec.name == ALL.name:
                found = attack_all(given, progress=progress)
            else:
                progress(self.spec.name, 0, 1)
                found = AttackReport(tuple(run_attack(self.spec, given, options)))
        if not found and self.spec.no_finding:
            raise WrongUsage(self.spec.no_finding)
        judged = worst_first([judge(one, allowed) for one in found])
        return replace(found, findings=judged, cautions=tuple(cautions))

    def _require_target(self) -> None:
        name, source = self.spec.name, self.spec.source
        is_empty = isinstance(self.target, (str, tuple, list)) and not self.target
        if source == "required" and (self.target is None or is_empty):
            raise WrongUsage(f"The attack {name} needs a target: name a file or another source.")
        if source == "none" and self.target is not None:
            raise WrongUsage(f"The attack {name} is on no table. Leave the target out.")

    def _find_tolerance(
        self, stated: float | None, given: AttackInput | QuestionInput, options: Mapping[str, Any]
    ) -> Mapping[str, float]:
        """Return what is tolerated: as stated, else by the policy's table; nothing said is empty."""
        if stated is not None:
            return {DEFAULT: stated}
        found: Mapping[str, float] = {}
        if self.policy is not None:
            name, label = options.get("table"), given.label
            if self.spec.target == "mechanism":  # whose `table` is a source of its own
                name, label = None, label or _name_source(name)
            found = select_table(self.policy, label=label, name=name).tolerance
        return found or ({DEFAULT: 0.0} if self.spec.tests_claim else {})


@dataclass(frozen=True)
class OpenedTarget:
    """The target of an attack on its engine, with what its options add to it."""

    request: AttackRequest
    options: Mapping[str, Any]
    caution: Callable[[str], None]
    closing: ExitStack
    progress: Progress

    def open(self) -> Any:
        """Return what the attack is given."""
        openers = {
            "release": self._open_release,
            "classes": self._open_release,
            "table": self._open_table,
            "releases": self._open_releases,
            "synthetic": self._open_synthetic,
            "answers": self._open_questions,
            "model": self._open_model,
            "mechanism": self._open_nothing,
        }
        return openers[self.request.spec.target]()

    @property
    def _random_generator(self) -> np.random.Generator:
        import numpy as np

        return np.random.default_rng(self.options.get("seed"))

    def _make_input(self, **parts: Any) -> AttackInput:
        clock = None if self.request.spec.name == ALL.name else perf_counter
        return AttackInput(rng=self._random_generator, closing=self.closing, clock=clock, **parts)

    def _open_release(self) -> AttackInput:
        from discreet.attacks.classes.histograms import opened_release

        target, options = self.request.target, self.options
        bound = self.closing.enter_context(
            opened_release(
                target,
                self.request.policy,
                quasi=options["quasi"],
                sensitive=options["sensitive"],
                unit=options["unit"],
                table=options["table"],
                delimiter=options["delimiter"],
                encoding=options["encoding"],
                memory_limit=options["memory"],
            )
        )
        if bound.guessed:
            self.caution(GUESSED)

        def describe() -> model.TablePolicy | None:
            manifest = find_manifest(target) if bound.policy is None else None
            return read_published(manifest) if manifest is not None else bound.policy

        label = bound.subject.table.label
        return self._with_inputs(self._make_input(binding=bound, label=label, describe=describe))

    def _open_table(self) -> AttackInput:
        if self.request.target is None:
            return self._make_input()
        opened = self._enter_table(self.request.target)
        return self._with_inputs(
            self._make_input(opened=opened, **self._label_and_description(opened))
        )

    def _open_releases(self) -> AttackInput:
        target = self.request.target
        several: Sequence[object] = target if isinstance(target, (list, tuple)) else (target,)  # pyright: ignore[reportUnknownVariableType]
        opened = self._enter_table(several[0])
        how = {name: self.options[name] for name in ("delimiter", "encoding")}
        given = self._make_input(opened=opened, reading=how, **self._label_and_description(opened))
        others = tuple(given.open_beside(each) for each in several[1:])
        return replace(self._with_inputs(given), earlier=others)

    def _open_synthetic(self) -> AttackInput:
        from discreet.attacks.synthetic.trial import open_trial

        policy, options = self.request.policy, self.options
        label = _name_source(options["source"])
        trial = open_trial(
            self.request.target,
            source=options["source"],
            control=options["control"],
            columns=options["columns"],
            delimiter=options["delimiter"],
            encoding=options["encoding"],
            memory_limit=options["memory"],
        )
        return self._make_input(
            label=label,
            trial=trial,
            describe=lambda: select_table(policy, label=label) if policy is not None else None,
        )

    def _open_model(self) -> AttackInput:
        from discreet.attacks.models.trial import ModelRequest, open_model_trial

        policy, options = self.request.policy, self.options
        label = _name_source(options["source"])
        given = self._make_input(
            label=label,
            describe=lambda: select_table(policy, label=label) if policy is not None else None,
        )
        parts = ("source", "control", "outcome", "columns", "recipe", "run_code")
        stated = {name: options[name] for name in (*parts, "delimiter", "encoding", "memory")}
        asked = ModelRequest(self.request.target, **stated)
        trial = open_model_trial(asked, rng=given.rng, progress=self.progress)
        return replace(given, model_trial=trial)

    def _open_nothing(self) -> AttackInput:
        named = self.request.target
        return self._make_input(label="" if named is None else _name_source(named))

    def _open_questions(self) -> QuestionInput:
        from discreet.attacks.questions.input import QuestionInput, make_rules

        self._require_plain_options()
        policy, target = self.request.policy, self.request.target
        table = self._enter_table(target)
        name, rng = self.options["table"], self._random_generator
        rules = make_rules(table, self.options)
        return QuestionInput(
            table=table,
            policy=select_table(policy, label=table.label, name=name) if policy else None,
            rules=rules,
            rng=rng,
            is_priced=self.options["epsilon"] is not None,
            open_interface=self._interface_opener(table, rules, rng),
            progress=self.request.progress,
        )

    def _enter_table(self, source: object) -> Table:
        # The name may also be that of the policy's table, which a file does not have.
        return self.closing.enter_context(
            opened_table(
                source,
                table=self.options["table"] if holds_tables(source) else None,
                delimiter=self.options["delimiter"],
                encoding=self.options["encoding"],
                memory_limit=self.options["memory"],
                hints=reading_hints(self.request.policy, source, name=self.options["table"]),
            )
        )

    def _label_and_description(self, opened: Table) -> dict[str, Any]:
        target, policy = self.request.target, self.request.policy
        first = target[0] if isinstance(target, (list, tuple)) else target  # pyright: ignore[reportUnknownVariableType]

        def describe() -> model.TablePolicy | None:
            return describe_release(
                first,  # pyright: ignore[reportUnknownArgumentType]
                policy=policy,
                label=opened.label,
                table=self.options["table"],
                manifest=self.options.get("manifest"),
            )

        return {"label": opened.label, "describe": describe}

    def _with_inputs(self, given: AttackInput) -> AttackInput:
        """Return `given` with what the attack needs beside its target."""
        from discreet.attacks.synthetic.trial import open_trial

        needs, options = self.request.spec.needs, self.options
        if "known" in needs:
            known = options["known"]
            opened = given.open_beside(known) if known is not None else None
            given = replace(given, known=opened, on=options["on"])
        if "earlier" in needs and "earlier" in options:
            given = replace(given, earlier=tuple(map(given.open_beside, options["earlier"])))
        if "trial" in needs:
            source, control = options["source"], options["control"]
            if (source is None) != (control is None):
                raise WrongUsage("--source and --control go together. Add the other.")
            if source is not None:
                trial = open_trial(self.request.target, source=source, control=control)
                given = replace(given, trial=trial)
        return given

    def _require_plain_options(self) -> None:
        """Refuse rules of a laboratory where `discreet ask` answers."""
        if self.options["epsilon"] is None:
            return
        if self.request.target == "-":
            raise WrongUsage("--epsilon reads SOURCE twice: write it to a file first.")
        others = ("restrict", "no_all", "round", "noise", "sticky", "overlap")
        if any(self.options[name] for name in others):
            raise WrongUsage(
                "--epsilon attacks `discreet ask`, which neither restricts nor rounds. Leave out "
                "--restrict, --no-all, --round, --noise, --sticky and --overlap."
            )

    def _interface_opener(
        self, table: Table, rules: LaboratoryRules, rng: np.random.Generator
    ) -> Callable[[int | None], AbstractContextManager[Interface]]:
        @contextmanager
        def open_interface(budget: int | None) -> Generator[Interface]:
            asked = self.options["budget"] or budget
            if self.options["epsilon"] is not None:
                with self._open_private_interface(table, asked or 10) as interface:
                    yield interface
                return
            from discreet.attacks.questions.laboratory import laboratory

            yield laboratory(table, rules, chance=rng, budget=asked)

        return open_interface

    @contextmanager
    def _open_private_interface(self, table: Table, questions: int) -> Generator[Interface]:
        """Yield discreet's own answers, charged to a ledger that is deleted at the end."""
        from discreet.answer.curator import open_curator
        from discreet.attacks.questions.interface import Interface

        epsilon = Decimal(self.options["epsilon"])
        price = str((epsilon / questions).quantize(Decimal("1e-12"), rounding=ROUND_DOWN))
        self.caution(
            f"A rehearsal: up to {questions:,} answers for epsilon {float(price):.3g} each, charged to "
            "a ledger that is thrown away. Nothing of the real budget is spent."
        )
        target, name = self.request.target, self.options["table"]
        file = PurePath(table.label).name.partition(".")[0]
        with tempfile.TemporaryDirectory(prefix="discreet-rehearsal-") as folder:
            curator = open_curator(
                target,
                self.request.policy,
                ledger=Path(folder) / "ledger.sqlite",
                table=name,
                delimiter=self.options["delimiter"],
                encoding=self.options["encoding"],
                memory=self.options["memory"],
            )
            with curator:
                yield Interface(
                    lambda text: curator.ask(text, epsilon=price).rows,
                    source=name or (file if isinstance(target, (str, Path)) else "data"),
                    label=table.label,
                    budget=questions,
                )


def _read_tolerance(tolerance: float | str) -> float:
    try:
        return read_share(tolerance)
    except ValueError as error:
        raise WrongUsage(f"tolerance: {error}") from None


def _name_source(source: object) -> str:
    """Return how the user names a source; a frame has no name."""
    return str(source) if isinstance(source, (str, Path)) else "data"
