"""The policy as data: roles, units, hierarchies and criteria of protected tables."""
