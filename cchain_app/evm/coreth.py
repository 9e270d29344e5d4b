"""Constants of coreth's EVM, for both engines (coreth.md 7, 8.1)."""

from typing import Final

from primitives.evm import Address, Hash, Slot

CORETH: Final = "coreth"
"""The name of coreth's variant of the EVM in `BlockEnv.variant`."""

ETHEREUM: Final = "ethereum"
"""The name of Ethereum's."""

P256_VERIFY: Final = Address((0x100).to_bytes(20, "big"))
P256_VERIFY_GAS: Final = 6_900

FORBIDDEN: Final = tuple(Address(b"\x01" + bytes(18) + bytes((last,))) for last in (0, 1, 2))
"""The blackhole and the two contracts of native assets, which have been deprecated: they revert."""

PREV_RANDAO: Final = Hash(bytes(31) + b"\x01")
"""What PREVRANDAO reads: the difficulty, which is always 1."""

NOT_MULTI_COIN: Final = b"\x80"
"""The fifth field of an account on coreth, as RLP: it holds no other asset. Accounts of older blocks of the public
networks may; this node does not execute those blocks."""


def stored_slot(slot: Slot) -> Slot:
    """Return the slot in which coreth stores the value of a slot: the first byte's lowest bit is cleared.

    The keys with that bit belong to other assets' balances (coreth.md 7.1).
    """
    return Slot(bytes((slot[0] & 0xFE,)) + slot[1:]) if slot[0] & 1 else slot
