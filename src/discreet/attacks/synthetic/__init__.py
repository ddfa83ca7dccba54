"""What a synthetic table reveals about the people it was made from, compared with other people."""
