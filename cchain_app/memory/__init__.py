"""A process's in-memory caches of a chain."""

from cchain_app.memory.chain import FEW, Memory, PoolKey, PoolMemory, PoolTag
from cchain_app.memory.select import make_memory
from cchain_app.memory.state import MISSING, Missing

__all__ = ["FEW", "MISSING", "Memory", "Missing", "PoolKey", "PoolMemory", "PoolTag", "make_memory"]
