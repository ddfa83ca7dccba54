"""How the value of an option is read: from a text of the command line, or as Python gives it."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from discreet.errors import did_you_mean
from discreet.registry import MethodSpec, OptionSpec


def read_names(value: object) -> tuple[str, ...]:
    """Return column names; in a text they are separated by commas, and quoted as in CSV.

    >>> read_names('age, "town, district"')
    ('age', 'town, district')
    """
    if isinstance(value, (tuple, list)):
        return tuple(str(name) for name in value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    names = next(csv.reader([str(value)], skipinitialspace=True), [])
    if not names or any(not name.strip() for name in names):
        raise ValueError("Write column names separated by commas, such as age,sex,zip.")
    return tuple(name.strip() for name in names)


def read_values(value: object) -> dict[str, str]:
    """Return values by column; a text is COLUMN=VALUE separated by commas."""
    if isinstance(value, Mapping):
        return {str(name): str(item) for name, item in value.items()}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    pairs = [item.partition("=") for item in read_names(value)]
    if not all(sign and name.strip() for name, sign, _ in pairs):
        raise ValueError("Write values such as age=27,zip=47678.")
    return {name.strip(): text.strip() for name, _, text in pairs}


def read_share(value: object) -> float:
    """Return a share as a number from 0 to 1.

    >>> read_share("5%"), read_share(0.25)
    (0.05, 0.25)
    """
    text = str(value).strip()
    try:
        share = float(text[:-1]) / 100 if text.endswith("%") else float(text)
    except ValueError:
        share = -1.0
    if not 0 <= share <= 1:
        raise ValueError(f"'{value}' is no share. Write 0.05 or 5%.")
    return share


def read_amount(value: object) -> str:
    """Return a number that is not negative as it was written, so that it stays exact."""
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        number = None
    if number is None or not number.is_finite() or number < 0:
        raise ValueError("Write a number such as 0.5 or 1e-6.")
    return str(value)


def read_option(option: OptionSpec, value: object) -> Any:
    """Return the value of an option as what it belongs to takes it.

    Raises:
        ValueError: The value is not of the option's kind; the sentence says what to write.
    """
    if value is None:
        return () if option.repeated else None
    if option.repeated:
        several = isinstance(value, (tuple, list))
        items: tuple[object, ...] = tuple(value) if several else (value,)  # pyright: ignore[reportUnknownArgumentType, reportArgumentType]
        return tuple(read_single_value(option, item) for item in items)
    return read_single_value(option, value)


def read_options(
    options: Mapping[str, OptionSpec], stated: Mapping[str, object], *, owner: str
) -> dict[str, Any]:
    """Return the value of every option: as stated, else its default.

    Args:
        options: The options by their names.
        stated: What is stated, by name.
        owner: What they belong to, such as `attack tracker`.

    Raises:
        ValueError: An option is unknown, missing, or not of its kind; the sentence names it.

    >>> least = OptionSpec("least", "integer", "The fewest rows.", default=1, minimum=1)
    >>> read_options({"least": least}, {"least": "3"}, owner="method chunks")
    {'least': 3}
    """
    found = {name: read_option(option, option.default) for name, option in options.items()}
    for name, value in stated.items():
        if name not in options:
            near = did_you_mean(name, options) if options else " It has none."
            raise ValueError(f"The {owner} has no option '{name}'.{near}")
        try:
            found[name] = read_option(options[name], value)
        except ValueError as error:
            raise ValueError(f"{name} of the {owner}: {error}") from None
    for name, option in options.items():
        value = found[name]  # may be a frame, which cannot be compared with anything
        if option.required and (value is None or (isinstance(value, tuple) and not value)):
            raise ValueError(f"The {owner} needs {name}: {option.summary}")
    return found


def read_method_options(spec: MethodSpec, stated: Mapping[str, object]) -> dict[str, Any]:
    """Return the value of every option of a recoding method, as `read_options` does."""
    options = {option.name: option for option in spec.options}
    return read_options(options, stated, owner=f"method {spec.name}")


def read_single_value(option: OptionSpec, value: object) -> Any:
    """Return one value of an option, which may have several."""
    if option.kind in ("source", "path") and isinstance(value, str) and not value:
        raise ValueError("The name is empty.")  # such as that of an unset variable
    if option.parse is not None:
        return option.parse(str(value)) if isinstance(value, (str, int, float)) else value
    if option.kind in ("integer", "number"):
        return _read_number(option, value)
    if option.kind == "choice" and value not in option.choices:
        raise ValueError(f"There is no '{value}'.{did_you_mean(str(value), option.choices)}")
    return READERS[option.kind](value)


def _read_number(option: OptionSpec, value: object) -> float:
    try:
        number = float(str(value))
        exact = int(str(value)) if option.kind == "integer" else number
    except ValueError:
        raise ValueError(f"'{value}' is no {option.kind}.") from None
    bounds = {
        "at least": (option.minimum, lambda bound: number >= bound),
        "at most": (option.maximum, lambda bound: number <= bound),
        "above": (option.above, lambda bound: number > bound),
        "below": (option.below, lambda bound: number < bound),
    }
    for words, (bound, holds) in bounds.items():
        if bound is not None and not holds(bound):
            raise ValueError(f"{value} is out of range: write a number {words} {bound:g}.")
    return exact


def _keep_value(value: object) -> object:
    return value


READERS: Mapping[str, Callable[[object], Any]] = {
    "text": str,
    "choice": str,
    "share": read_share,
    "names": read_names,
    "values": read_values,
    "amount": read_amount,
    "flag": bool,
    "source": _keep_value,
    "path": lambda value: Path(str(value)),
}


def read_group_size(text: str) -> tuple[float, bool]:
    """Return a number of people, or a share of all of them, and whether it is a share."""
    text = text.strip()
    try:
        number = float(text.removesuffix("%"))
    except ValueError:
        number = -1.0
    if number < 0 or (text.endswith("%") and number > 50):
        raise ValueError("Write a number of people such as 100, or a share such as 10%.")
    return (number / 100, True) if text.endswith("%") else (number, False)


def read_noise(text: str) -> tuple[str, float]:
    """Return the shape of noise and its scale, such as `laplace:10`."""
    shape, _, scale = text.partition(":")
    try:
        number = float(scale)
    except ValueError:
        number = -1.0
    if shape not in ("laplace", "gaussian", "uniform") or not number > 0:
        raise ValueError("Write laplace:10, gaussian:10 or uniform:10, with a scale above 0.")
    return shape, number


def read_memory(text: str) -> str:
    """Return a size such as `4GB` as it was written."""
    if not re.fullmatch(r"\d+(\.\d+)? ?([KMGT]i?)?B", text, re.IGNORECASE):
        raise ValueError("Write a number and its unit, such as 4GB.")
    return text
