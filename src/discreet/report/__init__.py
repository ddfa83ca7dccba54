"""Reports: each result as one HTML page."""
