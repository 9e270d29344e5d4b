"""Verification of warp messages in access lists: enough validators of the source must have signed (etna.md 7.2, 7.3)."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Final, Protocol

from cchain_app.precompiles.predicates import (
    AccessList,
    PredicateError,
    has_predicates,
    parse_predicates,
)
from cchain_app.precompiles.schedule import PrecompileConfig
from primitives.bounded_cache import BoundedCache
from primitives.ids import ID
from primitives.warp import CanonicalSet, SignedMessage, WarpError, verify_message

_KEPT: Final = 512
"""Number of cached results, because a block is often verified several times before it is accepted."""


class FindSigners(Protocol):
    """Finds the validators that sign the messages of a chain for the chain that receives them."""

    def __call__(
        self, source: ID, p_chain_height: int | None, *, primary_network: bool
    ) -> CanonicalSet:
        """Return them.

        Args:
            source: The chain that sends the messages.
            p_chain_height: The height at which they are validators; None: the last accepted one.
            primary_network: Whether messages of the Primary Network's chains need its validators, and not those of the
                receiving chain's subnet.

        Raises:
            WarpError: The source is no chain, or the height is not accepted yet.
        """


_Key = tuple[SignedMessage, CanonicalSet, int]


@dataclass(frozen=True, slots=True)
class WarpIdentity:
    """The identity of a chain that sends and receives warp messages, and the validators that sign for others."""

    network_id: int
    blockchain_id: Callable[[], ID]
    """Returns the chain's ID, which a genesis determines."""
    signers: FindSigners
    _results: BoundedCache[_Key, bool] = field(
        default_factory=lambda: BoundedCache(_KEPT), compare=False, repr=False
    )

    def failed(
        self,
        access_lists: Iterable[tuple[bytes, AccessList]],
        config: PrecompileConfig,
        p_chain_height: int | None,
    ) -> dict[bytes, int]:
        """Return the bits of invalid messages by transaction; transactions without invalid messages are omitted.

        Unreadable messages do not matter here, because they make their transaction invalid.

        Args:
            access_lists: Each with the hash of its transaction.
            config: The chain's config of the warp precompile.
            p_chain_height: The P-Chain height of the block's context.
        """
        found = {}
        signers: dict[ID, CanonicalSet | None] = {}
        for transaction, access_list in access_lists:
            if not has_predicates(access_list):
                continue
            try:
                messages = parse_predicates(access_list)
            except PredicateError:
                continue
            bits = sum(
                1 << place
                for place, item in enumerate(messages)
                if not self._holds(item.message, config, p_chain_height, signers)
            )
            if bits:
                found[transaction] = bits
        return found

    def _holds(
        self,
        message: SignedMessage,
        config: PrecompileConfig,
        p_chain_height: int | None,
        found: dict[ID, CanonicalSet | None],
    ) -> bool:
        """Return whether a message holds, with the signers that were found for other messages of the block."""
        source = message.message.source_chain_id
        if source not in found:
            found[source] = self._signers_of(source, config, p_chain_height)
        signers = found[source]
        if signers is None:
            return False
        key = (message, signers, config.numerator)
        known = self._results.get(key)
        if known is None:
            try:
                verify_message(message, self.network_id, signers, numerator=config.numerator)
                known = True
            except WarpError:
                known = False
            self._results.put(key, known)
        return known

    def _signers_of(
        self, source: ID, config: PrecompileConfig, p_chain_height: int | None
    ) -> CanonicalSet | None:
        needs_primary = config.require_primary_network_signers
        try:
            return self.signers(source, p_chain_height, primary_network=needs_primary)
        except WarpError:
            return None
