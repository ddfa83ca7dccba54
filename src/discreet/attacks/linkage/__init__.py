"""Names put to the rows of a release by what a list of known people shares with it."""
