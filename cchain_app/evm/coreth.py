"""Constants of coreth's EVM, for both engines (coreth.md 7, 8.1)."""

from enum import StrEnum
from typing import Final, NamedTuple

from primitives.evm import Address, Hash, Slot

CORETH: Final = "coreth"
"""The name of coreth's variant of the EVM in `BlockEnv.variant`."""

ETHEREUM: Final = "ethereum"
"""The name of Ethereum's."""

P256_VERIFY: Final = Address((0x100).to_bytes(20, "big"))
P256_VERIFY_GAS: Final = 6_900

BLACKHOLE, ASSET_BALANCE, ASSET_CALL = (
    Address(b"\x01" + bytes(18) + bytes((last,))) for last in (0, 1, 2)
)
"""The coinbase, which only reverts, and the two contracts of native assets."""
FORBIDDEN: Final = (BLACKHOLE, ASSET_BALANCE, ASSET_CALL)
"""The contracts that revert, since the two of native assets have been deprecated."""

ASSET_BALANCE_GAS: Final = 2_474
ASSET_CALL_GAS: Final = 20_000


class AssetContracts(StrEnum):
    """The effect of the three contracts of `FORBIDDEN`."""

    NONE = "none"
    """They do not exist (before Apricot phase 2)."""
    WORKING = "working"
    """Those of native assets work."""
    REVERTING = "reverting"


class DelegatedCalls(StrEnum):
    """What happens if a precompile of Avalanche is called by DELEGATECALL or CALLCODE."""

    RUN = "run"
    INVALID = "invalid"
    """The transaction cannot be in a block (since 2025-08-02)."""
    FAIL = "fail"
    """The call fails and takes all of its gas (since Granite)."""


DELEGATED: Final = "precompile cannot be called with DELEGATECALL or CALLCODE"
"""Why a transaction that made such a call is invalid."""


class CorethFeatures(NamedTuple):
    """The differences between the phases of coreth's EVM, besides those of Ethereum's forks; the defaults are Granite's."""

    launch: bool = False
    """Whether gas is refunded and SSTORE reads committed values by the key as it is (before Apricot phase 1)."""
    asset_contracts: AssetContracts = AssetContracts.REVERTING
    p256: bool = True
    delegated_calls: DelegatedCalls = DelegatedCalls.FAIL


GRANITE_FEATURES: Final = CorethFeatures()

PREV_RANDAO: Final = Hash(bytes(31) + b"\x01")
"""What PREVRANDAO reads: the difficulty, which is always 1."""

MULTI_COIN_SLOT: Final = Slot(b"\xff" * 32)
"""The slot under which states and their changes keep an account's fifth field: 1 if the account ever held another
asset. The field is thus read, changed and undone like a slot. The storage trie has no such slot, code cannot reach it,
and no asset has this ID."""

NOT_MULTI_COIN: Final = b"\x80"
"""The fifth field of an account on coreth, as RLP: it never held another asset."""
MULTI_COIN: Final = b"\x01"
"""The same of one that did."""


def stored_slot(slot: Slot) -> Slot:
    """Return the slot in which coreth stores the value of a slot: the first byte's lowest bit is cleared.

    The keys with that bit belong to other assets' balances (coreth.md 7.1).
    """
    return Slot(bytes((slot[0] & 0xFE,)) + slot[1:]) if is_of_asset(slot) else slot


def is_of_asset(slot: bytes) -> bool:
    """Return whether a stored slot is the balance of another asset."""
    return bool(slot[0] & 1)


def asset_slot(asset_id: bytes) -> Slot:
    """Return the stored slot in which an account's balance of another asset is."""
    return Slot(bytes((asset_id[0] | 1,)) + asset_id[1:])
