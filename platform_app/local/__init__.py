"""Behaviour of local networks only. `apps` attaches it to the chain of a process."""
