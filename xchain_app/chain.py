"""The X-Chain as an object: everything that belongs to one chain, passed to the code that works on it."""

from collections.abc import Callable
from functools import cached_property
from typing import Final, NamedTuple, Protocol

from django.db import DEFAULT_DB_ALIAS

from chaindb.building import BlocksInProgress
from chaindb.database import Database
from chaindb.events import ChainEvents
from chaindb.locks import Lock
from chaindb.wakeup import Wakeup
from primitives.addresses import format_address
from primitives.fair_lock import FairLock
from primitives.ids import ID, PRIMARY_NETWORK_ID, ShortID
from primitives.networks import XCHAIN_ALIASES
from primitives.settings import CommonSettings
from xchain_app.config import AvmConfig, AvmEnv
from xchain_app.store import blocks
from xchain_app.store.blocks import StoredXChain, XTip
from xchain_app.store.state import NoXChain, XDatabaseState


class XChainOrigin(NamedTuple):
    """The transaction of the P-Chain that created the chain."""

    chain_id: ID
    """The ID of that transaction."""
    genesis: bytes
    """The genesis bytes in it."""


class PrimaryNetwork(Protocol):
    """The values that an X-Chain reads from the P-Chain of its node."""

    def x_chain(self) -> XChainOrigin | None:
        """Return the origin of the X-Chain; None before the P-Chain's genesis."""

    def subnet_of(self, chain_id: ID) -> ID | None:
        """Return the subnet of a blockchain; None for an unknown blockchain."""

    def chain_id_of(self, alias: str) -> ID | None:
        """Return the blockchain ID of a chain of the Primary Network, by its alias or ID; None for an unknown alias."""


class AvmChain:
    """An X-Chain: its identity, its parameters and its rows. Threads share the object.

    Args:
        node: The settings that the apps of a node share.
        db: The database with its rows.
        config: Returns the parameters of its network.
        network: The node's P-Chain.
        events: The node's `ChainEvents`; by default the chain creates its own.
        is_synced: Returns whether the chain has finished bootstrapping.
    """

    aliases = XCHAIN_ALIASES
    name: str = XCHAIN_ALIASES[0]
    subnet_id: Final = PRIMARY_NETWORK_ID
    vm_name: Final = "avm"
    lock: Final = Lock.XCHAIN
    """The lock for writing its blocks."""

    def __init__(
        self,
        node: CommonSettings,
        db: Database,
        config: Callable[[], AvmConfig],
        network: PrimaryNetwork,
        *,
        events: ChainEvents | None = None,
        is_synced: Callable[[], bool] = lambda: True,
    ) -> None:
        self.node = node
        self.is_synced = is_synced
        """Returns whether the chain has reached the other nodes' frontier; before that, users cannot issue transactions."""
        self.db = db
        self.network = network
        self._config = config
        self.vm_lock = FairLock()
        """Held by the thread of this process that works on the chain's VM."""
        self.events = events or ChainEvents(node.profile)
        """Sends messages to subscribers; see `notifications`."""
        self.building = BlocksInProgress(self.cache_key(self.name), node.profile)
        """Its blocks in progress."""
        self.producer = Wakeup("xchain_app.build_blocks", Lock.XCHAIN_PRODUCER, db, node.profile)
        """Requests a block, inside the transaction that stores pending work or after it."""

    @cached_property
    def config(self) -> AvmConfig:
        """The parameters of its network."""
        return self._config()

    @property
    def blockchain_id(self) -> ID:
        """The ID of the transaction that created the chain.

        Raises:
            NoXChain: There is no P-Chain yet.
        """
        return self._origin.chain_id

    @cached_property
    def _origin(self) -> XChainOrigin:
        origin = self.network.x_chain()
        if origin is None:
            raise NoXChain
        return origin

    @property
    def genesis_bytes(self) -> bytes:
        """The bytes of the genesis. Raises as `blockchain_id`."""
        return self._origin.genesis

    def is_named(self, name: str) -> bool:
        """Return whether a name means this chain: one of its aliases, or its blockchain ID."""
        if name in self.aliases:
            return True
        try:
            return name == str(self.blockchain_id)
        except NoXChain:
            return False

    def cache_key(self, name: str) -> str:
        """Return a key of Django's cache that is unique to this chain and shared by all processes of the node."""
        return name if self.db.alias == DEFAULT_DB_ALIAS else f"{self.db.alias}-{name}"

    def env(self, chain: StoredXChain, *, bootstrapped: bool = True) -> AvmEnv:
        """Return the environment that rules need besides the state.

        Args:
            chain: The stored chain.
            bootstrapped: Whether all rules are checked.
        """
        return AvmEnv(
            config=self.config,
            chain_id=chain.chain_id,
            fee_asset_id=chain.fee_asset_id,
            subnet_of=self.network.subnet_of,
            subnet_id=self.subnet_id,
            bootstrapped=bootstrapped,
        )

    def address(self, short_id: ShortID) -> str:
        """Return an address of this chain on this network."""
        return format_address(self.name, self.config.hrp, short_id)

    def state(self) -> XDatabaseState:
        """Return the state after the last accepted block. Raises `NoXChain`."""
        return XDatabaseState(self.db)

    def stored(self) -> StoredXChain:
        """Return the chain that the database holds. Raises `NoXChain`."""
        return self._read()[0]

    def tip(self) -> XTip:
        """Return the last accepted block of the chain. Raises `NoXChain`."""
        return self._read()[1]

    def _read(self) -> tuple[StoredXChain, XTip]:
        found = blocks.read(self.db)
        if found is None:
            raise NoXChain
        return found
