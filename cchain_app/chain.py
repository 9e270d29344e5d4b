"""One EVM chain of a process: its rules, its rows, and all that the process keeps of it in memory."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from django.conf import settings

from cchain_app.accounts.keyring import (
    EWOQ,
    NO_KEYS,
    Derivation,
    Keyring,
    development_keyring,
    is_public,
)
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.evm_block import EvmBlock
from cchain_app.blocks.receipt import EncodeLogs, select_encode_logs
from cchain_app.config import ChainConfig, fork_named
from cchain_app.evm.select import is_native, select_engine, select_recovery, select_trie
from cchain_app.evm.tracing import TracingEngine
from cchain_app.evm.trie import StateTrie
from cchain_app.filter_index import FilterIndex, MemoryIndex, RedisIndex
from cchain_app.forking.client import Upstream, upstream_at
from cchain_app.forking.origin import Fork, read_wanted
from cchain_app.genesis import Genesis, built_in_text, fund_accounts, load_genesis
from cchain_app.local_genesis import LocalChoices, local_text
from cchain_app.memory import FEW, Memory, make_memory
from cchain_app.pool.admission import Outcome
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.limits import PoolLimits
from cchain_app.processing import BlockRules
from cchain_app.settings import Settings
from cchain_app.syncing import Progress, up_to_date
from cchain_app.tracing.calls import HalfRecorded
from cchain_app.tracing.kept import KeptTraces
from cchain_app.txs.codec import RecoverMany
from chaindb.building import Building
from chaindb.database import Database
from chaindb.group_commit import GroupCommit
from chaindb.indexing import IndexingTime
from chaindb.locks import Lock
from chaindb.pointers import Pointers
from chaindb.wakeup import Wakeup
from chainvm.consensus import Consensus
from chainvm.port import Block, ChainVM
from primitives.cb58 import Cb58Error
from primitives.evm import Hash
from primitives.ids import ID, IdError
from primitives.keys import DEV_KEYS
from primitives.networks import CCHAIN_ALIASES, LOCAL

FILTERS = "filters"
"""The alias of Django's cache that holds polled filters."""


WEI = 10**18
"""Wei of one coin."""

GAS_CAP = 50_000_000
"""Gas of one call where no setting says how much, as in geth."""

N = TypeVar("N", int, float)

_NETWORKS = {1: "mainnet", 5: "testnet"}


class NoBlockchainID(Exception):
    """No P-Chain knows the chain, or not yet: there is no genesis."""


def _no_fork() -> None:
    """Say that a chain is no fork."""


def _no_chain_id() -> None:
    """Say that there are no rows that tell a chain ID."""


def _nobody() -> bool:
    """Say no: nobody is connected."""
    return False


def _the_beginning() -> int:
    """Return the beginning of Unix time."""
    return 0


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
    while_mining: Callable[[str], AbstractContextManager[None]]
    """Has blocks accepted in its body only while they are made so (`services.vm.EvmVM.mining`); set there likewise."""
    mine_on_arrival: Callable[[], None]
    """Lets transactions go straight into blocks from now on, in a process that serves and may make them; set there likewise."""

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
        self.last_accepted_at = 0.0
        """When this process accepted the last block, on the monotonic clock in seconds; 0: none yet."""
        self.on_accepted: list[Callable[[Sequence[AcceptedBlock]], None]] = []
        """Who is told of blocks that this process has accepted, after the commit; quick ones that do not raise."""
        self.local_file = self.new_local_file
        """Says what a local chain's genesis file is; `services.composition` has it look at what is there."""
        self.indexing = IndexingTime(node.profile)
        """How long calls and tokens may be written as rows at a time."""
        self.half_recorded: HalfRecorded | None = None
        """The block in whose middle the writing of calls has stopped, for who goes on with it."""
        self.progress: Callable[[], Progress | None] = up_to_date
        """How far bootstrapping is; whoever follows other nodes sets it. Asked on the event loop."""
        self.has_peers: Callable[[], bool] = _nobody
        """Whether other nodes are connected, which see its blocks; the node sets it."""
        self.least_time: Callable[[], int] = _the_beginning
        """Unix seconds below which the node's clock may not go: another chain's last block. Likewise."""
        self.find_fork: Callable[[], Fork | None] = _no_fork
        """Reads from the rows which fork the chain is; `services.composition` sets it."""
        self.find_chain_id: Callable[[], int | None] = _no_chain_id
        """Reads from the rows the chain ID of the chain there; None: it is to begin. Likewise."""
        self._fork: Fork | None = None
        self._fork_is_known = False
        self.before_rewinding: list[Callable[[], None]] = []
        """Called before a development chain goes back, while all its blocks are there."""
        self.on_rewinding: list[Callable[[int], None]] = []
        """Called in the transaction in which blocks above a height are deleted, with that height."""

    @cached_property
    def blockchain_id(self) -> ID:
        """The ID of the transaction that creates the chain: its name in paths, calls and between nodes.

        Raises:
            NoBlockchainID: There is none (yet).
        """
        if self._find_id is None:
            raise NoBlockchainID
        return self._find_id()

    @property
    def is_development(self) -> bool:
        """Whether its state, clock and blocks may be changed by hand: it is local, and nobody else decides."""
        node = self.node
        return (
            node.network_id == LOCAL and node.development and not node.votes and not node.bootstrap
        )

    @property
    def fork(self) -> Fork | None:
        """Which block of another chain it goes on from; None: it has a genesis of its own, or no rows yet.

        Read once: no chain becomes a fork but at its beginning, and by anvil_reset.
        """
        if not self._fork_is_known:
            self._fork = self.find_fork() if self.is_development else None
            self._fork_is_known = True
        return self._fork

    @property
    def first_number(self) -> int:
        """The height of its first block: 0, or a fork's pin."""
        fork = self.fork
        return 0 if fork is None else fork.number

    @property
    def begun_number(self) -> int:
        """The height at which it began, below which nobody goes back: of a fork with a replay that block's."""
        fork = self.fork
        return 0 if fork is None else fork.begun_number

    def read_fork_again(self) -> None:
        """Forget which fork it is: it has just begun, or anvil_reset has made it another one."""
        self._fork, self._fork_is_known = None, False
        self.read_genesis_again()

    @cached_property
    def upstream(self) -> Upstream | None:
        """The remote node of a fork; None: no setting names one. anvil_reset and anvil_setRpcUrl put another here.

        Raises:
            MalformedForkSetting: The settings name none that can be asked.
        """
        node = self.node
        if not (node.fork_url and self.is_development):
            return None
        return upstream_at(node, read_wanted(node.fork_url).urls)

    @property
    def call_seconds(self) -> float:
        """After how many seconds a call is given up; on a fork it may have to wait for the remote node, too."""
        node = self.node
        return (
            node.rpc_call_timeout
            if self.fork is None
            else node.rpc_call_timeout + node.fork_timeout
        )

    def is_named(self, name: str) -> bool:
        """Say whether a name means this chain: one of its aliases, or its blockchain ID."""
        if name in self.aliases:
            return True
        try:
            return ID.parse(name) == self.blockchain_id
        except (Cb58Error, IdError, NoBlockchainID):
            return False

    @cached_property
    def own_genesis(self) -> Genesis:
        """The genesis that the settings give this chain; a fork takes its rules and balances from it.

        Raises:
            GenesisFileError: The file cannot be used.
        """
        found = load_genesis(self.genesis_file(), min_base_fee=self.node.min_base_fee)
        config = replace(found.config, free_base_fee=self.is_development)
        if self.node.chain_id:
            config = replace(config, chain_id=self.node.chain_id)
        return replace(found, config=config)

    @cached_property
    def genesis(self) -> Genesis:
        """The genesis of this chain; of a fork what its own blocks go by. Raises as `own_genesis`.

        A local chain's ID is that of the rows: anvil_setChainId may have changed it since the chain began.
        """
        found, fork = self.own_genesis, self.fork
        if fork is None:
            chain_id = self.find_chain_id() if self.node.network_id == LOCAL else None
            return found if chain_id is None else found.with_chain_id(chain_id)
        # Its base fee follows from the pin's by EIP-1559 alone, and its gas limit goes on as the pin's.
        config = replace(found.config, chain_id=fork.chain_id, min_base_fee=0)
        return replace(found, config=config, gas_limit=self.node.gas_limit or fork.gas_limit)

    def go_by(self, chain_id: int | None) -> None:
        """Take the chain ID of the rows, if it is another one than this process knows.

        Event loops read the rules meanwhile, and must not read rows: new ones are put in the place of the old.
        """
        if chain_id is None or "genesis" not in self.__dict__:
            return
        if self.config.chain_id == chain_id == self.genesis.config.chain_id:
            return
        self.genesis = self.genesis.with_chain_id(chain_id)
        self.config = self.genesis.config
        self.memory.rules_changed()

    def genesis_file(self) -> bytes:
        """Return the chain's genesis file.

        Unless the chain was given one, it is the one that NODE_GENESIS names, else the one that other
        nodes of the network gave, else the one that comes with the node; a local chain goes on with
        the one that it began with, whatever comes with this version.
        """
        if self._genesis_file is not None:
            return self._genesis_file()
        if self.node.genesis:
            return Path(self.node.genesis).read_bytes()
        if self.fetched_genesis.exists():
            return self.fetched_genesis.read_bytes()
        network = _NETWORKS.get(self.node.network_id)
        return self.local_file() if network is None else built_in_text(network)

    def new_local_file(self) -> bytes:
        """Return the genesis file with which a local chain begins now, as the settings want it.

        A chain to develop against has the accounts of NODE_MNEMONIC in it, with NODE_BALANCE each.

        Raises:
            KeyringError: The settings give no accounts.
        """
        text = local_text(self.local_choices)
        if not self.is_development:
            return text
        balances = {address: self.node.balance * WEI for address in self.keyring if address != EWOQ}
        known = set(DEV_KEYS) - {EWOQ}
        begins_with = {address: one.balance for address, one in load_genesis(text).alloc.items()}
        if balances == {address: begins_with[address] for address in known}:
            return text
        return fund_accounts(text, balances, known)

    @property
    def local_choices(self) -> LocalChoices:
        """What the settings want of a local chain that begins."""
        node = self.node
        return LocalChoices(
            hardfork=fork_named(node.hardfork) or "",
            gas_limit=node.gas_limit,
            base_fee=node.base_fee,
            min_base_fee=node.min_base_fee,
        )

    @property
    def is_local_genesis(self) -> bool:
        """Whether nobody gives this chain a genesis file, so that it has the local one."""
        given = self._genesis_file is not None or self.node.genesis or self.fetched_genesis.exists()
        return not given and self.node.network_id not in _NETWORKS

    @property
    def kept_genesis(self) -> Path:
        """Where the genesis file is kept with which a local chain has begun."""
        return Path(self.node.directory) / "cchain_genesis.json"

    @cached_property
    def keyring(self) -> Keyring:
        """The keys of the accounts that this node signs for: a development chain's, else none.

        Raises:
            KeyringError: The settings give no keys.
        """
        if not self.is_development:
            return NO_KEYS
        node = self.node
        return development_keyring(node.mnemonic, node.accounts, node.derivation_path)

    @property
    def has_private_keys(self) -> bool:
        """Whether the node signs with keys of a mnemonic that is not the public one."""
        return self.is_development and not is_public(self.node.mnemonic)

    @cached_property
    def derivation(self) -> Derivation:
        """The keys of NODE_MNEMONIC's further accounts: those that personal_newAccount makes."""
        return Derivation(self.node.mnemonic, self.node.derivation_path)

    @property
    def fetched_genesis(self) -> Path:
        """Where a genesis file that came from other nodes is kept."""
        return Path(self.node.directory) / "genesis" / "cchain.json"

    def read_genesis(self) -> None:
        """Read which genesis this is where rows may be read: event loops ask for it, and must not.

        Raises:
            GenesisFileError: The file cannot be used.
            DatabaseError: What is there cannot be read.
        """
        _ = self.genesis

    def read_genesis_again(self) -> None:
        """Forget which genesis was read: other nodes have given another one."""
        for name in ("own_genesis", "genesis", "config", "pool_limits"):
            self.__dict__.pop(name, None)
        self.memory.rules_changed()

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

    def rules(self, pin: Hash | None = None) -> BlockRules:
        """Return what blocks are executed by, as the chain is now.

        Args:
            pin: Of a fork: the block of the other chain that it goes on from, where it stands on that one's state.
        """
        return BlockRules(self.config, self.genesis.gas_limit, self.engine, self.encode_logs, pin)

    @cached_property
    def encode_logs(self) -> EncodeLogs:
        """What encodes the logs of receipts, chosen once: each call on `pending` asks for the rules."""
        return select_encode_logs(native=is_native(self.node.engine))

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
        return make_memory(
            native=is_native(node.engine),
            accounts=node.cache_accounts,
            slots=node.cache_slots,
            blocks=max(node.cache_blocks, FEW),
        )

    @cached_property
    def traces(self) -> KeptTraces:
        """The traces of accepted blocks that this process keeps."""
        return KeptTraces(self.node.trace_cache)

    @cached_property
    def pool_limits(self) -> PoolLimits:
        """The limits that the `NODE_POOL_…` settings and the fee cap give."""
        node = self.node
        fee_cap = self._chosen(node.rpc_tx_fee_cap, 100.0, 0.0)
        return PoolLimits(
            pending_slots=node.pool_slots,
            queued_slots=node.pool_queue,
            account_pending_slots=node.pool_account_slots,
            account_queued=self._chosen(node.pool_account_queue, 64, node.pool_queue),
            queued_lifetime=node.pool_lifetime,
            minimum_tip=node.pool_min_tip,
            minimum_fee=self.config.min_base_fee,
            fee_cap=int(fee_cap * WEI) or None,
            unprotected_allowed=node.pool_unprotected,
        )

    def gas_cap(self, block_gas_limit: int) -> int:
        """Return the most gas that one call may use, 0: any (NODE_RPC_GAS_CAP).

        Unspecified: on a chain to develop against that is no less than a block has, so that whatever can be mined can
        be called and estimated.

        Args:
            block_gas_limit: Of the block that the call is for.
        """
        return self._chosen(self.node.rpc_gas_cap, GAS_CAP, max(GAS_CAP, block_gas_limit))

    def _chosen(self, given: N, usual: N, to_develop: N) -> N:
        """Return a setting, or where it is -1 what is usual, or right on a chain to develop against."""
        if given >= 0:
            return given
        return to_develop if self.is_development else usual

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
