"""The creation of a contract: its creator, its transaction, its init code."""

from threading import Semaphore
from typing import NamedTuple

from cchain_app.chain import EvmChain
from explorer_app.selectors import accounts, cchain, traces
from explorer_app.selectors.cchain import TransactionRow
from primitives.evm import Address

_CREATIONS = frozenset({"CREATE", "CREATE2"})


class ContractOrigin(NamedTuple):
    """The creation of a contract."""

    transaction: TransactionRow
    factory: Address | None
    """The contract that executed the creation; None if the transaction itself was a creation."""


def creation(chain: EvmChain, address: Address) -> ContractOrigin | None:
    """Return the latest creation of a contract; None for genesis contracts, and if there is no row for it."""
    origin = accounts.creator(chain, address)
    if origin is None:
        return None
    row = cchain.transactions_by_keys(chain, [origin.transaction]).get(origin.transaction)
    if row is None:
        return None
    creator = Address(bytes(origin.creator))
    return ContractOrigin(row, None if creator == row.sender and row.to is None else creator)


def init_code(
    chain: EvmChain,
    places: Semaphore,
    address: Address,
    origin: ContractOrigin | None,
    *,
    waits: bool = False,
) -> bytes | None:
    """Return the init code of a contract, followed by its constructor arguments; None if it is unknown.

    If a factory created the contract, the transaction is executed again, which takes one of the `places`.

    Raises:
        Busy: All places are taken; not raised if the caller `waits` for one.
    """
    if origin is None:
        return None
    if origin.factory is None:
        return origin.transaction.data
    number, position = origin.transaction.number, origin.transaction.position
    trace = traces.traced_in_turn(chain, places, number, position, waits=waits).trace
    if trace is None:
        return None
    for frame in reversed(trace.frames):
        if frame.type in _CREATIONS and frame.to == address and frame.error is None:
            return bytes(frame.input)
    return None


def is_of_genesis(chain: EvmChain, address: Address) -> bool:
    """Return whether a contract is part of the genesis."""
    account = chain.genesis.alloc.get(address)
    return account is not None and bool(account.code)
