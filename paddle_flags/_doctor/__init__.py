"""The report on a process and on files: modules, copies, conflicts, other flag libraries."""
