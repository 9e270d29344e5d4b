"""What a process remembers of a chain."""

from cchain_app.memory.chain import FEW, Memory, PoolKey, PoolMemory, PoolTag
from cchain_app.memory.select import make_memory
from cchain_app.memory.state import Missing

__all__ = ["FEW", "Memory", "Missing", "PoolKey", "PoolMemory", "PoolTag", "make_memory"]
