"""What a process' explorer is made of: its chains, the settings, and what health is."""

import threading
import uuid
from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from cchain_app.chain import EvmChain
from cchain_app.transaction_log.known import KnownSignatures
from explorer_app.names.book import NameBook
from explorer_app.verification.port import Compilers
from health_app.result import Report
from jsonrpc.http.replies import Endpoint
from platform_app.chain import PlatformChain

EXECUTING: Final = 2
"""Pages of a process for which transactions are executed at the same time: of eight threads, which all pages share."""

VERIFY: Final = "explorer_app.verify"
"""The Celery task that works verifications off, by name."""

HELD: Final = 2
"""Requests of a process that wait for the end of a verification at the same time; others hear at once how far it is."""


class Settings(Protocol):
    """What the explorer asks of the node's settings."""

    @property
    def network_id(self) -> int:
        """The network; local ones have keys that everybody knows."""

    @property
    def profile(self) -> str:
        """Whether all is one process (`embedded`), or not (`production`)."""

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are written as rows."""

    @property
    def faucet(self) -> int:
        """Coins that the faucet gives at once; 0: there is none."""

    @property
    def faucet_hourly(self) -> int:
        """Most coins that the faucet gives in an hour; 0: any."""

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        """Origins of web pages that may call the node."""

    @property
    def faucet_key_file(self) -> str:
        """The file with the key that it pays with; empty: the local network's own."""

    @property
    def solc_directory(self) -> str:
        """Where Solidity's compilers are; empty: there are none."""

    @property
    def solc_socket(self) -> str:
        """The socket of the process that runs the compilers; empty: each process runs them itself."""

    @property
    def solc_seconds(self) -> float:
        """For a verification, with all its compilations."""

    @property
    def solc_memory(self) -> int:
        """Bytes that a compiler may have."""

    @property
    def source_limit(self) -> int:
        """Bytes of a submission."""

    @property
    def verifications(self) -> int:
        """That may wait, of all clients."""

    @property
    def chains(self) -> tuple[str, ...]:
        """The letters of the chains that the node takes part in."""


class Given(NamedTuple):
    """Coins that were given."""

    chain: str
    """C or P."""
    address: str
    """As it was asked for."""
    transaction: str
    """Hash or ID."""
    coins: int


class Tap(Protocol):
    """What gives coins to whoever asks."""

    coins: int
    """So many at once."""
    is_private: bool
    """Whether it pays with the operator's own key."""

    def give(self, text: str, client: str) -> Given:
        """Give coins to an address of either chain.

        Raises:
            FaucetError: Nothing is given, and why.
        """


class Explorer:
    """Pages about both chains of a node.

    Args:
        settings: What the node's operator has set.
        evm: The C-Chain.
        platform: The P-Chain.
        health: Returns what the checks found, from memory.
        node_id: Returns the node's own ID, empty while it has none.
        base_url: Where the node is reached, as it knows it: scheme, host and port.
        rpc: Returns the C-Chain's JSON-RPC interface, with the limits of clients.
    """

    compilers: Compilers
    """Solidity's, as far as they are there; `services.composition` sets it."""

    faucet: Tap | None
    """Gives coins; None: there is none. Likewise."""

    def __init__(
        self,
        settings: Settings,
        evm: EvmChain,
        platform: PlatformChain,
        *,
        health: Callable[[], Report],
        node_id: Callable[[], str],
        base_url: str,
        rpc: Callable[[], Endpoint],
    ) -> None:
        self.settings = settings
        self.evm = evm
        self.platform = platform
        self.health = health
        self.node_id = node_id
        self.base_url = base_url
        self.rpc = rpc
        self.worker: Final = uuid.uuid4().hex
        """This process, among those that verify."""
        self.verifying: Final = threading.Lock()
        """Held in this process while verifications are worked off."""
        self.indexing: Final = threading.Lock()
        """Held in this process while a thread of its own indexes tokens."""
        self.executing: Final = threading.BoundedSemaphore(EXECUTING)
        """Has a place for each page for which a transaction is executed again."""
        self.holding: Final = threading.BoundedSemaphore(HELD)
        """Has a place for each request that waits for the end of a verification."""

    @property
    def has_cchain(self) -> bool:
        """Whether the node takes part in the C-Chain."""
        return "C" in self.settings.chains

    @cached_property
    def names(self) -> NameBook:
        """Names of common functions, events and errors."""
        return NameBook.load()

    @cached_property
    def known(self) -> KnownSignatures:
        """The same, as the log names failures by them."""
        return KnownSignatures.load()
