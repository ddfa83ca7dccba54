"""What the parts of a policy file have in common: mappings without unknown keys, names, numbers."""

from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, WithJsonSchema

# An editor types what it sees: `values: [01, NO]` is a number and a boolean to it, text to us.
Word = Annotated[str, WithJsonSchema({"type": ["string", "number", "boolean"]})]
Name = Annotated[str, Field(min_length=1), WithJsonSchema({"type": ["string", "number"]})]
Number = Annotated[Decimal, WithJsonSchema({"type": "number"})]
Words = Annotated[list[Word], Field(min_length=1)]


class WrittenMapping(BaseModel):
    """A mapping of the file: unknown keys are faults."""

    model_config = ConfigDict(extra="forbid", allow_inf_nan=False)
