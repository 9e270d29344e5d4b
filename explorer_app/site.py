"""The parts of a process's explorer: the chains, the settings and the node's health."""

import threading
import uuid
from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from cchain_app.chain import EvmChain
from cchain_app.transaction_log.declarations import KnownSignatures
from chaindb.chains import X_CHAIN
from chaindb.indexing import LaggingIndex, SingleRun
from explorer_app.names.book import NameBook
from explorer_app.settings import ExplorerSettings
from explorer_app.verification.compilers import Compilers
from health_app.result import Report
from jsonrpc.http.replies import Endpoint
from platform_app.chain import PlatformChain
from primitives.settings import CommonSettings
from xchain_app.chain import AvmChain

EXECUTING: Final = 2
"""Limit of pages per process that execute transactions at the same time; all pages share eight threads."""

VERIFY: Final = "explorer_app.verify"
"""Name of the Celery task that processes verifications."""

HELD: Final = 2
"""Limit of requests per process that wait for a verification to end; further requests return its state immediately."""


class FaucetReceipt(NamedTuple):
    """A payment of the faucet."""

    chain: str
    """C, P or X."""
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

    def give(self, text: str, client: str) -> FaucetReceipt:
        """Send coins to an address of a chain of the Primary Network.

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
        rpc: Returns the C-Chain's JSON-RPC interface, with its limits for clients.
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
        rpc: Callable[[], Endpoint],
    ) -> None:
        self.node = node
        self.settings = settings
        self.evm = evm
        self.platform = platform
        self.avm = avm
        self.health = health
        self.node_id = node_id
        self.rpc = rpc
        self.worker: Final = uuid.uuid4().hex
        """The ID of this process among those that process verifications."""
        self.verifying: Final = SingleRun("verification")
        """Lets one thread of this process at a time process verifications."""
        self.token_index: Final = LaggingIndex("tokens")
        """Lets one thread of this process at a time index tokens."""
        self.statistics: Final = LaggingIndex("statistics")
        """Lets one thread of this process at a time summarise the chain."""
        self.executing: Final = threading.BoundedSemaphore(EXECUTING)
        """Limits the pages that execute a transaction again at the same time."""
        self.holding: Final = threading.BoundedSemaphore(HELD)
        """Limits the requests that wait for the end of a verification."""

    @property
    def has_cchain(self) -> bool:
        """Whether the node takes part in the C-Chain."""
        return "C" in self.node.chains

    @property
    def has_xchain(self) -> bool:
        """Whether the node takes part in the X-Chain."""
        return X_CHAIN in self.node.chains

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are stored as rows."""
        return self.settings.indexes_tokens(self.node.network_id)

    @property
    def has_statistics(self) -> bool:
        """Whether the C-Chain is summarised by day and by balance."""
        return self.has_cchain and self.settings.summarises(self.node.network_id)

    @cached_property
    def names(self) -> NameBook:
        """Names of common functions, events and errors."""
        return NameBook.load()

    @cached_property
    def known(self) -> KnownSignatures:
        """The same names, in the form in which the log uses them for failed calls."""
        return KnownSignatures.load()
