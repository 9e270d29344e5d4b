"""The node of a process as an object: its chains, its doors and what watches it, put together from settings.

This is the only place where they are made. Each is handed what it needs; the edge, which Django, Celery
or a server calls and to which nobody can hand anything, asks `nodeproject.apps` for this object. Whatever
costs something is made at its first use.
"""

from functools import cached_property
from pathlib import Path

from cchain_app.api import EvmRpc
from cchain_app.chain import EvmChain, NoBlockchainID
from cchain_app.services.composition import compose as compose_cchain
from cchain_app.services.transaction_log import TransactionLog
from chaindb.chains import Chain
from chaindb.database import Database
from chaindb.pointers import Pointers
from explorer_app.services.composition import compose as compose_explorer
from explorer_app.services.tokens import follow as follow_with_tokens
from explorer_app.site import Explorer
from health_app.metrics.process import ProcessMetrics
from health_app.metrics.sharing import Alone, Shared
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
from nodeproject.web.endpoints import Doors
from nodeproject.web.get_pages import Plain
from nodeproject.web.openrpc.page import Reference
from platform_app.api import PlatformRpc
from platform_app.api.own_node import own_node_id
from platform_app.chain import NoGenesis, PlatformChain
from platform_app.local.renewal import Renewal
from platform_app.services.composition import compose as compose_platform
from primitives.ids import ID
from primitives.networks import LOCAL


def processes_in(directory: Path | None) -> Alone | Shared:
    """Return those who count together with this process.

    Args:
        directory: where the processes of this machine share what they count; None: there is one process.
    """
    own = ProcessMetrics()
    return Alone(own) if directory is None else Shared(own, directory)


class Node:
    """A node, as one of its processes has it.

    Args:
        settings: what its operator has set.
        processes: those who count together; without, this process counts alone.
    """

    def __init__(self, settings: NodeSettings, processes: Alone | Shared | None = None) -> None:
        self.settings = settings
        self.processes = processes or processes_in(None)
        self.identity = files_of(settings)
        """Who it is, as its files say. Nobody else reads them."""
        self.pointers = Pointers(settings.profile)
        """What tells those in this process and others who follow its chains."""
        self.database = Database()
        """Where both chains are; their writers in this process take turns."""
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
        """How it stays at the head of the C-Chain that this machine's other processes have told of."""
        self.transaction_log = TransactionLog(self.evm_chain)
        """What the log tells of the C-Chain; a process that serves or accepts blocks begins it."""
        self.network = NodeNetwork(settings, self.platform_chain, self.evm_chain)
        """The node as its network knows it."""
        self.turn = LoopTurn()
        """What all interfaces together may take of a turn of this process' event loop."""

    @cached_property
    def evm_rpc(self) -> EvmRpc:
        """What the C-Chain's doors keep, HTTP's and the WebSocket's."""
        return EvmRpc(self.evm_chain, self.turn, self.transaction_log)

    @cached_property
    def platform_rpc(self) -> PlatformRpc:
        """What the P-Chain's doors keep."""
        return PlatformRpc(self.platform_chain)

    @cached_property
    def observation(self) -> Observation:
        """What shows this process to monitoring."""
        return Observation(self.settings, self.processes, self.evm_rpc, self.platform_rpc)

    @cached_property
    def doors(self) -> Doors:
        """The RPC interfaces, their limits and their threads."""
        return Doors(
            settings=self.settings,
            evm_rpc=self.evm_rpc,
            platform_rpc=self.platform_rpc,
            observation=self.observation,
            identity=self.identity,
            turn=self.turn,
        )

    @cached_property
    def plain(self) -> Plain:
        """The pages for GET in front of the interfaces."""
        return Plain(
            self.doors,
            self.observation,
            Reference(base_url(self.settings), self.doors.described),
        )

    @cached_property
    def explorer(self) -> Explorer:
        """The pages about its chains."""
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
        """Return what the health checks found. Who makes them is made at the first question."""
        return self.observation.reporter.health()

    def _least_time(self) -> int:
        """Return the P-Chain's time in Unix seconds: the clock of both chains does not go below it."""
        try:
            return self.platform_chain.tip().timestamp
        except NoGenesis:
            return 0

    @cached_property
    def snapshots(self) -> Snapshots:
        """Its named snapshots."""
        return Snapshots(self.settings, self.platform_chain, self.evm_chain, self.network)

    def _c_chain_id(self) -> ID:
        """Return the C-Chain's blockchain ID, from the P-Chain's genesis.

        Raises:
            NoBlockchainID: There is no P-Chain yet.
        """
        try:
            return self.platform_chain.network().c_chain_id
        except NoGenesis as error:
            raise NoBlockchainID from error
