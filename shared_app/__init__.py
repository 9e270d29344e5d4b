"""Shared memory: the outputs that one chain of this node has exported to another one, as rows.

A chain reads and removes the outputs that another chain exported to it, and adds outputs for the other chain
(atomic.md 2). All chains of a database share its tables. The interface is `chainvm.shared_memory.SharedMemory`.
"""
