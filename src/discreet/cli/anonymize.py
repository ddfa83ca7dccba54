"""`discreet anonymize`: publish rows that meet the criteria, with little loss."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import click
from click.core import ParameterSource

from discreet.cli import options, output
from discreet.cli.findings import print_refusal
from discreet.cli.release_parameters import SecondsType, ShareType, WeightsType, criteria_options
from discreet.errors import InvalidManifest, RiskNotTolerated, WrongUsage
from discreet.policy.model import Utility
from discreet.registry import METHODS
from discreet.release.release import Release

if TYPE_CHECKING:
    from discreet.release.manifest import Manifest
    from discreet.release.registry import RegistryRecord

HELP = """Publish the rows of SOURCE so that every class meets the criteria.

\b
{methods}

Identifiers are left out, and what is written is measured before it is published. Criteria beyond
k, l and t are named in the policy.
"""

EXAMPLES = """\b
Examples:
  discreet anonymize people.csv --policy policy.yaml -o released.csv --report released.html
  discreet anonymize people.csv --quasi age,zip --hierarchies DIR --k 5 -o released.csv
  discreet anonymize --replay release.json -o again.csv
"""


def _method_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--suppressed",
            type=click.Choice(["keep", "drop"]),
            default="keep",
            metavar="WORD",
            help="Suppressed rows: keep (default) or drop them.",
        ),
        click.option(
            "--time",
            "seconds",
            type=SecondsType(),
            help="How long a search may take, such as 30s.",
        ),
        click.option("--target", metavar="COLUMN", help="What a classifier is to predict."),
        click.option(
            "--weights",
            type=WeightsType(),
            hidden=True,
            help="What columns count for, such as age=2.",
        ),
        click.option(
            "--utility",
            type=options.SuggestingChoice(get_args(Utility)),
            metavar="NAME",
            help="What full-domain keeps small: loss, height …",
        ),
        click.option(
            "--suppress", type=ShareType(), help="Rows that may be suppressed, such as 5%."
        ),
        click.option(
            "--method",
            type=options.SuggestingChoice(METHODS.names()),
            metavar="NAME",
            help="How classes are made.",
        ),
    ):
        command = option(command)
    return command


def _output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in (
        click.option(
            "--replay",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="Make the release of a manifest again.",
        ),
        click.option(
            "--manifest",
            type=click.Path(path_type=Path),
            metavar="FILE",
            help="The manifest. Default: release.json.",
        ),
        click.option("--dry-run", is_flag=True, help="Search and tell, publish nothing."),
        click.option("--force", is_flag=True, help="Replace what is at the output."),
        click.option(
            "-o",
            "--output",
            "out",
            metavar="OUT",
            callback=options.require_name,
            help="A .csv or .parquet file, a folder/, or a table.",
        ),
    ):
        command = option(command)
    return command


def _list_methods() -> str:
    width = max(map(len, METHODS)) + 2
    lines = [f"{spec.name:<{width}}{spec.summary}" for spec in METHODS.all()]
    return "\n".join([*lines, *METHODS.broken().values()])


@click.command(help=HELP.format(methods=_list_methods()), epilog=EXAMPLES)
@click.argument("source", metavar="SOURCE", required=False, callback=options.require_name)
@options.policy_option
@options.role_options
@options.leave_out_option
@click.option(
    "--hierarchies",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Files named …_hierarchy_<column>.csv.",
)
@_output_options
@criteria_options
@_method_options
@click.option("--against", metavar="SOURCE", help="The population, for k-map and presence.")
@click.option(
    "--earlier",
    multiple=True,
    metavar="FILE",
    callback=options.require_name,
    help="A release of the same people made before.",
)
@options.accept_risk_option
@click.option("--frontier", is_flag=True, help="Also tell what other k would cost.")
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
        raise click.UsageError("Say where the release goes with -o, or add --dry-run.")
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
            raise click.UsageError(f"The manifest says it all: leave {parameter.opts[0]} out.")
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
            f"The release of {path} is not in {places}: only its custodian's registry knows what it was "
            "made from. Run where it was made, or bring the registry back."
        )
    return record


def _report_writer(path: Path) -> Callable[[Release], None]:
    from discreet.report.release import write_release_report
    from discreet.writing import require_writable_path

    require_writable_path(path)
    return lambda found: write_release_report(found, path)
