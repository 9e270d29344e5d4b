"""The RPC interfaces of a node, assembled from its settings: methods, limits and gates.

Both HTTP paths and the WebSocket take them from here, so they cannot differ. A process serves the EVM chains first, and
adds the interfaces of the other chains and services beside its first answers (`complete`).
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

from cchain_app import api as cchain_api
from cchain_app.api import EvmRpc
from cchain_app.api.loop_gas import one_request
from cchain_app.api.shortcut import CallNames, whole_frames, whole_requests
from cchain_app.chain import EvmChain
from chaindb.chains import C_CHAIN, NodeChain, absence, is_left_out
from chaindb.connections import WOULD_BLOCK, release
from chaindb.unavailable import unavailable
from health_app.metrics.process import ProcessMetrics
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dialects import GETH, GORILLA
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.gate import GateConfig
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.workers import Workers
from jsonrpc.http.answering import Answering
from jsonrpc.http.replies import Endpoint, by_path
from jsonrpc.limits.client_address import TrustedProxies
from jsonrpc.limits.connections import Connections
from jsonrpc.limits.interpreter import Interpreter, LoopTurn
from jsonrpc.limits.memory import MemoryLimits, RequestMemory
from jsonrpc.limits.throttle import Throttle
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.absent_chains import AbsentChains
from nodeproject.startup.process import connection_limits
from nodeproject.web.openrpc.interface import RpcInterface
from nodeproject.web.paths import BasePaths
from nodeproject.web.request_limits import request_limit
from nodeproject.web.rpc_paths import (
    AVAX_PATHS,
    HEALTH_PATHS,
    INFO_PATHS,
    KEYSTORE_PATHS,
    PLATFORM_PATHS,
    XCHAIN_PATHS,
    XCHAIN_WALLET_PATHS,
    evm_servers,
    http_paths,
    outer_paths,
    socket_paths,
    validator_paths,
)
from primitives.bearer import BearerTokens
from primitives.node_identity import IdentityFiles

if TYPE_CHECKING:  # loaded with the interfaces besides those of EVM chains
    from health_app.reporter import Reporter
    from network_app.node import NodeNetwork
    from nodeproject.web.further_interfaces import FurtherInterfaces
    from platform_app.api import PlatformRpc
    from xchain_app.api import AvmRpc

HOST_HINT = "NODE_ALLOWED_HOSTS lists the host names that clients may use for this node; IP addresses are always allowed"

WAITING_CALLS = 4096
"""Calls that may wait for a thread; further calls are refused as overload."""


class Endpoints:
    """The interfaces, the threads that run their calls, and the limits that they share.

    Args:
        settings: The operator's settings.
        evm_rpcs: The shared state of each EVM chain's interfaces, by name; the C-Chain is first.
        absent: The messages for paths of chains that do not run.
        platform_rpc: Returns the shared state of the P-Chain's interfaces.
        avm_rpc: Returns that of the X-Chain's.
        network: Returns the node's part in its network, which has the outer blocks of its chains.
        reporter: Returns what provides the health reports.
        metrics: Counts calls and replies.
        identity: The files of the node's identity.
        turn: The share of a turn of the event loop that all interfaces together may use.
    """

    def __init__(
        self,
        *,
        settings: NodeSettings,
        evm_rpcs: Mapping[str, EvmRpc],
        absent: AbsentChains,
        platform_rpc: "Callable[[], PlatformRpc]",
        avm_rpc: "Callable[[], AvmRpc]",
        network: "Callable[[], NodeNetwork]",
        reporter: "Callable[[], Reporter]",
        metrics: ProcessMetrics,
        identity: IdentityFiles,
        turn: LoopTurn,
    ) -> None:
        self._settings = settings
        self._evm_rpcs = evm_rpcs
        self.absent = absent
        absent.fixed = self._left_out()
        self._evm_rpc = next(iter(evm_rpcs.values()))
        self._platform_rpc = platform_rpc
        self._avm_rpc = avm_rpc
        self._network = network
        self._reporter = reporter
        self._metrics = metrics
        self._identity = identity
        self._turn = turn
        self.on_added: list[Callable[[Endpoint, EvmRpc], object]] = []
        """Called with each interface of a chain that the process begins to run; must be quick and not raise."""
        self.on_removed: list[Callable[[Endpoint, EvmRpc], object]] = []
        """Called with each interface of a chain that the process runs no longer, likewise."""
        self._is_complete = False

    @property
    def cchain(self) -> Endpoint:
        """The C-Chain's interface: `/ext/bc/C/rpc`, `/ext/bc/C/ws`, by other aliases, and `/`, where GET is for a page."""
        return self.evm[self._evm_rpc.chain.name]

    @cached_property
    def evm(self) -> dict[str, Endpoint]:
        """The interfaces of the EVM chains by name, those that NODE_CHAINS leaves out included.

        Only these interfaces have a request rate limit, which they share (specification 8).
        """
        return {
            name: self._of_evm(rpc, self._evm_throttle)
            for name, rpc in tuple(self._evm_rpcs.items())
        }

    def add_evm(self, rpc: EvmRpc) -> None:
        """Serve a chain of a subnet that this process begins to run; `evm_rpcs` has it already."""
        name = rpc.chain.name
        self.evm_interfaces[name] = _evm_interface(rpc)
        # An earlier attempt to begin the chain may have failed and left endpoints.
        endpoint = self.evm[name] = self._of_evm(rpc, self._evm_throttle)
        self.outer[name] = self._outer_of(rpc.chain)
        rpc.chain.building.within = self.interpreter.needed
        self.table.update(by_path([endpoint, self.outer[name], self._validators_of(rpc.chain)]))
        for added in tuple(self.on_added):
            added(endpoint, rpc)

    def remove_evm(self, rpc: EvmRpc) -> None:
        """Serve a chain no longer, which this process runs no longer."""
        name = rpc.chain.name
        endpoint = self.evm.pop(name)
        ended = [endpoint, self.outer.pop(name), self._validators_of(rpc.chain)]
        for path in by_path(ended):
            self.table.pop(path, None)
        self.evm_interfaces.pop(name, None)
        for tell in tuple(self.on_removed):
            tell(endpoint, rpc)

    @cached_property
    def table(self) -> dict[str, Endpoint]:
        """The JSON-RPC interfaces of this process by path: those of EVM chains, then of all chains and services."""
        return by_path(self.evm_endpoints())

    def complete(self) -> Mapping[str, Endpoint]:
        """Serve the interfaces besides those of EVM chains, too; return the table."""
        if not self._is_complete:
            self.table.update(by_path(self.all()))
            for chain in (self._platform_rpc().chain, self._avm_rpc().chain):
                chain.building.within = self.interpreter.needed
            self._is_complete = True
        return self.table

    @cached_property
    def _evm_throttle(self) -> Throttle | None:
        return request_limit(self._settings)

    def _of_evm(self, rpc: EvmRpc, throttle: Throttle | None) -> Endpoint:
        node = self._settings
        limits = DispatchLimits(batch=node.batch_limit, response=node.response_limit)
        name = rpc.chain.name
        methods = self.evm_interfaces[name].registry
        log = rpc.transaction_log
        names = CallNames(log, methods.methods) if node.logs_transactions else None
        dispatcher = Dispatcher(
            methods,
            GETH,
            limits,
            would_block=WOULD_BLOCK,
            one_request=one_request,
            observer=self._metrics.tally(name).observe,
            announcer=None if names is None else names.announce,
            on_failure=None if names is None else names.report,
            inflight=self._metrics.inflight,
            outage=unavailable,
            turn=self._turn,
            interpreter=self.interpreter,
            shortcut=rpc.shortcut,
            thread_shortcut=rpc.thread_shortcut,
        )
        replies = self._metrics.replies_of(name)

        def on_answered(names: str | dict[str, int], seconds: float) -> None:
            dispatcher.record_calls(names, seconds)
            replies.answered()

        # The rate limit must see each call, which the shortcuts for whole requests bypass. Connections answer whole
        # requests of one chain.
        is_whole = not throttle and rpc is self._evm_rpc
        whole = whole_requests(rpc.chain, log, on_answered, limits) if is_whole else None
        frames = None if throttle else whole_frames(rpc.chain, log, dispatcher.record_calls, limits)
        return Endpoint(
            http_paths(rpc.chain),
            dispatcher,
            self.gate_config,
            throttle,
            replies=replies,
            requests=whole,
            frames=frames,
        )

    @cached_property
    def platform(self) -> Endpoint:
        """The P-Chain's interface: `/ext/P`, `/ext/bc/P` and their aliases."""
        return self._by_name("P", PLATFORM_PATHS)

    @cached_property
    def avax(self) -> Endpoint:
        """The interface for transfers between the C-Chain and other chains: `/ext/bc/C/avax`."""
        return self._by_name("avax", AVAX_PATHS)

    @cached_property
    def keystore(self) -> Endpoint:
        """The interface to the node's keystore: `/ext/keystore`."""
        tokens = BearerTokens(self._settings.keystore_tokens)
        return self._by_name("keystore", KEYSTORE_PATHS, replace(self.gate_config, tokens=tokens))

    @cached_property
    def xchain(self) -> Endpoint:
        """The X-Chain's interface: `/ext/X`, `/ext/bc/X` and their aliases."""
        return self._by_name("X", XCHAIN_PATHS)

    @cached_property
    def xchain_wallet(self) -> Endpoint:
        """The X-Chain's wallet interface: `/ext/bc/X/wallet`."""
        return self._by_name("X wallet", XCHAIN_WALLET_PATHS)

    @cached_property
    def outer(self) -> dict[str, Endpoint]:
        """The interfaces to the outer blocks of the chains that run here, by name: `/ext/bc/P/proposervm`."""
        own = (self._platform_rpc().chain, self._avm_rpc().chain)
        chains: tuple[NodeChain, ...] = (
            *own,
            *(rpc.chain for rpc in tuple(self._evm_rpcs.values())),
        )
        return {
            chain.name: self._outer_of(chain) for chain in chains if not is_left_out(chain.name)
        }

    def _validators_of(self, chain: EvmChain) -> Endpoint:
        """Return the interface to the validators of a chain's subnet: `/ext/bc/<blockchainID>/validators`."""
        methods = self._further_interfaces.validator_methods(chain.subnet_id)
        return self._endpoint(f"{chain.name} validators", validator_paths(chain), methods)

    def _outer_of(self, chain: NodeChain) -> Endpoint:
        name = chain.name
        methods = self._further_interfaces.outer_methods(name)
        return self._endpoint(f"{name} proposervm", outer_paths(chain), methods)

    @cached_property
    def indexes(self) -> Mapping[str, Endpoint]:
        """The interfaces to the chains' accepted blocks, by path; the described one is the last."""
        registries = self._further_interfaces.indexes()
        return {
            path: self._endpoint("index", (path,), registry)
            for path, registry in registries.items()
        }

    def of_outer(self, name: str) -> Endpoint:
        """Return the interface to the outer blocks of a chain by its name."""
        return self.outer[name]

    @cached_property
    def info(self) -> Endpoint:
        """The interface to information about this node: `/ext/info`."""
        return self._by_name("info", INFO_PATHS)

    @cached_property
    def health(self) -> Endpoint:
        """The interface to health reports: POST on `/ext/health`; GET is in `plain`."""
        return self._by_name("health", HEALTH_PATHS)

    @cached_property
    def evm_interfaces(self) -> dict[str, RpcInterface]:
        """The methods of the EVM chains' interfaces, by the chains' names."""
        return {name: _evm_interface(rpc) for name, rpc in tuple(self._evm_rpcs.items())}

    @cached_property
    def _further_interfaces(self) -> "FurtherInterfaces":
        from nodeproject.web.further_interfaces import FurtherInterfaces

        return FurtherInterfaces(
            evm=self._evm_rpc.chain,
            platform=self._platform_rpc(),
            avm=self._avm_rpc(),
            network=self._network(),
            reporter=self._reporter(),
            identity=self._identity,
        )

    @property
    def interfaces(self) -> dict[str, RpcInterface]:
        """The methods of all interfaces, by their names in monitoring."""
        return {**self.evm_interfaces, **self._further_interfaces.by_name}

    def described(self) -> list[RpcInterface]:
        """Return the interfaces that this process serves."""
        return [
            one
            for name, one in tuple(self.interfaces.items())
            if not is_left_out(C_CHAIN if name == "avax" else name) and len(one.registry.methods)
        ]

    def all(self) -> list[Endpoint]:
        """Return all JSON-RPC interfaces of this process."""
        return [
            *self.evm_endpoints(),
            *([] if is_left_out(C_CHAIN) else [self.avax]),
            self.platform,
            self.keystore,
            self.xchain,
            self.xchain_wallet,
            *self.outer.values(),
            *(
                self._validators_of(rpc.chain)
                for rpc in tuple(self._evm_rpcs.values())
                if rpc.chain.is_of_subnet
            ),
            *self.indexes.values(),
            self.info,
            self.health,
        ]

    def of_evm(self, name: str) -> Endpoint:
        """Return the interface of an EVM chain by its name."""
        return self.evm[name]

    def evm_endpoints(self) -> list[Endpoint]:
        """Return the interfaces of the EVM chains that this node takes part in."""
        return [one for name, one in tuple(self.evm.items()) if not is_left_out(name)]

    def sockets(self) -> Mapping[str, EvmRpc]:
        """Return the EVM chain of each path of a WebSocket."""
        return {
            path: rpc
            for name, rpc in tuple(self._evm_rpcs.items())
            if not is_left_out(name)
            for path in socket_paths(rpc.chain)
        }

    def _left_out(self) -> dict[str, str]:
        """Return the messages for the paths of a chain that NODE_CHAINS leaves out."""
        chains = [rpc.chain for name, rpc in tuple(self._evm_rpcs.items()) if is_left_out(name)]
        return {
            path: absence(chain.name)
            for chain in chains
            for path in (
                *http_paths(chain),
                *socket_paths(chain),
                *(AVAX_PATHS if chain.name == C_CHAIN else ()),
            )
        }

    @cached_property
    def gate_config(self) -> GateConfig:
        """The checks that every interface makes before it reads a body."""
        node = self._settings
        return GateConfig(
            allowed_hosts=node.allowed_hosts,
            host_hint=HOST_HINT,
            cors_origins=node.common.allowed_origins,
            websocket_origins=node.common.allowed_origins,
            max_body=node.body_limit,
            proxies=TrustedProxies.of(*node.trusted_proxies),
            node_id=self._node_id(),
            tokens=BearerTokens(node.rpc_tokens),
        )

    def _node_id(self) -> str:
        """Return this node's ID; an empty text before its first start has created the certificate."""
        try:
            return str(self._identity.node_id)
        except OSError:
            return ""

    @cached_property
    def metrics_tokens(self) -> BearerTokens:
        """The tokens for the page of metrics."""
        return BearerTokens(self._settings.metrics_tokens)

    @cached_property
    def base_paths(self) -> BasePaths:
        """Determines the base path of each request."""
        return BasePaths(self._settings.base_path, self.gate_config.proxies)

    @cached_property
    def workers(self) -> Workers:
        """The threads for calls that read the database or take long."""
        threads, interpreter = self._settings.common.rpc_threads, self.interpreter
        return Workers(threads, WAITING_CALLS, after=release, interpreter=interpreter)

    @cached_property
    def answering(self) -> Answering:
        """Answers the requests of all protocols of this process."""
        return Answering(self.workers)

    async def close(self) -> None:
        """End the threads, and the rate limiter's connections on this event loop."""
        self.workers.close()
        if self.cchain.throttle is not None:
            await self.cchain.throttle.close()

    @cached_property
    def interpreter(self) -> Interpreter:
        """Coordinates how this process's threads and its event loop share the interpreter."""
        made = Interpreter()
        for rpc in tuple(self._evm_rpcs.values()):
            rpc.chain.building.within = made.needed
        return made

    @cached_property
    def memory(self) -> RequestMemory:
        """The memory that all requests of this process may hold together."""
        node = self._settings
        # The longest message must fit, together with its envelope.
        of_client = max(
            node.request_memory // 4, node.cchain.ws.message_limit * 5 // 4, node.body_limit
        )
        return RequestMemory(MemoryLimits(node.request_memory, of_client))

    @cached_property
    def connections(self) -> Connections:
        """The connections of this process."""
        node = self._settings
        limits = connection_limits(node.connections, node.address_connections)
        return Connections(limits, proxies=TrustedProxies.of(*node.trusted_proxies))

    def _by_name(
        self, name: str, paths: tuple[str, ...], config: GateConfig | None = None
    ) -> Endpoint:
        """Return an interface with named params, in the reference's dialect.

        Its calls appear in monitoring under the interface's name. It has the checks of all interfaces without others.
        """
        return self._endpoint(name, paths, self.interfaces[name].registry, config)

    def _endpoint(
        self,
        name: str,
        paths: tuple[str, ...],
        registry: MethodRegistry,
        config: GateConfig | None = None,
    ) -> Endpoint:
        metrics = self._metrics
        dispatcher = Dispatcher(
            registry,
            GORILLA,
            would_block=WOULD_BLOCK,
            observer=metrics.tally(name).observe,
            inflight=metrics.inflight,
            outage=unavailable,
            turn=self._turn,
            interpreter=self.interpreter,
        )
        config = config or self.gate_config
        return Endpoint(paths, dispatcher, config, replies=metrics.replies_of(name))


def _evm_interface(rpc: EvmRpc) -> RpcInterface:
    """Return the methods of an EVM chain's interface, with params by position."""
    name, servers = evm_servers(rpc.chain)
    return RpcInterface(name, servers, cchain_api.registry(rpc), by_name=False)
