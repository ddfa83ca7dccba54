"""Mechanisms: each takes exact numbers, states its guarantee, and returns a value with its event."""
