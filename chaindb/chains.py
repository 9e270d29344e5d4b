"""The names of chains, for code that serves any chain, and the chains of a node as a mapping by name.

A chain's name is its first alias. Rows, events, metrics, logs and paths contain it. NODE_CHAINS may leave out chains of
the primary network.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar

from django.conf import settings
from typing_extensions import override

from chaindb.building import BlocksInProgress
from chaindb.database import Database
from chaindb.locks import Lock
from chaindb.wakeup import Wakeup
from primitives.ids import ID
from primitives.networks import title as title  # noqa: PLC0414  # where code of chains looks for it

P_CHAIN: Final = "P"
X_CHAIN: Final = "X"
C_CHAIN: Final = "C"

NAME_LENGTH: Final = 64
"""Most characters of a chain's name in rows."""

MISSING_VOTES = (
    "this node is a validator and does not take part in all chains (NODE_CHAINS): the chains that it leaves out miss "
    "the votes of its stake, and may stop for that; see docs/network.md"
)
"""Warning about a validator in a network whose validators vote on blocks."""


def takes_part(name: str, chains: Collection[str]) -> bool:
    """Return whether a node with these NODE_CHAINS takes part in a chain; further chains are always included."""
    return name in chains or name not in {P_CHAIN, X_CHAIN, C_CHAIN}


def is_left_out(name: str) -> bool:
    """Return whether NODE_CHAINS leaves out a chain, in which this node then does not take part."""
    return not takes_part(name, settings.NODE.common.chains)


def absence(name: str) -> str:
    """Return the message for requests about a chain that this node does not take part in."""
    return f"this node does not take part in the {title(name)} (NODE_CHAINS)"


T = TypeVar("T")


class NodeChain(Protocol):
    """A chain of a node, as code sees it that serves any chain."""

    @property
    def name(self) -> str:
        """Its first alias."""

    @property
    def aliases(self) -> tuple[str, ...]:
        """Its names in paths and in calls."""

    @property
    def blockchain_id(self) -> ID:
        """The ID of the transaction that creates it; raises an error of the chain while that is unknown."""

    @property
    def subnet_id(self) -> ID:
        """The subnet that validates it."""

    def is_named(self, name: str) -> bool:
        """Return whether a text is one of its aliases, or its blockchain ID."""

    @property
    def vm_name(self) -> str:
        """The name of its virtual machine: `platform`, `evm` or `avm`."""

    @property
    def db(self) -> Database:
        """The database with its rows."""

    @property
    def lock(self) -> Lock:
        """The lock for writing its blocks; each database has its own locks."""

    @property
    def building(self) -> BlocksInProgress:
        """The blocks that are being built or verified."""

    @property
    def producer(self) -> Wakeup:
        """Requests blocks."""


class DuplicateChain(Exception):
    """Two chains of a node have a name in common, or their rows would be in the same tables."""


class ChainRegistry(Mapping[str, NodeChain]):
    """The chains that a node takes part in, by name.

    Args:
        chains: All chains that the node has objects for, those that NODE_CHAINS leaves out included.

    Raises:
        DuplicateChain: Two chains have an alias in common, or the same virtual machine and database.
    """

    def __init__(self, chains: Iterable[NodeChain]) -> None:
        self.every: tuple[NodeChain, ...] = ()
        """All chains, those that NODE_CHAINS leaves out included. It is replaced, never changed."""
        self.add(*chains)

    def add(self, *chains: NodeChain) -> None:
        """Add chains that the node has begun to run.

        Raises:
            DuplicateChain: As the constructor; nothing is added.
        """
        every = (*self.every, *chains)
        aliases = [alias for chain in every for alias in chain.aliases]
        tables = [(chain.vm_name, chain.db.alias) for chain in every]
        if len({*aliases}) < len(aliases) or len({*tables}) < len(tables):
            raise DuplicateChain(f"chains {aliases} in {tables}")
        self.every = every

    def remove(self, chain: NodeChain) -> None:
        """Remove a chain that could not begin to run."""
        self.every = tuple(other for other in self.every if other is not chain)

    @override
    def __getitem__(self, name: str) -> NodeChain:
        for chain in self.every:
            if chain.name == name and not is_left_out(name):
                return chain
        raise KeyError(name)

    @override
    def __iter__(self) -> Iterator[str]:
        return (chain.name for chain in self.every if not is_left_out(chain.name))

    @override
    def __len__(self) -> int:
        return sum(1 for _ in self)

    def of(self, kind: type[T]) -> list[T]:
        """Return the chains of one class that the node takes part in."""
        return [chain for chain in self.values() if isinstance(chain, kind)]

    def find(self, text: str) -> NodeChain | None:
        """Return the chain with this alias or blockchain ID; None if the node takes part in no such chain."""
        return next((chain for chain in self.values() if chain.is_named(text)), None)
