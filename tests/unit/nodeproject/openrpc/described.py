"""The interfaces of nodes of all kinds, as described in the reference of methods."""

from collections.abc import Iterator

from jsonschema import Draft7Validator

from nodeproject.apps import this_node
from nodeproject.node import Node
from nodeproject.web.openrpc.document import COMPONENTS
from nodeproject.web.openrpc.entries import MethodEntry
from nodeproject.web.openrpc.interface import RpcInterface
from nodeproject.web.openrpc.schemas import Schema
from tests.builders.node_settings import updated

OF_SUBNETS = frozenset({"eth_feeConfig"})
"""Methods that only chains of subnets have, which a node has not at first."""
MAINNET = {"network_id": 1, "chain_id": 0}


def interfaces(**changes: object) -> list[RpcInterface]:
    """Return the interfaces of a local network's node, or of a node with other settings."""
    return Node(updated(this_node().settings, **changes)).endpoints.described()


def entries(**changes: object) -> Iterator[MethodEntry]:
    """Yield the methods of all interfaces."""
    for interface in interfaces(**changes):
        yield from interface.entries


def faults(schema: Schema, value: object) -> list[str]:
    """Return the errors of a value by a schema, which may refer to the document's components."""
    validator = Draft7Validator({**schema, "components": {"schemas": COMPONENTS}})
    return [
        f"{list(iter_error.path)}: {iter_error.message[:300]}"
        for iter_error in validator.iter_errors(value)
    ]
