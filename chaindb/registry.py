"""The chains of a node as a mapping: each has a name, a blockchain ID, a virtual machine and a database."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Protocol, TypeVar

from typing_extensions import override

from chaindb.building import BlocksInProgress
from chaindb.chains import is_left_out
from chaindb.database import Database
from chaindb.locks import Lock
from chaindb.wakeup import Wakeup
from primitives.ids import ID

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
        """The name of its virtual machine: `platform` or `evm`."""

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
        self.every: Final = tuple(chains)
        """All chains, those that NODE_CHAINS leaves out included."""
        aliases = [alias for chain in self.every for alias in chain.aliases]
        tables = [(chain.vm_name, chain.db.alias) for chain in self.every]
        if len({*aliases}) < len(aliases) or len({*tables}) < len(tables):
            raise DuplicateChain(f"chains {aliases} in {tables}")

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
