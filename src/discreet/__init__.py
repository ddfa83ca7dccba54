"""Trusted curator for sensitive tables."""
