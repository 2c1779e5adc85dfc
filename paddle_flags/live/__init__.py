"""The flags of a running process, from outside: a server in the process, and its clients."""
