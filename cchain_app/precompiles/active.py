"""The value with which a chain's rules name the active stateful precompiles of a block to an engine."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from cchain_app.precompiles import addresses
from primitives.evm import Address


class WarpGas(NamedTuple):
    """Prices of the warp precompile, in gas."""

    blockchain_id: int
    """getBlockchainID."""
    verified: int
    """getVerifiedWarpMessage and getVerifiedWarpBlockHash."""
    chunk: int
    """For 32 bytes of a message: charged when it is verified and each time it is read."""
    signer: int
    """For a signer of a message: charged when it is verified."""
    predicate: int
    """For a message: charged when it is verified."""
    send: int = 375 + 3 * 375 + 20_000 + 20_000
    """sendWarpMessage: a log with three topics, a signature, a slot."""
    sent_byte: int = 8
    """A byte of the arguments of sendWarpMessage."""


DURANGO_WARP_GAS: Final = WarpGas(2, 2, 3_200, 500, 200_000)
GRANITE_WARP_GAS: Final = WarpGas(200, 750, 512, 250, 125_000)


class WarpPredicate(NamedTuple):
    """A warp message in a transaction's access list, as calls of that transaction read it."""

    chunks: int
    """Number of its storage keys."""
    valid: bool
    """Whether its signature has been verified."""
    message: bytes | None
    """Result of getVerifiedWarpMessage if it is valid; None: its payload is not an addressed call."""
    block_hash: bytes | None
    """Result of getVerifiedWarpBlockHash if it is valid; None: its payload is not a hash."""


class TransactionPredicates(NamedTuple):
    """The warp messages of one transaction or call."""

    transaction: bytes
    """Hash of the transaction; empty for a call."""
    gas: int
    """Intrinsic gas that they cost beyond an ordinary access list; may be negative."""
    refusal: str | None
    """Why the transaction is invalid; None: it is valid."""
    items: tuple[WarpPredicate, ...]


@dataclass(frozen=True, slots=True)
class WarpRules:
    """The inputs of the warp precompile in a block."""

    network_id: int
    blockchain_id: bytes
    """32 bytes: the chain's ID."""
    gas: WarpGas = GRANITE_WARP_GAS
    failed: tuple[tuple[bytes, int], ...] = ()
    """By hash of a transaction: the set of bits of its predicates whose verification failed; none for others."""
    predicates: tuple[TransactionPredicates, ...] = ()
    """Prepared by the engine from the access lists (`predicates.prepared`)."""


@dataclass(frozen=True, slots=True)
class StatefulPrecompiles:
    """The active stateful precompiles of a block."""

    deployer_allow_list: bool = False
    """Whether only listed accounts can create contracts."""
    native_minter: bool = False
    transaction_allow_list: bool = False
    """Whether only listed accounts can send transactions."""
    fee_manager: bool = False
    reward_manager: bool = False
    warp: WarpRules | None = None

    def addresses(self) -> Iterator[Address]:
        """Yield the addresses of the active precompiles."""
        for active, address in (
            (self.deployer_allow_list, addresses.DEPLOYER_ALLOW_LIST),
            (self.native_minter, addresses.NATIVE_MINTER),
            (self.transaction_allow_list, addresses.TRANSACTION_ALLOW_LIST),
            (self.fee_manager, addresses.FEE_MANAGER),
            (self.reward_manager, addresses.REWARD_MANAGER),
            (self.warp is not None, addresses.WARP),
        ):
            if active:
                yield address


NO_STATEFUL: Final = StatefulPrecompiles()
"""No stateful precompiles, as on Ethereum."""
