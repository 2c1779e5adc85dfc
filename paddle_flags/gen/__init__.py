"""Flags from YAML: one definition, and C, C++, Python and documents made of it."""
