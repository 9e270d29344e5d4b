"""The precompiles by name: their keys in a genesis file, their addresses and storage slots."""

from enum import IntEnum, StrEnum
from typing import Final

from primitives.evm import Address, Slot, Word


class PrecompileKey(StrEnum):
    """Names of the precompiles: keys of the genesis file's `config`."""

    DEPLOYER_ALLOW_LIST = "contractDeployerAllowListConfig"
    NATIVE_MINTER = "contractNativeMinterConfig"
    TRANSACTION_ALLOW_LIST = "txAllowListConfig"
    FEE_MANAGER = "feeManagerConfig"
    REWARD_MANAGER = "rewardManagerConfig"
    WARP = "warpConfig"


def _address(last: int) -> Address:
    return Address(b"\x02" + bytes(18) + bytes([last]))


DEPLOYER_ALLOW_LIST: Final = _address(0)
NATIVE_MINTER: Final = _address(1)
TRANSACTION_ALLOW_LIST: Final = _address(2)
FEE_MANAGER: Final = _address(3)
REWARD_MANAGER: Final = _address(4)
WARP: Final = _address(5)

ADDRESSES: Final = {
    PrecompileKey.DEPLOYER_ALLOW_LIST: DEPLOYER_ALLOW_LIST,
    PrecompileKey.NATIVE_MINTER: NATIVE_MINTER,
    PrecompileKey.TRANSACTION_ALLOW_LIST: TRANSACTION_ALLOW_LIST,
    PrecompileKey.FEE_MANAGER: FEE_MANAGER,
    PrecompileKey.REWARD_MANAGER: REWARD_MANAGER,
    PrecompileKey.WARP: WARP,
}
"""The address of each precompile; upgrades in one block happen in this order."""

CODE: Final = b"\x01"
"""The code of each active precompile's account, whose nonce is 1, so that Solidity sees a contract there."""


class Role(IntEnum):
    """The permission of an address on an allow list; the value is that of its storage slot."""

    NONE = 0
    ENABLED = 1
    ADMIN = 2
    MANAGER = 3


def role_slot(address: bytes) -> Slot:
    """Return the slot of an allow list that has an address's role."""
    return Slot(address.rjust(32, b"\0"))


def is_enabled(role: int) -> bool:
    """Return whether a role permits the action that the list protects."""
    return role in {Role.ENABLED, Role.ADMIN, Role.MANAGER}


def fee_slot(field: int) -> Slot:
    """Return the fee manager's slot of a field of its config; the first field has number 1."""
    return Slot(bytes([field]) + bytes(31))


FEE_CHANGED_SLOT: Final = Slot(b"lca".ljust(32, b"\0"))
"""The fee manager's slot with the number of the block that last changed the config."""
REWARD_SLOT: Final = Slot(b"rask".ljust(32, b"\0"))
"""The reward manager's slot: a reward address, or `RECIPIENTS_ALLOWED`."""
RECIPIENTS_ALLOWED: Final = Word(b"afrav".ljust(32, b"\0"))
