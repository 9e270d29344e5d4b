"""One EVM chain of a process: its rules, its database, and everything the process keeps in memory for it."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Final

from typing_extensions import override

from cchain_app.accounts.keyring import (
    EWOQ,
)
from cchain_app.atomic.extension import AtomicExtension
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.blocks.receipt import EncodeLogs, select_encode_logs
from cchain_app.chain_options import WEI, ChainOptions
from cchain_app.config import ChainConfig
from cchain_app.evm import select as evm_select
from cchain_app.evm.coreth import stored_slot
from cchain_app.evm.kzg import Kzg
from cchain_app.evm.tracing import TracingEngine
from cchain_app.evm.trie import LEAF_BYTES, StateTrie
from cchain_app.forking.client import Upstream, upstream_at
from cchain_app.forking.origin import ForkOrigin, read_wanted
from cchain_app.genesis import Genesis, fund_accounts, load_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.genesis_source import GenesisSource
from cchain_app.local_genesis import local_text
from cchain_app.memory import FEW, Memory, make_memory
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.processing import BlockExecutor
from cchain_app.rules.coreth.block import CorethFormat
from cchain_app.rules.coreth.extension import CorethExtension
from cchain_app.rules.coreth.genesis import with_upgrades
from cchain_app.rules.coreth.rules import CorethRules
from cchain_app.rules.coreth.votes import Votes, votes_for
from cchain_app.rules.ethereum import ETHEREUM_FORMAT, NO_EXTENSION, PAYLOAD_FORMAT, EthereumRules
from cchain_app.rules.port import BlockFormat, ChainRules, RuleSet
from cchain_app.settings import EvmSettings
from cchain_app.store import chain as stored
from cchain_app.store import forked
from cchain_app.syncing import SyncProgress
from cchain_app.tracing.calls import PartialFrame
from cchain_app.tracing.kept import KeptTraces
from cchain_app.txs.codec import RecoverMany
from chaindb.building import BlocksInProgress
from chaindb.chains import C_CHAIN, title
from chaindb.database import Database
from chaindb.events import ChainEvents
from chaindb.indexing import IndexingTime, LaggingIndex
from chaindb.locks import Lock
from chaindb.wakeup import Wakeup
from chainvm.shared_memory import SharedMemory
from primitives.cb58 import Cb58Error
from primitives.evm import Hash, Slot
from primitives.fair_lock import FairLock
from primitives.ids import ID, PRIMARY_NETWORK_ID, IdError
from primitives.keys import DEV_KEYS
from primitives.networks import CCHAIN_ALIASES, LOCAL
from primitives.settings import CommonSettings
from primitives.upgrades import UpgradeTimes
from shared_app.store import SharedRows
from utxo.components import UTXO


class NoBlockchainID(Exception):
    """The P-Chain does not know the chain, or has no genesis yet."""


class EvmChain(ChainOptions):
    """A chain on one database; everything in which chains differ is an argument.

    Two chains share nothing. Expensive attributes are created on first use.

    Args:
        node: The settings that the apps of a node share.
        settings: The settings of the chain.
        db: The database with the chain's rows.
        events: Where the node publishes its events; by default the chain publishes its own.
        aliases: The chain's names. The first one is its `name`, in shared caches, events and rows.
        blockchain_id: Returns the blockchain ID, which the P-Chain's genesis determines; raises
            `NoBlockchainID` before that is known. None: the chain has no blockchain ID.
        genesis_file: Returns the genesis file; without it the settings choose the file.
        subnet_id: The subnet that validates the chain.
        has_peers: Returns whether peers are connected; None: the chain has no network.
        is_synced: Returns whether the chain has finished bootstrapping.
        least_time: Returns the last block's time of the chain that shares the node's clock; None: no chain does.
        atomic: Returns the values for transfers from and to other chains in the same database, and raises
            `NoBlockchainID` before they are known; None: the chain has no such transfers.
        identity: Who it is to other chains, for warp messages; None: it has no warp precompile.
        upgrades: Returns the network's upgrades, by which the blocks of a C-Chain of avalanchego are made; None: the
            chain is no C-Chain.
        rule_set: The kind of the chain, which has a genesis file then; None: its blocks are Ethereum's.
        label: Its name for people, `title`; None: derived from its first alias.
    """

    vm_name: Final = "evm"
    lock: Final = Lock.CCHAIN
    """The lock for writing its blocks, of the database with its rows."""

    def __init__(
        self,
        node: CommonSettings,
        settings: EvmSettings,
        db: Database,
        *,
        events: ChainEvents | None = None,
        aliases: tuple[str, ...] = CCHAIN_ALIASES,
        blockchain_id: Callable[[], ID] | None = None,
        genesis_file: Callable[[], bytes] | None = None,
        subnet_id: ID = PRIMARY_NETWORK_ID,
        has_peers: Callable[[], bool] | None = None,
        is_synced: Callable[[], bool] = lambda: True,
        least_time: Callable[[], int] | None = None,
        atomic: Callable[[], AtomicParameters] | None = None,
        identity: WarpIdentity | None = None,
        upgrades: Callable[[], UpgradeTimes] | None = None,
        rule_set: RuleSet | None = None,
        label: str | None = None,
    ) -> None:
        self.node = node
        self.rule_set = rule_set
        self.title: Final = label or title(aliases[0])
        self.settings = settings
        self.db = db
        self.vm_lock = FairLock()
        """Held by the thread of this process that works on the chain's VM: that builds, verifies or accepts blocks."""
        self.kzg_lock = FairLock()
        """Held by the thread of this process that verifies or computes the proofs of blobs, which takes a processor."""
        self.aliases = aliases
        self.subnet_id = subnet_id
        self._find_id = blockchain_id
        self._has_peers = has_peers
        self.is_synced = is_synced
        """Returns whether the chain has reached the other nodes' frontier; before that, users issue no atomic transactions."""
        self._least_time, self._upgrades = least_time, upgrades
        self.shared_memory: Final[SharedMemory] = SharedRows(db)
        """The outputs that wait between the chains of this database."""
        self._atomic = atomic
        self.identity = identity
        """Who it is to other chains, for warp messages; None: it has no warp precompile."""
        of_ethereum: BlockFormat = ETHEREUM_FORMAT if atomic is None else PAYLOAD_FORMAT
        self._own_format = of_ethereum if rule_set is None else rule_set.format
        self.genesis_source = GenesisSource(node, settings, db, genesis_file, self._own_format)
        """The files among which the chain finds its genesis."""
        self.events = events or ChainEvents(node.profile)
        """Publishes the chain's events to subscribers; see `notifications`."""
        self.building = BlocksInProgress(self.name, node.profile)
        """The blocks that are being built."""
        named = None if self.name == C_CHAIN else self.name
        task, lock = "cchain_app.produce_blocks", Lock.CCHAIN_PRODUCER
        self.producer = Wakeup(task, lock, db, node.profile, chain=named)
        self.last_accepted_at = 0.0
        """When this process last accepted a block, on the monotonic clock in seconds; 0: never."""
        self.on_accepted: list[Callable[[Sequence[AcceptedBlock]], None]] = []
        """Called after the commit with blocks that this process accepted; must be quick and not raise."""
        self.indexing = IndexingTime(node.profile)
        """How long calls and tokens may be written as rows in one go."""
        self.call_index = LaggingIndex("calls")
        """Lets one thread of this process at a time write calls as rows."""
        self.half_recorded: PartialFrame | None = None
        """The block whose calls are only partly written; the next run continues with it."""
        self.progress: SyncProgress | None = None
        """The progress of bootstrapping, as last seen by this process; None: the chain is not behind other nodes."""
        self._fork: ForkOrigin | None = None
        self._fork_is_known = False
        self.before_rewinding: list[Callable[[], None]] = []
        """Called before a development chain is rewound, while all its blocks still exist."""
        self.on_rewinding: list[Callable[[int], None]] = []
        """Called with a height, in the transaction that deletes the blocks above that height, or undoes manual changes at it."""

    @property
    @override
    def name(self) -> str:
        """Its first alias."""
        return self.aliases[0]

    @cached_property
    def blockchain_id(self) -> ID:
        """The ID of the transaction that creates the chain. It names the chain in paths, in calls and between nodes.

        Raises:
            NoBlockchainID: The chain has no ID, or no ID yet.
        """
        if self._find_id is None:
            raise NoBlockchainID
        return self._find_id()

    def has_peers(self) -> bool:
        """Return whether peers are connected, which see the chain's blocks."""
        return self._has_peers is not None and self._has_peers()

    def least_time(self) -> int:
        """Return the earliest Unix time to which the node's clock may be set."""
        return 0 if self._least_time is None else self._least_time()

    @cached_property
    def is_of_coreth(self) -> bool:
        """Whether it is the C-Chain of a network of avalanchego: its genesis file has that form."""
        if self._upgrades is None or self.genesis_source.is_local:
            return False
        try:
            return load_genesis(self.genesis_file()).is_of_coreth
        except (OSError, GenesisFileError):  # `own_genesis` raises it where it can be handled
            return False

    @property
    def format(self) -> BlockFormat:
        """The bytes of the chain's blocks; a part of `rules`."""
        return self._coreth_format if self.is_of_coreth else self._own_format

    @cached_property
    def _coreth_format(self) -> BlockFormat:
        assert self._upgrades is not None, "the chain is of coreth"
        return CorethFormat(self.new_trie(cached=False).ordered_root, self._upgrades())

    @property
    @override
    def is_development(self) -> bool:
        """Whether it is a local chain whose blocks this node alone decides; it may have state edits and overrides."""
        node = self.node
        return (
            node.network_id == LOCAL
            and self.settings.development
            and not node.votes
            and not node.bootstrap
            and not self.is_of_coreth
        )

    @property
    @override
    def has_development_methods(self) -> bool:
        """Whether RPC may change state, clock and blocks, and sign with the node's keys.

        Only in the embedded profile, where one process writes and holds all of that in its memory.
        """
        return self.is_development and self.node.profile == "embedded"

    @property
    @override
    def fork(self) -> ForkOrigin | None:
        """The block of another chain from which this one continues; None: it has its own genesis, or no rows yet.

        Read once, because a chain becomes a fork only when it begins, or by anvil_reset.
        """
        if not self._fork_is_known:
            self._fork = forked.read_fork(self.db) if self.is_development else None
            self._fork_is_known = True
        return self._fork

    @property
    def first_number(self) -> int:
        """The height of its first block: 0, a fork's pin, or that of a development chain's genesis file."""
        if not self.is_development:
            return 0
        fork = self.fork
        return self.own_genesis.number if fork is None else fork.number

    @property
    def begun_number(self) -> int:
        """The height at which the chain began, the limit of rewinds; for a fork with a replay, the replayed block's."""
        fork = self.fork
        return self.first_number if fork is None else fork.begun_number

    def read_fork_again(self) -> None:
        """Forget which fork the chain is: it has just begun, or anvil_reset has changed it."""
        self._fork, self._fork_is_known = None, False
        self.read_genesis_again()

    @cached_property
    def upstream(self) -> Upstream | None:
        """The remote node of a fork; None: no setting names one. anvil_reset and anvil_setRpcUrl replace it.

        Raises:
            MalformedForkSetting: The settings name no usable URL.
        """
        fork = self.settings.fork
        if not (fork.url and self.has_development_methods):
            return None
        return upstream_at(fork, read_wanted(fork.url).urls)

    def is_named(self, name: str) -> bool:
        """Return whether a name means this chain: one of its aliases, or its blockchain ID."""
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
        if self.rule_set is not None:
            return self.rule_set.load_genesis(self.genesis_file())
        if self._upgrades is not None and self.is_of_coreth:
            found = load_genesis(self.genesis_file(), min_base_fee=self.settings.min_base_fee)
            return with_upgrades(found, self._upgrades())
        return self.genesis_source.read(self.genesis_file(), is_development=self.is_development)

    @cached_property
    def genesis(self) -> Genesis:
        """The genesis of this chain; for a fork, with the rules of the fork's own blocks. Raises as `own_genesis`.

        A local chain's ID is the stored one: anvil_setChainId may have changed it since the chain began.
        """
        found, fork = self.own_genesis, self.fork
        if fork is None:
            chain_id = stored.chain_id(self.db) if self.node.network_id == LOCAL else None
            return found if chain_id is None else found.with_chain_id(chain_id)
        # Its base fee follows from the pin's by EIP-1559 alone, and its gas limit remains the pin's.
        config = replace(found.config, chain_id=fork.chain_id, min_base_fee=0)
        return replace(
            found, config=config, gas_limit=self.settings.local.gas_limit or fork.gas_limit
        )

    def use_chain_id(self, chain_id: int | None) -> None:
        """Use the chain ID from the database if it differs from the one this process knows.

        New rules replace the old ones in one step, because event loops read them meanwhile and must not query
        the database.
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

        A local chain keeps the file that it began with, whichever file comes with this version.

        Raises:
            KeyringError: The settings give no accounts for a local chain.
            DatabaseError: The stored local chain cannot be read.
        """
        named = self.genesis_source.named()
        if named is not None:
            return named
        new, old = self.new_local_file(), self.new_local_file(as_in_0_1_0=True)
        return self.genesis_source.of_local_chain(new, old, is_fork=self.fork is not None)

    def new_local_file(self, *, as_in_0_1_0: bool = False) -> bytes:
        """Return the genesis file with which a new local chain begins, according to the settings.

        On a development chain it funds the accounts of NODE_MNEMONIC with NODE_BALANCE each.

        Args:
            as_in_0_1_0: Return the file of version 0.1.0 with these settings.

        Raises:
            KeyringError: The settings give no accounts.
        """
        text = local_text(self.genesis_source.choices, as_in_0_1_0=as_in_0_1_0)
        if not self.is_development:
            return text
        wei = self.settings.local.balance * WEI
        balances = {address: wei for address in self.keyring if address != EWOQ}
        return fund_accounts(text, balances, set(DEV_KEYS) - {EWOQ})

    def read_genesis(self) -> None:
        """Read the genesis where database access is allowed: event loops need it and must not query.

        Raises:
            GenesisFileError: The file cannot be used.
            DatabaseError: The stored chain cannot be read.
        """
        _ = self.genesis

    def read_genesis_again(self) -> None:
        """Forget the genesis that was read: other nodes have sent another one."""
        for name in (
            "own_genesis", "genesis", "config", "pool_limits", "is_of_coreth", "atomic", "trie",
            "proof_trie",
        ):  # fmt: skip
            self.__dict__.pop(name, None)
        self.memory.rules_changed()

    @cached_property
    @override
    def config(self) -> ChainConfig:
        """The rules of this chain."""
        return self.genesis.config

    @cached_property
    def engine(self) -> TracingEngine:
        """The EVM engine that NODE_ENGINE names."""
        return evm_select.select_engine(self.settings.engine)

    @cached_property
    def kzg(self) -> Kzg:
        """Verifies and computes the proofs of blobs."""
        return evm_select.select_kzg(self.settings.engine)

    @cached_property
    def recover_senders(self) -> RecoverMany:
        """Recovers the senders of many signatures, in parallel where the engine can."""
        return evm_select.select_recovery(self.settings.engine)

    @property
    def rules(self) -> ChainRules:
        """The rules of the chain's blocks with its current configuration."""
        if self.rule_set is not None:
            return self.rule_set.rules(self.genesis, self.identity)
        if self.genesis.upgrades is not None:
            assert isinstance(self.atomic, CorethExtension), "made in `atomic`"
            assert self.identity is not None, "the C-Chain has one"
            upgrades = self.genesis.upgrades
            return CorethRules(
                self.config, upgrades, self.format, self.atomic, self.identity, self._votes
            )
        extension = NO_EXTENSION if self.atomic is None else self.atomic
        return EthereumRules(
            self.config, self.genesis.gas_limit, self.format, extension, self.identity
        )

    @cached_property
    def _votes(self) -> Votes:
        """The gas target and minimum delay that this node votes for in the coreth blocks that it builds."""
        return votes_for(self.settings.gas_target, self.settings.min_delay_target)

    @cached_property
    def atomic(self) -> AtomicExtension | CorethExtension | None:
        """The part of its blocks that moves coins from and to other chains; None: there are no such transfers."""
        if self._atomic is None:
            return None
        if self.is_of_coreth:
            assert self._upgrades is not None, "the chain is of coreth"
            return CorethExtension(self._atomic, self._exported, self._upgrades)
        return AtomicExtension(self._atomic, self._exported)

    def stored_slot(self, slot: Slot) -> Slot:
        """Return the slot in which the chain stores the value of a slot: another one for some of coreth's."""
        return stored_slot(slot) if self.is_of_coreth else slot

    def _exported(self, source: ID, utxo_ids: Collection[ID]) -> Mapping[ID, UTXO]:
        """Return those of the outputs that another chain has exported to this one and that are not imported."""
        return self.shared_memory.get(self.blockchain_id, source, utxo_ids)

    def executor(self, pin: Hash | None = None) -> BlockExecutor:
        """Return the executor of blocks with the chain's current rules.

        Args:
            pin: The fork block, for a fork whose state is still that of the other chain.
        """
        return BlockExecutor(self.rules, self.engine, self.encode_logs, pin)

    @cached_property
    def encode_logs(self) -> EncodeLogs:
        """Encodes the logs of receipts; chosen once, because each call on `pending` needs it."""
        return select_encode_logs(native=evm_select.is_native(self.settings.engine))

    @cached_property
    def trie(self) -> StateTrie:
        """The state trie that belongs to the engine; it caches the nodes of the head."""
        return self.new_trie()

    def new_trie(self, *, cached: bool = True) -> StateTrie:
        """Return a state trie that belongs to the engine and to the chain's rules, with or without a cache of nodes."""
        leaves = self.settings.cache.accounts + self.settings.cache.slots if cached else 0
        return evm_select.select_trie(
            self.settings.engine, cache_bytes=LEAF_BYTES * leaves, of_coreth=self.is_of_coreth
        )

    @cached_property
    def proof_trie(self) -> StateTrie:
        """A trie for proofs, separate from the one that caches the head's nodes for the next block."""
        return self.new_trie()

    @property
    def keeps_tries(self) -> bool:
        """Whether new blocks keep the tries of earlier ones readable; a fork has no proofs."""
        return self.settings.proof_window > 0 and self.fork is None

    @cached_property
    def memory(self) -> Memory:
        """The in-memory caches of the chain."""
        cache = self.settings.cache
        return make_memory(
            native=evm_select.is_native(self.settings.engine),
            accounts=cache.accounts,
            slots=cache.slots,
            blocks=max(cache.blocks, FEW),
            # The native answers read slots without the rule of `stored_slot`.
            answers=not self.is_of_coreth,
        )

    @cached_property
    def traces(self) -> KeptTraces:
        """The traces of accepted blocks that this process keeps."""
        return KeptTraces(self.settings.trace.cache)
