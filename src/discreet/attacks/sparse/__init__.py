"""Histories found by a few of their items."""
