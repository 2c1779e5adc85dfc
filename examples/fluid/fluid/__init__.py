"""Fluid in small: programs of operators, an executor, and parameter servers."""
