"""Integrity of data: triggers, foreign keys and the order of writers."""
