"""HTTP outside of the processes: a page and a REST API for all processes of a machine."""
