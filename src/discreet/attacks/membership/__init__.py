"""Whether somebody is among the people behind frequencies or a release."""
