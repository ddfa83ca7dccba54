"""WHAT is protected: roles, units, hierarchies, criteria. Pure data."""
