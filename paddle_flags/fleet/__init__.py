"""The same flags in every process of a job, on an engine that runs already."""
