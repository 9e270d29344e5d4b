"""Shared memory: the outputs that one chain of this node has exported to another one, as rows.

A chain reads and removes what another chain put for it, and puts outputs for the other chain; it can do nothing else
(atomic.md 2). All chains of a database share its tables. The interface is `chainvm.shared_memory.SharedMemory`.
"""
