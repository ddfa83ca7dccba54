"""Noise added by the person who answers, before anybody collects: local differential privacy."""
