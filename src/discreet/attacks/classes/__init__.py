"""What the classes of one release reveal about sensitive columns."""
