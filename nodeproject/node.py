"""The node of a process as an object: its chains, interfaces and monitoring, assembled from settings.

All of these are created here and nowhere else, and each is passed its dependencies. Code that Django, Celery
or a server calls, and that therefore cannot be passed anything, gets this object from `nodeproject.apps`.
The constructor creates only the EVM chains, because a node answers for them first. The other parts are created, and their
modules imported, at first use; a server creates them beside its first answers (`asgi`).
"""

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING

from cchain_app.api import EvmRpc
from cchain_app.chain import EvmChain
from cchain_app.services.runtime import EvmRuntime
from cchain_app.services.transaction_log import TransactionLog
from chaindb.chains import C_CHAIN, P_CHAIN, X_CHAIN, ChainRegistry, is_left_out
from chaindb.database import Database
from chaindb.events import ChainEvents
from chaindb.replicas import known_replicas
from explorer_app.selectors.signatures import DeclaredSignatures
from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import SharedProcesses, SingleProcess
from jsonrpc.limits.interpreter import LoopTurn
from network_app.selectors import has_peers, is_bootstrapped
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.absent_chains import AbsentChains
from nodeproject.startup.c_chain import PlatformOfEvm, genesis_of_network
from nodeproject.startup.further_chains import FurtherChain
from nodeproject.startup.identity import files_of
from nodeproject.startup.late_consensus import LateConsensus
from nodeproject.web.endpoints import Endpoints
from nodeproject.web.paths import running_url
from nodeproject.web.shared_head import share_head
from primitives.ids import ID, PRIMARY_NETWORK_ID
from primitives.late import Late
from primitives.networks import LOCAL

if TYPE_CHECKING:  # loaded with the parts that need them
    from chainvm.consensus import Consensus
    from explorer_app.site import Explorer
    from health_app.result import Report
    from network_app.chains.messages import MessageSigners
    from network_app.node import NodeNetwork
    from nodeproject.copies.snapshots import Snapshots
    from nodeproject.startup.subnet_chains import RefusedChain, SubnetChains
    from nodeproject.web.get_pages import PlainPages
    from nodeproject.web.observation import Observation
    from platform_app.api import PlatformRpc
    from platform_app.chain import PlatformChain
    from platform_app.services.runtime import PlatformRuntime
    from xchain_app.api import AvmRpc
    from xchain_app.chain import AvmChain
    from xchain_app.services.runtime import AvmRuntime


def processes_in(directory: Path | None) -> SingleProcess | SharedProcesses:
    """Return the processes that share their metrics with this one.

    Args:
        directory: Where the processes of this machine share their metrics; None: this process is alone.
    """
    own = ProcessMetrics()
    return SingleProcess(own) if directory is None else SharedProcesses(own, directory)


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
        self.late_lock = RLock()
        self.processes = processes or processes_in(None)
        self.identity = files_of(settings)
        """The files of the node's identity. No other code reads them."""
        self.events = ChainEvents(settings.common.profile)
        """Announces chain events to listeners in this process and in others."""
        self.database = Database()
        self.database.replicas = known_replicas()
        """The database of the primary network's chains; their writers in this process take turns."""
        platform = self._platform = PlatformOfEvm(
            settings.common.network_id, lambda: self.platform_chain
        )
        self.evm_chain = EvmChain(
            settings.common,
            settings.cchain,
            self.database,
            events=self.events,
            blockchain_id=platform.c_chain_id,
            has_peers=has_peers,
            is_synced=partial(is_bootstrapped, C_CHAIN),
            least_time=platform.least_time,
            atomic=platform.atomic_parameters,
            identity=platform.identity(platform.c_chain_id, PRIMARY_NETWORK_ID),
            genesis_file=genesis_of_network(
                settings.common,
                settings.cchain,
                settings.common.directory / "cchain_genesis.json",
            ),
            upgrades=lambda: self.platform_chain.config.upgrades,
        )
        """The C-Chain."""
        more = [item.chain(settings, platform, self.events) for item in further]
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
        self.on_serving_all: list[Callable[[PlainPages], object]] = []
        """Called with the pages for GET when all interfaces are served; must not raise."""
        self.absent_chains = AbsentChains()
        """Why requests for some chains are not answered."""
        self.refused_chains: dict[ID, RefusedChain] = {}
        """The chains of tracked subnets that do not run, by blockchain ID."""
        if further:
            self.chains  # noqa: B018  # verifies their names
        self._is_connected = False
        has_others = settings.common.profile == "production" and not is_left_out(C_CHAIN)
        self.head = share_head(self.evm_chain, settings.common.directory) if has_others else None
        """Keeps the C-Chain at the head that the machine's other processes have published."""
        self._logs_transactions = False
        self.transaction_logs = {
            name: self._transaction_log(one) for name, one in self.evm_chains.items()
        }
        """Log the transactions of each EVM chain; started by processes that serve or accept blocks."""
        self.turn = LoopTurn()
        """The share of a turn of this process's event loop that all interfaces together may use."""

    @Late
    def platform_chain(self) -> "PlatformChain":
        """The P-Chain."""
        from platform_app.chain import PlatformChain

        settings = self.settings
        return PlatformChain(
            settings.common,
            settings.platform,
            self.database,
            self.identity,
            events=self.events,
            is_synced=partial(is_bootstrapped, P_CHAIN),
        )

    @Late
    def platform_runtime(self) -> "PlatformRuntime":
        """The P-Chain as a running chain."""
        from platform_app.renewal import Renewal
        from platform_app.services.runtime import PlatformRuntime

        is_local = self.settings.common.network_id == LOCAL
        own = Renewal(self.platform_chain) if is_local else None
        made = PlatformRuntime(self.platform_chain, own)
        self._connect(made)
        return made

    @Late
    def avm_chain(self) -> "AvmChain":
        """The X-Chain."""
        from nodeproject.startup.x_chain import PlatformNetwork
        from xchain_app.chain import AvmChain

        primary = PlatformNetwork(self.platform_chain)
        return AvmChain(
            self.settings.common,
            self.database,
            primary.config,
            primary,
            events=self.events,
            is_synced=partial(is_bootstrapped, X_CHAIN),
        )

    @Late
    def avm_runtime(self) -> "AvmRuntime":
        """The X-Chain as a running chain."""
        from xchain_app.services.runtime import AvmRuntime

        made = AvmRuntime(self.avm_chain)
        self._connect(made)
        return made

    @Late
    def chains(self) -> ChainRegistry:
        """The chains that the node takes part in, by name."""
        return ChainRegistry((self.platform_chain, self.avm_chain, *self.evm_chains.values()))

    @Late
    def subnet_chains(self) -> "SubnetChains":
        """Finds the chains of subnets and begins to run them."""
        from nodeproject.startup.subnet_chains import SubnetChains

        return SubnetChains(
            self.settings,
            self.platform_chain,
            events=self.events,
            running=lambda: tuple(self.evm_chains.values()),
            begin=self._begin_chain,
            end=self._end_chain,
            refuse=self._refuse_chain,
            forget_refused=self._forget_refused_chains,
            absent=self.absent_chains,
            has_peers=has_peers,
            least_time=self._platform.least_time,
            identify=self._platform.identity,
            is_taken=lambda name: any(chain.is_named(name) for chain in self.chains.every),
        )

    @Late
    def network(self) -> "NodeNetwork":
        """The node's part in its peer network."""
        from network_app.node import NodeNetwork

        made = NodeNetwork(
            self.settings.common,
            self.settings.peers,
            self.platform_runtime,
            tuple(self.evm_runtimes.values()),
            avm=self.avm_runtime,
        )
        made.find_chains = self.find_chains
        if self._is_connected:
            made.connect_consensus()
        return made

    def connect_consensus(self) -> None:
        """Let the network's consensus decide on the chains' blocks, from the first block on."""
        self._is_connected = True
        if "network" in self.__dict__:
            self.network.connect_consensus()
            return
        for runtime in self.evm_runtimes.values():
            self._connect(runtime)

    def _connect(self, runtime: "EvmRuntime | PlatformRuntime | AvmRuntime") -> None:
        def decided_by_network() -> "Consensus":
            self.network  # noqa: B018  # replaces the runtime's consensus
            return runtime.consensus

        if self._is_connected:
            runtime.decide_by(LateConsensus(decided_by_network))

    def find_chains(self) -> None:
        """Begin to run the chains of subnets that were created since the last call. Blocking."""
        self.subnet_chains.look()

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
            name: EvmRpc(one, self.turn, self.transaction_logs[name], self._message_signatures)
            for name, one in tuple(self.evm_runtimes.items())
        }

    def _message_signatures(self) -> "MessageSigners":
        """Return what signs the warp messages of the EVM chains."""
        return self.network.message_signers

    @Late
    def platform_rpc(self) -> "PlatformRpc":
        """The shared state of the P-Chain's interfaces."""
        from platform_app.api import PlatformRpc

        return PlatformRpc(
            self.platform_chain,
            self.network.signatures,
            runs=lambda chain_id: str(chain_id) in self.evm_chains,
        )

    @Late
    def avm_rpc(self) -> "AvmRpc":
        """The shared state of the X-Chain's interfaces."""
        from nodeproject.web.user_keys import PlatformKeystore
        from xchain_app.api import AvmRpc

        return AvmRpc(self.avm_chain, PlatformKeystore(self.platform_chain))

    @Late
    def observation(self) -> "Observation":
        """Exposes this process to monitoring."""
        from nodeproject.web.observation import Observation

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

    @Late
    def endpoints(self) -> Endpoints:
        """The RPC interfaces, their limits and their threads."""
        return Endpoints(
            settings=self.settings,
            evm_rpcs=self.evm_rpcs,
            absent=self.absent_chains,
            platform_rpc=lambda: self.platform_rpc,
            avm_rpc=lambda: self.avm_rpc,
            network=lambda: self.network,
            reporter=lambda: self.observation.reporter,
            metrics=self.processes.process,
            identity=self.identity,
            turn=self.turn,
        )

    def serve_all(self) -> None:
        """Create the parts that do not exist yet, and serve the interfaces of all chains and services. Blocking."""
        with self.late_lock:  # no chain begins meanwhile
            self.endpoints.complete()
            self.chains  # noqa: B018  # modules of pages ask for them while they are imported
            for served in tuple(self.on_serving_all):
                served(self.plain)

    @Late
    def plain(self) -> "PlainPages":
        """The pages for GET that are answered before the interfaces."""
        from nodeproject.web.get_pages import PlainPages
        from nodeproject.web.openrpc.reference import Reference

        return PlainPages(
            self.endpoints,
            self.observation,
            Reference(partial(running_url, self.settings), self.endpoints.described),
        )

    @Late
    def explorer(self) -> "Explorer":
        """The block explorer of its chains."""
        from explorer_app.services.composition import compose
        from explorer_app.site import Explorer
        from nodeproject.web.l1_tools import NodeL1Tools
        from platform_app.api.presence import own_node_id

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
            look_for_chains=self.find_chains,
            endpoint_of=lambda chain: self.endpoints.evm[chain.name],
            l1_tools=NodeL1Tools(self.settings, self.platform_chain),
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

    def _health(self) -> "Report":
        """Return the results of the health checks; the first call creates their reporter."""
        return self.observation.reporter.health()

    @cached_property
    def snapshots(self) -> "Snapshots":
        """The node's named snapshots."""
        from nodeproject.copies.snapshots import Snapshots

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
        with self.late_lock:  # no part is created that would miss the chain
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
        with self.late_lock:
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
            rpc = EvmRpc(runtime, self.turn, log, self._message_signatures)
            self.evm_rpcs[name] = rpc
            if "endpoints" in self.__dict__:
                self.endpoints.add_evm(rpc)
            if "observation" in self.__dict__:
                self.observation.add_evm(rpc)
        for begun in tuple(self.on_chain):
            begun(runtime)

    def _refuse_chain(self, refused: "RefusedChain") -> None:
        self.refused_chains[refused.blockchain_id] = refused
        if "observation" in self.__dict__:
            self.observation.add_refused(refused.blockchain_id, refused.subnet_id, refused.reason)

    def _forget_refused_chains(self) -> None:
        self.refused_chains.clear()
        if "observation" in self.__dict__:
            self.observation.forget_refused()
