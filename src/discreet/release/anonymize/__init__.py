"""Generalize and suppress UNTIL the criteria hold, with the least loss."""
