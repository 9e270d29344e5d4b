"""The `index.*` methods, served at `/ext/index/X/block` and likewise for other chains (xchain.md 17).

Unspecified: the reference serves them only if the operator has switched its indexer on, and keeps an index of its own. Here
they read the chain's rows, so they are always there and begin with the first block.
"""

from collections.abc import Callable
from functools import partial, update_wrapper
from typing import Any

from info_app.container_index import MAX_FETCHED, Container, ContainerIndex
from info_app.go_texts import SECOND, time_text
from jsonrpc.dispatch import values as params
from jsonrpc.dispatch.expected import ExpectedErrors
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.dispatch.values import refused
from primitives.checksummed import EncodingError, TextEncoding, encode
from primitives.ids import EMPTY_ID, ID

Json = dict[str, Any]

_ERRORS = ExpectedErrors((EncodingError,))
_NONE = "no containers have been accepted"
_UNKNOWN = "not found"
_NO_CONTAINER = "no container at index {number}"
_ENCODING = Param("encoding", params.encoding, TextEncoding.HEX)
_ID = Param("id", params.identifier, EMPTY_ID)


def get_last_accepted(index: ContainerIndex, encoding: TextEncoding) -> Json:
    """index.getLastAccepted: the last accepted container."""
    last = index.last()
    if last is None:
        raise refused(_NONE)
    return _to_json(_container(index, last), encoding)


def get_container_by_index(index: ContainerIndex, number: int, encoding: TextEncoding) -> Json:
    """index.getContainerByIndex: the container that was accepted as the n-th one, counted from 0."""
    last = index.last()
    if last is None or number > last:
        raise refused(_NO_CONTAINER.format(number=number))
    return _to_json(_container(index, number), encoding)


def get_container_range(
    index: ContainerIndex, start: int, count: int, encoding: TextEncoding
) -> Json:
    """index.getContainerRange: up to 1024 containers from an index on.

    Unspecified: containers of more than 8 MiB together are cut off; the next call begins with the index after the last one.
    """
    if not 1 <= count <= MAX_FETCHED:
        raise refused(f"numToFetch must be in [1,{MAX_FETCHED}] but is {count}")
    last = index.last()
    if last is None:
        raise refused(_NONE)
    if start > last:
        raise refused(f"start index ({start}) > last accepted index ({last})")
    found = index.between(start, min(start + count - 1, last))
    return {"containers": [_to_json(container, encoding) for container in found]}


def get_index(index: ContainerIndex, block_id: ID) -> Json:
    """index.getIndex: the index of an accepted container."""
    return {"index": str(_index_of(index, block_id))}


def is_accepted(index: ContainerIndex, block_id: ID) -> Json:
    """index.isAccepted: whether a container is accepted."""
    return {"isAccepted": index.index_of(block_id) is not None}


def get_container_by_id(index: ContainerIndex, block_id: ID, encoding: TextEncoding) -> Json:
    """index.getContainerByID: an accepted container by its ID."""
    return _to_json(_container(index, _index_of(index, block_id)), encoding)


def methods(index: ContainerIndex) -> MethodRegistry:
    """Return the methods of an index."""
    registry = MethodRegistry(_ERRORS.to_error_object)

    def add(name: str, handler: Callable[..., Json], *given: Param) -> None:
        bound = update_wrapper(partial(handler, index), handler)
        registry.add(f"index.{name}", bound, params=given)

    add("getLastAccepted", get_last_accepted, _ENCODING)
    add("getContainerByIndex", get_container_by_index, Param("index", params.uint64, 0), _ENCODING)
    add(
        "getContainerRange",
        get_container_range,
        Param("startIndex", params.uint64, 0),
        Param("numToFetch", params.uint64, 0),
        _ENCODING,
    )
    add("getIndex", get_index, _ID)
    add("isAccepted", is_accepted, _ID)
    add("getContainerByID", get_container_by_id, _ID, _ENCODING)
    return registry


def _container(index: ContainerIndex, number: int) -> Container:
    """Return a container that was there a moment ago: a development chain may have been rewound since."""
    found = index.between(number, number)
    if not found:
        raise refused(_NO_CONTAINER.format(number=number))
    return found[0]


def _index_of(index: ContainerIndex, block_id: ID) -> int:
    found = index.index_of(block_id)
    if found is None:
        raise refused(_UNKNOWN)
    return found


def _to_json(container: Container, encoding: TextEncoding) -> Json:
    return {
        "id": str(container.block_id),
        "bytes": encode(container.raw, encoding),
        "timestamp": time_text(container.time * SECOND),
        "encoding": encoding.value,
        "index": str(container.number),
    }
