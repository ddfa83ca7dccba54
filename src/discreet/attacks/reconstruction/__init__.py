"""Dinur & Nissim's attack: noisy counts of many groups of people in, everybody's secret bit out."""
