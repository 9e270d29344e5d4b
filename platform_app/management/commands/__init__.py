"""Management commands, one module each."""
