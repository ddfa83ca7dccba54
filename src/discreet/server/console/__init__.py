"""The web console: what a user may do with SQL, on pages that the server draws."""
