"""What is learned from whatever answers SQL."""
