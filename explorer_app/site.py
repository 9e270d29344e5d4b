"""What a process' explorer is made of: its chains, the settings, and what health is."""

from collections.abc import Callable
from functools import cached_property
from typing import Protocol

from cchain_app.chain import EvmChain
from cchain_app.transaction_log.known import KnownSignatures
from explorer_app.names.book import NameBook
from health_app.result import Report
from platform_app.chain import PlatformChain


class Settings(Protocol):
    """What the explorer asks of the node's settings."""

    @property
    def network_id(self) -> int:
        """The network; local ones have keys that everybody knows."""

    @property
    def profile(self) -> str:
        """ "embedded" or "production"."""

    @property
    def indexes_tokens(self) -> bool:
        """Whether transfers and holders of tokens are written as rows."""

    @property
    def chains(self) -> tuple[str, ...]:
        """The letters of the chains that the node takes part in."""


class Explorer:
    """Pages about both chains of a node.

    Args:
        settings: What the node's operator has set.
        evm: The C-Chain.
        platform: The P-Chain.
        health: Returns what the checks found, from memory.
        node_id: Returns the node's own ID, empty while it has none.
        base_url: Where the node is reached, as it knows it: scheme, host and port.
    """

    def __init__(
        self,
        settings: Settings,
        evm: EvmChain,
        platform: PlatformChain,
        *,
        health: Callable[[], Report],
        node_id: Callable[[], str],
        base_url: str,
    ) -> None:
        self.settings = settings
        self.evm = evm
        self.platform = platform
        self.health = health
        self.node_id = node_id
        self.base_url = base_url

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
