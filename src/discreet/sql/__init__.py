"""Statements as query trees: parsed and built, never executed."""
