"""`discreet anonymize`: publish rows that meet the criteria, with little loss."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from discreet.api.criteria import (
    CriterionLevel,
    criteria_by_option,
    is_by_column,
    level_kinds,
    parse_level,
)
from discreet.cli import options, output
from discreet.cli.findings import ShareType, print_refusal
from discreet.criteria.criterion import parameter_types
from discreet.errors import InvalidManifest, RiskNotTolerated, WrongUsage
from discreet.option_values import read_values
from discreet.policy.model import Utility
from discreet.registry import METHODS, CriterionSpec
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.release.manifest import Manifest
    from discreet.release.registry import RegistryRecord

HELP = """\b
Publish the rows of SOURCE without identifiers, so that every class meets the criteria.
What is written is measured and attacked before it is published. Methods:
{methods}
"""

GROUPS = {
    "Criteria": (*criteria_by_option(), "against", "earlier", "accept_risk"),
    "Method": (
        *("method", "suppress", "utility", "target", "seconds", "suppressed"),
        *("frontier", "minimal"),
    ),
}

EXAMPLES = """\b
Examples:
  discreet anonymize people.csv --policy policy.yaml -o released.csv --report released.html
  discreet anonymize people.csv --quasi age,zip --hierarchies DIR --k 5 -o released.csv
"""


class SecondsType(click.ParamType[float]):
    """A time written `30s`, `2m` or `30`."""

    name = "time"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float:
        """Return the time in seconds."""
        if isinstance(value, float):
            return value
        parts = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h)?", str(value).strip())
        if not parts or float(parts[1]) <= 0:
            self.fail("Write a time such as 30s or 2m.", param, ctx)
        return float(parts[1]) * {"s": 1, "m": 60, "h": 3600, None: 1}[parts[2]]


class WeightsType(click.ParamType[dict[str, float]]):
    """What columns count for: `age=2,zip=0.5`."""

    name = "column=weight,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, float]:
        """Return the weight of each column."""
        if isinstance(value, dict):
            return {str(name): float(weight) for name, weight in value.items()}
        found: dict[str, float] = {}
        for part in str(value).split(","):
            name, equals, number = part.rpartition("=")
            try:
                weight = float(number)
            except ValueError:
                weight = -1.0
            if not equals or not name.strip() or not 0 <= weight < float("inf"):
                self.fail("Write columns with their weights, such as age=2,zip=0.5.", param, ctx)
            found[name.strip()] = weight
        return found


class MethodOptionsType(click.ParamType[dict[str, Any]]):
    """Options of a method: `search=optimal`; the method's specification reads their values."""

    name = "name=value,…"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> dict[str, Any]:
        """Return what is stated, by name."""
        if isinstance(value, dict):
            return value
        try:
            return dict(read_values(value))
        except ValueError:
            self.fail("Write options with their values, such as search=optimal.", param, ctx)


class CriterionLevelType(click.ParamType[CriterionLevel]):
    """`[COLUMN=][KIND:]NUMBER`, the kind one of a few words."""

    def __init__(self, spec: CriterionSpec) -> None:
        self.spec = spec
        self.name = "[column=][kind:]number" if level_kinds(spec) else "[column=]number"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> CriterionLevel:
        """Return the level; the last equals sign ends the column's name."""
        if isinstance(value, CriterionLevel):
            return value
        found = parse_level(str(value), self.spec)
        if found is None:
            kinds = level_kinds(self.spec)
            words = f" Kinds: {', '.join(kinds)}." if kinds else ""
            self.fail(f"Write {' or '.join(self.spec.examples)}.{words}", param, ctx)
        return found


def _criteria_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that ask for criteria."""
    for spec in reversed(criteria_by_option().values()):
        command = click.option(
            f"--{spec.option.replace('_', '-')}",
            spec.option,
            hidden=spec.hidden,
            type=_option_type(spec),
            multiple=is_by_column(spec),
            metavar=spec.metavar,
            help=spec.option_summary,
        )(command)
    return command


def _option_type(spec: CriterionSpec) -> Any:
    if is_by_column(spec):
        return CriterionLevelType(spec)
    types = [
        click.IntRange(None if stated.at_least is None else int(stated.at_least))
        if written is int
        else click.FLOAT
        for written, stated in parameter_types(spec.criterion).values()
    ]
    return types[0] if len(types) == 1 else tuple(types)


_method_options = options.combine_options(
    click.option(
        "--method",
        type=options.SuggestingChoice(METHODS.names()),
        metavar="NAME",
        help="One of the methods above.",
    ),
    click.option(
        "--suppress",
        type=ShareType(),
        help="Rows that may be suppressed, such as 5%.",
    ),
    click.option(
        "--utility",
        type=options.SuggestingChoice(get_args(Utility)),
        metavar="NAME",
        help="What full-domain minimizes: loss (default), height …",
    ),
    click.option(
        "--weights",
        type=WeightsType(),
        hidden=True,
        help="What columns count for, such as age=2.",
    ),
    click.option(
        "--options",
        type=MethodOptionsType(),
        hidden=True,
        help="Options of the method, such as search=optimal.",
    ),
    click.option("--target", metavar="COLUMN", help="The column that a classifier is to predict."),
    click.option(
        "--time",
        "seconds",
        type=SecondsType(),
        help="The time limit of a search, such as 30s.",
    ),
    click.option(
        "--suppressed",
        type=click.Choice(["keep", "drop"]),
        default="keep",
        metavar="WORD",
        hidden=True,
        help="Suppressed rows: keep (default) or drop.",
    ),
)


_output_options = options.combine_options(
    click.option(
        "-o",
        "--output",
        "out",
        metavar="OUT",
        callback=options.require_name,
        help="A .csv or .parquet file, a folder/, or a table.",
    ),
    click.option("--force", is_flag=True, help="Replace the output if it exists."),
    click.option("--dry-run", is_flag=True, help="Search and report, publish nothing."),
    click.option(
        "--manifest",
        type=click.Path(path_type=Path),
        metavar="FILE",
        hidden=True,
        help="Where the manifest goes. Default: OUT.release.json.",
    ),
    click.option(
        "--replay",
        type=click.Path(path_type=Path),
        metavar="FILE",
        help="Make the release of a manifest again.",
    ),
)


def _list_methods() -> str:
    width = max(map(len, METHODS)) + 2
    lines = [f"  {spec.name:<{width}}{spec.summary}" for spec in METHODS.all()]
    return "\n".join([*lines, *METHODS.broken().values()])


@click.command(
    cls=options.SourceCommand,
    help=HELP.format(methods=_list_methods()),
    epilog=EXAMPLES,
    groups=GROUPS,
)
@click.argument("source", metavar="SOURCE", required=False, callback=options.require_name)
@options.policy_option
@options.role_options
@options.survey_options
@click.option(
    "--publish-weight", is_flag=True, hidden=True, help="Publish the sampling weights as well."
)
@options.leave_out_option
@click.option(
    "--hierarchies",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder of files named …_hierarchy_<column>.csv.",
)
@_output_options
@_criteria_options
@_method_options
@click.option("--against", metavar="SOURCE", help="The population, for k-map and δ-presence.")
@click.option(
    "--earlier",
    multiple=True,
    metavar="FILE",
    callback=options.require_name,
    help="An earlier release of the same people.",
)
@options.accept_risk_option
@click.option("--frontier", is_flag=True, help="Also show what other k would cost.")
@click.option("--minimal", is_flag=True, help="Also list all minimal generalizations.")
@click.option(
    "--key-file",
    hidden=True,
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="The secret of steps with chance.",
)
@options.reading_options
@options.report_option
@options.json_option
def command(
    source: str | None, replay: Path | None, report: Path | None, as_json: bool, **choices: Any
) -> None:
    """Publish rows that meet the criteria."""
    choices["report"] = report
    if choices["dry_run"] and choices["manifest"] is not None:
        raise click.UsageError("--dry-run publishes nothing that a --manifest could prove.")
    write = _report_writer(report) if report is not None else None
    try:
        found = _run_replay(replay, choices, source) if replay else _run_publish(source, choices)
    except RiskNotTolerated as refusal:
        print_refusal(refusal, as_json=as_json, report=report)
        raise
    if write is not None:
        write(found)
    if as_json:
        output.print_json(found)
    else:
        from discreet.cli.release_output import show_release

        show_release(found, output.console())
    if report is not None:
        click.echo(f"Report written to {report}.", err=True)


def _run_publish(source: str | None, choices: dict[str, Any]) -> Release:
    if source is None:
        raise click.UsageError("Name the SOURCE, or a manifest with --replay.")
    if choices["out"] is None and not choices["dry_run"]:
        raise click.UsageError("Name the output with -o, or add --dry-run.")
    return _publish_release(source, choices)


def _publish_release(
    source: str, choices: dict[str, Any], *, expected: str | None = None
) -> Release:
    """Return the release that the words ask for, written with its manifest."""
    from discreet.api.anonymize import anonymize
    from discreet.api.publication import kept_choices
    from discreet.release.manifest import manifest_path
    from discreet.writing import refuse_collisions

    out = None if choices["dry_run"] else choices["out"]
    manifest = None if out is None else choices["manifest"] or manifest_path(out)
    refuse_collisions(
        (choices["policy"], choices["against"], choices["key_file"]),
        {"the rows": out, "the manifest": manifest, "the report": choices["report"]},
        source=source,
    )
    others = ("force", "dry_run", "key_file", "frontier", "minimal", "memory")
    same = {*kept_choices(), *others} - {"policy", "seconds"}
    with output.progress() as step:
        return anonymize(
            source,
            choices["policy"],
            output=out,
            manifest=choices["manifest"] if out is not None else None,
            expected=expected,
            time=choices["seconds"],
            progress=step,
            **{name: choices[name] for name in same},
        )


def _run_replay(path: Path, choices: dict[str, Any], source: str | None) -> Release:
    if source is not None:
        raise click.UsageError("A manifest names its source. Leave SOURCE out with --replay.")
    from discreet.api.publication import kept_choices

    context = click.get_current_context()
    for parameter in context.command.params:
        is_given = context.get_parameter_source(str(parameter.name)) is ParameterSource.COMMANDLINE
        if is_given and parameter.name in kept_choices():
            raise click.UsageError(
                f"The manifest holds all options: leave {parameter.opts[0]} out."
            )
    return _replay_release(path, choices, command=context.command)


def _replay_release(path: Path, choices: dict[str, Any], *, command: click.Command) -> Release:
    """Make the release of a manifest again; a file that differs is an error.

    The options of `command` read what the manifest keeps.
    """
    from discreet.api.publication import kept_choices
    from discreet.release.manifest import read_manifest, require_unchanged

    manifest = read_manifest(path)
    record = _find_record(manifest, path)
    require_unchanged(record)
    arguments = dict(record.content["arguments"])
    source = arguments.pop("source", None)
    if not isinstance(source, str) or source == "-":
        raise WrongUsage(f"{path} does not name a source that can be read again.")
    out = choices["out"] or manifest.output
    if out is None or out.startswith("table "):
        raise WrongUsage(f"The release of {path} went to {out or 'no file'}. Say where with -o.")
    if manifest.sha256 is not None and Path(out).suffixes != Path(str(manifest.output)).suffixes:
        raise WrongUsage(
            f"The release of {path} is {manifest.output}: a file of another kind cannot be the same. "
            "Name one with the same ending."
        )
    context = click.Context(command)
    types = {parameter.name: parameter for parameter in command.params}
    restored = {
        name: types[name].type_cast_value(context, value) if value is not None else value
        for name, value in arguments.items()
        if name in kept_choices()
    }
    again = {**choices, **restored, "out": out}
    if choices["manifest"] is None and Path(str(out)) == Path(str(manifest.output)):
        again["manifest"] = path
    return _publish_release(source, again, expected=manifest.sha256)


def _find_record(manifest: Manifest, path: Path) -> RegistryRecord:
    """Return what the custodian's registry has of a manifest's release."""
    from discreet.release.registry import find_record, registry_folders

    policy, source = (manifest.arguments.get(name) for name in ("policy", "source"))
    folders = registry_folders(policy=policy, source=source)
    record = find_record(folders, manifest.id) if manifest.id else None
    if record is None:
        places = " or ".join(str(folder) for folder in folders)
        raise InvalidManifest(
            f"The release of {path} is not in {places}: only its custodian's registry holds what it was "
            "made from. Run where it was made, or bring the registry back."
        )
    return record


def _report_writer(path: Path) -> Callable[[Release], None]:
    from discreet.report.release import write_release_report
    from discreet.writing import require_writable_path

    require_writable_path(path)
    return lambda found: write_release_report(found, path)
