"""Compares this library with its peers; `make bench` runs it."""
