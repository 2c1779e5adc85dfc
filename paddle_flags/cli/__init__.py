"""The command line: `parse`, and the commands of `python -m paddle_flags`, a file each."""
