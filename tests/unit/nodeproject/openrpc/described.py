"""The interfaces of nodes of all kinds, as the reference of their methods describes them."""

from collections.abc import Iterator
from dataclasses import replace

from jsonschema import Draft7Validator

from nodeproject.apps import this_node
from nodeproject.node import Node
from nodeproject.web.openrpc.document import COMPONENTS, Interface
from nodeproject.web.openrpc.entries import Entry
from nodeproject.web.openrpc.schemas import Schema

MAINNET = {"network_id": 1, "chain_id": 0}


def interfaces(**changes: object) -> list[Interface]:
    """Return those of a local network's node, or of one whose settings differ."""
    return Node(replace(this_node().settings, **changes)).doors.described()


def entries(**changes: object) -> Iterator[Entry]:
    """Yield the methods of all of them."""
    for one in interfaces(**changes):
        yield from one.entries


def faults(schema: Schema, value: object) -> list[str]:
    """Return what is wrong with a value by a schema that may refer to the document's components."""
    validator = Draft7Validator({**schema, "components": {"schemas": COMPONENTS}})
    return [f"{list(one.path)}: {one.message[:300]}" for one in validator.iter_errors(value)]
