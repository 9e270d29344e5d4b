"""Chains with stateful precompiles: a state with roles, environments, and signed warp messages in access lists."""

from typing import Any, Final

from cchain_app.evm.engine import BlockEnv
from cchain_app.evm.upgrades import upgrade_changes
from cchain_app.precompiles import addresses, predicates
from cchain_app.precompiles.addresses import PrecompileKey
from cchain_app.precompiles.schedule import InitialRoles, PrecompileConfig, PrecompileSchedule
from primitives.evm import Address, Slot
from primitives.ids import ID
from primitives.warp import (
    AddressedCall,
    HashPayload,
    UnsignedMessage,
    WarpPayload,
    build_payload,
    build_signed,
)
from tests.builders.cchain import COIN, SENDERS, MemoryState, block_env

NETWORK: Final = 12345
CHAIN: Final = bytes(range(32))
SOURCE: Final = ID(b"\x5a" * 32)
ADMIN, MANAGER, ENABLED, NOBODY, OTHER = SENDERS
ROLES: Final = InitialRoles((ADMIN,), (MANAGER,), (ENABLED,))
MESSAGE: Final = AddressedCall(b"\xab" * 20, b"hello")
HASH: Final = HashPayload(ID(b"\x77" * 32))


def schedule(*keys: PrecompileKey, **changes: Any) -> PrecompileSchedule:
    """Return a schedule in which precompiles, by default all, begin with block 0."""
    return PrecompileSchedule(
        tuple(PrecompileConfig(key, 0, roles=ROLES) for key in keys or PrecompileKey), **changes
    )


def stateful_env(*keys: PrecompileKey, fork: str = "cancun", **changes: Any) -> BlockEnv:
    """Return the environment of block 5 of such a chain, with results of warp messages in `failed`."""
    active = schedule(*keys).active_at(
        1_700_000_000,
        network_id=NETWORK,
        blockchain_id=CHAIN,
        failed=tuple(changes.pop("failed", {}).items()),
    )
    return block_env(fork, stateful=active, **changes)


def stateful_state(*keys: PrecompileKey) -> MemoryState:
    """Return the first state of such a chain, in which each well-known account has coins."""
    state = MemoryState()
    made = upgrade_changes(schedule(*keys), state, parent=None, timestamp=0, number=0)
    state.apply(made)
    for account in SENDERS:
        state.put(account, balance=100 * COIN)
    return state


def warp_bytes(payload: WarpPayload = MESSAGE, signers: int = 0b101) -> bytes:
    """Return a message with a signature that no validator has made."""
    message = UnsignedMessage(NETWORK, SOURCE, build_payload(payload))
    return build_signed(message, signers, b"\x01" * 96)


def predicate(
    payload: WarpPayload = MESSAGE, signers: int = 0b101
) -> tuple[Address, tuple[Slot, ...]]:
    """Return the entry of an access list for a message."""
    return addresses.WARP, tuple(map(Slot, predicates.pack(warp_bytes(payload, signers))))
