"""Etherscan's module `proxy`: some JSON-RPC methods of the C-Chain, called with query parameters."""

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from explorer_app.api.replies import Bare, Query

_TAG: Final = "latest"
_CALL: Final = ("to", "from", "data", "value", "gas", "gasPrice")


def ask(query: Query, method: str, params: list[Any]) -> Mapping[str, Any]:
    """Return the members of the C-Chain interface's response; on a fork it may be the remote node's response."""
    body = msgspec.json.encode({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    answer = query.site.rpc().dispatcher.answer(body)
    assert answer is not None  # the request has an id
    members: dict[str, msgspec.Raw] = msgspec.json.decode(answer, type=dict[str, msgspec.Raw])
    return members


def ask_for_text(query: Query, method: str, params: list[Any]) -> str | None:
    """Return the result of a method; None if it is not a string."""
    try:
        return msgspec.json.decode(ask(query, method, params)["result"], type=str)
    except (KeyError, msgspec.ValidationError):
        return None


def _tag(query: Query, name: str = "tag") -> str:
    return query.text(name) or _TAG


def _quantity(text: str) -> str:
    """Return a number in JSON-RPC's format if it is decimal; other texts are returned unchanged."""
    return hex(int(text)) if text.isdecimal() and text.isascii() and len(text) < 79 else text


def _call(query: Query) -> dict[str, str]:
    fields = {name: query.text(name) for name in _CALL if query.text(name)}
    return {
        name: text if name in {"to", "from", "data"} else _quantity(text)
        for name, text in fields.items()
    }


PARAMS: Final[Mapping[str, Callable[[Query], list[Any]]]] = {
    "eth_blockNumber": lambda _: [],
    "eth_getBlockByNumber": lambda q: [_tag(q), q.text("boolean").lower() == "true"],
    "eth_getBlockTransactionCountByNumber": lambda q: [_tag(q)],
    "eth_getTransactionByHash": lambda q: [q.text("txhash")],
    "eth_getTransactionByBlockNumberAndIndex": lambda q: [_tag(q), q.text("index")],
    "eth_getTransactionReceipt": lambda q: [q.text("txhash")],
    "eth_getTransactionCount": lambda q: [q.text("address"), _tag(q)],
    "eth_getCode": lambda q: [q.text("address"), _tag(q)],
    "eth_getStorageAt": lambda q: [q.text("address"), q.text("position"), _tag(q)],
    "eth_call": lambda q: [_call(q), _tag(q)],
    "eth_estimateGas": lambda q: [_call(q)],
    "eth_gasPrice": lambda _: [],
    "eth_sendRawTransaction": lambda q: [q.text("hex")],
}  # fmt: skip
"""The methods, each with a function that builds its parameters."""


def _action(method: str, params: Callable[[Query], list[Any]]) -> Callable[[Query], Bare]:
    def action(query: Query) -> Bare:
        return Bare(ask(query, method, params(query)))

    return action


ACTIONS: Final = {method.lower(): _action(method, params) for method, params in PARAMS.items()}
