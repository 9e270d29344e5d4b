"""EVM chains that the code that composes a node gives it besides the C-Chain."""

from collections.abc import Callable
from typing import NamedTuple

from cchain_app.chain import EvmChain
from chaindb.database import Database
from chaindb.events import ChainEvents
from network_app.selectors import has_peers
from nodeproject.settings.node import NodeSettings
from nodeproject.startup.c_chain import PlatformOfEvm
from primitives.ids import ID, PRIMARY_NETWORK_ID


class FurtherChain(NamedTuple):
    """An EVM chain of a node besides the C-Chain."""

    aliases: tuple[str, ...]
    """Its names; the first one is its name in rows, metrics and events."""
    blockchain_id: ID
    database: str
    """The alias of the database with its rows, which has no rows of another EVM chain."""
    genesis_file: Callable[[], bytes]
    subnet_id: ID = PRIMARY_NETWORK_ID

    def chain(
        self, settings: NodeSettings, platform: PlatformOfEvm, events: ChainEvents
    ) -> EvmChain:
        """Return the chain as an object.

        Args:
            settings: The settings of its node.
            platform: The node's P-Chain.
            events: Publishes the node's events.
        """
        return EvmChain(
            settings.common,
            settings.cchain,
            Database(self.database),
            events=events,
            aliases=self.aliases,
            blockchain_id=lambda: self.blockchain_id,
            genesis_file=self.genesis_file,
            subnet_id=self.subnet_id,
            has_peers=has_peers,
            least_time=platform.least_time,
            identity=platform.identity(lambda: self.blockchain_id, self.subnet_id),
        )
