"""Where rows of a release go: files, folders and tables, each written whole or not at all."""
