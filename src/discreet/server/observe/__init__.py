"""Observation of a server: metrics, logs and spans, none of which holds a value."""
