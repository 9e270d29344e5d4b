"""Two families of JSON-RPC servers and their exact messages: geth's and avalanchego's (gorilla).

A dialect reads bodies, binds params, words protocol errors and renders answers. Both are served by the same
dispatcher; there is no other difference between an `eth_` and a `platform.` interface.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jsonrpc.dispatch.envelope import Raw, RpcCall
from jsonrpc.dispatch.geth import GETH
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.params import Param
from jsonrpc.errors import JsonRpcError

__all__ = ["GETH", "GORILLA", "Dialect"]


class Dialect(Protocol):
    """The differences between the two families."""

    @property
    def probes(self) -> bool:
        """Whether a GET without query is answered with 200, for load balancers."""

    @property
    def content_types(self) -> frozenset[bytes]:
        """The accepted content types of bodies."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers of every JSON answer."""

    def read(self, body: bytes, maximum: int, /) -> RpcCall | list[RpcCall]:
        """Read a body: one call, or several, of which at most `most` are needed.

        Raises a `JsonRpcError` for anything else.
        """

    def identifier(self, call: RpcCall) -> bytes | None:
        """Return the id to echo as JSON text, empty if there is no id; None for an invalid one."""

    def is_notification(self, call: RpcCall) -> bool:
        """Return whether a call gets no answer, whatever its outcome."""

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Return arguments from the raw `params` member, which is empty if it is missing."""

    def invalid_call(self, call: RpcCall) -> JsonRpcError:
        """Return the error for a request of another version, or without a method."""

    def unknown_method(self, name: str, methods: Mapping[str, object]) -> JsonRpcError:
        """Return the error for a method that is not among the known ones."""

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """Return an answer with an already encoded result."""

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """Return an answer with an error object."""

    def wrong_http_method(self, method: str) -> str:
        """Return the text of a 405."""

    def wrong_content_type(self, content_type: str) -> str:
        """Return the text of a 415."""
