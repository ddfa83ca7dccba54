"""WHERE data lives: trees in, Arrow out."""
