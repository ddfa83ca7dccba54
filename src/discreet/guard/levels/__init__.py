"""Multi-level security: labels, what a clearance sees, and what writing at one does."""
