"""The node of a process as an object: its chains, interfaces and monitoring, assembled from settings.

All of these are created here and nowhere else, and each is passed its dependencies. Code that Django, Celery
or a server calls, and that therefore cannot be passed anything, gets this object from `nodeproject.apps`.
Expensive parts are created at first use.
"""

from functools import cached_property
from pathlib import Path

from cchain_app.api import EvmRpc
from cchain_app.chain import EvmChain, NoBlockchainID
from cchain_app.services.composition import compose as compose_cchain
from cchain_app.services.transaction_log import TransactionLog
from chaindb.chains import Chain
from chaindb.database import Database
from chaindb.events import ChainEvents
from explorer_app.services.composition import compose as compose_explorer
from explorer_app.services.tokens import follow as follow_with_tokens
from explorer_app.site import Explorer
from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import Alone, SharedProcesses
from health_app.result import Report
from jsonrpc.limits.turn import LoopTurn
from network_app.node import NodeNetwork
from network_app.selectors import has_peers
from nodeproject.copies.snapshots.service import Snapshots
from nodeproject.heads.sync import share_head
from nodeproject.processes.observation import Observation
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.identity import files_of
from nodeproject.web.addresses import base_url
from nodeproject.web.endpoints import Endpoints
from nodeproject.web.get_pages import Plain
from nodeproject.web.openrpc.page import Reference
from platform_app.api import PlatformRpc
from platform_app.api.own_node import own_node_id
from platform_app.chain import NoPlatformGenesis, PlatformChain
from platform_app.local.renewal import Renewal
from platform_app.services.composition import compose as compose_platform
from primitives.ids import ID
from primitives.networks import LOCAL


def processes_in(directory: Path | None) -> Alone | SharedProcesses:
    """Return the processes that share their metrics with this one.

    Args:
        directory: Where the processes of this machine share their metrics; None: this process is alone.
    """
    own = ProcessMetrics()
    return Alone(own) if directory is None else SharedProcesses(own, directory)


class Node:
    """A node, as seen by one of its processes.

    Args:
        settings: The operator's settings.
        processes: The processes that share their metrics; None: this process is alone.
    """

    def __init__(
        self, settings: NodeSettings, processes: Alone | SharedProcesses | None = None
    ) -> None:
        self.settings = settings
        self.processes = processes or processes_in(None)
        self.identity = files_of(settings)
        """The files of the node's identity. No other code reads them."""
        self.pointers = ChainEvents(settings.profile)
        """Announces chain events to listeners in this process and in others."""
        self.database = Database()
        """The database of both chains; their writers in this process take turns."""
        self.platform_chain = compose_platform(
            PlatformChain(settings, self.database, self.identity, pointers=self.pointers)
        )
        if settings.network_id == LOCAL:
            self.platform_chain.own = Renewal(self.platform_chain)
        self.evm_chain = compose_cchain(
            EvmChain(
                settings, self.database, pointers=self.pointers, blockchain_id=self._c_chain_id
            )
        )
        follow_with_tokens(self.evm_chain)
        self.evm_chain.has_peers = has_peers
        self.evm_chain.least_time = self._least_time
        has_others = settings.profile == "production" and Chain.C.is_here
        self.head = share_head(self.evm_chain, settings.directory) if has_others else None
        """Keeps the C-Chain at the head that the machine's other processes have published."""
        self.transaction_log = TransactionLog(self.evm_chain)
        """Logs the C-Chain's transactions; started by processes that serve or accept blocks."""
        self.network = NodeNetwork(settings, self.platform_chain, self.evm_chain)
        """The node's part in its peer network."""
        self.turn = LoopTurn()
        """The share of a turn of this process's event loop that all interfaces together may use."""

    @cached_property
    def evm_rpc(self) -> EvmRpc:
        """The shared state of the C-Chain's interfaces over HTTP and WebSocket."""
        return EvmRpc(self.evm_chain, self.turn, self.transaction_log)

    @cached_property
    def platform_rpc(self) -> PlatformRpc:
        """The shared state of the P-Chain's interfaces."""
        return PlatformRpc(self.platform_chain)

    @cached_property
    def observation(self) -> Observation:
        """Exposes this process to monitoring."""
        return Observation(self.settings, self.processes, self.evm_rpc, self.platform_rpc)

    @cached_property
    def doors(self) -> Endpoints:
        """The RPC interfaces, their limits and their threads."""
        return Endpoints(
            settings=self.settings,
            evm_rpc=self.evm_rpc,
            platform_rpc=self.platform_rpc,
            observation=self.observation,
            identity=self.identity,
            turn=self.turn,
        )

    @cached_property
    def plain(self) -> Plain:
        """The pages for GET that are answered before the interfaces."""
        return Plain(
            self.doors,
            self.observation,
            Reference(base_url(self.settings), self.doors.described),
        )

    @cached_property
    def explorer(self) -> Explorer:
        """The block explorer of its chains."""
        made = Explorer(
            self.settings,
            self.evm_chain,
            self.platform_chain,
            health=self._health,
            node_id=lambda: str(own_node_id(self.platform_chain) or ""),
            base_url=base_url(self.settings),
            rpc=lambda: self.doors.cchain,
        )
        return compose_explorer(made)

    def _health(self) -> Report:
        """Return the results of the health checks; the first call creates their reporter."""
        return self.observation.reporter.health()

    def _least_time(self) -> int:
        """Return the P-Chain's time in Unix seconds, below which the clock of both chains cannot go."""
        try:
            return self.platform_chain.tip().timestamp
        except NoPlatformGenesis:
            return 0

    @cached_property
    def snapshots(self) -> Snapshots:
        """The node's named snapshots."""
        return Snapshots(self.settings, self.platform_chain, self.evm_chain, self.network)

    def _c_chain_id(self) -> ID:
        """Return the C-Chain's blockchain ID, from the P-Chain's genesis.

        Raises:
            NoBlockchainID: There is no P-Chain yet.
        """
        try:
            return self.platform_chain.network().c_chain_id
        except NoPlatformGenesis as error:
            raise NoBlockchainID from error
