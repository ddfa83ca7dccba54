"""Generalize and suppress UNTIL the criteria hold, with little loss."""
