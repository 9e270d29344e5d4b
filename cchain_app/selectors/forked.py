"""State of the chain that this one is a fork of: fetched when it is first needed, and stored (devnet.md 13).

Nothing is fetched on the event loop, nor within a database transaction. Code that needs missing state within a
transaction gets `MissingState`; `supplied` fetches the state outside the transaction and runs the code again.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from cchain_app.chain import EvmChain
from cchain_app.evm.engine import BEACON_ROOTS_ADDRESS, HISTORY_STORAGE_ADDRESS, AccountState
from cchain_app.forking import questions
from cchain_app.forking.client import Upstream
from cchain_app.forking.errors import MissingState, UpstreamAway, UpstreamReason
from cchain_app.forking.origin import ForkOrigin
from cchain_app.store import forked as forked_rows
from chaindb.connections import WouldBlock, on_event_loop
from primitives.evm import ZERO_WORD, Address, Hash, Slot, Word
from primitives.hashing import EMPTY_HASH

T = TypeVar("T")

RINGS: Final = frozenset({HISTORY_STORAGE_ADDRESS, BEACON_ROOTS_ADDRESS})
"""Contracts of EIP-2935 and EIP-4788, in which each block overwrites old slots."""


def upstream_of(chain: EvmChain) -> Upstream:
    """Return the remote node of a fork.

    Raises:
        UpstreamAway: No setting names it.
        WouldBlock: This is the event loop.
    """
    if on_event_loop():
        raise WouldBlock
    if chain.upstream is None:
        raise UpstreamAway(UpstreamReason.NO_URL)
    return chain.upstream


def account(chain: EvmChain, fork: ForkOrigin, address: Address) -> AccountState | None:
    """Return an account for which the rows have neither a change nor a current row.

    Raises:
        UpstreamError: It is not stored, and upstream does not return it.
        MissingState: It is not stored, and this is within a transaction.
        WouldBlock: It is not stored, and this is the event loop.
    """
    if forked_rows.known_accounts(chain.db, [address]):
        return None  # it did not exist at the fork block, or a later block deleted it
    _verify_outside(chain, MissingState(accounts=(address,)))
    return _fetch_accounts(chain, fork, [address])[address]


def accounts(
    chain: EvmChain, fork: ForkOrigin, addresses: Sequence[Address]
) -> dict[Address, AccountState | None]:
    """Return several such accounts, fetched at the same time. Raises as `account`."""
    known = forked_rows.known_accounts(chain.db, addresses)
    missing = [address for address in addresses if address not in known]
    states: dict[Address, AccountState | None] = dict.fromkeys(known)
    if missing:
        _verify_outside(chain, MissingState(accounts=tuple(missing)))
        states.update(_fetch_accounts(chain, fork, missing))
    return states


def slot(chain: EvmChain, fork: ForkOrigin, address: Address, key: Slot) -> Word:
    """Return a slot for which the rows have neither a change nor a current row. Raises as `account`.

    An account with neither code nor nonce at the fork block had no storage, so nothing is fetched for it.

    Unspecified: if upstream is unavailable, slots of the ring buffers of EIP-2935 and EIP-4788 read as zero, and this
    is not stored: each block overwrites some of them, and blocks must be possible offline.
    """
    if forked_rows.known_slots(chain.db, [address + key]):
        return ZERO_WORD
    known = forked_rows.known_accounts(chain.db, [address])
    if address in known and _has_nothing(known[address]):
        return ZERO_WORD
    in_ring = address in RINGS
    if in_ring and (chain.upstream is None or chain.upstream.is_away):
        return ZERO_WORD
    _verify_outside(chain, MissingState(slots=((address, key),)))
    try:
        value = questions.slot(upstream_of(chain), address, key, fork.number, again=not in_ring)
    except UpstreamAway:
        if in_ring:
            return ZERO_WORD
        raise
    forked_rows.keep(chain.db, {}, {(address, key): value})
    return value


def block_hash(chain: EvmChain, number: int) -> Hash:
    """Return the hash of a block before the fork block. Raises as `account`."""
    known = forked_rows.known_hash(chain.db, number)
    if known is None:
        known = questions.block_hash(upstream_of(chain), number)
        forked_rows.keep_hash(chain.db, number, known)
    return known


def supplied(chain: EvmChain, work: Callable[[], T]) -> T:
    """Run work that opens its own transaction; if state is missing, fetch it and run the work again.

    Raises:
        UpstreamError: Upstream does not return the state.
    """
    while True:
        try:
            return work()
        except MissingState as missing:
            fork = chain.fork
            if fork is None or chain.db.connection.in_atomic_block:
                raise
            if missing.accounts:
                accounts(chain, fork, [Address(address) for address in missing.accounts])
            for owner, key in missing.slots:
                slot(chain, fork, Address(owner), Slot(key))


def fetch_accounts(
    upstream: Upstream, addresses: Sequence[Address], number: int
) -> dict[Address, questions.UpstreamAccount]:
    """Return accounts at a height; the first is fetched alone, to learn which methods upstream supports."""
    first = [questions.account(upstream, address, number) for address in addresses[:1]]
    others = upstream.ask_all(
        lambda address: questions.account(upstream, address, number), addresses[1:]
    )
    return dict(zip(addresses, [*first, *others], strict=True))


def _fetch_accounts(
    chain: EvmChain, fork: ForkOrigin, addresses: Sequence[Address]
) -> dict[Address, AccountState | None]:
    fetched = fetch_accounts(upstream_of(chain), addresses, fork.number)
    forked_rows.keep(chain.db, fetched, {})
    return {address: account.state for address, account in fetched.items()}


def _has_nothing(at_pin: AccountState | None) -> bool:
    return at_pin is None or (at_pin.nonce == 0 and at_pin.code_hash == EMPTY_HASH)


def _verify_outside(chain: EvmChain, missing: MissingState) -> None:
    """Verify that waiting for the network delays neither a transaction nor the event loop.

    Raises:
        MissingState: This is within a transaction.
        WouldBlock: This is the event loop.
    """
    if on_event_loop():
        raise WouldBlock
    if chain.db.connection.in_atomic_block:
        raise missing
