"""How values come from outside: command lines, configuration files."""
