"""Calculators: the cost of coins, tables of chances and compositions, and the noise for an epsilon."""
