"""What several releases of overlapping people tell together."""
