"""OUTPUTS IN, EPSILON OUT: what a mechanism's outputs on two neighboring inputs prove about it."""
