"""`discreet.deidentify`: rows without what names people, by one of three methods."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from discreet.api.publication import open_registry, read_rows
from discreet.errors import WrongUsage
from discreet.policy.model import Policy
from discreet.release.deidentify import kinds
from discreet.release.deidentify.apply_pseudonyms import PseudonymChoices
from discreet.release.deidentify.deidentify import (
    determine_source,
    prepare_target,
    pseudonymize_source,
    safe_harbor,
)
from discreet.release.deidentify.expert import Determination, ExpertChoices
from discreet.release.deidentify.keys import SecretKey, read_key_file, read_key_variable
from discreet.release.deidentify.record import Deidentified
from discreet.release.deidentify.zip_areas import read_small_areas
from discreet.release.source import SourceOptions

DeidentificationMethod = Literal["safe-harbor", "expert", "pseudonymize"]
SAFE_HARBOR, EXPERT, PSEUDONYMIZE = "safe-harbor", "expert", "pseudonymize"
# Options that only some methods know.
METHODS_OF_OPTION: Mapping[str, tuple[str, ...]] = {
    "as_of": (SAFE_HARBOR,),
    "classes": (SAFE_HARBOR,),
    "restricted_zips": (SAFE_HARBOR,),
    "keep": (SAFE_HARBOR, PSEUDONYMIZE),
    "unit": (SAFE_HARBOR, PSEUDONYMIZE),
    **dict.fromkeys(("threshold", "adversary", "against", "fraction", "expert"), (EXPERT,)),
    **dict.fromkeys(
        ("key_file", "key_env", "columns", "format_preserving", "reversible", "tokens", "mapping"),
        (PSEUDONYMIZE,),
    ),
    "shift_dates": (PSEUDONYMIZE,),
}


def deidentify(  # noqa: PLR0913 -- the options of the command
    source: object,
    policy: Policy | str | Path | None = None,
    *,
    method: DeidentificationMethod,
    output: str | Path | None = None,
    dry_run: bool = False,
    as_of: int | None = None,
    classes: Mapping[str, str] | None = None,
    restricted_zips: str | Path | None = None,
    keep: Sequence[str] | None = None,
    unit: str | None = None,
    threshold: float | None = None,
    adversary: Literal["prosecutor", "journalist", "marketer"] | None = None,
    against: object = None,
    fraction: float | None = None,
    expert: str | None = None,
    key_file: str | Path | None = None,
    key_env: str | None = None,
    columns: Sequence[str] | None = None,
    reversible: Sequence[str] | None = None,
    format_preserving: Sequence[str] | None = None,
    tokens: Sequence[str] | None = None,
    shift_dates: Sequence[str] | None = None,
    mapping: str | Path | None = None,
    leave_out: Sequence[str] | None = None,
    accept_risk: str | None = None,
    force: bool = False,
    table: str | None = None,
    delimiter: str | None = None,
    encoding: str | None = None,
    memory: str | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> Deidentified | Determination:
    """Return `source` without what names people.

    `safe-harbor` removes or coarsens HIPAA's 18 classes of identifiers, also in free text; `expert`
    measures the risk of a release against a threshold, for an expert to sign; `pseudonymize` replaces
    identifiers by keyed pseudonyms, so that joins survive. Without `output` the rows of `safe-harbor`
    and `pseudonymize` stay in memory: `to_pandas()`, `to_polars()`, `to_arrow()`.

    Args:
        source: A path, a URL, or a frame: pandas, polars, pyarrow, a DuckDB relation, Spark.
        policy: A policy or the path of its file; its identifiers are removed in any case.
        method: One of the three.
        output: Where rows go; `OUTPUT.release.json` describes how they were made.
        dry_run: Say what would be done; no rows are written or handed out.
        as_of: Safe Harbor: the year to which ages are counted; by default this year.
        classes: Safe Harbor: columns whose class is known: A to R, `zip`, `age` or `text`.
        restricted_zips: Safe Harbor: a file with small ZIP areas, one in each line.
        keep: Columns that stay as they are.
        unit: The column that says whose rows they are.
        threshold: Expert: the greatest risk; by default 0.09.
        adversary: Expert: `prosecutor` (default), `journalist` or `marketer`.
        against: Expert: the population of the people.
        fraction: Expert: the share of the population that is in the table.
        expert: Expert: who signs.
        key_file: Pseudonyms: the file with the secret key.
        key_env: Pseudonyms: the variable with the secret key.
        columns: Pseudonyms: columns with keyed pseudonyms that cannot be undone.
        reversible: Pseudonyms: columns with pseudonyms that the key undoes.
        format_preserving: Pseudonyms: columns with pseudonyms of the same form.
        tokens: Pseudonyms: columns with random texts instead.
        shift_dates: Pseudonyms: dates that move together by person.
        mapping: Pseudonyms: a sealed file of random texts, which are reused.
        leave_out: Columns that are not published, besides those that the policy leaves out.
        accept_risk: Why it is published even if attacks learn more than the policy tolerates.
        force: Replace what is at `output`.
        table: The table's name in the policy or in the database.
        delimiter: What separates the columns of a CSV file.
        encoding: The encoding of a CSV file.
        memory: How much memory the engine may use, such as `4GB`.
        progress: Called with a phase's name, what is done and what there is to do.

    Raises:
        RiskNotTolerated: Attacks on the rows learn more than is tolerated; nothing was published.

    >>> import pyarrow
    >>> people = pyarrow.table({"name": ["Ann Lee", "Bob Ray"], "born": ["1931-05-02", "1985-07-01"]})
    >>> found = deidentify(people, method="safe-harbor", as_of=2026, accept_risk="an example")
    >>> [(column.column, column.action) for column in found.columns]
    [('name', 'removed'), ('born', 'year')]
    >>> found.to_arrow().column_names
    ['born']
    """
    given = dict(locals())
    for name, methods in METHODS_OF_OPTION.items():
        if given[name] is not None and method not in methods:
            raise WrongUsage(
                f"{name} belongs to the method {' or '.join(methods)}, not to {method}."
            )
    if dry_run and output is not None:
        prepare_target(output, force=force)
    common: dict[str, Any] = {
        "accept_risk": accept_risk,
        "force": force,
        "reading": SourceOptions(table, delimiter, encoding, memory, leave_out or (), unit),
        "progress": progress,
        "registry": open_registry(
            source, policy=policy, table=table, remembers=output is not None and not dry_run
        ),
    }
    run = _RUNS[method]
    if method == EXPERT or dry_run or output is not None:
        return run(source, None if dry_run else output, given, common)
    with tempfile.TemporaryDirectory(prefix="discreet-release-") as folder:
        place = Path(folder) / "release.parquet"
        found = run(source, place, given, common)
        return found.with_rows(read_rows(place))  # pyright: ignore[reportAttributeAccessIssue]


def _run_safe_harbor(
    source: object, output: str | Path | None, given: Mapping[str, Any], common: Mapping[str, Any]
) -> Deidentified:
    areas = given["restricted_zips"]
    return safe_harbor(
        source,
        output,
        as_of=given["as_of"] or datetime.now(UTC).year,
        policy=given["policy"],
        classes=given["classes"],
        keep=given["keep"] or (),
        unit=given["unit"],
        small=None if areas is None else read_small_areas(Path(areas)),
        **common,
    )


def _run_expert(
    source: object, output: str | Path | None, given: Mapping[str, Any], common: Mapping[str, Any]
) -> Determination:
    names = ("threshold", "adversary", "against", "fraction", "expert")
    decided = {name: given[name] for name in names if given[name] is not None}
    return determine_source(
        source,
        given["policy"],
        output,
        # What would be written is judged, also in a dry run.
        choices=ExpertChoices(**decided, remove_identifiers=given["output"] is not None),
        **common,
    )


def _run_pseudonymize(
    source: object, output: str | Path | None, given: Mapping[str, Any], common: Mapping[str, Any]
) -> Deidentified:
    mapping = given["mapping"]
    if mapping is not None and not given["tokens"]:
        raise WrongUsage("A mapping keeps random texts. Name the columns that get them: tokens.")
    return pseudonymize_source(
        source,
        output,
        choices=PseudonymChoices(
            columns=choose_pseudonyms(given),
            key=read_secret_key(given["key_file"], given["key_env"]),
            unit=given["unit"],
            keep=given["keep"] or (),
        ),
        mapping=None if mapping is None else Path(mapping),
        policy=given["policy"],
        **common,
    )


_RUNS: Mapping[str, Callable[..., Any]] = {
    SAFE_HARBOR: _run_safe_harbor,
    EXPERT: _run_expert,
    PSEUDONYMIZE: _run_pseudonymize,
}


def choose_pseudonyms(given: Mapping[str, Collection[str] | None]) -> dict[str, kinds.Pseudonym]:
    """Return the kind of pseudonym of each named column; a column has one."""
    wanted: dict[str, type[kinds.Pseudonym]] = {
        "columns": kinds.KeyedHash,
        "reversible": kinds.Reversible,
        "format_preserving": kinds.FormatPreserving,
        "tokens": kinds.RandomToken,
        "shift_dates": kinds.DateShift,
    }
    found: dict[str, kinds.Pseudonym] = {}
    for option, kind in wanted.items():
        for name in given.get(option) or ():
            if name in found:
                raise WrongUsage(f"Column '{name}' is named for two pseudonyms. Name it once.")
            found[name] = kind()
    return found


def read_secret_key(key_file: str | Path | None, key_env: str | None) -> SecretKey | None:
    """Return the key of pseudonyms from a file or a variable, None where neither is named."""
    if key_file is not None and key_env is not None:
        raise WrongUsage("There are two keys. Give --key-file or --key-env, not both.")
    if key_file is not None:
        return read_key_file(Path(key_file))
    return read_key_variable(key_env) if key_env is not None else None
