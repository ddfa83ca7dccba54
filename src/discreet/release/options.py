"""The settings of a release, decided once: arguments of the call override the policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from discreet.criteria.criterion import SensitiveCriterion, is_within_bounds
from discreet.errors import (
    ConflictingRoles,
    InvalidCriterion,
    InvalidPolicy,
    SourceNotFound,
    UnknownColumn,
    WrongUsage,
    did_you_mean,
)
from discreet.policy import model
from discreet.policy.hierarchies.lookup import read_lookup
from discreet.policy.hierarchy import Hierarchy

MARK = "_hierarchy_"


@dataclass(frozen=True)
class AnonymizeOptions:
    """The settings of a call besides the policy; None leaves a setting to the policy.

    A criterion given here replaces the policy's criteria of the same kind about the same column; one
    whose column is empty is about every sensitive column.
    """

    quasi: Sequence[str] | None = None
    sensitive: Sequence[str] | None = None
    unit: str | None = None
    hierarchies: Path | None = None
    criteria: Sequence[model.Criterion] = ()
    method: str | None = None
    suppress: float | None = None
    utility: model.Utility | None = None
    weights: Mapping[str, float] = field(default_factory=dict[str, float])
    target: str | None = None
    options: Mapping[str, object] = field(default_factory=dict[str, object])
    leave_out: Sequence[str] = ()
    weight: str | None = None
    household: str | None = None
    publish_weight: bool | None = None


def apply_options(
    policy: model.TablePolicy | None, options: AnonymizeOptions, *, name: str
) -> model.TablePolicy:
    """Return the table's policy as it is to be carried out, without the columns that are left out.

    Raises:
        WrongUsage: No quasi-identifiers or no criteria are given.
        UnknownColumn: A weight is given to a column that is no quasi-identifier.
    """
    if policy is None and options.quasi is None:
        raise WrongUsage(
            "Say which columns outsiders may know: --quasi age,sex,zip, or a policy with --policy "
            "(draft one with `discreet init`). Guessing is for assessing, not for publishing."
        )
    table = policy or model.TablePolicy(name, ())
    left_out = [*table.release.leave_out, *options.leave_out]
    _require_published(options, left_out)
    table = table.without(left_out)
    table = replace(table, columns=_apply_roles(table, options))
    table = replace(
        table,
        unit=options.unit or table.unit,
        criteria=_apply_criteria(table, options),
        release=_release(table.release, options),
    )
    if not table.criteria:
        raise WrongUsage(
            "No criterion says when the table is safe. Add `criteria:` to the policy, or ask for "
            "one: --k 5."
        )
    quasi = table.with_role(model.ColumnRole.QUASI_IDENTIFIER)
    _require_weighed(options.weights, quasi)
    if quasi and all(table.release.weights.get(name, 1) == 0 for name in quasi):
        raise WrongUsage(
            "Every quasi-identifier has the weight 0, so that nothing would be worth keeping. Give "
            "one of them another."
        )
    if table.release.utility == "classification" and table.release.target is None:
        raise WrongUsage(
            "The utility classification needs the column to predict: --target NAME, or `target:` "
            "in the policy's release."
        )
    return table


def _require_published(options: AnonymizeOptions, left_out: Sequence[str]) -> None:
    about = [getattr(criterion, "column", None) for criterion in options.criteria]
    named = [*(options.quasi or ()), *(options.sensitive or ()), *options.weights, options.target]
    named += [options.weight, options.household]
    for name in left_out:
        if name in (*named, *about):
            raise ConflictingRoles(
                f"Column '{name}' is left out of what is published, and an option is about it. Publish it "
                "(`leave-out` in the policy, --leave-out), or drop the option."
            )


def caution_set_aside(
    policy: model.TablePolicy | None, asked: model.TablePolicy
) -> tuple[str, ...]:
    """Return a caution about columns that the policy protects and the call publishes as they are."""
    published = asked.with_role(model.ColumnRole.INSENSITIVE)
    aside = [
        f"'{column.name}'"
        for column in (policy.columns if policy else ())
        if column.role is not model.ColumnRole.INSENSITIVE and column.name in published
    ]
    if not aside:
        return ()
    names = ", ".join(aside)
    return (f"Published as it is, though the policy protects it: {names}. Name it here as well.",)


def _require_weighed(weights: Mapping[str, float], quasi: Sequence[str]) -> None:
    for name in weights:
        if name not in quasi:
            near = did_you_mean(name, quasi)
            raise UnknownColumn(
                f"A weight is given to '{name}', which is no quasi-identifier.{near}"
            )


def read_hierarchies(folder: Path, names: Sequence[str]) -> Mapping[str, Hierarchy]:
    """Return the hierarchies of the named columns: files `…_hierarchy_<column>.csv` in `folder`.

    Raises:
        SourceNotFound: There is no such folder, or no such file in it for any of the columns.
    """
    if not folder.is_dir():
        raise SourceNotFound(f"There is no folder {folder} with hierarchies.")
    files = {
        path.stem.partition(MARK)[2]: path
        for path in sorted(folder.glob("*.csv"))
        if MARK in path.stem
    }
    found = {name: read_lookup(files[name]) for name in names if name in files}
    if not found:
        near = did_you_mean(names[0], files) if names else ""
        raise SourceNotFound(
            f"{folder} has no file named like people{MARK}{names[0] if names else 'age'}.csv for "
            f"any quasi-identifier.{near}"
        )
    return found


def _apply_roles(
    table: model.TablePolicy, options: AnonymizeOptions
) -> tuple[model.ColumnPolicy, ...]:
    columns = {column.name: column for column in table.columns}
    for name in set(options.quasi or ()) & set(options.sensitive or ()):
        raise ConflictingRoles(
            f"Column '{name}' is both quasi-identifier and sensitive. An outsider either knows it or "
            "must not learn it: choose one role."
        )
    for role, names in (
        (model.ColumnRole.QUASI_IDENTIFIER, options.quasi),
        (model.ColumnRole.SENSITIVE, options.sensitive),
    ):
        if names is None:
            continue
        for name, column in columns.items():
            if column.role is role and name not in names:
                columns[name] = replace(column, role=model.ColumnRole.INSENSITIVE)
        for name in names:
            known = columns.get(name)
            columns[name] = replace(known, role=role) if known else model.ColumnPolicy(name, role)
    _apply_survey_roles(columns, options)
    if options.hierarchies is not None:
        quasi = [n for n, c in columns.items() if c.role is model.ColumnRole.QUASI_IDENTIFIER]
        for name, hierarchy in read_hierarchies(options.hierarchies, quasi).items():
            columns[name] = replace(columns[name], hierarchy=hierarchy)
    return tuple(columns.values())


def _apply_survey_roles(columns: dict[str, model.ColumnPolicy], options: AnonymizeOptions) -> None:
    """Give the named weight and household their roles; a weight of the policy is not published either."""
    known = {
        model.ColumnRole.WEIGHT: options.weight,
        model.ColumnRole.HOUSEHOLD: options.household,
    }
    for role, name in known.items():
        if name is None:
            continue
        if name in (*(options.quasi or ()), *(options.sensitive or ())):
            raise ConflictingRoles(
                f"Column '{name}' is named as {role}, and as quasi-identifier or sensitive as well. "
                "Choose one role."
            )
        if role is model.ColumnRole.WEIGHT:
            other = {n: c for n, c in columns.items() if c.role is role and n != name}
            columns |= {n: replace(c, role=model.ColumnRole.IDENTIFIER) for n, c in other.items()}
        found = columns.get(name) or model.ColumnPolicy(name, role)
        columns[name] = replace(found, role=role, unsure=False)


def _apply_criteria(
    table: model.TablePolicy, options: AnonymizeOptions
) -> tuple[model.Criterion, ...]:
    wanted = [one for criterion in options.criteria for one in _for_each(criterion, table)]
    for criterion in wanted:
        _require_valid(criterion)
    replaced = {(type(one), getattr(one, "column", None)) for one in wanted}
    kept = [
        criterion
        for criterion in table.criteria
        if (type(criterion), getattr(criterion, "column", None)) not in replaced
    ]
    return (*kept, *wanted)


def _for_each(criterion: model.Criterion, table: model.TablePolicy) -> list[model.Criterion]:
    """Return a criterion without a column as one for each sensitive column."""
    if not isinstance(criterion, SensitiveCriterion) or criterion.column:
        return [criterion]
    names = table.with_role(model.ColumnRole.SENSITIVE)
    if not names:
        raise WrongUsage(
            "A criterion about sensitive values was asked for, and no column is sensitive. Name "
            "one: --sensitive diagnosis."
        )
    return [replace(criterion, column=name) for name in names]


def _require_valid(criterion: model.Criterion) -> None:
    """Refuse parameters that a policy may not have, in the policy's words."""
    if is_within_bounds(criterion):
        return  # without loading what reads policies
    from discreet.policy.load import parse_policy
    from discreet.policy.write import criterion_value, flow_text

    column = getattr(criterion, "column", None)
    table = {
        "columns": {column or "column": "sensitive", "other column": "quasi-identifier"},
        "criteria": [criterion_value(criterion)],
    }
    try:
        parse_policy(flow_text({"tables": {"table": table}}))
    except InvalidPolicy as error:
        sentences = [fault.partition(": ")[2] or fault for fault in error.faults]
        raise InvalidCriterion("\n".join(sentences)) from None


def _release(release: model.ReleasePolicy, options: AnonymizeOptions) -> model.ReleasePolicy:
    given = {
        "method": options.method,
        "suppress": options.suppress,
        "utility": options.utility,
        "target": options.target,
        "publish_weight": options.publish_weight,
    }
    chosen = {name: value for name, value in given.items() if value is not None}
    # Options of the policy are those of its method.
    kept = release.options if options.method in (None, release.method) else {}
    return replace(
        release,
        **chosen,
        weights={**release.weights, **options.weights},
        options={**kept, **options.options},
    )
