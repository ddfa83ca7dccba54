"""The rows of the catalog's relations, each made when somebody asks for it."""
