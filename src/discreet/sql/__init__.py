"""WHAT a statement means, as trees. Never executes."""
