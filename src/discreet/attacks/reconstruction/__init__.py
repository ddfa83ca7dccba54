"""Dinur & Nissim's attack: noisy counts of many groups of people in, each person's secret bit out."""
