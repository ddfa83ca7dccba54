"""Options that several attacks have."""

from discreet.registry import OptionSpec

PERSON = OptionSpec(
    "person",
    "values",
    "Attack one person, such as age=27,zip=47678; labels count for all they may stand for.",
)
