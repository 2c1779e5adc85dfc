"""`parse`, and the commands of `paddle-flags`, one in each file."""
