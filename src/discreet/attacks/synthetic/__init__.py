"""What a synthetic table gives away about the people it was made from, against people it was not."""
