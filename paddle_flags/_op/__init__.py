"""Operations whose implementation a flag chooses: called from Python, and brought by it."""
