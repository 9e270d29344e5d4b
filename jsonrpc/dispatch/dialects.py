"""Two families of JSON-RPC servers and their exact words: geth's and avalanchego's (gorilla).

A dialect reads bodies, binds params, words the errors of the wire and renders answers. Both are
served by the same dispatcher; nothing else differs between an `eth_` and a `platform.` interface.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from jsonrpc.dispatch.envelope import Call, Raw
from jsonrpc.dispatch.geth import GETH
from jsonrpc.dispatch.gorilla import GORILLA
from jsonrpc.dispatch.params import Param
from jsonrpc.errors import JsonRpcError

__all__ = ["GETH", "GORILLA", "Dialect"]


class Dialect(Protocol):
    """What differs between the two families."""

    @property
    def probes(self) -> bool:
        """Whether a GET without query is answered with 200, for load balancers."""

    @property
    def content_types(self) -> frozenset[bytes]:
        """The types of body that are read."""

    @property
    def headers(self) -> tuple[tuple[bytes, bytes], ...]:
        """Headers of every answer that is JSON."""

    def read(self, body: bytes, most: int, /) -> Call | list[Call]:
        """One call, or several, of which no more than `most` are wanted.

        Raises a `JsonRpcError` for what is neither.
        """

    def identifier(self, call: Call) -> bytes | None:
        """The id to echo as JSON text, empty where there is none; None for one that cannot be."""

    def is_notification(self, call: Call) -> bool:
        """Whether a call is not answered, whatever becomes of it."""

    def bind(self, params: Sequence[Param], raw: Raw) -> Sequence[Any]:
        """Arguments from the raw `params` member, which is empty if there was none."""

    def invalid_call(self, call: Call) -> JsonRpcError:
        """The words for a request of another version, or without a method."""

    def unknown_method(self, name: str, known: Mapping[str, object]) -> JsonRpcError:
        """The words for a method that is not among the known ones."""

    def success(self, identifier: bytes, result: bytes) -> bytes:
        """An answer with a result that is encoded already."""

    def failure(self, identifier: bytes, error: JsonRpcError) -> bytes:
        """An answer with an error object."""

    def wrong_http_method(self, method: str) -> str:
        """The text of a 405."""

    def wrong_content_type(self, content_type: str) -> str:
        """The text of a 415."""
