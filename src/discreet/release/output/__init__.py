"""The output of a release: files, folders and tables, each written atomically."""
