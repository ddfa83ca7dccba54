"""What several releases of overlapping people reveal together."""
