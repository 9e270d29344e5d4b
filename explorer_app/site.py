"""The parts of a process's explorer: the chains, the settings and the node's health.

The pages of an EVM chain are those of an `Explorer` for this chain. That of the C-Chain is the process's; it makes the
others, whose pages have the same paths below `/chain/<name>`.
"""

import copy
import threading
import uuid
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, Final, NamedTuple, Protocol, Self

from django.urls import reverse

from cchain_app.chain import EvmChain
from cchain_app.transaction_log.declarations import KnownSignatures
from chaindb.chains import C_CHAIN, X_CHAIN, is_left_out
from chaindb.indexing import LaggingIndex, SingleRun
from explorer_app.managers.ports import L1Tools
from explorer_app.names.book import NameBook
from explorer_app.settings import ExplorerSettings
from explorer_app.verification.compilers import Compilers
from health_app.result import Report
from jsonrpc.http.replies import Endpoint
from platform_app.chain import PlatformChain
from primitives.evm import Hash
from primitives.settings import CommonSettings
from xchain_app.chain import AvmChain

EXECUTING: Final = 2
"""Limit of pages per process that execute transactions at the same time; all pages share eight threads."""

VERIFY: Final = "explorer_app.verify"
"""Name of the Celery task that processes verifications."""

HELD: Final = 2
"""Limit of requests per process that wait for a verification to end; further requests return its state immediately."""


MAX_NAME: Final = 128
"""Limit of characters of a chain's name in a URL."""

_OF_CHAINS: Final = "explorer:chain"
"""Namespace of the pages of the EVM chains besides the C-Chain."""
_FRONT: Final = "front"
OF_EVERY_CHAIN: Final = frozenset(
    {
        _FRONT, "blocks", "block", "txs", "tx", "address", "contract-read", "contract-write", "contract-storage",
        "csv-transactions", "csv-transfers", "csv-internal", "csv-events", "csv-blocks", "csv-txs", "pool", "tokens",
        "token", "token-item", "contracts", "accounts", "charts", "chart-figures", "gas", "gas-figures", "search",
        "suggest", "connect", "faucet", "api", "api-v2",
    }
)  # fmt: skip
"""Names of the pages that each EVM chain has."""


class ChainPages:
    """The URLs of the pages of an EVM chain; pages that no EVM chain has of its own are those of the node.

    Args:
        name: The chain's name in URLs; empty for the C-Chain.
    """

    def __init__(self, name: str = "") -> None:
        self.name = name

    def reverse(
        self, view: str, args: Sequence[Any] = (), kwargs: dict[str, Any] | None = None
    ) -> str:
        """Return the URL of a page of the explorer, as Django's `reverse`.

        Raises:
            NoReverseMatch: There is no such page.
        """
        own = view.removeprefix("explorer:")
        if not self.name or own == view or own not in OF_EVERY_CHAIN:
            return reverse(view, args=args or None, kwargs=kwargs)
        if own == _FRONT:
            return reverse("explorer:chain-front", args=[self.name])
        if kwargs:
            return reverse(f"{_OF_CHAINS}:{own}", kwargs={"chain_name": self.name, **kwargs})
        return reverse(f"{_OF_CHAINS}:{own}", args=[self.name, *args])

    @property
    def base(self) -> str:
        """The path before those of the chain's pages, without a trailing slash: what EIP-3091 calls the explorer's URL."""
        return self.reverse("explorer:front").rstrip("/")


def pages_of(chain: EvmChain) -> ChainPages:
    """Return the URLs of the pages of an EVM chain."""
    return ChainPages("" if chain.name == C_CHAIN else chain.path_name)


class KnownNames:
    """Names of common functions, events and errors, read at first use; one object for all chains."""

    @cached_property
    def book(self) -> NameBook:
        """The names for pages."""
        return NameBook.load()

    @cached_property
    def signatures(self) -> KnownSignatures:
        """The same names, in the form in which the log uses them for failed calls."""
        return KnownSignatures.load()


class FaucetReceipt(NamedTuple):
    """A payment of the faucet."""

    chain: str
    """C, P, X, or the name of another EVM chain."""
    address: str
    """The address as it was requested."""
    transaction: str
    """Transaction hash (C) or ID (P, X)."""
    coins: int


class FaucetPort(Protocol):
    """The faucet, as the explorer's pages use it."""

    coins: int
    """Coins per request."""
    is_private: bool
    """Whether it pays with the operator's own key."""

    def pays_on(self, chain: EvmChain) -> bool:
        """Return whether its key got coins in the genesis of an EVM chain."""

    def give(self, text: str, client: str, chain: EvmChain) -> FaucetReceipt:
        """Send coins to an address of the Primary Network's chains, or of another EVM chain.

        Args:
            text: The address.
            client: The client that requests the coins.
            chain: The EVM chain, on which an address in hexadecimal digits gets the coins.

        Raises:
            FaucetError: No coins were sent; the message says why.
        """


class Explorer:
    """Pages about the chains of a node.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of the explorer.
        evm: The C-Chain.
        platform: The P-Chain.
        avm: The X-Chain.
        health: Returns the results of the health checks, from memory.
        node_id: Returns the node's own ID, empty before it has one.
        evms: Returns the EVM chains that run, the C-Chain first.
        refused: Returns how many EVM chains of tracked subnets do not run.
        look_for_chains: Begins to run EVM chains that were created since the last call. Blocking.
        endpoint_of: Returns the JSON-RPC interface of an EVM chain, with its limits for clients.
        l1_tools: The parts of the node that create and delete L1s.
    """

    compilers: Compilers
    """The installed Solidity compilers; set by `services.composition`."""

    faucet: FaucetPort | None
    """The faucet, or None; set by `services.composition`."""

    def __init__(
        self,
        node: CommonSettings,
        settings: ExplorerSettings,
        evm: EvmChain,
        platform: PlatformChain,
        avm: AvmChain,
        *,
        health: Callable[[], Report],
        node_id: Callable[[], str],
        evms: Callable[[], Sequence[EvmChain]],
        refused: Callable[[], int],
        look_for_chains: Callable[[], object],
        endpoint_of: Callable[[EvmChain], Endpoint],
        l1_tools: L1Tools,
    ) -> None:
        self.node = node
        self.settings = settings
        self.evm = evm
        self.platform = platform
        self.avm = avm
        self.health = health
        self.node_id = node_id
        self.refused = refused
        self.look_for_chains = look_for_chains
        self.l1_tools = l1_tools
        self.creating: Final = SingleRun("creation of L1s")
        """Lets one thread of this process at a time create an L1."""
        self.pages = ChainPages()
        """The URLs of the pages."""
        self._evms = evms
        self._endpoint_of = endpoint_of
        self._known = KnownNames()
        self._made: dict[str, Explorer] = {evm.name: self}
        """The explorers by chain name: that of the C-Chain, and those of other chains once a request named them."""
        self._making: Final = threading.Lock()
        self.done: dict[str, Hash] = {}
        """The blocks at which the chain's indexes were complete, by the name of the index."""
        self.worker: Final = uuid.uuid4().hex
        """The ID of this process among those that process verifications."""
        self.turns: Counter[str] = Counter()
        """Where the next call of each task begins among the EVM chains besides the C-Chain."""
        self.verifying: Final = SingleRun("verification")
        """Lets one thread of this process at a time process verifications."""
        self.token_index = LaggingIndex("tokens")
        """Lets one thread of this process at a time index tokens."""
        self.statistics = LaggingIndex("statistics")
        """Lets one thread of this process at a time summarise the chain."""
        self.executing: Final = threading.BoundedSemaphore(EXECUTING)
        """Limits the pages that execute a transaction again at the same time."""
        self.holding: Final = threading.BoundedSemaphore(HELD)
        """Limits the requests that wait for the end of a verification."""

    @property
    def evms(self) -> list[EvmChain]:
        """The EVM chains that run and have pages, the C-Chain first."""
        return [chain for chain in self._evms() if not is_left_out(chain.name)]

    def of(self, chain: EvmChain) -> "Explorer":
        """Return the explorer of an EVM chain of this node; all share everything but the chain's indexes."""
        with self._making:
            known = self._made.get(chain.name)
            if known is None or known.evm is not chain:
                for gone in self._made.keys() - {evm.name for evm in self._evms()}:
                    del self._made[gone]  # snapshots can end chains
                known = self._made[chain.name] = self._showing(chain)
            return known

    def _showing(self, chain: EvmChain) -> Self:
        """Return a copy for a chain, without what belongs to this one's."""
        made = copy.copy(self)
        made.evm = chain
        made.pages = pages_of(chain)
        made.token_index = LaggingIndex("tokens")
        made.statistics = LaggingIndex("statistics")
        made.done = {}
        return made

    def find(self, name: str) -> "Explorer | None":
        """Return the explorer of the EVM chain with an alias or a blockchain ID, or None."""
        if len(name) > MAX_NAME:
            return None
        found = next((chain for chain in self.evms if chain.is_named(name)), None)
        return None if found is None else self.of(found)

    def of_chain_id(self, text: str) -> "Explorer | None":
        """Return the explorer of the EVM chain with a chain ID, as decimal digits, or None."""
        found = (chain for chain in self.evms if str(chain.genesis.config.chain_id) == text)
        chain = next(found, None)
        return None if chain is None else self.of(chain)

    def rpc(self) -> Endpoint:
        """Return the chain's JSON-RPC interface, with its limits for clients."""
        return self._endpoint_of(self.evm)

    @property
    def is_of_cchain(self) -> bool:
        """Whether the chain of the pages is the C-Chain."""
        return self.evm.name == C_CHAIN

    @property
    def rpc_path(self) -> str:
        """The path of the chain's interfaces, without `/rpc` and `/ws`."""
        return f"/ext/bc/{self.evm.path_name}"

    @property
    def has_evm(self) -> bool:
        """Whether the node takes part in the EVM chain of the pages."""
        return not self.is_of_cchain or "C" in self.node.chains

    @property
    def has_faucet(self) -> bool:
        """Whether the faucet can pay on the chain of the pages."""
        faucet = self.faucet
        return faucet is not None and (self.is_of_cchain or faucet.pays_on(self.evm))

    @property
    def has_xchain(self) -> bool:
        """Whether the node takes part in the X-Chain."""
        return X_CHAIN in self.node.chains

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are stored as rows."""
        return self.settings.indexes_tokens(self.node.network_id)

    @property
    def summarises(self) -> bool:
        """Whether EVM chains are summarised by day and by balance."""
        return self.settings.summarises(self.node.network_id)

    @property
    def has_statistics(self) -> bool:
        """Whether the chain of the pages is summarised."""
        return self.has_evm and self.summarises

    @property
    def names(self) -> NameBook:
        """Names of common functions, events and errors."""
        return self._known.book

    @property
    def known(self) -> KnownSignatures:
        """The same names, in the form in which the log uses them for failed calls."""
        return self._known.signatures
