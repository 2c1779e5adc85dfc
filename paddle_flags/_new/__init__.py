"""New projects that define a flag, from `templates/`."""
