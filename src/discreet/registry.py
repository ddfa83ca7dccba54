"""Extension points: one specification object per attack, criterion, method, learner, engine or file format.

Specifications are found in a package of discreet, one module each, and through entry points of other packages.
Finding a name imports nothing of them. A package that cannot be imported is an error of what it offers alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from importlib.metadata import Distribution, EntryPoint, distributions
from importlib.util import find_spec
from pathlib import Path
from pkgutil import iter_modules
from typing import Any, Generic, Literal, Protocol, TypeVar

from discreet.errors import BrokenExtension, WrongUsage, did_you_mean

LAST = 1_000  # the place of what states none


class Specification(Protocol):
    """What every specification states."""

    @property
    def name(self) -> str:
        """The word of the command line and of the policy."""
        ...

    @property
    def position(self) -> int:
        """Its place in lists; equal ones are sorted by name."""
        ...


Spec = TypeVar("Spec", bound=Specification)


OptionKind = Literal[
    "text",
    "integer",
    "number",
    "share",
    "names",
    "values",
    "amount",
    "flag",
    "choice",
    "source",
    "path",
]


@dataclass(frozen=True)
class OptionSpec:
    """A typed option: `--NAME` on the command line, a keyword in Python.

    Attributes:
        name: The keyword; on the command line `_` is written `-`.
        kind: How a value is read: `share` is 0.05 or 5%, `names` are columns separated by commas,
            `values` are COLUMN=VALUE separated by commas, `amount` is an exact number that is not
            negative, `choice` is one of `choices`, `source` is anything that opens as a table,
            `path` is a file.
        summary: What it means, in one line.
        default: Its value where none is stated.
        minimum: The smallest number.
        maximum: The largest number.
        above: A number must be larger than this.
        below: A number must be smaller than this.
        metavar: What stands for the value in `--help`.
        required: Whether it must be stated.
        repeated: Whether it may be stated several times; its value is a tuple.
        default_text: The default in words, where the value itself says little.
        parse: Reads a text that has no kind of its own; raises `ValueError` with a sentence.
        choices: The words of a `choice`.
        parameter: The keyword of the function that runs, where it has another name.
    """

    name: str
    kind: OptionKind
    summary: str
    default: Any = None
    minimum: float | None = None
    maximum: float | None = None
    above: float | None = None
    below: float | None = None
    metavar: str | None = None
    required: bool = False
    repeated: bool = False
    default_text: str | None = None
    parse: Callable[[str], Any] | None = None
    choices: tuple[str, ...] = ()
    parameter: str | None = None


@dataclass(frozen=True)
class DetailTable:
    """A table among the details of a finding, a list of records, and how it is shown.

    Attributes:
        key: Its key in `details`.
        title: What stands above it.
        columns: For each key of a record, the heading and the format of its numbers.
    """

    key: str
    title: str
    columns: Mapping[str, tuple[str, str]]


@dataclass(frozen=True)
class AttackSpec:
    """An attack: what it needs, how it runs, and how it is described.

    Attributes:
        name: The word of findings, policies and the command line.
        summary: One line for lists.
        target: What is attacked, which decides how it is opened: `release` is a published table with
            the roles of its columns, `classes` the classes read from it, `table` a table as it is,
            `releases` several of them, `synthetic` synthetic data beside its source, `answers` an
            interface that answers questions about a table, `model` a trained model beside its people,
            `mechanism` nothing that is opened.
        run: Takes an `AttackInput` of `discreet.attacks.all_attacks`, or a `QuestionInput` of
            `discreet.attacks.questions.input` where the target is `answers`, and the options as
            keywords; returns findings. It imports heavy libraries itself.
        description: What the adversary does, for `--help`; the first sentence stands alone.
        argument: What stands for the target in `--help`, where the usual word would mislead.
        source: Whether the target must be named; `none` where there is nothing to name.
        needs: What it cannot run without: sensitive columns, a list of known people, earlier
            releases, a trial of synthetic data.
        options: Typed options, passed to `run` as keywords. Those of its target and of its needs are
            added to them.
        run_all: Whether `attack all` runs it.
        gated: Whether the gate runs it on what is about to be published. (Linkage, uniqueness and
            composition run there in any case, on a sample of the people of the source.)
        tolerance: The share of people a release may expose where its policy does not say; None
            reports without refusing.
        tests_claim: Whether it tests a claim, which tolerates nothing beyond itself: a finding exceeds
            where no other tolerance is stated.
        by_column: Whether there is one finding for each sensitive column.
        no_finding: Why it may find nothing to try, and what to do then; refused where it runs alone.
        tables: Tables among the details of its findings.
        examples: Command lines for `--help`.
        notes: What `--help` says after them.
        position: Its place in lists.
    """

    name: str
    summary: str
    target: Literal[
        "release", "classes", "table", "releases", "synthetic", "answers", "model", "mechanism"
    ]
    run: Callable[..., Sequence[Any]]
    description: str = ""
    argument: str | None = None
    source: Literal["required", "optional", "none"] = "required"
    needs: tuple[Literal["sensitive", "known", "earlier", "trial"], ...] = ()
    options: tuple[OptionSpec, ...] = ()
    run_all: bool = False
    gated: bool = False
    tolerance: float | None = None
    tests_claim: bool = False
    by_column: bool = False
    no_finding: str = ""
    tables: tuple[DetailTable, ...] = ()
    examples: tuple[str, ...] = ()
    notes: str = ""
    position: int = LAST


@dataclass(frozen=True)
class FormatSpec:
    """A file format: which files have it, how they are read, and how they are written.

    A package adds one with a function that returns Arrow:

        import pyarrow as pa
        from discreet.registry import FormatSpec

        def read(path):
            header, *lines = [line.split("~") for line in path.read_text("utf-8").splitlines()]
            cells = [[line[i] if i < len(line) else None for line in lines] for i in range(len(header))]
            return pa.table([pa.array(column, pa.string()) for column in cells], names=header)

        def write(rows, path):  # a `pyarrow.RecordBatchReader`, its rows in their final order
            with path.open("w", encoding="utf-8") as file:
                print("~".join(rows.schema.names), file=file)
                for batch in rows:
                    for row in batch.to_pylist():
                        print("~".join("" if v is None else str(v) for v in row.values()), file=file)

        SPEC = FormatSpec(name="tilde", title="Tilde", suffixes=(".tilde",), read=read, write=write)

    and offers it under the entry point of its name:

        [project.entry-points."discreet.formats"]
        tilde = "discreet_tilde:SPEC"

    Every command then reads `patients.tilde`, and `discreet anonymize -o released.tilde` writes it.
    A suffix that discreet itself reads stays with discreet.

    No row may decide what a table looks like before its rows are paid for. So a format whose files
    state no types returns texts: discreet proves types on all rows, or takes the kinds that a policy
    declares, and a cell that does not fit is NULL. Its reader must not fail on a cell: a cell that it
    cannot read is None.

    Attributes:
        name: The word for it in messages.
        title: What the reference calls it.
        suffixes: The endings of its files in lower case, such as `.csv`.
        typed: Whether the file itself states the type of each column, as Parquet does. Then `read` may
            return any types; otherwise it returns texts, and anything else is refused.
        read: Takes a `Path`, and those of `options` that the caller stated, as keywords. Returns an Arrow
            table or reader, or anything with an Arrow stream.
        options: What `read` takes: which `table` of a file, the `delimiter`, the `encoding`.
        tables: Returns the names of the tables of a file; None for a format with one table per file.
        compressions: Endings after the suffix that the reader unpacks itself, such as `.gz`.
        write: Takes a `pyarrow.RecordBatchReader` and a `Path`, and writes all rows in their order. What it
            writes `read` must read again: a release is measured from its file.
        written: The endings of the files it writes, if not all of `suffixes`.
        open: How discreet's own formats are read, on DuckDB: takes a `FileRequest` of
            `discreet.engines.file_request`, returns the relation, with the schema where one was inferred.
        recognize_form: Finds how the cells of a `FileRequest` are separated and encoded, for formats that
            do not state it; returns a schema without columns.
        open_texts: Reads a file that discreet wrote as texts, in place; takes a path and the engine.
        copy_options: The options of DuckDB's COPY that write a file of a suffix.
        signatures: First bytes by their offset; each mapping alone identifies the format.
        suffix_decides: Whether a file of its suffix has this format whatever its first bytes are.
        has_header: Whether the names of columns are known without reading a row.
        may_be_empty: Whether a file without a byte may be one.
        position: Its place in lists.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    typed: bool = False
    read: Callable[..., Any] | None = None
    options: tuple[Literal["table", "delimiter", "encoding"], ...] = ()
    tables: Callable[[Path], Sequence[str]] | None = None
    compressions: tuple[str, ...] = ()
    write: Callable[[Any, Path], None] | None = None
    written: tuple[str, ...] = ()
    open: Callable[[Any], Any] | None = None
    recognize_form: Callable[[Any], Any] | None = None
    open_texts: Callable[[Path, Any], Any] | None = None
    copy_options: Callable[[str], Mapping[str, Any]] | None = None
    signatures: tuple[Mapping[int, bytes], ...] = ()
    suffix_decides: bool = True
    has_header: bool = True
    may_be_empty: bool = False
    position: int = LAST

    def __post_init__(self) -> None:
        if (self.read is None) == (self.open is None):
            raise ValueError(f"The format '{self.name}' needs `read`.")

    @property
    def written_suffixes(self) -> tuple[str, ...]:
        """The endings of the files that are written; none where it is only read."""
        is_written = self.write is not None or self.copy_options is not None
        return (self.written or self.suffixes) if is_written else ()


@dataclass(frozen=True)
class CriterionSpec:
    """A criterion: its class, and how it is asked for.

    What it measures, requires and says is in its class. Policy, command line and reports are made from both.

    Attributes:
        criterion: A subclass of `discreet.criteria.criterion.Criterion`.
        summary: What it requires of each class, in one line.
        option: The option of the command line, and the keyword in Python.
        option_summary: What the option means, in one line.
        examples: How the option's value is written.
        metavar: What stands for the value in `--help`.
        shared: Parameters that other options of the same name state.
        hidden: Whether `--help` leaves the option out.
        position: Its place in lists.
    """

    criterion: type[Any]
    summary: str
    option: str
    option_summary: str
    examples: tuple[str, ...]
    metavar: str | None = None
    shared: tuple[str, ...] = ()
    hidden: bool = False
    position: int = LAST

    @property
    def name(self) -> str:
        """The word of the policy."""
        return self.criterion.name


@dataclass(frozen=True)
class MethodSpec:
    """A recoding method: how it makes classes, and what it can do.

    Attributes:
        name: The word of the command line and of the policy.
        summary: One line for `--help`.
        description: One sentence for reports.
        run: Takes a `Problem` of `discreet.release.anonymize.problem` and the policy's `ReleasePolicy`,
            `seconds` and `progress`, and each of its options by name; returns a `Recoding`. It imports
            heavy libraries itself.
        options: Its own options, by which command line, policy and Python check what is stated.
        utilities: What it can keep small.
        counts_population: Whether its labels do not overlap, so that criteria about a population can
            be met.
        position: Its place in lists.
    """

    name: str
    summary: str
    description: str
    run: Callable[..., Any]
    options: tuple[OptionSpec, ...] = ()
    utilities: tuple[str, ...] = ("loss",)
    counts_population: bool = False
    position: int = LAST


@dataclass(frozen=True)
class LearnerSpec:
    """A learner: what it predicts (`tasks`), and how it learns from noisy counts.

    Attributes:
        name: The word of the command line; `summary`: a line for `--help`; `description`: a sentence for model cards.
        fit: Takes a `discreet.learning.training.Training` and options by name, and returns a predictor.
        read: Takes a `FeatureSpace` and what `to_content` of a predictor returned; `check`: refuses a space unpaid.
        options: Its own; `is_pure`: it can do without a delta; `model`: what kind it makes, which decides exports.
    """

    name: str
    summary: str
    description: str
    tasks: tuple[Literal["classification", "regression", "clustering", "components"], ...]
    fit: Callable[..., Any]
    read: Callable[[Any, Mapping[str, Any]], Any]
    options: tuple[OptionSpec, ...] = ()
    is_pure: bool = True
    model: Literal["additive", "trees", "other"] = "other"
    check: Callable[[Any], None] | None = None
    position: int = LAST


@dataclass(frozen=True)
class EngineSpec:
    """An engine: the addresses of its tables, and how they are opened, written and served.

    A package implements `discreet.engines.engine.Engine`, and offers this under the entry points
    `discreet.engines`. Functions import heavy libraries themselves, and get addresses of their own schemes
    only. An engine is finished when it passes `tests/contracts/test_engine_contract.py`.

    Attributes:
        name: The name that its `Engine` has.
        title: What messages call it.
        schemes: What its addresses begin with, such as `postgresql://`; none for files and frames.
        extra: What `pip install 'discreet[…]'` adds for it.
        start: Takes an address without a table, and returns an `Engine`.
        open_table: Takes an address, `table` and `engine`, each a name or an engine or None, and returns a
            `Table`, on that engine where one was given.
        table_name: Returns the table that an address names, None if it names a database.
        list_tables: Returns the tables at an address; None where each address names a table.
        names_schemas: Whether questions name a table with its schema where that is not the usual one.
        physical_name: Where a served table is whose address a policy names; None where the name of the table
            in the policy says it.
        is_frame: Whether an object in Python is a table of this engine.
        open_frame: Takes such an object and `engine`, and returns a `Table`.
        parse_target: Takes an address and `force`, refuses a table that cannot be written, and returns a
            `TableTarget` of `discreet.engines.engine`.
        serve: Takes an address and `result_bytes`, and returns a `Database` of
            `discreet.engines.databases.database`.
        position: Its place in lists.
    """

    name: str
    title: str
    start: Callable[[str], Any]
    schemes: tuple[str, ...] = ()
    extra: str | None = None
    open_table: Callable[..., Any] | None = None
    table_name: Callable[[str], str | None] = lambda _: None
    list_tables: Callable[[str], list[str]] | None = None
    names_schemas: bool = False
    physical_name: Callable[[str], tuple[str, ...]] | None = None
    is_frame: Callable[[object], bool] = lambda _: False
    open_frame: Callable[..., Any] | None = None
    parse_target: Callable[..., Any] | None = None
    serve: Callable[..., Any] | None = None
    position: int = LAST


@dataclass(frozen=True)
class ExtensionRegistry(Generic[Spec]):
    """Everything of one kind, by name: what discreet has, and what installed packages add.

    Attributes:
        group: The group of entry points.
        noun: What one of them is called in messages.
        kind: The class of a specification.
        package: The package of discreet's own: each module holds one, called `SPEC`.
    """

    group: str
    noun: str
    kind: type[Spec]
    package: str | None = None
    _found: dict[str, Spec] = field(default_factory=dict[str, Any], compare=False, repr=False)

    def names(self) -> tuple[str, ...]:
        """Return every name; those of packages come last, and are not imported."""
        own = tuple(spec.name for spec in self.own())
        return (*own, *sorted(name for name in self._entry_points() if name not in own))

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (self._has_own(name) or name in self._entry_points())

    def __iter__(self) -> Iterator[str]:
        return iter(self.names())

    def get(self, name: str) -> Spec:
        """Return the specification called `name`.

        Raises:
            WrongUsage: Nothing is called so.
            BrokenExtension: The package that offers it cannot be used.
        """
        if name not in self._found:
            self._found[name] = self._load(name)
        return self._found[name]

    def own(self) -> tuple[Spec, ...]:
        """Return what discreet itself has, in order."""
        if self.package is None:
            return ()
        package = import_module(self.package)
        names = [module.name.replace("_", "-") for module in iter_modules(package.__path__)]
        return tuple(sorted(map(self.get, names), key=lambda spec: (spec.position, spec.name)))

    def all(self) -> tuple[Spec, ...]:
        """Return everything that can be used, in order; see `broken` for the rest."""
        added = [self._get_working(name) for name in self.names()[len(self.own()) :]]
        found = [*self.own(), *(spec for spec in added if spec is not None)]
        return tuple(sorted(found, key=lambda spec: (spec.position, spec.name)))

    def broken(self) -> Mapping[str, str]:
        """Return why what packages offer cannot be used, by name."""
        reasons: dict[str, str] = {}
        for name in self.names()[len(self.own()) :]:
            try:
                self.get(name)
            except BrokenExtension as error:
                reasons[name] = str(error)
        return reasons

    def _get_working(self, name: str) -> Spec | None:
        try:
            return self.get(name)
        except BrokenExtension:
            return None

    def _load(self, name: str) -> Spec:
        if self._has_own(name):
            spec: Spec = import_module(f"{self.package}.{name.replace('-', '_')}").SPEC
            return spec
        offered = self._entry_points().get(name)
        if offered is None:
            near = did_you_mean(name, self.names())
            raise WrongUsage(f"There is no {self.noun} '{name}'.{near}")
        packages = " and ".join(sorted({_package_name(point) for point in offered}))
        if len(offered) != 1:
            raise BrokenExtension(
                f"The packages {packages} offer the {self.noun} '{name}'. Uninstall all but one."
            )
        return self._import_spec(offered[0])

    def _import_spec(self, point: EntryPoint) -> Spec:
        """Import what a package offers; the text of its own error is withheld, it may quote data."""
        start = (
            f"The {self.noun} '{point.name}' of the package {_package_name(point)} cannot be used"
        )
        try:
            spec = point.load()
        except (Exception, SystemExit) as error:
            reason = f"{start}: importing {point.value} raised {type(error).__name__}."
            raise BrokenExtension(f"{reason} Update or uninstall the package.") from error
        if not isinstance(spec, self.kind) or spec.name != point.name:
            raise BrokenExtension(
                f"{start}: {point.value} is no {self.kind.__name__} called '{point.name}'. Update or "
                "uninstall the package."
            )
        return spec

    def _has_own(self, name: str) -> bool:
        if self.package is None or not name.replace("-", "").isalnum():
            return False
        return find_spec(f"{self.package}.{name.replace('-', '_')}") is not None

    def _entry_points(self) -> Mapping[str, tuple[EntryPoint, ...]]:
        return _find_entry_points(self.group)


def _find_entry_points(group: str) -> Mapping[str, tuple[EntryPoint, ...]]:
    """Return the entry points of a group by name."""
    found: dict[str, dict[tuple[str, str], EntryPoint]] = {}
    for point in _installed_points():
        if point.group == group:
            found.setdefault(point.name, {})[_package_name(point), point.value] = point
    return {name: tuple(points.values()) for name, points in found.items()}


@cache
def _installed_points() -> tuple[EntryPoint, ...]:
    """Return what installed packages offer to discreet; one that is installed twice counts once."""
    # What comes first on the path is what an import finds.
    packages = {_distribution_name(one): one for one in reversed(list(distributions()))}
    return tuple(point for package in packages.values() for point in _read_entry_points(package))


def _distribution_name(package: Distribution) -> str:
    try:
        return str(package.metadata["Name"]).lower().replace("_", "-")
    except Exception:  # noqa: BLE001 -- metadata that another program damaged raise anything
        return ""


def _read_entry_points(package: Distribution) -> list[EntryPoint]:
    """Return the entry points of one package; one whose metadata cannot be read offers none."""
    try:
        return [point for point in package.entry_points if point.group.startswith("discreet.")]
    except Exception:  # noqa: BLE001 -- metadata that another program damaged raise anything
        return []


def _package_name(point: EntryPoint) -> str:
    return point.dist.name if point.dist is not None else point.module


ATTACKS: ExtensionRegistry[AttackSpec] = ExtensionRegistry(
    "discreet.attacks", "attack", AttackSpec, package="discreet.attacks.specs"
)
CRITERIA: ExtensionRegistry[CriterionSpec] = ExtensionRegistry(
    "discreet.criteria", "criterion", CriterionSpec, package="discreet.criteria.specs"
)
METHODS: ExtensionRegistry[MethodSpec] = ExtensionRegistry(
    "discreet.methods", "recoding method", MethodSpec, package="discreet.release.anonymize.specs"
)
LEARNERS: ExtensionRegistry[LearnerSpec] = ExtensionRegistry(
    "discreet.learners", "learner", LearnerSpec, package="discreet.learning.specs"
)
FORMATS: ExtensionRegistry[FormatSpec] = ExtensionRegistry(
    "discreet.formats", "file format", FormatSpec, package="discreet.engines.formats"
)
ENGINES: ExtensionRegistry[EngineSpec] = ExtensionRegistry(
    "discreet.engines", "engine", EngineSpec, package="discreet.engines.specs"
)


def find_engine(source: object) -> EngineSpec | None:
    """Return the engine of an address, None for files and for what is no address.

    Raises:
        BrokenExtension: The package that offers it cannot be used.
    """
    text = str(source) if isinstance(source, (str, Path)) else ""
    scheme, colon, _ = text.partition(":")
    if not colon:
        return None
    if scheme in ENGINES:
        ENGINES.get(scheme)  # a package that cannot be imported says so
    every = (*ENGINES.own(), *ENGINES.all())
    return next((spec for spec in every if text.startswith(spec.schemes)), None)


def find_format(suffix: str) -> FormatSpec | None:
    """Return the format of files that end in `suffix`, None where there is none.

    Raises:
        BrokenExtension: The package that offers it cannot be used, or several packages offer one.
    """
    for spec in FORMATS.own():
        if suffix in spec.suffixes:
            return spec
    if suffix.removeprefix(".") in FORMATS:
        FORMATS.get(suffix.removeprefix("."))  # a package that cannot be imported says so
    found = [spec for spec in FORMATS.all() if suffix in spec.suffixes]
    if len(found) > 1:
        names = " and ".join(f"'{spec.name}'" for spec in found)
        raise BrokenExtension(
            f"The file formats {names} of installed packages have the same suffix '{suffix}'. "
            "Uninstall all but one of the packages."
        )
    return found[0] if found else None
