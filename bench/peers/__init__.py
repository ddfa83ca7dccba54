"""Peers, each run by the Python of its own environment."""
