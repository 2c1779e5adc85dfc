"""What everything else builds on: the binding, flags and their registry, hooks, plugins."""
