"""uvicorn's protocol in a reader: answers the requests that a reader may answer, and hands over other connections.

A connection is only handed over while no request on it is being answered, so no answer is lost or out of order:
data that arrive behind a request in progress wait, and the sender is throttled.
"""

import asyncio
import logging
import os
import socket
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, ClassVar, Final

from typing_extensions import override

from jsonrpc.dispatch.calls import STOP
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Body
from jsonrpc.errors import JsonRpcError
from jsonrpc.http.fast_path import MAX_HEAD, DirectProtocol
from jsonrpc.http.plain_heads import CHANGING, read_headers
from nodeproject.processes.readers.handover import Handover
from nodeproject.processes.readers.head import ReaderHead

LONGEST: Final = 16_384
"""Maximum bytes of a body that a reader waits for if only the head has arrived, as many clients send them separately."""
REST_SECONDS: Final = 1.0
"""Seconds that it waits; the writer handles slower clients."""
_DRAIN_SECONDS: Final = 0.001
"""Seconds until the next check whether the last answer was sent before a handover; doubled for each further check."""
_DIGITS: Final = 18
"""Maximum digits of a content length."""
_HEADS: Final = 4096
_END: Final = b"\r\n\r\n"

READS: Final = frozenset({
    "web3_clientVersion", "web3_sha3", "net_version", "eth_chainId",
    "eth_blockNumber", "eth_getBlockByNumber", "eth_getBlockByHash", "eth_getHeaderByNumber", "eth_getHeaderByHash",
    "eth_getBlockReceipts", "eth_getBlockTransactionCountByNumber", "eth_getBlockTransactionCountByHash",
    "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash",
    "eth_getTransactionByBlockNumberAndIndex", "eth_getTransactionByBlockHashAndIndex",
    "eth_getRawTransactionByBlockNumberAndIndex", "eth_getRawTransactionByBlockHashAndIndex",
    "eth_getBalance", "eth_getTransactionCount", "eth_getCode", "eth_getStorageAt", "eth_getStorageValues", "eth_getAccountInfo",
    "eth_getProof",
    "eth_call", "eth_estimateGas", "eth_createAccessList", "eth_simulateV1",
    "eth_gasPrice", "eth_maxPriorityFeePerGas", "eth_baseFee", "eth_blobBaseFee", "eth_suggestPriceOptions", "eth_feeHistory",
    "eth_getLogs",
    "debug_getRawBlock", "debug_getRawHeader", "debug_getRawReceipts", "debug_getRawTransaction",
    "debug_traceTransaction", "debug_traceBlockByNumber", "debug_traceBlockByHash", "debug_traceCall",
    "trace_transaction", "trace_block", "trace_get", "trace_filter",
    "trace_replayTransaction", "trace_replayBlockTransactions",
})  # fmt: skip
"""Names of the methods that a reader answers: they only read rows of accepted blocks or of the pool.

The writer answers all other methods and refuses unknown ones."""

_log: Final = logging.getLogger(__name__)


class ReadingProtocol(DirectProtocol):
    """A connection of a reader. A subclass sets its dependencies (`application`)."""

    dispatcher: ClassVar[Dispatcher]
    reader_head: ClassVar[ReaderHead]
    handover: ClassVar[Handover]
    lengths: ClassVar["BodyLengths"]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._begun_request = b""
        """The beginning of a request whose rest has not arrived."""
        self._rest_timer: asyncio.TimerHandle | None = None
        self._waits_for_head = False

    @override
    def data_received(self, data: bytes) -> None:
        if self._begun_request:
            data, self._begun_request = self._begun_request + data, b""
        if self.flow.waiting or not self._is_idle():
            self._let_wait(data)
        elif self.reader_head.is_current():
            self._decide(data)
        else:
            self._let_wait(data)
            self._waits_for_head = True
            self.reader_head.when_current(self._go_on)

    @override
    def on_response_complete(self) -> None:
        # The base class must not parse the waiting data, which may be a request for the writer.
        waiting, self.flow.waiting = bytes(self.flow.waiting), b""
        super().on_response_complete()
        if waiting:
            self.flow.waiting = waiting
            self._take_up()

    @override
    def resume_writing(self) -> None:
        super().resume_writing()
        if self.flow.waiting and not self._waits_for_head and self._is_idle():
            self._take_up()

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._begun_request = b""
        self._stop_rest_timer()

    def _go_on(self, can_answer: bool) -> None:  # noqa: FBT001  # `head.Then`
        """Process the data that waited for the head."""
        self._waits_for_head = False
        if self.transport.is_closing():
            return
        take_up = self._decide if can_answer else self._hand_over
        try:
            take_up(self._no_longer_waiting())
        except STOP:
            raise
        except BaseException:
            # A native extension that panics raises no `Exception`; do not let the client wait for an answer.
            _log.exception("a request that waited for the head could not be resumed")
            self.transport.abort()

    @override
    def _receive(self, data: bytes) -> None:
        end = data.find(_END, 0, MAX_HEAD)
        if self._is_begun(data, end):
            self._wait_for_rest(data)
            return
        self._stop_rest_timer()
        if end > 0 and self.lengths.read(data[:end]) == len(data) - end - len(_END):
            self._answer_or_hand_over(data, end)
        else:
            self._hand_over(data)

    def _is_begun(self, data: bytes, end: int) -> bool:
        """Return whether the data are the beginning of a request that a reader may answer."""
        if end < 0:
            return len(data) < MAX_HEAD and data.startswith(b"POST ")
        length = self.lengths.read(data[:end])
        return length is not None and 0 < end + len(_END) + length - len(data) <= LONGEST

    def _answer_or_hand_over(self, data: bytes, end: int) -> None:
        body = Body(data[end + len(_END) :])
        if not only_reads(self.dispatcher, body):
            self._hand_over(data)
            return
        known = self.heads.read(data[:end])
        if known is None:
            self._pass_on(data)
        else:
            self._respond(data, known, body)

    def _wait_for_rest(self, data: bytes) -> None:
        self._begun_request = data
        if self._rest_timer is None:
            self._rest_timer = self.loop.call_later(REST_SECONDS, self._rest_too_slow)

    def _rest_too_slow(self) -> None:
        self._rest_timer = None
        data, self._begun_request = self._begun_request, b""
        if data and not self.transport.is_closing():
            self._hand_over(data)

    def _stop_rest_timer(self) -> None:
        if self._rest_timer is not None:
            self._rest_timer.cancel()
            self._rest_timer = None

    def _hand_over(self, data: bytes, pause: float = _DRAIN_SECONDS) -> None:
        """Hand the connection over to the writer, once all its answers are sent."""
        if self.transport.is_closing():
            return
        if self.transport.get_write_buffer_size():
            self._let_wait(data)
            self.loop.call_later(pause, self._hand_over_waiting, 2 * pause)
            return
        # A duplicate descriptor: the transport closes its own without affecting the client's connection.
        try:
            number = os.dup(self.transport.get_extra_info("socket").fileno())
        except OSError as error:
            _log.warning("closing a connection meant for the writer: %s", error)
            self.transport.abort()
            return
        self.transport.abort()
        self.handover.give(socket.socket(fileno=number), data)

    def _hand_over_waiting(self, pause: float) -> None:
        waiting, self.flow.waiting = bytes(self.flow.waiting), b""
        if waiting:
            self._hand_over(waiting, pause)


def only_reads(dispatcher: Dispatcher, body: Body) -> bool:
    """Return whether a reader answers a body; False if inspecting it would take long."""
    if dispatcher.is_long(body):
        return False
    said = body.says(dispatcher.dialect.read, dispatcher.limits.batch)
    if isinstance(said, JsonRpcError):
        return False
    if isinstance(said, list):
        return bool(said) and all(call.method in READS for call in said)
    return said.method in READS


class BodyLengths:
    """Parses request heads for the lengths of their bodies. Clients repeat their heads, so results are cached.

    Args:
        paths: The paths of relevant requests.
    """

    def __init__(self, paths: Iterable[str]) -> None:
        self._paths = frozenset(path.encode() for path in paths)
        self.read = lru_cache(maxsize=_HEADS)(self._read)

    def _read(self, head: bytes) -> int | None:
        """Parse a head without its empty line; None for a head that is not plain, or a request for other paths."""
        line, *lines = head.split(b"\r\n")
        method, _, rest = line.partition(b" ")
        path, _, version = rest.partition(b" ")
        if method != b"POST" or path not in self._paths or version != b"HTTP/1.1":
            return None
        headers = read_headers(lines, CHANGING)
        given = b"" if headers is None else headers.get(b"content-length", b"")
        return int(given) if given.isdigit() and len(given) <= _DIGITS else None
