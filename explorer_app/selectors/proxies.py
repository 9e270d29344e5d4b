"""Detects proxies and their implementations: by their code, then by slots, then by calling them (explorer.md 10).

Nothing is stored, because code and slots of a contract at the head are cached in memory. Calls of unknown contracts
have little gas and time.
"""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Final, NamedTuple

from cchain_app.chain import EvmChain
from cchain_app.evm.engine import CallInterrupted, CallMessage, CallRejected
from cchain_app.forking.errors import UpstreamError
from cchain_app.selectors import blocks
from cchain_app.selectors.state import (
    StateAt,
    code_at,
    code_of_hash,
    prefetch_accounts,
    prefetch_codes,
    state_at,
    stored_slots,
)
from explorer_app.verification.proxies import (
    ADMIN_SLOT,
    FACETS,
    FIRST_SLOT,
    IMPLEMENTATION,
    MASTER_COPY,
    SLOTS,
    ProxyKind,
    address_of,
    addresses_of,
    delegates,
    target_in_code,
)
from primitives.evm import ZERO_ADDRESS, Address, Hash, Slot
from primitives.hashing import EMPTY_HASH

GAS: Final = 100_000
SECONDS: Final = 0.2
MAX_STEPS: Final = 3
"""Limit of chained proxies that are followed."""
_INTRINSIC: Final = 25_000
"""Intrinsic gas of a transaction: added, so that the contract has all of `GAS`."""


class Proxy(NamedTuple):
    """A contract that runs the code of other contracts."""

    kind: ProxyKind
    implementations: tuple[Address, ...]
    """A single address; for a diamond its facets."""
    beacon: Address | None = None
    """The contract that names the implementation."""
    admin: Address | None = None
    """The address that may change the implementation, if a slot names it."""
    arguments: bytes = b""
    """Immutable arguments of a clone."""


def proxy(chain: EvmChain, address: Address) -> Proxy | None:
    """Return the proxy at an address, at the head; None if the contract is not a proxy or does not exist."""
    return _Contracts(chain).proxy(address)


class FollowedProxy(NamedTuple):
    """The contracts whose code is finally run, after chained proxies."""

    implementations: tuple[Address, ...] = ()
    """Empty if the contract is not a proxy."""
    is_claimed: bool = False
    """Whether only an answer of the contract itself names them, which may be false."""


def implementations(chain: EvmChain, address: Address) -> tuple[Address, ...]:
    """Return the contracts whose code a contract finally runs; empty if it is not a proxy."""
    return followed(chain, address).implementations


def followed(chain: EvmChain, address: Address) -> FollowedProxy:
    """Return the implementations, and whether they are only claimed."""
    contracts = _Contracts(chain)
    proxy = FollowedProxy()
    next_address = address
    for _ in range(MAX_STEPS):
        step = contracts.proxy(next_address)
        if step is None:
            break
        is_claimed = proxy.is_claimed or step.kind is ProxyKind.CLAIMED
        proxy = FollowedProxy(step.implementations, is_claimed)
        if len(step.implementations) != 1 or step.implementations[0] == address:
            break
        (next_address,) = step.implementations
    return proxy


_STORED: Final = tuple(rule.slot for rule in SLOTS if rule.kind is not ProxyKind.BEACON)


class StoredTarget(NamedTuple):
    """The implementation of a proxy, as rows name it."""

    address: Address
    is_certain: bool
    """Whether the code of the proxy is a known pattern, which does nothing but run the implementation's code.

    A contract with a slot may run any other code too.
    """


def stored_targets(chain: EvmChain, hashes: Mapping[Address, Hash]) -> dict[Address, StoredTarget]:
    """Return the implementations of the proxies among contracts, in two statements for all of them.

    Unspecified: only those that the proxy's code or a slot names. For a list no contract is called, so that proxies
    with a beacon, Safes and diamonds have their names on their own pages only.

    Args:
        chain: The chain.
        hashes: Contracts with the hashes of their codes.
    """
    if not hashes:
        return {}
    prefetch_codes(chain, hashes.values())
    words = stored_slots(chain, ((address, slot) for address in hashes for slot in _STORED))
    targets: dict[Address, StoredTarget] = {}
    for address, code_hash in hashes.items():
        code = code_of_hash(chain, code_hash)
        named = target_in_code(code)
        slots = (address_of(words[address, slot]) for slot in _STORED)
        target = next(filter(None, slots), None) if named is None else named.address
        if target is not None and target != address and (named or delegates(code)):
            targets[address] = StoredTarget(target, is_certain=named is not None)
    return targets


class _Contracts:
    """The contracts of a chain at its head."""

    def __init__(self, chain: EvmChain) -> None:
        self._chain = chain
        self._head = blocks.head(chain)
        self._state: StateAt = state_at(chain, self._head.number)

    def proxy(self, address: Address) -> Proxy | None:
        """Return the proxy at an address, by the first rule that matches."""
        code = code_at(self._state, address)
        if not code:
            return None
        target = target_in_code(code)
        if target is not None:
            return Proxy(target.kind, (target.address,), arguments=target.arguments)
        if not delegates(code):
            return None  # the code contains no DELEGATECALL
        return next(self._by_state(address), None)

    def _by_state(self, address: Address) -> Iterator[Proxy]:
        for kind, slot in SLOTS:
            named = self._contract(self._word(address, slot))
            if named is None:
                continue
            if kind is not ProxyKind.BEACON:
                yield Proxy(kind, (named,), admin=self._admin(address))
                continue
            behind = self._contract(self._ask(named, IMPLEMENTATION))
            if behind is not None:
                yield Proxy(kind, (behind,), beacon=named, admin=self._admin(address))
        singleton = self._contract(self._word(address, FIRST_SLOT))
        if singleton is not None and self._contract(self._ask(address, MASTER_COPY)) == singleton:
            yield Proxy(ProxyKind.SAFE, (singleton,))
        facets = addresses_of(self._ask(address, FACETS))
        prefetch_accounts(self._chain, facets, self._head.number)
        if facets and all(self._has_code(facet) for facet in facets):
            yield Proxy(ProxyKind.DIAMOND, tuple(facets))
        claimed = self._contract(self._ask(address, IMPLEMENTATION))
        if claimed is not None and claimed != address:
            yield Proxy(ProxyKind.CLAIMED, (claimed,))

    def _contract(self, word: bytes) -> Address | None:
        """Return the contract at the address in a word, or None."""
        address = address_of(word)
        return address if address is not None and self._has_code(address) else None

    def _has_code(self, address: Address) -> bool:
        account = self._state.account(address)
        return account is not None and account.code_hash != EMPTY_HASH

    def _admin(self, address: Address) -> Address | None:
        return address_of(self._word(address, ADMIN_SLOT))

    def _word(self, address: Address, slot: Slot) -> bytes:
        return self._state.storage(address, self._chain.stored_slot(slot))

    def _ask(self, to: Address, question: bytes) -> bytes:
        """Return the answer of a contract; empty if the call fails or takes too long."""
        env = self._chain.rules.env_of(self._head)
        free = env if env.base_fee is None else replace(env, base_fee=0)
        message = CallMessage(ZERO_ADDRESS, to, GAS + _INTRINSIC, 0, 0, question)
        try:
            result = self._chain.engine.call(free, message, self._state, time_limit=SECONDS)
        except (CallRejected, CallInterrupted, UpstreamError):
            return b""
        return b"" if result.error is not None else bytes(result.output)
