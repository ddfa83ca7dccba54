"""Whether a person is among the people behind frequencies or a release."""
