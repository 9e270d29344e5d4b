"""The P-Chain as an object: what is one chain's, passed on to whoever works on it.

Each process has one, made from the settings; a test makes as many as it likes.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from time import monotonic
from typing import ClassVar, NamedTuple, Protocol, Self

from django.db import DEFAULT_DB_ALIAS

from chaindb.attempts import Slots
from chaindb.building import Building
from chaindb.database import Database
from chaindb.locks import Lock
from chaindb.pointers import Pointers
from chaindb.wakeup import Wakeup
from chainvm.consensus import Consensus
from chainvm.port import ChainVM
from platform_app.blocks.block import Block
from platform_app.config import PlatformConfig, reference_config, specification_config
from platform_app.executor.env import Env
from platform_app.memory.answers import AnswerMemory, Place
from platform_app.memory.stakers import StakerMemories
from platform_app.memory.versioned import Version
from platform_app.state.chain import ChainState
from platform_app.store import blocks
from platform_app.store.blocks import Network, Tip
from platform_app.store.state import DatabaseState
from platform_app.txs.base import Tx
from platform_app.txs.components import ProofOfPossession
from platform_app.wallet.keystore_errors import KeystoreBusy
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from primitives.networks import PLATFORM_ALIASES
from primitives.node_identity import IdentityFiles

PAUSE = 10.0
"""Seconds between two looks at all that waits."""


@dataclass(slots=True)
class Looks:
    """When all that waits may be looked at again."""

    again_at: float = 0.0
    """On the monotonic clock, in seconds."""

    def may_begin(self) -> bool:
        """Say whether it is time for a look, and note that one is taken."""
        moment = monotonic()
        if moment < self.again_at:
            return False
        self.again_at = moment + PAUSE
        return True


class DerivationSlots(Slots):
    """Slots for deriving keys from passwords; KeystoreBusy is raised where all of them are taken."""

    full: ClassVar[type[Exception]] = KeystoreBusy


class KeyDerivation(NamedTuple):
    """Who waits where."""

    users: DerivationSlots
    strangers: DerivationSlots

    @classmethod
    def of(cls, threads: int) -> Self:
        """Return slots of a process that has so many threads for calls: they take five eighths at most.

        Of one or two threads none can be left.
        """
        return cls(
            users=DerivationSlots(at_once=2, slots=max(1, threads * 3 // 8)),
            strangers=DerivationSlots(at_once=1, slots=max(1, threads // 4)),
        )


class Settings(Protocol):
    """What the P-Chain looks at of the node's settings; see `NodeSettings` for what each one means."""

    @property
    def network_id(self) -> int:
        """The network's number."""

    @property
    def profile(self) -> str:
        """`embedded` or `production`."""

    @property
    def parameters(self) -> str:
        """Whose parameters: `specification` or `avalanchego`."""

    @property
    def platform_genesis(self) -> str:
        """The genesis file's path; empty without one."""

    @property
    def genesis_directory(self) -> Path:
        """Where genesis bytes that came from other nodes are kept."""

    @property
    def votes(self) -> bool:
        """Whether the validators decide on blocks."""

    @property
    def allowed_origins(self) -> tuple[str, ...]:
        """Origins of web pages that may call the node."""

    @property
    def keystore_users(self) -> int:
        """Most users of the keystore."""

    @property
    def rpc_threads(self) -> int:
        """Threads for calls."""


class OwnTxs(Protocol):
    """Puts a transaction of the node's own into a block of its own, before all that waits."""

    def propose(self, *, now: int) -> Tx | None:
        """Return a transaction for the next block, at chain time in Unix seconds; None where there is none.

        Nothing is written: it does not wait in the mempool, and goes with its block where that comes to
        nothing.
        """

    def undo(self) -> None:
        """Note that the block of the last one came to nothing."""


class NoGenesis(Exception):
    """The database holds no P-Chain yet: `init_node` makes its genesis."""


class PlatformChain:
    """A P-Chain: its identity, its parameters, its rows and what is remembered of them.

    Threads share the object. Every network's P-Chain has the same blockchain ID.

    Args:
        node: The settings of the node that it belongs to.
        db: Where its rows are.
        identity: Who that node is.
        pointers: Of that node; without, the chain has its own.
    """

    blockchain_id: ID = PRIMARY_NETWORK_ID
    aliases = PLATFORM_ALIASES
    vm: ChainVM[Block]
    """Its processing blocks: for whoever holds the lock of `consensus`. `services.composition` sets both."""
    consensus: Consensus[Block]
    """Who decides on its blocks."""

    def __init__(
        self,
        node: Settings,
        db: Database,
        identity: IdentityFiles,
        *,
        pointers: Pointers | None = None,
    ) -> None:
        self.node = node
        self.db = db
        self.identity = identity
        self.stakers = StakerMemories.empty(self.stakers_version)
        self.answers = AnswerMemory(self.place)
        """What was asked of its accepted state."""
        self.key_derivation = KeyDerivation.of(node.rpc_threads)
        self.pointers = pointers or Pointers(node.profile)
        """What tells those who follow it; see `notifications`."""
        self.building = Building(self.cache_key(self.aliases[0]), node.profile)
        """Its blocks in the making."""
        self.looks = Looks()
        self.producer = Wakeup("platform_app.build_blocks", Lock.PCHAIN_PRODUCER, db, node.profile)
        """Is asked for a block in the transaction that stores what waits for it, or after it."""
        self.own: OwnTxs | None = None
        """Set by who makes the chain: on a local network its validator renews itself."""

    def env(self, network: Network, now: int) -> Env:
        """Return what rules are told besides the state, of what is executed now (Unix seconds)."""
        return Env(
            config=self.config,
            asset_id=network.asset_id,
            now=now,
            x_chain_id=network.x_chain_id,
            c_chain_id=network.c_chain_id,
        )

    @cached_property
    def config(self) -> PlatformConfig:
        """The parameters of its network, from the set that NODE_PARAMETERS names."""
        if self.answers_as_reference:
            return reference_config(self.node.network_id)
        return specification_config(self.node.network_id)

    @property
    def answers_as_reference(self) -> bool:
        """Whether answers have the reference's shape where the specification's is another one.

        So it is with the reference's parameters: who takes part in its networks uses its clients.
        """
        return self.node.parameters == "avalanchego"

    @property
    def node_id(self) -> NodeID:
        """The ID of the node that it belongs to, from the staking certificate.

        Raises:
            OSError: There is no such file: the node has not been initialised.
            NoCertificate: The file holds no certificate.
        """
        return self.identity.node_id

    @property
    def proof_of_possession(self) -> ProofOfPossession:
        """The BLS key of the node that it belongs to, and the proof that it has the secret.

        Raises:
            OSError: There is no such file: the node has not been initialised.
            UnusableSignerKey: The file holds no key.
        """
        return ProofOfPossession(*self.identity.signer_key)

    def cache_key(self, name: str) -> str:
        """Return a key of Django's cache that is no other chain's, for all processes of the node."""
        return name if self.db.alias == DEFAULT_DB_ALIAS else f"{self.db.alias}-{name}"

    def state(self) -> ChainState:
        """Return the state after the last accepted block, as rules ask it."""
        return DatabaseState(self.db)

    def network(self) -> Network:
        """Return which network this is.

        Raises:
            NoGenesis: The database holds no chain.
        """
        return self._read()[0]

    def tip(self) -> Tip:
        """Return where the chain stands.

        Raises:
            NoGenesis: The database holds no chain.
        """
        return self._read()[1]

    def stakers_version(self) -> Version:
        """Return what answers about stakers are as of now.

        Raises:
            NoGenesis: The database holds no chain.
        """
        row = blocks.stakers_version(self.db)
        if row is None:
            raise NoGenesis
        return Version(*row)

    def place(self) -> Place | None:
        """Return where it stands and the clock, as the rows have it; None where the database holds no chain."""
        row = blocks.place(self.db)
        return None if row is None else Place(*row)

    def _read(self) -> tuple[Network, Tip]:
        found = blocks.read(self.db)
        if found is None:
            raise NoGenesis
        return found
