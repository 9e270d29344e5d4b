"""Finds the EVM chains of subnets that the P-Chain has created, and begins to run those that this node tracks.

Each chain has a row with its state on this node: running, refused or untracked. The reason of a refusal is in the row, in
a health check and in the log. A refused chain does not affect the others.
"""

import logging
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final, NamedTuple

from django.db import DatabaseError, InterfaceError, OperationalError

from cchain_app.chain import EvmChain
from cchain_app.forking.settings import ForkSettings
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.precompiles.addresses import ADDRESSES, CODE
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.rules.subnet_evm.config import SubnetEvmConfig
from cchain_app.rules.subnet_evm.rules import SubnetEvmRuleSet
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_after
from cchain_app.services.genesis import WrongChainInDatabase, load_genesis
from cchain_app.settings import EvmSettings
from cchain_app.store import subnet_chains as subnet_chain_rows
from cchain_app.store.chain import head_id
from cchain_app.store.subnet_chains import SubnetChainRow
from chaindb import generation
from chaindb.connections import release
from chaindb.events import ChainEvents
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import chain_views
from nodeproject.startup.absent_chains import AbsentChains
from nodeproject.startup.chain_databases import make_database, upgrade_file_of
from nodeproject.startup.chain_obstacles import ChainObstacles
from nodeproject.startup.process import CannotStart
from platform_app.chain import PlatformChain
from platform_app.selectors import accepted, subnets
from platform_app.selectors.subnets import BlockchainRecord
from platform_app.txs.codec import parse
from platform_app.txs.subnets import CreateChainTx
from primitives.cb58 import Cb58Error
from primitives.hexadecimal import encode_data
from primitives.ids import ID, PRIMARY_NETWORK_ID, IdError
from primitives.networks import LOCAL

SUBNET_EVM_ID: Final = ID.of_name("subnetevm")
"""The ID of subnet-evm as a virtual machine."""

_log: Final = logging.getLogger(__name__)

RETRY_SECONDS: Final = 10.0
"""Seconds after which a chain begins again that did not because its database or a file could not be used."""

DELETED_HERE: Final = "it was deleted on this node"
"""The reason of a chain that the operator has deleted."""
_ENDED: Final = "it has ended, because the P-Chain has gone back to a state before its creation"

_FORESEEN: Final = (CannotStart, DatabaseError, GenesisFileError, OSError, WrongChainInDatabase)
"""Errors of a chain's beginning that need no traceback in the log, beside `ChainRefused`."""
_MAY_PASS: Final = (OperationalError, InterfaceError, OSError)
"""Errors of a chain's beginning that may not occur again."""


class ChainRefused(Exception):
    """A chain cannot run on this node; the message says why."""


class RefusedChain(NamedTuple):
    """A chain of a tracked subnet that does not run."""

    blockchain_id: ID
    subnet_id: ID
    reason: str


class SubnetChains:
    """The chains of subnets of a process.

    Args:
        settings: The node's settings.
        platform: The P-Chain.
        events: Publishes the node's events.
        running: Returns the EVM chains that run already, the C-Chain first.
        begin: Lets the process run a chain whose rows are ready.
        end: Lets the process run a chain no longer that does not exist any more.
        refuse: Notes a chain that does not run.
        forget_refused: Forgets the chains that do not run.
        absent: The reasons for answers to requests for chains that do not run.
        has_peers: Returns whether peers are connected.
        least_time: Returns the earliest Unix time to which the node's clock may be set.
        identify: Returns who a chain is to other chains, from what returns its ID and from its subnet.
        is_taken: Returns whether a chain of the node has a name, as an alias or as its blockchain ID.
    """

    def __init__(
        self,
        settings: NodeSettings,
        platform: PlatformChain,
        *,
        events: ChainEvents,
        running: Callable[[], Iterable[EvmChain]],
        begin: Callable[[EvmChain], object],
        end: Callable[[EvmChain], object],
        refuse: Callable[[RefusedChain], object],
        forget_refused: Callable[[], object],
        absent: AbsentChains,
        has_peers: Callable[[], bool],
        least_time: Callable[[], int],
        identify: Callable[[Callable[[], ID], ID], WarpIdentity],
        is_taken: Callable[[str], bool],
    ) -> None:
        self._settings = settings
        self._platform = platform
        self._events = events
        self._running = running
        self._begin = begin
        self._end = end
        self._refuse = refuse
        self._forget_refused = forget_refused
        self._absent = absent
        self._has_peers = has_peers
        self._least_time = least_time
        self._identify = identify
        self._is_taken = is_taken
        self._lock = threading.Lock()
        self._position = -1
        """The last blockchain that was looked at, in the order of creation."""
        self._generation: int | None = None
        """How often the P-Chain's rows were rewound before that."""
        self._again: dict[ID, BlockchainRecord] = {}
        """The chains to begin again."""
        self._again_at = 0.0
        """When that is due, by the monotonic clock."""
        self._obstacles = ChainObstacles()
        self._deleted: set[ID] = set()
        """The chains that were deleted here before the last look; only on the local network."""
        self._has_changed = False
        """Whether a chain has begun or ended since the SQL views over all chains were made."""

    @property
    def generation(self) -> int | None:
        """How often the P-Chain's rows were rewound before the last look; None before the first."""
        return self._generation

    def look(self) -> None:
        """Begin the chains that were created since the last call. Blocking; threads may call it together.

        After a rewind of the P-Chain's rows the chains that it does not have any more end, and so do chains that were
        deleted.

        Raises:
            DatabaseError: The P-Chain's rows cannot be read; the next call tries again.
        """
        with self._lock:
            self._notice_rewind()
            self._notice_deletions()
            if self._again and time.monotonic() >= self._again_at:
                for created in tuple(self._again.values()):
                    self._take(created)
            running = {chain.name for chain in self._running()}
            for position, created in subnets.blockchains_after(self._platform, self._position):
                is_running = str(created.blockchain_id) in running
                if created.subnet_id != PRIMARY_NETWORK_ID and not is_running:
                    self._take(created)
                self._position = position
            if self._has_changed:
                self._refresh_views()
                self._has_changed = False
            self._obstacles.note(self._platform.db, self._running())

    def _refresh_views(self) -> None:
        try:
            chain_views.refresh(self._platform.db)
        except DatabaseError as error:  # the chains run without them
            _log.warning("the SQL views over all EVM chains were not made: %s", error)

    def _notice_rewind(self) -> None:
        """Look at all blockchains again if the P-Chain's rows were replaced by earlier ones.

        A chain that runs may have gone, or may have been created again and then has no rows yet.
        """
        number = generation.number(self._platform.db)
        if number == self._generation:
            return
        if self._generation is not None:
            self._position = -1
            self._again.clear()
            self._forget_refused()
            self._absent.clear()
            records = subnets.blockchains_after(self._platform, -1)
            created = {record.blockchain_id for _, record in records}
            for chain in tuple(self._running()):
                if chain.subnet_id == PRIMARY_NETWORK_ID:
                    continue
                if chain.blockchain_id not in created or head_id(chain.db) is None:
                    self._absent.note(chain.blockchain_id, chain.aliases, _ENDED)
                    self._end(chain)
                    self._has_changed = True
                    _log.info("chain %s runs no longer: the P-Chain has gone back", chain.title)
        self._generation = number

    def _notice_deletions(self) -> None:
        """End the chains whose rows say that they were deleted (`web.l1_tools`)."""
        if self._settings.common.network_id != LOCAL:
            return
        before, self._deleted = self._deleted, subnet_chain_rows.deleted(self._platform.db)
        added = self._deleted - before
        if not added:
            return
        for chain in tuple(self._running()):
            if chain.blockchain_id in added and chain.subnet_id != PRIMARY_NETWORK_ID:
                self._absent.note(chain.blockchain_id, chain.aliases, DELETED_HERE)
                self._end(chain)
                self._has_changed = True
                _log.info("chain %s runs no longer: %s", chain.title, DELETED_HERE)
        # One that was refused is no fault any more: the others that do not run are refused again.
        self._position = -1
        self._again.clear()
        self._forget_refused()

    def look_and_release(self) -> None:
        """Do the same in a thread that has no other work for its connections."""
        try:
            self.look()
        finally:
            release()

    def _take(self, created: BlockchainRecord) -> None:
        if created.blockchain_id in self._deleted:
            self._leave(created)
            return
        row = SubnetChainRow(
            created.blockchain_id,
            created.subnet_id,
            created.name,
            created.vm_id,
            subnet_chain_rows.UNTRACKED,
        )
        if not self._settings.common.tracks(created.subnet_id):
            reason = f"subnet {created.subnet_id} is not tracked (NODE_TRACK_SUBNETS)"
            self._explain(created, reason)
            self._record(row._replace(reason=reason))
            return
        if created.vm_id != SUBNET_EVM_ID:
            reason = f"unknown VM {created.vm_id}: this node runs subnetevm chains"
            self._explain(created, reason)
            self._record(row._replace(state=subnet_chain_rows.REFUSED, reason=reason))
            if self._settings.common.track_subnets:
                self._refuse(RefusedChain(created.blockchain_id, created.subnet_id, reason))
            return
        try:
            chain = self._chain(created)
            chain_id = chain.config.chain_id
            running = row._replace(
                state=subnet_chain_rows.RUNNING,
                rules="" if chain.rule_set is None else chain.rule_set.name,
                database=chain.db.alias,
                chain_id=chain_id,
            )
            # First: no chain may run of which the rows, and so the backups, do not know.
            if not self._record(running):
                self._leave(created)
                return
            self._begin(chain)
        # Strangers create chains: none of them may keep this node from its other chains, whatever it contains.
        except Exception as error:
            reason = " ".join(str(error).split()) or type(error).__name__
            if created.blockchain_id not in self._again:
                _log.error(
                    "chain %s (%s) does not run: %s",
                    created.blockchain_id,
                    created.name,
                    reason,
                    exc_info=not isinstance(error, (ChainRefused, *_FORESEEN)),
                )
            self._explain(created, reason)
            if not self._record(row._replace(state=subnet_chain_rows.REFUSED, reason=reason)):
                self._leave(created)
                return
            self._refuse(RefusedChain(created.blockchain_id, created.subnet_id, reason))
            if isinstance(error, _MAY_PASS):
                self._again[created.blockchain_id] = created
                self._again_at = time.monotonic() + RETRY_SECONDS
            else:
                self._again.pop(created.blockchain_id, None)
            return
        self._again.pop(created.blockchain_id, None)
        self._absent.forget(created.blockchain_id)
        self._has_changed = True
        _log.info(
            "chain %s (%s) runs with chain ID %d", created.blockchain_id, created.name, chain_id
        )

    def _leave(self, created: BlockchainRecord) -> None:
        """Leave a chain alone that was deleted here, perhaps while it began. Its name is free."""
        self._again.pop(created.blockchain_id, None)
        self._absent.forget(created.blockchain_id)
        self._absent.note(created.blockchain_id, (), DELETED_HERE)

    def _explain(self, created: BlockchainRecord, reason: str) -> None:
        """Let requests for a chain get the reason why it does not run."""
        self._absent.note(created.blockchain_id, (created.name,), reason)

    def _chain(self, created: BlockchainRecord) -> EvmChain:
        """Return a chain with its genesis block and rows.

        Raises:
            ChainRefused: This node cannot run it.
            GenesisFileError: Its genesis cannot be used.
            DatabaseError: Its database cannot be made or read; or another class of `_FORESEEN`.
        """
        self._verify_limit(created)
        transaction = accepted.tx(self._platform, created.blockchain_id)
        assert transaction is not None, "the blockchain's ID is that of its transaction"
        creation = parse(transaction.raw).unsigned
        assert isinstance(creation, CreateChainTx)
        if creation.fx_ids:
            raise ChainRefused("unsupported feature extensions")
        upgrades = upgrade_file_of(created.blockchain_id, self._settings)
        rule_set = SubnetEvmRuleSet(
            self._platform.config.upgrades,
            lambda block: state_after(chain, block),
            upgrades.read_bytes() if upgrades.exists() else b"",
            enforces_delay=self._settings.common.enforces_delays,
        )
        text = bytes(creation.genesis_data)
        self._verify(rule_set, text)
        db = make_database(created.blockchain_id, self._settings)
        db.replicas = self._platform.db.replicas
        chain = EvmChain(
            self._settings.common,
            subnet_settings(self._settings.cchain),
            db,
            events=self._events,
            aliases=self._aliases(created),
            blockchain_id=lambda: created.blockchain_id,
            genesis_file=lambda: text,
            subnet_id=created.subnet_id,
            has_peers=self._has_peers,
            least_time=self._least_time,
            identity=self._identify(lambda: created.blockchain_id, created.subnet_id),
            rule_set=rule_set,
            label=created.name or None,
        )
        load_genesis(chain)
        _verify_upgrades(chain)
        _log_overwritten(chain)
        return chain

    def _verify_limit(self, created: BlockchainRecord) -> None:
        """Refuse a chain of a subnet that the operator has not named if too many of these run. Raises `ChainRefused`."""
        common = self._settings.common
        if common.names_subnet(created.subnet_id):
            return
        others = [
            chain
            for chain in self._running()
            if chain.subnet_id != PRIMARY_NETWORK_ID and not common.names_subnet(chain.subnet_id)
        ]
        if len(others) >= common.subnet_chain_limit:
            limit = f"{common.subnet_chain_limit} (NODE_SUBNET_CHAIN_LIMIT)"
            raise ChainRefused(f"too many chains of subnets: at most {limit} run on this node")

    def _verify(self, rule_set: SubnetEvmRuleSet, text: bytes) -> None:
        """Check that this node can run a chain with a genesis file. Raises as `_chain`."""
        config = rule_set.load_genesis(text).config
        assert isinstance(config, SubnetEvmConfig)
        if not config.chain_id:
            raise ChainRefused("config.chainId: missing")
        for other in self._running():
            if other.config.chain_id == config.chain_id:
                taken = other.blockchain_id
                raise ChainRefused(f"chain ID {config.chain_id} is taken by {taken}")

    def _aliases(self, created: BlockchainRecord) -> tuple[str, ...]:
        """Return the ID as the first alias, and the chain's name if no other chain can have it.

        Anybody may choose the name. One that is an ID would lead requests for the chain with that ID here.

        Unspecified: the reference has aliases by name only if the operator's file lists them.
        """
        name, blockchain_id = created.name, str(created.blockchain_id)
        is_alias = name.strip() and not _is_id(name) and not self._is_taken(name)
        return (blockchain_id, name) if is_alias else (blockchain_id,)

    def _record(self, row: SubnetChainRow) -> bool:
        """Write a chain's row if it has changed; return False if the chain was deleted here.

        If the chain does not run, the row still names the database with its blocks.
        """
        db = self._platform.db
        known = subnet_chain_rows.row_of(db, row.blockchain_id)
        if known is not None and not row.database:
            row = row._replace(database=known.database)
        if row == known:
            return True
        with db.atomic():  # it waits for the database's other writers
            return subnet_chain_rows.record(db, row)


def _log_overwritten(chain: EvmChain) -> None:
    """Log the precompiles whose accounts the genesis file gives other code, as subnet-evm lets it."""
    genesis, schedule = chain.genesis, chain.config.stateful
    for key, address in ADDRESSES.items():
        account = genesis.alloc.get(address)
        is_active = schedule.config_at(key, genesis.timestamp) is not None
        if account is not None and account.code and is_active:
            _log.warning(
                "chain %s: alloc gives %s, the address of %s, other code",
                chain.name,
                encode_data(address),
                key,
            )


def _verify_upgrades(chain: EvmChain) -> None:
    """Check that precompiles which should have begun or ended by now have done so.

    Raises:
        ChainRefused: The upgrade file has changed for a time that has passed.
    """
    schedule, head = chain.config.stateful, blocks.head(chain)
    state = state_after(chain, head)
    for key, address in ADDRESSES.items():
        if address in chain.genesis.alloc:
            continue  # the genesis file may give it other code
        account = state.account(address)
        code = b"" if account is None else state.code(account.code_hash)
        is_active = schedule.config_at(key, head.header.timestamp) is not None
        if is_active != (code == CODE):
            should = "begun" if is_active else "ended"
            raise ChainRefused(
                f"upgrade file: {key} should have {should} by block {head.number}, and has not: "
                "upgrades cannot change for a time that has passed"
            )


def _is_id(name: str) -> bool:
    """Return whether a name is the text of an ID."""
    try:
        ID.parse(name)
    except (Cb58Error, IdError):
        return False
    return True


def subnet_settings(settings: EvmSettings) -> EvmSettings:
    """Return the settings of chains of subnets: the C-Chain's, without those about its own genesis or fork."""
    return replace(settings, genesis="", chain_id=0, fork=ForkSettings())
