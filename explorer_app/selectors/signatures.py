"""The functions, errors and events that contracts declare in their verified ABIs, for the log of transactions."""

import time
from collections.abc import Callable
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.forking.errors import UpstreamError
from cchain_app.transaction_log.declarations import KnownSignatures
from primitives.bounded_cache import BoundedCache
from primitives.evm import Address

MAX_CONTRACTS: Final = 256
"""Contracts whose signatures are kept."""

SECONDS: Final = 2.0
"""Seconds for which they are kept: a contract may be verified, or become a proxy of another one."""


class DeclaredSignatures:
    """Returns the signatures that contracts declare.

    Args:
        chain: The EVM chain.
        clock: Returns increasing seconds.
    """

    def __init__(self, chain: EvmChain, clock: Callable[[], float] = time.monotonic) -> None:
        self._chain = chain
        self._clock = clock
        self._kept: BoundedCache[Address, tuple[float, KnownSignatures | None]] = BoundedCache(
            most=MAX_CONTRACTS
        )

    def __call__(self, contract: Address) -> KnownSignatures | None:
        """Return the functions, errors and events of a contract's ABI, of its implementation's if it is a proxy, or None."""
        now = self._clock()
        kept = self._kept.peek(contract)
        if kept is not None and now < kept[0]:
            return kept[1]
        found = self._read(contract)
        self._kept.put(contract, (now + SECONDS, found))
        return found

    def _read(self, contract: Address) -> KnownSignatures | None:
        # Imported here, because a node without failures does not need it to start.
        from explorer_app.selectors import verified

        try:
            abi = verified.abi_of(self._chain, contract)
        except UpstreamError:  # the log is written without the names
            return None
        if not (abi.functions or abi.errors or abi.events):
            return None
        return KnownSignatures(abi.functions, abi.errors, abi.events)
