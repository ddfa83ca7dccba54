"""Published counts, means and medians turned back into the people they were made from."""
