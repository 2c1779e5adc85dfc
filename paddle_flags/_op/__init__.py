"""Operations whose implementation a flag chooses: called from Python, or implemented in it."""
