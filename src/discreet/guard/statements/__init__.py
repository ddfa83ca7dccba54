"""Parsing: a text becomes statements of the allowed kinds; nothing is executed."""
