"""Programs that verify what the product promises, on many random cases."""
