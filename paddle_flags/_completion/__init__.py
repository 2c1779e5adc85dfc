"""Completion in shells: the program itself says what the token at the cursor can become.

The shell starts the program, without arguments, with the variable
_PD_FLAGS_COMPLETE in its environment:

    <shell> <tokens of the program> <length of what bash replaces> <line up to the cursor>

`parse` answers on descriptor 8 instead of reading anything, and ends the program.
What the program itself prints is discarded.
"""
