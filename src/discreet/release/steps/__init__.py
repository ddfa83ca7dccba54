"""Perturbation and coding steps: each changes values, and states what it promises."""
