"""WHO may do what, and proof of it."""
