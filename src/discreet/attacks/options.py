"""Options that several attacks have, and the options of each attack with those of its target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from discreet.errors import WrongUsage
from discreet.option_values import (
    read_group_size,
    read_memory,
    read_noise,
    read_option,
    read_options,
)
from discreet.registry import AttackSpec, OptionSpec

SEED = OptionSpec("seed", "integer", "Repeat the same run.", minimum=0)

PERSON = OptionSpec(
    "person",
    "values",
    "Attack one person, such as age=27,zip=47678; labels count for all they may stand for.",
)

INPUTS: Mapping[str, tuple[OptionSpec, ...]] = {
    "known": (
        OptionSpec("known", "source", "A list of people.", required=True),
        OptionSpec("on", "names", "Columns of the list by which people are found."),
    ),
    "earlier": (
        OptionSpec(
            "earlier",
            "source",
            "A release of the same people made before. May be repeated.",
            repeated=True,
            required=True,
        ),
    ),
    "trial": (
        OptionSpec(
            "source", "source", "The people that synthetic data was made from.", required=True
        ),
        OptionSpec(
            "control",
            "source",
            "People of the same population who had no part in it.",
            required=True,
        ),
    ),
}
"""The options by which an attack is given what it needs."""

READING = (
    OptionSpec("table", "text", "Which table of the database or policy.", metavar="NAME"),
    OptionSpec("delimiter", "text", "What separates a CSV file's columns.", metavar="CHAR"),
    OptionSpec("encoding", "text", "Such as cp1252; found by itself if not given.", metavar="NAME"),
    OptionSpec(
        "memory", "text", "Memory limit of DuckDB, such as 4GB.", metavar="SIZE", parse=read_memory
    ),
)

ROLES = (
    OptionSpec("quasi", "names", "Columns outsiders may know, such as age,sex,zip."),
    OptionSpec("sensitive", "names", "Columns outsiders must not learn, such as diagnosis."),
    OptionSpec(
        "unit", "text", "Says whose row it is. Default: each row is a person.", metavar="COLUMN"
    ),
)

INTERFACE = (
    OptionSpec(
        "restrict",
        "text",
        "Answers are about at least K people and at most all but K: 100, or 10%.",
        metavar="K",
        parse=read_group_size,
    ),
    OptionSpec("no_all", "flag", "Not even questions about all people."),
    OptionSpec(
        "round", "number", "Answers are rounded to multiples of STEP.", above=0, metavar="STEP"
    ),
    OptionSpec(
        "noise",
        "text",
        "Answers are noisy: laplace:10, gaussian:10, uniform:10.",
        metavar="SHAPE:SCALE",
        parse=read_noise,
    ),
    OptionSpec("sticky", "flag", "The same text gets the same noise."),
    OptionSpec("overlap", "integer", "Two answers may share at most N people.", minimum=0),
    OptionSpec(
        "epsilon",
        "amount",
        "Attack `discreet ask` itself: what all questions together may cost.",
        metavar="NUMBER",
    ),
    OptionSpec("budget", "integer", "How many questions the adversary may ask in all.", minimum=1),
    OptionSpec("seed", "integer", "Repeat a run: people, noise and crowds.", minimum=0),
)

PEOPLE = (
    OptionSpec(
        "person",
        "text",
        "The one person for whom this holds: \"name = 'Ann Lee'\".",
        metavar="CONDITION",
    ),
    OptionSpec(
        "people",
        "integer",
        "N people drawn by chance, and some who are not in the table.",
        minimum=1,
    ),
    OptionSpec("by", "names", "What identifies people, such as name. Default: the policy's unit."),
    OptionSpec("public", "names", "Columns whose range is public; crowds are searched on them."),
)

KNOWS_RULE = OptionSpec("knows_rule", "flag", "The adversary knows K and skips what is refused.")

RELEASE_ON = OptionSpec(
    "on",
    "names",
    "Columns by which people are found; `zip=postcode` where the releases call it postcode. Default: "
    "the policy's quasi-identifiers, or all that the tables share.",
)
RELEASE_SENSITIVE = OptionSpec("sensitive", "names", "What is to be learned, such as diagnosis.")
RELEASE_CONTROL = OptionSpec(
    "control",
    "source",
    "People who are not in all releases: what is claimed of them was not learned there.",
)

MODEL = (
    OptionSpec(
        "source",
        "source",
        "The people that the model was trained on; or of whom half train one, by --recipe.",
        required=True,
    ),
    OptionSpec(
        "control", "source", "People of the same population who had no part in the training."
    ),
    OptionSpec(
        "outcome",
        "text",
        "The column that the model predicts, if it does not know.",
        metavar="COLUMN",
    ),
    OptionSpec(
        "columns",
        "names",
        "Columns that the model takes, in its order. Default: those it names, else all but the outcome.",
    ),
    OptionSpec(
        "recipe",
        "source",
        "How shadow models are trained: module:attribute, an estimator of scikit-learn. Default: like MODEL.",
        metavar="NAME",
    ),
    OptionSpec("run_code", "flag", "Load MODEL and --recipe although that runs the code in them."),
    OptionSpec("seed", "integer", "Repeat a run: same people, same shadow models.", minimum=0),
)
"""What attacks on models are given beside the model."""

TRIALS = (
    OptionSpec("trials", "integer", "How many outputs are guessed.", default=100_000, minimum=2),
    OptionSpec(
        "seed", "integer", "Repeat the guesser's coins; noise cannot be repeated.", minimum=0
    ),
)

TARGET_OPTIONS: Mapping[str, tuple[OptionSpec, ...]] = {
    "release": (*ROLES, *READING),
    "classes": (*ROLES, *READING),
    "table": READING,
    "releases": READING,
    "synthetic": (
        OptionSpec("columns", "names", "Columns to use. Default: all that the three tables share."),
        OptionSpec("seed", "integer", "Repeat a run: same guesses each time.", minimum=0),
        *READING[1:],
    ),
    "answers": (*INTERFACE, *READING),
    "model": (*MODEL, *READING[1:]),
    "mechanism": (),
}
"""The options that attacks on a target have, after their own."""

GUESSES = OptionSpec(
    "guesses",
    "integer",
    "How many people, or descriptions, are tried.",
    default=2000,
    minimum=1,
)


def attack_options(spec: AttackSpec) -> dict[str, OptionSpec]:
    """Return every option of an attack by name: those of its needs, its own, those of its target.

    Where two have one name, the attack's own is meant.
    """
    own = {option.name for option in spec.options}
    needs = [need for need in spec.needs if not (need == "earlier" and spec.target == "releases")]
    added = [option for need in needs for option in INPUTS.get(need, ()) if option.name not in own]
    listed = (*added, *spec.options, *TARGET_OPTIONS[spec.target])
    found: dict[str, OptionSpec] = {}
    for option in listed:
        found.setdefault(option.name, option)
    return found


def default_options(spec: AttackSpec) -> dict[str, Any]:
    """Return the default of every option of an attack."""
    return {name: read_option(one, one.default) for name, one in attack_options(spec).items()}


def read_attack_options(spec: AttackSpec, stated: Mapping[str, object]) -> dict[str, Any]:
    """Return the value of every option of an attack: as stated, else its default.

    Raises:
        WrongUsage: An option is unknown, missing, or not of its kind.
    """
    try:
        return read_options(attack_options(spec), stated, owner=f"attack {spec.name}")
    except ValueError as error:
        raise WrongUsage(str(error)) from None
