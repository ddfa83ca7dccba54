"""How a policy file writes the form of a text file and of its cells."""

from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from discreet.policy.base_schema import Name, Word, WrittenMapping
from discreet.policy.text_format import DATE_FORMAT, ENCODINGS

NUMBERS = ("integer", "number")
DATES = ("date", "timestamp")
DecimalMark = Literal[".", ","]
ThousandsMark = Literal[".", ",", " ", "'"]
DateFormat = Annotated[str, Field(pattern=DATE_FORMAT)]
_DECIMAL = "The decimal mark of numbers, `,` or `.` (default; `,` where thousands have a point)."
_THOUSANDS = "The mark between groups of three digits: `.`, `,`, a blank or `'`."


def _list_words(written: Any) -> Any:
    return [written] if isinstance(written, str) else written


Formats = Annotated[list[DateFormat], Field(min_length=1), BeforeValidator(_list_words)]
MissingWords = Annotated[list[Word], BeforeValidator(_list_words)]


class WrittenReading(WrittenMapping):
    """How a text file is written, where its header does not say it."""

    delimiter: str | None = Field(None, min_length=1, description="What separates the columns.")
    encoding: str | None = Field(
        None,
        pattern=f"^({'|'.join(sorted(set(ENCODINGS) | set(ENCODINGS.values())))})$",
        description="utf-8 (default), utf-16, cp1252, latin-1, iso-8859-15 and others.",
    )
    multiline: bool | None = Field(
        None,
        description="Whether a cell in quotation marks may hold line ends (default); if not, each line "
        "is a row, whatever its quotation marks.",
    )
    skip: int | None = Field(None, ge=0, description="How many lines stand before the header.")
    decimal: DecimalMark | None = Field(None, description=_DECIMAL)
    thousands: ThousandsMark | None = Field(None, description=_THOUSANDS)
    missing: MissingWords = Field(
        [], description="The texts that mean that there is no value, such as [N/A, '-']."
    )

    @model_validator(mode="after")
    def _has_different_marks(self) -> Self:
        return require_different_marks(self)


class WrittenCells(WrittenMapping):
    """How the cells of a column are written in a text file."""

    format: Formats | None = Field(
        None,
        description="How the dates of a text file are written, such as '%d/%m/%Y'; default: 2024-05-17. "
        "A list where several forms are mixed.",
    )
    since: int | None = Field(
        None,
        ge=1870,
        le=2068,
        description="The first of the hundred years that a year of two digits may mean; default: 1969.",
    )
    decimal: DecimalMark | None = Field(None, description=_DECIMAL)
    thousands: ThousandsMark | None = Field(None, description=_THOUSANDS)
    sign: str | None = Field(
        None,
        min_length=1,
        max_length=5,
        pattern=r"^[^0-9\s.,+-]+[.]?$",
        description="What stands before or after each number, such as € or %.",
    )
    missing: MissingWords | None = Field(
        None,
        description="The texts that mean that there is no value, instead of those of the file; [] for none.",
    )
    labels: dict[Name, Word] = Field(
        {},
        description="What each code means: {1: male, 2: female}. The labels are then the values.",
    )

    @model_validator(mode="after")
    def _belongs_to_kind(self) -> Self:
        kind = getattr(self, "kind", None)
        if self.format is not None and kind not in DATES:
            raise ValueError(
                "'format' belongs to `kind: date` or `kind: timestamp`. Add it, or leave out the format."
            )
        for form in self.format or ():
            has_clock = "%M" in form
            if has_clock and kind == "date":
                raise ValueError(f"'{form}' has a time, which belongs to `kind: timestamp`.")
        if self.since is not None and not any("%y" in form for form in self.format or ()):
            raise ValueError("'since' belongs to a format with a year of two digits, `%y`.")
        for key in ("decimal", "thousands", "sign"):
            if getattr(self, key) is not None and kind not in NUMBERS:
                raise ValueError(f"'{key}' belongs to `kind: number` or `kind: integer`.")
        if self.labels and kind != "text":
            raise ValueError("'labels' belong to `kind: text`: the values are then the labels.")
        if len(set(self.labels.values())) < len(self.labels):
            raise ValueError(
                "two codes have one label, and could not be distinguished. Change one."
            )
        return require_different_marks(self)


def require_different_marks(written: Any) -> Any:
    """Return `written` unless one mark would be both the decimal mark and that between thousands."""
    if written.decimal is not None and written.decimal == written.thousands:
        raise ValueError(
            f"'{written.decimal}' cannot be both the decimal mark and the mark between thousands."
        )
    return written
