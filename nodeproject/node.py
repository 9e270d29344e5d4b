"""The node of a process as an object: its chains, interfaces and monitoring, assembled from settings.

All of these are created here and nowhere else, and each is passed its dependencies. Code that Django, Celery
or a server calls, and that therefore cannot be passed anything, gets this object from `nodeproject.apps`.
Expensive parts are created at first use.
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, NamedTuple

from cchain_app.api import EvmRpc
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.chain import EvmChain, NoBlockchainID
from cchain_app.chain_options import WEI
from cchain_app.precompiles.verification import WarpIdentity
from cchain_app.services.runtime import EvmRuntime
from cchain_app.services.transaction_log import TransactionLog
from chaindb.chains import C_CHAIN, P_CHAIN, X_CHAIN, ChainRegistry, is_left_out
from chaindb.database import Database
from chaindb.events import ChainEvents
from chaindb.replicas import known_replicas
from explorer_app.selectors.signatures import DeclaredSignatures
from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import SharedProcesses, SingleProcess
from health_app.result import Report
from jsonrpc.limits.interpreter import LoopTurn
from network_app.node import NodeNetwork
from network_app.selectors import has_peers, is_bootstrapped
from nodeproject.copies.snapshots import Snapshots
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.c_chain import genesis_of_network
from nodeproject.startup.identity import files_of
from nodeproject.startup.subnet_chains import RefusedChain, SubnetChains
from nodeproject.startup.x_chain import PlatformNetwork
from nodeproject.web.endpoints import Endpoints
from nodeproject.web.get_pages import PlainPages
from nodeproject.web.observation import Observation
from nodeproject.web.openrpc.reference import Reference
from nodeproject.web.paths import running_url
from nodeproject.web.shared_head import share_head
from nodeproject.web.user_keys import PlatformKeystore
from platform_app.api import PlatformRpc
from platform_app.api.presence import own_node_id
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.renewal import Renewal
from platform_app.selectors.signers import signers_for
from platform_app.services.runtime import PlatformRuntime
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.networks import LOCAL
from xchain_app.api import AvmRpc
from xchain_app.chain import AvmChain
from xchain_app.services.runtime import AvmRuntime

if TYPE_CHECKING:  # loaded with the first page
    from explorer_app.site import Explorer


def processes_in(directory: Path | None) -> SingleProcess | SharedProcesses:
    """Return the processes that share their metrics with this one.

    Args:
        directory: Where the processes of this machine share their metrics; None: this process is alone.
    """
    own = ProcessMetrics()
    return SingleProcess(own) if directory is None else SharedProcesses(own, directory)


class FurtherChain(NamedTuple):
    """An EVM chain of a node besides the C-Chain."""

    aliases: tuple[str, ...]
    """Its names; the first one is its name in rows, metrics and events."""
    blockchain_id: ID
    database: str
    """The alias of the database with its rows, which has no rows of another EVM chain."""
    genesis_file: Callable[[], bytes]
    subnet_id: ID = PRIMARY_NETWORK_ID


class Node:
    """A node, as seen by one of its processes.

    Args:
        settings: The operator's settings.
        processes: The processes that share their metrics; None: this process is alone.
        further: The EVM chains besides the C-Chain.

    Raises:
        DuplicateChain: Two chains have a name or their tables in common.
    """

    def __init__(
        self,
        settings: NodeSettings,
        processes: SingleProcess | SharedProcesses | None = None,
        further: Sequence[FurtherChain] = (),
    ) -> None:
        self.settings = settings
        self._explorer_lock = Lock()
        self.processes = processes or processes_in(None)
        self.identity = files_of(settings)
        """The files of the node's identity. No other code reads them."""
        self.events = ChainEvents(settings.common.profile)
        """Announces chain events to listeners in this process and in others."""
        self.database = Database()
        self.database.replicas = known_replicas()
        """The database of the primary network's chains; their writers in this process take turns."""
        self.platform_chain = PlatformChain(
            settings.common,
            settings.platform,
            self.database,
            self.identity,
            events=self.events,
            is_synced=partial(is_bootstrapped, P_CHAIN),
        )
        is_local = settings.common.network_id == LOCAL
        own = Renewal(self.platform_chain) if is_local else None
        self.platform_runtime = PlatformRuntime(self.platform_chain, own)
        self.evm_chain = EvmChain(
            settings.common,
            settings.cchain,
            self.database,
            events=self.events,
            blockchain_id=self._c_chain_id,
            has_peers=has_peers,
            is_synced=partial(is_bootstrapped, C_CHAIN),
            least_time=self._least_time,
            atomic=self._atomic_parameters,
            identity=self._warp_identity(self._c_chain_id, PRIMARY_NETWORK_ID),
            genesis_file=genesis_of_network(
                settings.common,
                settings.cchain,
                settings.common.directory / "cchain_genesis.json",
            ),
            upgrades=lambda: self.platform_chain.config.upgrades,
        )
        """The C-Chain."""
        more = [self._further_chain(item) for item in further]
        self.evm_chains: dict[str, EvmChain] = {
            value.name: value for value in (self.evm_chain, *more)
        }
        """The EVM chains by name, the C-Chain first; chains of subnets are added."""
        for one in self.evm_chains.values():
            one.on_rewinding.append(partial(self._forget_rows_above, one))
        self.evm_runtimes: dict[str, EvmRuntime] = {
            name: EvmRuntime(chain) for name, chain in self.evm_chains.items()
        }
        """The same as running chains."""
        self.on_chain: list[Callable[[EvmRuntime], object]] = []
        """Called with each chain of a subnet that this process begins to run; must be quick and not raise."""
        self.on_chain_ended: list[Callable[[EvmRuntime], object]] = []
        """Called with each chain of a subnet that this process runs no longer, likewise."""
        self.refused_chains: dict[ID, RefusedChain] = {}
        """The chains of tracked subnets that do not run, by blockchain ID."""
        self.subnet_chains = SubnetChains(
            settings,
            self.platform_chain,
            events=self.events,
            running=lambda: tuple(self.evm_chains.values()),
            begin=self._begin_chain,
            end=self._end_chain,
            refuse=self._refuse_chain,
            forget_refused=self._forget_refused_chains,
            has_peers=has_peers,
            least_time=self._least_time,
            identify=self._warp_identity,
            is_taken=lambda name: any(chain.is_named(name) for chain in self.chains.every),
        )
        """Finds the chains of subnets and begins to run them."""
        primary = PlatformNetwork(self.platform_chain)
        self.avm_chain = AvmChain(
            settings.common,
            self.database,
            primary.config,
            primary,
            events=self.events,
            is_synced=partial(is_bootstrapped, X_CHAIN),
        )
        """The X-Chain."""
        self.avm_runtime = AvmRuntime(self.avm_chain)
        self.chains = ChainRegistry(
            (self.platform_chain, self.avm_chain, *self.evm_chains.values())
        )
        """The chains that the node takes part in, by name."""
        has_others = settings.common.profile == "production" and not is_left_out(C_CHAIN)
        self.head = share_head(self.evm_chain, settings.common.directory) if has_others else None
        """Keeps the C-Chain at the head that the machine's other processes have published."""
        self._logs_transactions = False
        self.transaction_logs = {
            name: self._transaction_log(one) for name, one in self.evm_chains.items()
        }
        """Log the transactions of each EVM chain; started by processes that serve or accept blocks."""
        self.network = NodeNetwork(
            settings.common,
            settings.peers,
            self.platform_runtime,
            tuple(self.evm_runtimes.values()),
            avm=self.avm_runtime,
        )
        """The node's part in its peer network."""
        self.network.find_chains = self.subnet_chains.look
        self.turn = LoopTurn()
        """The share of a turn of this process's event loop that all interfaces together may use."""

    @property
    def evm_runtime(self) -> EvmRuntime:
        """The C-Chain as a running chain."""
        return self.evm_runtimes[self.evm_chain.name]

    @property
    def evm_rpc(self) -> EvmRpc:
        """The shared state of the C-Chain's interfaces over HTTP and WebSocket."""
        found: EvmRpc = self.evm_rpcs[self.evm_chain.name]
        return found

    @cached_property
    def evm_rpcs(self) -> dict[str, EvmRpc]:
        """The shared state of the interfaces of each EVM chain, by name."""
        return {
            name: EvmRpc(one, self.turn, self.transaction_logs[name], self.network.message_signers)
            for name, one in tuple(self.evm_runtimes.items())
        }

    @cached_property
    def platform_rpc(self) -> PlatformRpc:
        """The shared state of the P-Chain's interfaces."""
        return PlatformRpc(
            self.platform_chain,
            self.network.signatures,
            runs=lambda chain_id: str(chain_id) in self.evm_chains,
        )

    @cached_property
    def avm_rpc(self) -> AvmRpc:
        """The shared state of the X-Chain's interfaces."""
        return AvmRpc(self.avm_chain, PlatformKeystore(self.platform_chain))

    @cached_property
    def observation(self) -> Observation:
        """Exposes this process to monitoring."""
        made = Observation(
            self.settings,
            self.processes,
            self.evm_rpcs,
            self.platform_rpc,
            self.platform_runtime,
            avm=self.avm_runtime,
        )
        for refused in tuple(self.refused_chains.values()):
            made.add_refused(refused.blockchain_id, refused.subnet_id, refused.reason)
        return made

    @cached_property
    def endpoints(self) -> Endpoints:
        """The RPC interfaces, their limits and their threads."""
        return Endpoints(
            settings=self.settings,
            evm_rpcs=self.evm_rpcs,
            platform_rpc=self.platform_rpc,
            avm_rpc=self.avm_rpc,
            network=self.network,
            observation=self.observation,
            identity=self.identity,
            turn=self.turn,
        )

    @cached_property
    def plain(self) -> PlainPages:
        """The pages for GET that are answered before the interfaces."""
        return PlainPages(
            self.endpoints,
            self.observation,
            Reference(partial(running_url, self.settings), self.endpoints.described),
        )

    @property
    def explorer(self) -> "Explorer":
        """The block explorer of its chains."""
        with self._explorer_lock:  # the worker's thread and that of a page may ask first
            return self._explorer

    @cached_property
    def _explorer(self) -> "Explorer":
        from explorer_app.services.composition import compose
        from explorer_app.site import Explorer

        made = Explorer(
            self.settings.common,
            self.settings.explorer,
            self.evm_chain,
            self.platform_chain,
            self.avm_chain,
            health=self._health,
            node_id=lambda: str(own_node_id(self.platform_chain) or ""),
            evms=lambda: tuple(self.evm_chains.values()),
            refused=lambda: len(self.refused_chains),
            look_for_chains=self.subnet_chains.look,
            endpoint_of=lambda chain: self.endpoints.evm[chain.name],
        )
        return compose(made, self.evm_runtime, lambda chain: self.evm_runtimes[chain.name])

    def _forget_rows_above(self, chain: EvmChain, number: int) -> None:
        from explorer_app.services import statistics, tokens  # loaded with the first revert

        tokens.forget_above(chain, number)
        statistics.forget_above(chain, number)

    def _transaction_log(self, chain: EvmChain) -> TransactionLog:
        made = TransactionLog(chain)
        made.declared = DeclaredSignatures(chain)
        return made

    def _health(self) -> Report:
        """Return the results of the health checks; the first call creates their reporter."""
        return self.observation.reporter.health()

    def _least_time(self) -> int:
        """Return the P-Chain's time in Unix seconds, below which the clock of all chains cannot go."""
        try:
            return self.platform_chain.tip().timestamp
        except NoPlatformGenesis:
            return 0

    @cached_property
    def snapshots(self) -> Snapshots:
        """The node's named snapshots."""
        return Snapshots(
            self.settings,
            self.platform_chain,
            self.evm_chain,
            self.network,
            lambda: tuple(self.evm_chains.values())[1:],
        )

    def begin_transaction_logs(self) -> None:
        """Begin to log the transactions of the EVM chains."""
        self._logs_transactions = True
        for log in tuple(self.transaction_logs.values()):
            log.begin()

    def end_transaction_logs(self) -> None:
        """Stop logging the transactions of the EVM chains."""
        for log in tuple(self.transaction_logs.values()):
            log.end()

    def _begin_chain(self, chain: EvmChain) -> None:
        """Run a chain of a subnet in this process from now on.

        If a step fails, the process does not run the chain and has no trace of it, so it can begin again later.

        Raises:
            DuplicateChain: It has a name of another chain.
        """
        runtime = EvmRuntime(chain)
        self.chains.add(chain)
        try:
            self.network.add(runtime)
            self._run_chain(runtime)
        except BaseException:
            self._forget_chain(runtime)
            raise
        self.refused_chains.pop(chain.blockchain_id, None)

    def _end_chain(self, chain: EvmChain) -> None:
        """Run a chain of a subnet no longer, because the P-Chain has gone back to before its creation."""
        runtime = self.evm_runtimes[chain.name]
        rpc = self.evm_rpcs.get(chain.name) if "evm_rpcs" in self.__dict__ else None
        if rpc is not None:
            if "endpoints" in self.__dict__:
                self.endpoints.remove_evm(rpc)
            if "observation" in self.__dict__:
                self.observation.remove_evm(rpc)
        self._forget_chain(runtime)
        for ended in tuple(self.on_chain_ended):
            ended(runtime)

    def _forget_chain(self, runtime: EvmRuntime) -> None:
        name = runtime.chain.name
        self.chains.remove(runtime.chain)
        self.network.remove(runtime)
        for by_name in (self.evm_chains, self.evm_runtimes):
            by_name.pop(name, None)
        if (log := self.transaction_logs.pop(name, None)) is not None:
            log.end()
        if "evm_rpcs" in self.__dict__:
            self.evm_rpcs.pop(name, None)

    def _run_chain(self, runtime: EvmRuntime) -> None:
        chain = runtime.chain
        name = chain.name
        chain.on_rewinding.append(partial(self._forget_rows_above, chain))
        self.transaction_logs[name] = log = self._transaction_log(chain)
        self.evm_chains[name] = chain
        self.evm_runtimes[name] = runtime
        if self._logs_transactions:
            log.begin()
        if "evm_rpcs" in self.__dict__:
            rpc = EvmRpc(runtime, self.turn, log, self.network.message_signers)
            self.evm_rpcs[name] = rpc
            if "endpoints" in self.__dict__:
                self.endpoints.add_evm(rpc)
            if "observation" in self.__dict__:
                self.observation.add_evm(rpc)
        for begun in tuple(self.on_chain):
            begun(runtime)

    def _refuse_chain(self, refused: RefusedChain) -> None:
        self.refused_chains[refused.blockchain_id] = refused
        if "observation" in self.__dict__:
            self.observation.add_refused(refused.blockchain_id, refused.subnet_id, refused.reason)

    def _forget_refused_chains(self) -> None:
        self.refused_chains.clear()
        if "observation" in self.__dict__:
            self.observation.forget_refused()

    def _further_chain(self, given: FurtherChain) -> EvmChain:
        return EvmChain(
            self.settings.common,
            self.settings.cchain,
            Database(given.database),
            events=self.events,
            aliases=given.aliases,
            blockchain_id=lambda: given.blockchain_id,
            genesis_file=given.genesis_file,
            subnet_id=given.subnet_id,
            has_peers=has_peers,
            least_time=self._least_time,
            identity=self._warp_identity(lambda: given.blockchain_id, given.subnet_id),
        )

    def _warp_identity(self, blockchain_id: Callable[[], ID], subnet_id: ID) -> WarpIdentity:
        """Return who an EVM chain of a subnet is to other chains."""
        signers = partial(signers_for, self.platform_chain, subnet_id)
        return WarpIdentity(self.settings.common.network_id, blockchain_id, signers)

    def _atomic_parameters(self) -> AtomicParameters:
        """Return the values for transfers between the C-Chain and the other chains, from the P-Chain's genesis.

        Raises:
            NoBlockchainID: There is no P-Chain yet.
        """
        try:
            network = self.platform_chain.network()
        except NoPlatformGenesis as error:
            raise NoBlockchainID from error
        return AtomicParameters(
            network_id=network.network_id,
            blockchain_id=network.c_chain_id,
            peers=frozenset({self.platform_chain.blockchain_id, network.x_chain_id}),
            asset_id=network.asset_id,
            wei_per_unit=WEI // network.unit,
        )

    def _c_chain_id(self) -> ID:
        """Return the C-Chain's blockchain ID, from the P-Chain's genesis.

        Raises:
            NoBlockchainID: There is no P-Chain yet.
        """
        try:
            return self.platform_chain.network().c_chain_id
        except NoPlatformGenesis as error:
            raise NoBlockchainID from error
