"""The authority: roles, relations and privileges as one value, and decisions with their reasons."""
