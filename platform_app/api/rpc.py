"""Shared objects of one P-Chain's API in one process: the caches of its answers."""

from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache, partial, update_wrapper
from math import inf
from typing import Any, Final, TypeVar

from jsonrpc.dispatch.caller import Caller, Guard, is_named, shown
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from platform_app.api.answers import CachedAnswers
from platform_app.api.errors import refused, to_error_object
from platform_app.api.presence import PresenceMemory
from platform_app.api.records import KeptTexts, StakerRecords
from platform_app.api.wire import address
from platform_app.chain import PlatformChain
from platform_app.genesis.genesis import Asset, asset_of
from platform_app.selectors import accepted
from platform_app.services.signatures import SignatureSource
from platform_app.txs.codec import GENESIS_CODEC, parse
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID, NodeID, ShortID
from primitives.networks import LOCAL

_KEPT_BYTES: Final = 32 * 1024 * 1024
"""Size of the cache of rendered control keys: enough for 250 subnets with the maximum number of keys."""
_IDS: Final = 2**16
"""Number of IDs whose text is cached, because encoding it is the slowest part of a UTXO in a balance."""
_NODES: Final = 2**14
"""Number of node IDs whose text is cached, because validator sets and samples repeat them."""


class PlatformRpc:
    """The API of a chain, the first argument of its handlers. Threads share it.

    Args:
        chain: The chain.
        signatures: Collects the signatures of the chain's statements; None: no node signs them.
        runs: Returns whether this node runs the chain of a subnet with a blockchain ID.
    """

    def __init__(
        self,
        chain: PlatformChain,
        signatures: SignatureSource | None = None,
        *,
        runs: Callable[[ID], bool] = lambda _: False,
    ) -> None:
        self.chain = chain
        self.signatures = signatures
        self.runs = runs
        self.answers = CachedAnswers(chain.answers)
        self.presences = PresenceMemory(chain)
        self.records = StakerRecords(chain)
        self.control_keys: KeptTexts[bytes] = KeptTexts(_KEPT_BYTES)
        """JSON arrays of addresses, by the bytes of their owners."""
        self.id_text = lru_cache(maxsize=_IDS)(_id_text)
        """Returns the text of an ID."""
        self.node_text = lru_cache(maxsize=_NODES)(_node_text)
        """Returns the text of a node ID."""

    def address(self, short_id: ShortID) -> str:
        """Return an address of this chain on this network."""
        return address(self.chain, short_id)

    @cached_property
    def staking_asset(self) -> Asset:
        """The asset that the X-Chain's genesis creates; it never changes.

        Raises:
            NoGenesis: The database holds no chain.
        """
        creation = accepted.tx(self.chain, self.chain.network().x_chain_id)
        assert creation is not None, "every genesis creates an X-Chain"
        created = parse(creation.raw, GENESIS_CODEC).unsigned
        assert isinstance(created, CreateChainTx)
        return asset_of(created.genesis_data)

    def amounts(self, by_asset: dict[ID, int]) -> dict[str, str]:
        """Return amounts by asset."""
        return {self.id_text(asset_id): str(amount) for asset_id, amount in by_asset.items()}


def _id_text(identifier: ID) -> str:
    return str(identifier)


def _node_text(node_id: NodeID) -> str:
    return str(node_id)


R = TypeVar("R")


class Methods:
    """Adds methods of one chain to a registry."""

    def __init__(self, rpc: PlatformRpc) -> None:
        self.registry = MethodRegistry(to_error_object)
        self._rpc = rpc

    def add(
        self,
        name: str,
        handler: Callable[..., object],
        *,
        params: Sequence[Param] = (),
        hot: bool = False,
    ) -> None:
        """Add a method that answers one call; see `MethodRegistry.add`."""
        bound = self._bound(handler)
        answer = bound if hot else self._rpc.answers.followed(bound)
        guard = keystore_guard(self._rpc.chain) if _uses_keystore(name, params) else None
        self.registry.add(name, answer, params=params, hot=hot, guard=guard)

    def add_kept(
        self,
        name: str,
        handler: Callable[..., object],
        *,
        params: Sequence[Param] = (),
        seconds: float = inf,
    ) -> None:
        """Add a method whose answers are cached until the next block, but at most for `seconds`."""
        answer = self._rpc.answers.kept(name, self._bound(handler), seconds)
        self.registry.add(name, answer, params=params, hot=True)

    def add_vectorized(
        self, name: str, handler: Callable[..., Sequence[Any]], *, params: Sequence[Param] = ()
    ) -> None:
        """Add a method that answers several calls together."""
        self.registry.add(name, vectorized=self._bound(handler), params=params)

    def _bound(self, handler: Callable[..., R]) -> Callable[..., R]:
        """Return a handler bound to this chain, with the name and docstring of the original."""
        return update_wrapper(partial(handler, self._rpc), handler)


def _uses_keystore(name: str, params: Sequence[Param]) -> bool:
    """Return whether a method manages users of the keystore, or acts with a user's keys."""
    return name.startswith("keystore.") or any(param.name == "password" for param in params)


def keystore_guard(chain: PlatformChain) -> Guard:
    """Return the guard of the keystore's methods.

    On public networks, web pages are rejected unless the operator allows them: a page in a user's browser could
    guess passwords, lock users out, or fill the keystore. On the local network pages may call these methods, because
    its coins are worthless.

    Unspecified: the reference answers pages of every origin that it allows.
    """
    node = chain.node

    def guard(caller: Caller, _arguments: Sequence[Any]) -> None:
        if not caller.origin or node.network_id == LOCAL:
            return
        if not is_named(caller.origin, node.allowed_origins):
            raise refused(
                f"the keystore does not answer the web page {shown(caller)}: "
                "NODE_ALLOWED_ORIGINS must name its origin, * is not enough"
            )

    return guard
