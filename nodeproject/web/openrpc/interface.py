"""An RPC interface with its methods. What describes them is imported by the first request for a description."""

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from jsonrpc.dispatch.registry import MethodRegistry

if TYPE_CHECKING:
    from nodeproject.web.openrpc.entries import MethodEntry

DISCOVER: Final = "rpc.discover"


class ServerPath(NamedTuple):
    """The address of an interface: a path of the node, because the node does not know its public host name."""

    name: str
    path: str
    is_socket: bool = False


class RpcInterface:
    """An RPC interface with its methods, one of which returns their description.

    Args:
        title: The displayed name.
        servers: The addresses, the usual one first.
        registry: The methods; `rpc.discover` is added to them.
        by_name: Whether params are objects; otherwise they are arrays.

    Raises:
        RegistrationError: The registry already has an `rpc.discover`.
    """

    def __init__(
        self,
        title: str,
        servers: Iterable[ServerPath],
        registry: MethodRegistry,
        *,
        by_name: bool,
    ) -> None:
        self.title = title
        self.servers = tuple(servers)
        self.registry = registry
        self.by_name = by_name
        registry.add(DISCOVER, self.discover, computes=True)

    @cached_property
    def entries(self) -> "tuple[MethodEntry, ...]":
        """Its methods without `rpc.discover`, which OpenRPC tools take for granted."""
        from nodeproject.web.openrpc.document import examples
        from nodeproject.web.openrpc.entries import entries_of

        described = (item for item in self.registry if item.name != DISCOVER)
        return tuple(entries_of(described, examples(), by_name=self.by_name))

    def discover(self) -> msgspec.Raw:
        """rpc.discover: the methods of this interface, as an OpenRPC document."""
        return self._document

    @cached_property
    def _document(self) -> msgspec.Raw:
        from nodeproject.web.openrpc.document import document_of

        return msgspec.Raw(document_of(self))
