"""One EVM chain of a process: its rules, its rows, and all that the process keeps of it in memory."""

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from django.conf import settings

from cchain_app.blocks.evm_block import EvmBlock
from cchain_app.config import ChainConfig
from cchain_app.evm.select import select_engine, select_recovery, select_trie
from cchain_app.evm.tracing import TracingEngine
from cchain_app.evm.trie import StateTrie
from cchain_app.filter_index import FilterIndex, MemoryIndex, RedisIndex
from cchain_app.genesis import Genesis, built_in_text, load_genesis
from cchain_app.memory import FEW, Memory
from cchain_app.pool.admission import Outcome
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.limits import PoolLimits
from cchain_app.settings import Settings
from cchain_app.syncing import Progress, up_to_date
from cchain_app.tracing.kept import KeptTraces
from cchain_app.txs.codec import RecoverMany
from chaindb.building import Building
from chaindb.database import Database
from chaindb.group_commit import GroupCommit
from chaindb.locks import Lock
from chaindb.pointers import Pointers
from chaindb.wakeup import Wakeup
from chainvm.consensus import Consensus
from chainvm.port import Block, ChainVM
from primitives.cb58 import Cb58Error
from primitives.ids import ID, IdError
from primitives.networks import CCHAIN_ALIASES

FILTERS = "filters"
"""The alias of Django's cache that holds polled filters."""


WEI = 10**18
"""Wei of one coin."""

_NETWORKS = {1: "mainnet", 5: "testnet"}


class NoBlockchainID(Exception):
    """No P-Chain knows the chain, or not yet: there is no genesis."""


class EvmChain:
    """A chain on one database, with what differs between chains as arguments.

    Nothing is shared with another one. What costs something is made at its first use.

    Args:
        node: The settings: which network it is, and the limits of the process.
        db: Where its rows are.
        pointers: Of the node that it belongs to; without, it has its own.
        aliases: The chain's names; by the first caches and pointers that chains share know it.
        blockchain_id: Says its blockchain ID, which comes with the P-Chain's genesis; raises
            `NoBlockchainID` before. None: it has none.
        genesis_file: Reads its genesis file; without one the settings say which it is.
    """

    vm: ChainVM[EvmBlock]
    """Its processing blocks: for whoever holds the lock of `consensus`. `services.composition` sets both."""
    consensus: Consensus[Block]
    """Who decides on its blocks."""
    admissions: GroupCommit[Newcomer, Outcome]
    """What several threads bring to the pool is committed together; `services.composition` sets it too."""

    def __init__(
        self,
        node: Settings,
        db: Database,
        *,
        pointers: Pointers | None = None,
        aliases: tuple[str, ...] = CCHAIN_ALIASES,
        blockchain_id: Callable[[], ID] | None = None,
        genesis_file: Callable[[], bytes] | None = None,
    ) -> None:
        self.node = node
        self.db = db
        self.aliases = aliases
        self._find_id = blockchain_id
        self._genesis_file = genesis_file
        self.pointers = pointers or Pointers(node.profile)
        """What tells those who follow it; see `notifications`."""
        self.building = Building(aliases[0], node.profile)
        """Its blocks in the making."""
        self.producer = Wakeup("cchain_app.produce_blocks", Lock.CCHAIN_PRODUCER, db, node.profile)
        self.progress: Callable[[], Progress | None] = up_to_date
        """How far bootstrapping is; whoever follows other nodes sets it. Asked on the event loop."""

    @cached_property
    def blockchain_id(self) -> ID:
        """The ID of the transaction that creates the chain: its name in paths, calls and between nodes.

        Raises:
            NoBlockchainID: There is none (yet).
        """
        if self._find_id is None:
            raise NoBlockchainID
        return self._find_id()

    def is_named(self, name: str) -> bool:
        """Say whether a name means this chain: one of its aliases, or its blockchain ID."""
        if name in self.aliases:
            return True
        try:
            return ID.parse(name) == self.blockchain_id
        except (Cb58Error, IdError, NoBlockchainID):
            return False

    @cached_property
    def genesis(self) -> Genesis:
        """The genesis of this chain.

        Raises:
            GenesisFileError: The file cannot be used.
        """
        found = load_genesis(self.genesis_file(), min_base_fee=self.node.min_base_fee)
        if self.node.chain_id:
            found = replace(found, config=replace(found.config, chain_id=self.node.chain_id))
        return found

    def genesis_file(self) -> bytes:
        """Return the chain's genesis file.

        Unless the chain was given one, it is the one that NODE_GENESIS names, else the one that other
        nodes of the network gave, else the one that comes with the node.
        """
        if self._genesis_file is not None:
            return self._genesis_file()
        if self.node.genesis:
            return Path(self.node.genesis).read_bytes()
        if self.fetched_genesis.exists():
            return self.fetched_genesis.read_bytes()
        return built_in_text(_NETWORKS.get(self.node.network_id, "local"))

    @property
    def fetched_genesis(self) -> Path:
        """Where a genesis file that came from other nodes is kept."""
        return Path(self.node.directory) / "genesis" / "cchain.json"

    def read_genesis_again(self) -> None:
        """Forget which genesis was read: other nodes have given another one."""
        for name in ("genesis", "config", "pool_limits"):
            self.__dict__.pop(name, None)

    @cached_property
    def config(self) -> ChainConfig:
        """The rules of this chain."""
        return self.genesis.config

    @cached_property
    def engine(self) -> TracingEngine:
        """The EVM engine that NODE_ENGINE names."""
        return select_engine(self.node.engine)

    @cached_property
    def recover_senders(self) -> RecoverMany:
        """What recovers the senders of many signatures: in parallel where the engine can."""
        return select_recovery(self.node.engine)

    @cached_property
    def trie(self) -> StateTrie:
        """The state trie that goes with the engine; it remembers the nodes of the head."""
        return select_trie(self.node.engine)

    @cached_property
    def proof_trie(self) -> StateTrie:
        """A trie for proofs, apart from the one that remembers the head for the next block."""
        return select_trie(self.node.engine)

    @cached_property
    def memory(self) -> Memory:
        """What this process remembers of the chain."""
        node = self.node
        return Memory(
            accounts=node.cache_accounts, slots=node.cache_slots, blocks=max(node.cache_blocks, FEW)
        )

    @cached_property
    def traces(self) -> KeptTraces:
        """The traces of accepted blocks that this process keeps."""
        return KeptTraces(self.node.trace_cache)

    @cached_property
    def pool_limits(self) -> PoolLimits:
        """The limits that the `NODE_POOL_…` settings and the fee cap give."""
        node = self.node
        return PoolLimits(
            pending_slots=node.pool_slots,
            queued_slots=node.pool_queue,
            account_pending_slots=node.pool_account_slots,
            account_queued=node.pool_account_queue,
            queued_lifetime=node.pool_lifetime,
            minimum_tip=node.pool_min_tip,
            minimum_fee=self.config.min_base_fee,
            fee_cap=int(node.rpc_tx_fee_cap * WEI) or None,
            unprotected_allowed=node.pool_unprotected,
        )

    @cached_property
    def filter_index(self) -> FilterIndex:
        """The index of all polled filters: this process's, or where there is Redis that of all processes."""
        node = self.node
        if node.profile != "production":
            return MemoryIndex(node.filters, node.filter_lifetime)
        # Only here: Redis' client takes a fifth of a second to import.
        from redis import Redis

        entry = settings.CACHES[FILTERS]
        redis = Redis.from_url(entry["LOCATION"], **entry.get("OPTIONS", {}))
        prefix = f"filter-index-{self.aliases[0]}:"
        return RedisIndex(redis, node.filters, node.filter_lifetime, prefix)
