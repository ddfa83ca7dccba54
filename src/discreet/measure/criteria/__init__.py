"""WHEN a table counts as safe: one file per family of criteria."""
