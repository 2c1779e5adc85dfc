"""What is printed about flags: help, listings, reference text, values to load again."""
