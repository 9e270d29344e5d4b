"""Voters of a simulated network whose chain is the real P-Chain, each on its own database.

Only wires, threads and time are simulated: VM, rows, outer blocks, runner and engine are the real ones.
"""

import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from copy import deepcopy
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any, TypeVar

from django.conf import settings
from django.db import connections
from django.db.utils import load_backend
from typing_extensions import override

from cchain_app.apps import evm_runtime
from chaindb.database import Database
from network_app.consensus.vm import VotedChain
from network_app.node import NodeNetwork
from nodeproject.processes.local_network import make_keys
from platform_app.blocks.block import Block
from platform_app.selectors import accepted
from platform_app.services import uptime
from platform_app.txs.base import Tx, TxStatus
from primitives.ids import NodeID
from primitives.node_identity import IdentityFiles
from tests.builders import platform
from tests.builders.nodes import node
from tests.builders.outer_blocks import Node
from tests.integration.platform_app.sides import Rows, Side, quiet
from tests.simulation.driven import DrivenNode
from tests.simulation.network import SMALL
from tests.simulation.node import World
from tests.simulation.virtual import LoopBus, VirtualLoop

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds of virtual time within which a network of voters must reach a condition."""
STRANGER = node(99).identity.node_id
"""A peer that is not a validator."""


class Databases:
    """SQLite databases with empty tables, copied from the default one, and the thread that uses them.

    A thread is needed because Django refuses database access from an event loop.

    Args:
        directory: The directory of the database files.
        count: The number of databases.
    """

    def __init__(self, directory: Path, count: int) -> None:
        self.aliases = [f"voter{place}" for place in range(count)]
        homes = [directory / alias for alias in self.aliases]
        make_keys(homes, now=platform.NOW)
        self.identities = [IdentityFiles.below(home) for home in homes]
        """The identities of the nodes, one for each database."""
        self._directory = directory
        self._thread = ThreadPoolExecutor(1)
        with closing(sqlite3.connect(connections["default"].settings_dict["NAME"])) as made:
            for alias in self.aliases:
                with closing(sqlite3.connect(self._file(alias))) as given:
                    made.backup(given)
        self.do(self._connect)

    def do(self, work: Callable[..., T], *args: object) -> T:
        """Run a function in the thread, and wait for it: no virtual time passes."""
        return self._thread.submit(work, *args).result()

    def close(self) -> None:
        """Close all connections, and end the thread."""
        self.do(self._disconnect)
        self._thread.shutdown()

    def _file(self, alias: str) -> Path:
        return self._directory / f"{alias}.sqlite3"

    def _connect(self) -> None:
        config: dict[str, Any] = connections["default"].settings_dict
        backend = load_backend(config["ENGINE"])
        for alias in self.aliases:
            own = deepcopy(config) | {"NAME": str(self._file(alias))}
            # Known only to this thread, and not in the settings: Django's tests forbid other databases there.
            connections[alias] = backend.DatabaseWrapper(own, alias)

    def _disconnect(self) -> None:
        for alias in self.aliases:
            connections[alias].close()
            del connections[alias]
        connections["default"].close()


class PlatformVoter(DrivenNode):
    """A node with the real P-Chain. Its database is accessed in the thread of the databases.

    Args:
        world: The simulated network.
        number: The node's index in it.
        databases: The databases, one of which belongs to this node.
    """

    def __init__(self, world: World, number: int, databases: Databases) -> None:
        self._do_aside = databases.do
        alias = databases.aliases[number]
        self.side = self._do_aside(lambda: Side(quiet(settings.NODE.common, Database(alias))))
        self.side.chain.identity = databases.identities[number]
        self.network = NodeNetwork(
            settings.NODE.common,
            settings.NODE.peers,
            self.side.runtime,
            [evm_runtime()],
            self.proposers,
        )
        super().__init__(world, number)

    @override
    def voted_chain(self) -> VotedChain[Any]:
        chain = self._do_aside(self.network.platform.voted)
        return replace(chain, run=self.run_work, now=self.clock)

    @override
    async def run_work(self, work: Callable[..., T], /, *args: object) -> T:
        return self._do_aside(work, *args)

    @override
    def clock(self) -> int:
        return platform.NOW + int(self.world.bus.now + self.skew)

    @property
    @override
    def height(self) -> int:
        """The height of the last block that is written."""
        return self._do_aside(self.side.chain.tip).height

    def issue(self, tx: Tx) -> None:
        """Put a transaction into the mempool."""
        self._do_aside(self.side.send, tx)
        self.runner.blocks_waiting()

    def see(self, *peers: NodeID) -> None:
        """Record an observation in which only these peers, and a stranger, are connected."""
        self._do_aside(uptime.observe, self.side.chain, [STRANGER, *peers], self.clock())

    def chain_rows(self) -> Rows:
        """Return all rows of the accepted chain, by table."""
        return self._do_aside(self.side.rows)

    def options(self) -> list[Block]:
        """Return the options of a proposal, preferred one first, if both are processing; otherwise nothing."""
        return self._do_aside(self._options)

    def reward_status(self) -> TxStatus | None:
        """Return the status of the reward transaction proposed at height 2."""
        return self._do_aside(self._reward_status)

    def _options(self) -> list[Block]:
        vm = self.network.platform.vm.get()
        for item in self.runner.report().processing:
            block = vm.get_block(item.block_id)
            options = None if block is None else vm.options(block)
            if options is not None and all(option.block_id in vm for option in options):
                return [option.inner for option in options]
        return []

    def _reward_status(self) -> TxStatus | None:
        block_id = self.side.vm.get_block_id_at_height(2)
        assert block_id is not None
        block = self.side.vm.get_block(block_id)
        assert block is not None
        assert block.proposal is not None
        found = accepted.status(self.side.chain, block.proposal.tx_id)
        return None if found is None else found.status


class PlatformNetwork:
    """A network of such nodes on one virtual event loop.

    Args:
        databases: The databases of the nodes.
        seed: The seed of all random choices.
    """

    def __init__(self, databases: Databases, seed: int) -> None:
        self.loop = VirtualLoop()
        self.bus = LoopBus(Random(seed), 0.0, self.loop)
        count = len(databases.aliases)
        keys = [identity.keys for identity in databases.identities]
        nodes = [Node(key.node_id, key.certificate_der, key.tls_key) for key in keys]
        world = World(self.bus, SMALL, nodes, {item.node_id: 2_000 for item in nodes})
        self.voters = [PlatformVoter(world, number, databases) for number in range(count)]
        world.nodes.extend(self.voters)

    def __enter__(self) -> "PlatformNetwork":
        return self

    def __exit__(self, *_: object) -> None:
        self.loop.end()

    def reach(self, condition: Callable[[], bool]) -> bool:
        """Advance time until the condition holds; return whether it does."""
        return self.bus.run(self.bus.now + PATIENCE, condition)

    def reach_height(self, height: int) -> bool:
        """Advance time until all nodes have accepted blocks up to a height; return whether they have."""
        return self.reach(lambda: all(voter.height >= height for voter in self.voters))

    def leap(self, seconds: int) -> None:
        """Move all clocks forward."""
        for voter in self.voters:
            voter.skew += seconds
