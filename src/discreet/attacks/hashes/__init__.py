"""Pseudonyms undone: hashes, encodings and counted numbers."""
