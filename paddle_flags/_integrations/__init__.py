"""Flags together with the standard library and with other packages; each imported when used."""
