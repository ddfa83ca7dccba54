"""Local differential privacy: each person adds noise before the report is collected."""
