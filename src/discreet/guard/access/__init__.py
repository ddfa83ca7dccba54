"""The authority: roles, relations and rights as one value, and decisions on it with their reasons."""
