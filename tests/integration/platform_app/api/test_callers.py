"""Callers of the keystore: on a network of value web pages cannot use it, unless their origin is allowed."""

from collections.abc import Iterator
from typing import Any

import pytest

from jsonrpc.dispatch.caller import Caller
from jsonrpc.dispatch.registry import Method
from jsonrpc.errors import JsonRpcError
from nodeproject.apps import this_node
from primitives.networks import LOCAL
from tests.builders.node_settings import updated

PAGE = Caller(b"https://evil.example", is_remote=False)
PROGRAM = Caller(b"", is_remote=True)


def methods() -> Iterator[Method]:
    """Yield the methods of all APIs whose params are passed by name."""
    for name, interface in this_node().endpoints.interfaces.items():
        if name != "C":
            yield from interface.registry


def is_refused(method: Method, caller: Caller) -> bool:
    try:
        if method.guard is not None:
            method.guard(caller, [])
    except JsonRpcError:
        return True
    return False


@pytest.fixture
def on_network(node_settings: Any, settings: Any) -> Any:
    """Let the node be part of a network."""

    def be(network_id: int, **values: Any) -> None:
        settings.NODE = updated(node_settings, network_id=network_id, **values)

    return be


@pytest.mark.parametrize("network_id", [1, 5, 777])
def test_pages_do_not_use_the_keystore(on_network: Any, network_id: int) -> None:
    on_network(network_id)
    refused = {method.name for method in methods() if is_refused(method, PAGE)}
    with_password = {
        method.name
        for method in methods()
        if any(param.name in {"username", "password"} for param in method.params)
    }
    assert {"platform.addValidator", "platform.exportKey", "keystore.createUser"} <= with_password
    assert refused == with_password | {"keystore.listUsers"}
    assert not any(is_refused(method, PROGRAM) for method in methods())


def test_pages_that_are_named_use_it(on_network: Any) -> None:
    on_network(5, allowed_origins=("*", PAGE.origin.decode()))
    assert not any(is_refused(method, PAGE) for method in methods())
    stranger = PAGE._replace(origin=b"https://other.example")
    assert any(is_refused(method, stranger) for method in methods())


def test_every_page_uses_that_of_the_local_network(on_network: Any) -> None:
    on_network(LOCAL)
    assert not any(is_refused(method, PAGE) for method in methods())
