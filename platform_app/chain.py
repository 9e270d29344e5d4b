"""The P-Chain as an object: everything that belongs to one chain, passed to the code that works on it.

Each process has one chain, made from the settings; a test can make any number of chains.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import ClassVar, Final, NamedTuple, Self

from django.db import DEFAULT_DB_ALIAS

from chaindb.attempts import Slots
from chaindb.building import BlocksInProgress
from chaindb.database import Database
from chaindb.events import ChainEvents
from chaindb.locks import Lock
from chaindb.wakeup import Wakeup
from platform_app.config import Env, PlatformConfig, reference_config, specification_config
from platform_app.memory.answers import AnswerMemory, ChainPosition
from platform_app.memory.stakers import StakerMemories, StakerVersion
from platform_app.settings import PlatformSettings
from platform_app.state.chain import ChainState
from platform_app.store import blocks
from platform_app.store.blocks import StoredNetwork, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import ProofOfPossession
from platform_app.wallet.errors import KeystoreBusy
from primitives.fair_lock import FairLock
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.networks import PLATFORM_ALIASES
from primitives.node_identity import IdentityFiles
from primitives.settings import CommonSettings
from primitives.upgrades import read_upgrades

PAUSE = 10.0
"""Seconds between two checks of all pending transactions."""


@dataclass(slots=True)
class RecheckTimer:
    """The time from which all pending transactions may be checked again."""

    again_at: float = 0.0
    """On the monotonic clock, in seconds."""

    def may_begin(self) -> bool:
        """Return whether a check is due; if so, record that it has begun."""
        moment = monotonic()
        if moment < self.again_at:
            return False
        self.again_at = moment + PAUSE
        return True


class DerivationSlots(Slots):
    """Slots for deriving keys from passwords; KeystoreBusy is raised when all of them are taken."""

    full: ClassVar[type[Exception]] = KeystoreBusy


class KeyDerivation(NamedTuple):
    """Key derivation slots, separate for keystore users and for unknown callers."""

    users: DerivationSlots
    strangers: DerivationSlots

    @classmethod
    def of(cls, threads: int) -> Self:
        """Return slots for a process with this many threads for calls: they use at most five eighths of them.

        With only one or two threads, none may be left for other calls.
        """
        return cls(
            users=DerivationSlots(at_once=2, slots=max(1, threads * 3 // 8)),
            strangers=DerivationSlots(at_once=1, slots=max(1, threads // 4)),
        )


class NoPlatformGenesis(Exception):
    """The database holds no P-Chain yet; `init_node` creates its genesis."""


class PlatformChain:
    """A P-Chain: its identity, its parameters, its rows and its caches.

    Threads share the object. The P-Chain of every network has the same blockchain ID.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of the chain.
        db: The database with its rows.
        identity: The identity of that node.
        events: The node's `ChainEvents`; by default the chain creates its own.
        is_synced: Returns whether the chain has finished bootstrapping.
    """

    blockchain_id: ID = PRIMARY_NETWORK_ID
    aliases = PLATFORM_ALIASES
    name: str = PLATFORM_ALIASES[0]
    subnet_id: Final = PRIMARY_NETWORK_ID
    vm_name: Final = "platform"
    lock: Final = Lock.PCHAIN
    """The lock for writing its blocks."""

    def __init__(
        self,
        node: CommonSettings,
        settings: PlatformSettings,
        db: Database,
        identity: IdentityFiles,
        *,
        events: ChainEvents | None = None,
        is_synced: Callable[[], bool] = lambda: True,
    ) -> None:
        self.node = node
        self.settings = settings
        self.is_synced = is_synced
        """Returns whether the chain has reached the other nodes' frontier; before that, users cannot issue transactions."""
        self.db = db
        self.vm_lock = FairLock()
        """Held by the thread of this process that works on the chain's VM: that builds, verifies or accepts blocks."""
        self.identity = identity
        self.stakers = StakerMemories.empty(self.stakers_version)
        self.answers = AnswerMemory(self.position)
        """Cached answers to queries of its accepted state."""
        self.key_derivation = KeyDerivation.of(node.rpc_threads)
        self.events = events or ChainEvents(node.profile)
        """Sends messages to subscribers; see `notifications`."""
        self.building = BlocksInProgress(self.cache_key(self.name), node.profile)
        """Its blocks in progress."""
        self.recheck = RecheckTimer()
        """Limits how often the pending transactions are checked again."""
        self.producer = Wakeup("platform_app.build_blocks", Lock.PCHAIN_PRODUCER, db, node.profile)
        """Asked for a block in the transaction that stores pending work, or after that transaction."""

    def is_named(self, name: str) -> bool:
        """Return whether a name means this chain: one of its aliases, or its blockchain ID."""
        return name in {*self.aliases, str(self.blockchain_id)}

    def env(
        self,
        network: StoredNetwork,
        now: int,
        p_chain_height: int | None = None,
        *,
        decided: bool = False,
    ) -> Env:
        """Return the environment that rules need besides the state.

        Args:
            network: The network's constants.
            now: The node's time in Unix seconds.
            p_chain_height: The height in the block's context.
            decided: Whether the network has accepted the block already.
        """
        return Env(
            config=self.config,
            asset_id=network.asset_id,
            now=now,
            x_chain_id=network.x_chain_id,
            c_chain_id=network.c_chain_id,
            p_chain_height=p_chain_height,
            decided=decided,
        )

    @cached_property
    def config(self) -> PlatformConfig:
        """The parameters of its network, from the set that NODE_PARAMETERS names, and the times of NODE_UPGRADES."""
        of_network = reference_config if self.answers_as_reference else specification_config
        config = of_network(self.node.network_id)
        if not self.node.upgrades:
            return config
        return replace(config, upgrades=read_upgrades(Path(self.node.upgrades)))

    @property
    def answers_as_reference(self) -> bool:
        """Whether answers have the reference's shape where the specification's differs.

        They do with the reference's parameters, because participants in its networks use its clients.
        """
        return self.node.parameters == "avalanchego"

    @property
    def node_id(self) -> NodeID:
        """The ID of the node that the chain belongs to, derived from the staking certificate.

        Raises:
            OSError: The certificate file is missing: the node has not been initialised.
            NoCertificate: The file holds no certificate.
        """
        return self.identity.node_id

    @property
    def proof_of_possession(self) -> ProofOfPossession:
        """The BLS key of the node that the chain belongs to, with the proof of possession of the secret key.

        Raises:
            OSError: The key file is missing: the node has not been initialised.
            UnusableSignerKey: The file holds no key.
        """
        return ProofOfPossession(*self.identity.signer_key)

    def cache_key(self, name: str) -> str:
        """Return a key of Django's cache that is unique to this chain and shared by all processes of the node."""
        return name if self.db.alias == DEFAULT_DB_ALIAS else f"{self.db.alias}-{name}"

    def state(self) -> ChainState:
        """Return the state after the last accepted block, for use by the rules."""
        return DatabaseState(self.db)

    def network(self) -> StoredNetwork:
        """Return the network of this chain.

        Raises:
            NoPlatformGenesis: The database holds no chain.
        """
        return self._read()[0]

    def tip(self) -> Tip:
        """Return the last accepted block of the chain.

        Raises:
            NoPlatformGenesis: The database holds no chain.
        """
        return self._read()[1]

    def stakers_version(self) -> StakerVersion:
        """Return the version of answers about stakers that are read now.

        Raises:
            NoPlatformGenesis: The database holds no chain.
        """
        row = blocks.stakers_version(self.db)
        if row is None:
            raise NoPlatformGenesis
        return StakerVersion(*row)

    def position(self) -> ChainPosition | None:
        """Return the chain's position and the clock offset from the rows; None if the database holds no chain."""
        row = blocks.position(self.db)
        return None if row is None else ChainPosition(*row)

    def _read(self) -> tuple[StoredNetwork, Tip]:
        stored = blocks.read(self.db)
        if stored is None:
            raise NoPlatformGenesis
        return stored
