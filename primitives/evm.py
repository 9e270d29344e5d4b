"""Types of EVM values that are plain bytes. Their text form is in `hexadecimal`."""

from typing import NewType

Address = NewType("Address", bytes)
"""20 bytes: an account of the C-Chain."""

Hash = NewType("Hash", bytes)
"""32 bytes: a Keccak-256 hash (block, transaction, code, root)."""

Slot = NewType("Slot", bytes)
"""32 bytes, big endian: the key of a storage slot."""

Word = NewType("Word", bytes)
"""32 bytes, big endian: the value of a storage slot, a topic."""

ZERO_ADDRESS = Address(bytes(20))
ZERO_HASH = Hash(bytes(32))
ZERO_WORD = Word(bytes(32))
