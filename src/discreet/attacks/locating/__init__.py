"""Where known people may be in a release, by what its labels stand for."""
