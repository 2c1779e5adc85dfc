"""Measures this library beside its peers; `make bench` runs it."""
