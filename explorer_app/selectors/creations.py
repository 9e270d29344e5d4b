"""How a contract came to be: by whom, in which transaction, with which init code."""

from threading import Semaphore
from typing import NamedTuple

from cchain_app.chain import EvmChain
from explorer_app.selectors import accounts, cchain, traces
from explorer_app.selectors.cchain import TransactionRow
from primitives.evm import Address

_CREATIONS = frozenset({"CREATE", "CREATE2"})


class Creation(NamedTuple):
    """The creation of a contract."""

    transaction: TransactionRow
    factory: Address | None
    """The contract that ran it; None: the transaction itself was a creation."""


def creation(chain: EvmChain, address: Address) -> Creation | None:
    """Return how a contract was created, the last time; None of those of the genesis, and where no row says so."""
    found = accounts.creator(chain, address)
    if found is None:
        return None
    row = cchain.transactions_by_keys(chain, [found.transaction]).get(found.transaction)
    if row is None:
        return None
    creator = Address(bytes(found.creator))
    return Creation(row, None if creator == row.sender and row.to is None else creator)


def init_code(
    chain: EvmChain,
    places: Semaphore,
    address: Address,
    found: Creation | None,
    *,
    waits: bool = False,
) -> bytes | None:
    """Return with what a contract was created, constructor arguments behind it; None where nobody knows.

    What a factory created is found by executing the transaction once more, in one of the `places`.

    Raises:
        Busy: Others are executed now; not if the caller `waits` until they are done.
    """
    if found is None:
        return None
    if found.factory is None:
        return found.transaction.data
    number, position = found.transaction.number, found.transaction.position
    trace = traces.traced_in_turn(chain, places, number, position, waits=waits).trace
    if trace is None:
        return None
    for frame in reversed(trace.frames):
        if frame.type in _CREATIONS and frame.to == address and frame.error is None:
            return bytes(frame.input)
    return None


def is_of_genesis(chain: EvmChain, address: Address) -> bool:
    """Say whether a contract is there since the chain began."""
    found = chain.genesis.alloc.get(address)
    return found is not None and bool(found.code)
