"""Options of a verb are the keyword arguments of its function: the same names and defaults."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

import click
import pytest

import discreet
from discreet import epsilon
from discreet.answer.curator import Curator
from discreet.api.serve import serve
from discreet.cli.command import VERBS, cli

Functions = tuple[Callable[..., Any], ...]

FUNCTIONS: Mapping[str, Functions] = {
    "anonymize": (discreet.anonymize,),
    "ask": (discreet.open, Curator.ask),
    "assess": (discreet.assess,),
    "budget": (discreet.budget,),
    "check": (discreet.check,),
    "choose": (discreet.choose_factor,),
    "collect": (discreet.collect, discreet.estimate_reports),
    "deidentify": (discreet.deidentify,),
    "explain": (discreet.open, Curator.explain),
    "init": (discreet.draft_policy,),
    "learn": (discreet.learn,),
    "limits": (discreet.open, Curator.limits),
    "register": (discreet.open, Curator.register),
    "reidentify": (discreet.reidentify,),
    "sample": (discreet.sample, discreet.sample_tables),
    "serve": (serve,),
    "statistics": (discreet.statistics,),
    "synthesize": (discreet.synthesize, discreet.synthesize_tables),
    **{f"epsilon {name.replace('_', '-')}": (getattr(epsilon, name),) for name in epsilon.__all__},
}

# Verbs without a function, and why.
COMMANDS_ONLY = {
    "attack": "its own tests compare it: tests/api/test_attack.py",
    "backup": "administers the folder of a server",
    "demo": "shows the command line itself",
    "epsilon": "its calculators are compared one by one",
    "journal": "administers the folder of a server",
    "key": "administers the folder of a server",
    "restore": "administers the folder of a server",
    "user": "administers the folder of a server",
}

# Options without a keyword argument, and why.
OPTIONS_ONLY = {
    "": {
        "json": "Python has `to_dict()`",
        "report": "Python has `discreet.write_report`",
        "format": "what a CI system reads from standard output; Python has `to_dict()`",
    },
    "anonymize": {"replay": "repeats a command from its manifest"},
    "ask": {
        "dry-run": "Python has `explain`",
        "workload": "Python has `Curator.ask_all`",
        "from-model": "Python has `discreet.sample`, whose rows any library counts",
    },
    "budget": {
        "reopen": "administers the folder of a server",
        "key-file": "administers the folder of a server",
    },
    "choose": {"dry-run": "Python has `explain_factor`"},
    "collect": {"estimate": "Python has `estimate_reports`"},
    "deidentify": {"hash": "refused, with the reason"},
    "init": {"schema": "Python has `discreet.policy.policy_schema`"},
    "learn": {
        "dry-run": "Python has `explain_learning`",
        "set": "options of a learner are keywords",
        "export": "Python has `to_sql`, `to_onnx` and `to_pmml` of a model",
        "dialect": "Python has `LearnedModel.to_sql`",
    },
    "statistics": {
        "dry-run": "Python has `explain_statistics`",
        "set": "options of a kind are keywords",
    },
    "synthesize": {"dry-run": "Python has `explain_synthesis` and `explain_tables`"},
}

# Keyword arguments without an option, and why.
ARGUMENTS_ONLY = {
    "": {
        "progress": "the command line shows its own",
        "clock": "for tests",
        "quantum": "a library's user is not timed by strangers; a server has a setting",
    },
    "anonymize": {"expected": "--replay takes it from the manifest"},
    "ask": {"stop": "Ctrl-C stops a command"},
    "register": {"analyst": "nothing is spent", "ledger": "nothing is spent"},
    "serve": {"limits": "a setting in server.yaml"},
    **dict.fromkeys(
        ("choose", "learn", "statistics", "synthesize"),
        dict.fromkeys(
            ("quasi", "sensitive", "identifiers", "unit", "rows_per_unit", "bounds", "values"),
            "a frame has no policy file; a file has one",
        ),
    ),
}

# Defaults that differ, and why.
OTHER_DEFAULTS = {
    ("serve", "data"): "a notebook's server is gone when it stops",
    ("serve", "port"): "a test takes any free port",
    ("collect", "confidence"): "an option that was not given must be known to be missing",
}


def find_command(verb: str) -> click.Command:
    command: click.Command | None = cli
    for word in verb.split():
        assert isinstance(command, click.Group)
        command = command.get_command(click.Context(command), word)
    assert command is not None
    return command


def option_names(parameter: click.Parameter) -> set[str]:
    """Return the names by which a parameter may be a keyword argument."""
    long = [name[2:] for name in parameter.opts if name.startswith("--")]
    return {name.replace("-", "_") for name in (*long, parameter.name or "")}


def keyword_arguments(functions: Functions) -> dict[str, inspect.Parameter]:
    found: dict[str, inspect.Parameter] = {}
    for function in functions:
        found |= inspect.signature(function).parameters
    # `**criteria` are those that installed packages add; each has an option of its name.
    return {
        name: parameter
        for name, parameter in found.items()
        if name != "self" and parameter.kind is not parameter.VAR_KEYWORD
    }


def exceptions(listed: Mapping[str, Mapping[str, str]], verb: str) -> set[str]:
    return {name.replace("-", "_") for name in (*listed[""], *listed.get(verb, {}))}


def default_of(option: click.Option) -> object:
    default = option.get_default(click.Context(click.Command("verb")))
    return None if str(default).endswith("UNSET") else default


def comparable(value: object) -> object:
    """Return a default as both sides write it: nothing, a number, or a text."""
    if value is None or value is False or value == ():
        return None
    try:
        return Fraction(str(value))
    except ValueError:
        return str(value)


def test_every_verb_has_a_function_or_a_reason():
    assert {verb.split()[0] for verb in FUNCTIONS} | set(COMMANDS_ONLY) == set(VERBS)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_option_is_a_keyword_argument(verb: str):
    known = {*keyword_arguments(FUNCTIONS[verb]), *exceptions(OPTIONS_ONLY, verb)}
    missing = [p.opts for p in find_command(verb).params if not option_names(p) & known]
    assert missing == []


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_every_keyword_argument_is_an_option(verb: str):
    options = {name for p in find_command(verb).params for name in option_names(p)}
    missing = keyword_arguments(FUNCTIONS[verb]).keys() - options
    assert missing <= exceptions(ARGUMENTS_ONLY, verb)


@pytest.mark.parametrize("verb", FUNCTIONS)
def test_a_default_is_the_same_on_both_sides(verb: str):
    arguments = keyword_arguments(FUNCTIONS[verb])
    different = {
        name: (default_of(option), arguments[name].default)
        for option in find_command(verb).params
        for name in option_names(option) & arguments.keys()
        if isinstance(option, click.Option)
        and not option.required
        and arguments[name].default is not inspect.Parameter.empty
        and comparable(default_of(option)) != comparable(arguments[name].default)
        and (verb, name) not in OTHER_DEFAULTS
    }
    assert different == {}
