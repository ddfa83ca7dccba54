"""Every error code, verb, option and criterion has its place in the reference."""

from __future__ import annotations

import re
import runpy
from pathlib import Path

import click
import pytest

from discreet import errors
from discreet.cli.command import VERBS, cli
from discreet.errors import DiscreetError
from discreet.learning.statistics.kinds import STATISTICS
from discreet.policy.json_schema import policy_schema
from discreet.registry import ATTACKS, CRITERIA, FORMATS, LEARNERS
from discreet.server.gateway.variables import DEFAULTS

REFERENCE = Path(__file__).parents[2] / "docs" / "reference"
OBSERVED = REFERENCE.parents[1] / "src" / "discreet" / "server"
ERRORS = (REFERENCE / "errors.md").read_text("utf-8")
KINDS = [
    kind
    for kind in vars(errors).values()
    if isinstance(kind, type) and issubclass(kind, DiscreetError)
]


def section(text: str, heading: str) -> str:
    """Return what stands below a heading of the second level."""
    return (text.partition(f"\n## {heading}\n")[2]).partition("\n## ")[0]


def options_of(verb: str) -> list[str]:
    """Return the long names of a verb's options, and of those of its parts."""
    command = cli.get_command(click.Context(cli), verb)
    assert command is not None
    parts: list[click.Command] = []
    if isinstance(command, click.Group):
        context = click.Context(command)
        found = [command.get_command(context, name) for name in command.list_commands(context)]
        parts = [part for part in found if part is not None]
    return [
        name
        for parameter in [item for part in (command, *parts) for item in part.params]
        if isinstance(parameter, click.Option)
        for name in (*parameter.opts, *parameter.secondary_opts)
        if name.startswith("--")
    ]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.code)
def test_an_error_code_has_a_heading_an_example_and_a_remedy(kind: type[DiscreetError]):
    text = section(ERRORS, kind.code)
    assert text.strip()
    assert f"| [`{kind.code}`](#{kind.code}) | {kind.exit_code} | `{kind.__name__}` |" in ERRORS
    if kind is not DiscreetError:
        assert f"[{kind.code}]\n" in text


def test_no_code_is_documented_that_does_not_exist():
    headings = re.findall(r"^## (\S+)$", ERRORS, re.MULTILINE)
    assert sorted(headings) == sorted(kind.code for kind in KINDS)


@pytest.mark.parametrize("code", [0, 1, 2, 3, 4, 130, 143])
def test_an_exit_code_is_documented(code: int):
    assert f"\n| {code} | " in (REFERENCE / "exit-codes.md").read_text("utf-8")


@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_has_a_page_that_names_each_of_its_options(verb: str):
    page = (REFERENCE / f"{verb}.md").read_text("utf-8")
    assert page.startswith(f"# discreet {verb}\n") or f"`discreet {verb}`" in page
    assert [name for name in options_of(verb) if not re.search(rf"`[^`\n]*{name}\b", page)] == []


@pytest.mark.parametrize("verb", VERBS)
def test_a_page_names_no_option_that_the_verb_lacks(verb: str):
    page = (REFERENCE / f"{verb}.md").read_text("utf-8")
    listed = re.findall(r"^\| (`.+?`) \|", page, re.MULTILINE)
    named = {name for cell in listed for name in re.findall(r"--[a-z-]+", cell)}
    assert sorted(named - set(options_of(verb)) - {"--help"}) == []


@pytest.mark.parametrize("name", sorted(CRITERIA))
def test_a_criterion_has_headings_in_the_policy_and_among_criteria(name: str):
    for page in ("policy.md", "criteria.md"):
        text = (REFERENCE / page).read_text("utf-8")
        assert re.search(rf"^#+ .*\b{name}\b", text, re.MULTILINE | re.IGNORECASE), page


def test_the_policy_knows_the_same_criteria_as_the_measures():
    written = str(policy_schema())
    assert [name for name in CRITERIA if f"'{name}'" not in written] == []


def test_the_page_of_settings_is_up_to_date():
    made = runpy.run_path(str(REFERENCE.parents[1] / "scripts" / "settings_reference.py"))
    assert made["write_settings_page"]() == (REFERENCE / "settings.md").read_text("utf-8"), (
        "run `make reference`"
    )


def test_every_setting_of_the_server_is_described():
    page = (REFERENCE / "settings.md").read_text("utf-8")
    assert "| None |" not in page


def test_every_metric_of_the_server_is_in_its_page():
    page = (REFERENCE / "observe.md").read_text("utf-8")
    names = re.findall(r'"(discreet_[a-z_]+)"', (OBSERVED / "observe" / "metrics.py").read_text())
    names += re.findall(r'"(discreet_[a-z_]+)"', (OBSERVED / "gateway" / "server.py").read_text())
    names += re.findall(r'"(discreet_[a-z_]+)"', (OBSERVED / "listener.py").read_text())
    own = {name for name in names if name != "discreet_fields"}
    assert len(own) > 10
    assert {name for name in own if f"| `{name}" not in page} == set()


def test_a_setting_of_a_session_is_in_the_page_of_its_sql():
    page = (REFERENCE / "server-sql.md").read_text("utf-8")
    own = [name for name in DEFAULTS if name.startswith("discreet.")]
    assert [name for name in own if f"| `{name}` |" not in page] == []


@pytest.mark.parametrize("role", ["identifier", "quasi-identifier", "sensitive", "insensitive"])
def test_a_role_is_explained(role: str):
    assert f"| `{role}` |" in (REFERENCE / "policy.md").read_text("utf-8")


def table_rows(page: str, header: str) -> list[str]:
    """Return the rows of the table below a header."""
    text = (REFERENCE / page).read_text("utf-8").partition(f"\n{header}\n")[2]
    return text.partition("\n\n")[0].splitlines()[1:]


def test_the_page_of_sources_lists_exactly_the_file_formats():
    def words(endings: tuple[str, ...]) -> str:
        return "".join(f"`{ending}` " for ending in endings)

    types = {True: "stated by the file", False: "found in the rows, or declared"}
    expected = [
        f"| {spec.title} | {words(spec.suffixes)}| {words(spec.compressions)}| {types[spec.typed]} |"
        for spec in FORMATS.own()
    ]
    assert table_rows("sources.md", "| format | endings | packed | types |") == expected


def test_the_page_of_outputs_lists_exactly_the_file_formats_that_are_written():
    expected = [
        f"| {spec.title} | {' '.join(f'`{ending}`' for ending in spec.written_suffixes)} |"
        for spec in FORMATS.own()
        if spec.written_suffixes
    ]
    assert table_rows("outputs.md", "| format | endings |") == expected


def test_the_index_of_attacks_lists_the_registry_in_its_words():
    pages = REFERENCE.parent / "attacks"
    listed = re.findall(
        r"(?m)^- \[.+?\]\((.+?)\.md\): (.+)$", (pages / "index.md").read_text("utf-8")
    )
    assert sorted(listed) == sorted((spec.name, spec.summary) for spec in ATTACKS.own())
    assert {page.stem for page in pages.glob("*.md")} == {"index", *(name for name, _ in listed)}


def test_the_index_of_learners_lists_the_registry_in_its_words():
    pages = REFERENCE.parent / "learn"
    listed = re.findall(
        r"(?m)^- \[.+?\]\((.+?)\.md\): (.+)$", (pages / "index.md").read_text("utf-8")
    )
    said = {(spec.name, spec.summary) for spec in LEARNERS.own()}
    assert said <= set(listed)
    assert {page.stem for page in pages.glob("*.md")} == {"index", *(name for name, _ in listed)}


def test_the_table_of_statistics_lists_the_registry_in_its_words():
    expected = [f"| `{spec.name}` | {spec.takes} | {spec.summary} |" for spec in STATISTICS.own()]
    assert table_rows("statistics.md", "| kind | takes | what it is |") == expected
    page = (REFERENCE.parent / "learn" / "statistics.md").read_text("utf-8")
    headings = re.findall(r"(?m)^## `(.+)`$", page)
    assert headings == [spec.name for spec in STATISTICS.own()]


def test_every_option_of_a_statistic_is_listed():
    listed = set(
        re.findall(r"(?m)^\| `([a-z]+)=", (REFERENCE / "statistics.md").read_text("utf-8"))
    )
    assert listed == {option.name for spec in STATISTICS.own() for option in spec.options}
