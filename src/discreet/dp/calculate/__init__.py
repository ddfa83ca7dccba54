"""Calculators: what a coin, a table of chances or a list of mechanisms costs, and what noise a price buys."""
