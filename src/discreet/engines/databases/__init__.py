"""Databases that are served: connections with transactions, trees in, Arrow out."""
