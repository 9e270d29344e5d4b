"""The WebSocket endpoint on the protocol level, as seen by clients with their own libraries."""

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from tests.conformance.openrpc import assert_conforms
from tests.e2e.checked import CheckedNode

STRANGER = "0x000000000000000000000000000000000000dEaD"

PATIENCE = 60.0
"""Seconds until a test gives up waiting for an answer."""

Open = Callable[[], ClientConnection]

pytestmark = pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)


@pytest.fixture
def opened(node: CheckedNode) -> Iterator[Open]:
    """Opens connections, which are closed at the end of the test."""
    with ExitStack() as connections:
        yield lambda: connections.enter_context(
            connect(node.ws_url, compression=None, open_timeout=PATIENCE)
        )


def asked(connection: ClientConnection, method: str, *params: Any) -> Any:
    """Return the answer to a call, without the fields `jsonrpc` and `id`.

    Skip notifications: a process may learn only now of a block from an earlier test.
    """
    call = {"jsonrpc": "2.0", "id": "a", "method": method, "params": params}
    connection.send(json.dumps(call))
    while (reply := json.loads(connection.recv(PATIENCE))).get("method") == "eth_subscription":
        pass
    assert (reply.pop("jsonrpc"), reply.pop("id")) == ("2.0", "a")
    if "result" in reply:
        assert_conforms(method, reply["result"])
    return reply


def test_a_subscription_belongs_to_its_connection(opened: Open) -> None:
    first, second = opened(), opened()
    made = asked(first, "eth_subscribe", "newHeads")
    unknown = {"error": {"code": -32000, "message": "subscription not found"}}
    assert asked(second, "eth_unsubscribe", made["result"]) == unknown
    assert asked(first, "eth_unsubscribe", made["result"]) == {"result": True}
    assert asked(first, "eth_unsubscribe", made["result"]) == unknown


def test_unknown_subscription_is_refused(opened: Open) -> None:
    refused = asked(opened(), "eth_subscribe", "newTeas")
    assert refused == {
        "error": {"code": -32601, "message": 'no "newTeas" subscription in eth namespace'}
    }


def test_http_and_websocket_return_the_same_bytes(opened: Open, node: CheckedNode) -> None:
    connection = opened()
    calls: list[tuple[str, list[Any]]] = [
        ("eth_getBlockByNumber", ["0x0", True]),
        ("eth_getBlockByNumber", ["0x0"]),
        ("eth_noSuchMethod", []),
        ("eth_call", [{"to": STRANGER, "gas": "0x1"}, "latest"]),
        ("eth_getProof", [STRANGER, ["0x0"], "0x0"]),
        ("web3_clientVersion", []),
    ]
    bodies = [
        json.dumps({"jsonrpc": "2.0", "id": place, "method": method, "params": params})
        for place, (method, params) in enumerate(calls)
    ]
    with node.client() as client:
        for body in [*bodies, f"[{','.join(bodies)}]", "[]", '{"jsonrpc":"2.0","id":1}', "{"]:
            connection.send(body)
            assert connection.recv(PATIENCE) == client.post(body.encode()).body.decode()
    with pytest.raises(ConnectionClosed) as closed:  # as in geth after invalid JSON
        connection.recv(PATIENCE)
    assert closed.value.rcvd is not None
    assert closed.value.rcvd.code == 1007
