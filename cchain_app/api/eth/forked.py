"""Calls that a fork forwards to upstream: blocks and transactions up to the fork block, and state before it (devnet.md 13).

These calls are forwarded without changes, and the answers are returned without changes. Upstream's data after the fork
block is never shown, because from there on the two chains differ.
"""

from collections.abc import Callable, Sequence
from functools import update_wrapper
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Raw

from cchain_app.api.block_tags import tag_height
from cchain_app.api.params.values import BlockHash, Tag
from cchain_app.api.rpc import EvmRpc, outcome
from cchain_app.filters import LogFilter
from cchain_app.forking import answers
from cchain_app.forking.errors import BadUpstreamAnswer, UpstreamReason, UpstreamRefused
from cchain_app.forking.origin import ForkOrigin
from cchain_app.selectors import blocks, pool
from cchain_app.selectors.forked import upstream_of
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import Handler, MethodRegistry
from jsonrpc.errors import REVERTED, InvalidParam, JsonRpcError
from primitives.evm import Hash
from primitives.hexadecimal import HexError, decode_quantity, encode_data, encode_quantity

BODIES: Final = {
    "eth_getBlockByNumber": 0, "eth_getBlockByHash": 0, "eth_getHeaderByNumber": 0,
    "eth_getHeaderByHash": 0, "eth_getBlockReceipts": 0, "eth_getBlockTransactionCountByNumber": 0,
    "eth_getBlockTransactionCountByHash": 0, "eth_getUncleCountByBlockNumber": 0,
    "eth_getUncleCountByBlockHash": 0, "eth_getUncleByBlockNumberAndIndex": 0,
    "eth_getUncleByBlockHashAndIndex": 0, "eth_getTransactionByBlockNumberAndIndex": 0,
    "eth_getTransactionByBlockHashAndIndex": 0, "eth_getRawTransactionByBlockNumberAndIndex": 0,
    "eth_getRawTransactionByBlockHashAndIndex": 0, "debug_getRawBlock": 0, "debug_getRawHeader": 0,
    "debug_getRawReceipts": 0, "debug_traceBlockByNumber": 0, "debug_traceBlockByHash": 0,
    "debug_storageRangeAt": 0, "debug_accountRange": 0, "debug_dumpBlock": 0,
    "debug_intermediateRoots": 0, "trace_block": 0, "trace_replayBlockTransactions": 0,
    "ots_getBlockDetails": 0, "ots_getBlockDetailsByHash": 0, "ots_getBlockTransactions": 0,
    "erigon_getHeaderByNumber": 0, "erigon_getHeaderByHash": 0, "eth_feeHistory": 1, "eth_getProof": 2,
    "eth_getAccount": 1,
}  # fmt: skip
"""Methods that read a block, with the index of the block parameter; up to the fork block upstream answers them."""

STATES: Final = {
    "eth_getBalance": 1, "eth_getTransactionCount": 1, "eth_getCode": 1, "eth_getStorageAt": 2,
    "eth_getAccountInfo": 1, "eth_call": 1, "eth_estimateGas": 1, "eth_createAccessList": 1,
    "eth_simulateV1": 1, "debug_traceCall": 1, "trace_call": 2, "trace_callMany": 1, "ots_hasCode": 1,
}  # fmt: skip
"""Methods that read state, with the index of the block parameter; upstream answers them before the fork block. The
state of the fork block is stored here, with the edits made to it at the beginning."""

TRANSACTIONS: Final = (
    "eth_getTransactionByHash", "eth_getTransactionReceipt", "eth_getRawTransactionByHash",
    "debug_getRawTransaction", "debug_traceTransaction", "trace_transaction", "trace_get",
    "trace_replayTransaction", "ots_getTransactionError", "ots_getInternalOperations",
    "ots_traceTransaction",
)  # fmt: skip
"""Methods whose first parameter is a transaction hash; upstream answers them unless the transaction is in a block or in
the pool here."""


class _HeightMembers(msgspec.Struct):
    """The members of a block, header, transaction or receipt that contain its height."""

    number: str | None = None
    blockNumber: str | None = None  # noqa: N815  # the name in JSON


class _Log(msgspec.Struct, gc=False):
    """A log in an answer; none of its members is decoded."""


class _RequestedBlock(NamedTuple):
    """An argument as it was received, and its parsed value."""

    raw: Any
    value: Any


def add(methods: MethodRegistry, rpc: EvmRpc) -> None:
    """Wrap the methods that a fork may forward to upstream."""
    for name, index in BODIES.items():
        _wrap(methods, rpc, name, _Heights(rpc, name, index, with_pin=True))
    for name, index in STATES.items():
        _wrap(methods, rpc, name, _Heights(rpc, name, index, with_pin=False))
    for name in TRANSACTIONS:
        _wrap(methods, rpc, name, _Transactions(rpc, name))


def _wrap(
    methods: MethodRegistry, rpc: EvmRpc, name: str, ask: Callable[[Handler, Sequence[Any]], Any]
) -> None:
    """Let `ask` answer each call instead of the method's handler, if the chain is a fork."""
    method = methods.methods[name]
    own, own_vectorized = method.handler, method.vectorized
    assert own is not None, "what is asked of upstream is one call"

    def handler(*arguments: Any) -> Any:
        if rpc.chain.fork is None:
            return own(*map(_value, arguments))
        return ask(own, arguments)

    def vectorized(calls: list[tuple[Any, ...]]) -> Sequence[object]:
        if rpc.chain.fork is None:
            assert own_vectorized is not None
            return own_vectorized([tuple(map(_value, arguments)) for arguments in calls])
        return [outcome(handler, arguments) for arguments in calls]

    methods.replace(
        name,
        update_wrapper(handler, own),
        [_keeping(param) for param in method.params],
        None if own_vectorized is None else update_wrapper(vectorized, own_vectorized),
    )


def _keeping(param: Param) -> Param:
    """Return a parameter that keeps the raw argument beside the parsed value."""

    def parse(raw: Any) -> _RequestedBlock:
        return _RequestedBlock(raw, param.parse(raw))

    # The API reference identifies a parameter by its parser.
    return Param(param.name, update_wrapper(parse, param.parse), param.default)


class _Heights:
    """Answers a method that names a block.

    Args:
        rpc: The chain's RPC context.
        name: The method's name.
        index: Index of the parameter that names the block.
        with_pin: Whether upstream answers for the fork block itself.
    """

    def __init__(self, rpc: EvmRpc, name: str, index: int, *, with_pin: bool) -> None:
        self._rpc = rpc
        self._name = name
        self._index = index
        self._with_pin = with_pin

    def __call__(self, own: Handler, arguments: Sequence[Any]) -> Any:
        """Answer a call from upstream or by the method's own handler."""
        chain, values = self._rpc.chain, [_value(argument) for argument in arguments]
        fork = chain.fork
        named = values[self._index]
        height = None if fork is None else self._height(fork, named)
        if fork is None or height is None or height > fork.number - (not self._with_pin):
            return own(*values)
        if height == fork.number and self._name.startswith("eth_getBlockBy") and not values[1]:
            return fork.block
        params = [item.raw if isinstance(item, _RequestedBlock) else None for item in arguments]
        if not isinstance(named, BlockHash | bytes):
            params[self._index] = encode_quantity(height)
        while params and params[-1] is None:
            params.pop()
        return _ask(self._rpc, self._name, params)

    def _height(self, fork: ForkOrigin, named: Any) -> int | None:
        """Return the height of a named block; None if the block is not one of upstream's up to the fork block."""
        chain = self._rpc.chain
        if named is Tag.PENDING:
            return None  # a fork makes its own blocks
        if isinstance(named, Tag):
            return tag_height(chain, named)
        if isinstance(named, int):
            return named
        block_hash = named.hash if isinstance(named, BlockHash) else Hash(named)
        if block_hash == fork.hash:
            return fork.number
        if blocks.by_hash(chain, block_hash) is not None:
            return None
        remote = _ask(self._rpc, "eth_getBlockByHash", [encode_data(block_hash), False])
        return _height_in(fork, remote)


class _Transactions:
    """Answers a method that names a transaction by its hash."""

    def __init__(self, rpc: EvmRpc, name: str) -> None:
        self._rpc = rpc
        self._name = name

    def __call__(self, own: Handler, arguments: Sequence[Any]) -> Any:
        """Answer a call from upstream or by the method's own handler."""
        chain, values = self._rpc.chain, [_value(argument) for argument in arguments]
        fork = chain.fork
        if fork is None or pool.find(chain, values[0]) is not None:
            return own(*values)
        params = [item.raw for item in arguments if isinstance(item, _RequestedBlock)]
        if self._name in {"eth_getTransactionByHash", "eth_getTransactionReceipt"}:
            answer = _ask(self._rpc, self._name, params)
            return None if _height_in(fork, answer) is None else answer
        transaction = _ask(self._rpc, "eth_getTransactionByHash", params[:1])
        if _height_in(fork, transaction) is None:
            return own(*values)
        return _ask(self._rpc, self._name, params)


def logs_up_to_pin(rpc: EvmRpc, wanted: LogFilter, first: int, last: int) -> tuple[memoryview, int]:
    """Return upstream's logs of blocks first to last, separated by commas, and their number.

    The last block must not be above the fork block.

    Raises:
        UpstreamError: Upstream does not answer with a list of logs.
    """
    criteria: dict[str, Any] = {
        "fromBlock": encode_quantity(first),
        "toBlock": encode_quantity(last),
    }
    if wanted.addresses:
        criteria["address"] = [encode_data(address) for address in sorted(wanted.addresses)]
    if wanted.topics:
        criteria["topics"] = [
            [encode_data(item) for item in sorted(position)] or None for position in wanted.topics
        ]
    logs = _ask(rpc, "eth_getLogs", [criteria])
    try:
        count = len(answers.decode_uncounted(logs, list[_Log], answers.LISTED))
    except BadUpstreamAnswer:
        raise BadUpstreamAnswer(UpstreamReason.NO_LOGS) from None
    return memoryview(logs)[1:-1], count


def height_of_hash(rpc: EvmRpc, block_hash: Hash) -> int | None:
    """Return the height of one of upstream's blocks up to the fork block; None for any other block."""
    fork = rpc.chain.fork
    if fork is None or block_hash == fork.hash:
        return None if fork is None else fork.number
    return _height_in(fork, _ask(rpc, "eth_getBlockByHash", [encode_data(block_hash), False]))


def _value(argument: Any) -> Any:
    return argument.value if isinstance(argument, _RequestedBlock) else argument


def _height_in(fork: ForkOrigin, answer: Raw) -> int | None:
    """Return the height in an answer; None if it is above the fork block."""
    try:
        members = msgspec.json.decode(answer, type=_HeightMembers)
        number = decode_quantity(members.number or members.blockNumber or "")
    except (msgspec.DecodeError, TypeError, AttributeError, HexError):
        return None
    return number if number <= fork.number else None


def _ask(rpc: EvmRpc, method: str, params: Sequence[Any]) -> Raw:
    """Return upstream's result as undecoded JSON text.

    Raises:
        JsonRpcError: 3, the call reverted at upstream.
        UpstreamError: Upstream does not answer.
    """
    try:
        return upstream_of(rpc.chain).pass_on(method, params)
    except UpstreamRefused as refusal:
        if refusal.code == REVERTED:
            raise JsonRpcError(REVERTED, str(refusal), refusal.data) from refusal
        raise


def url(value: Any) -> str:
    """Read a URL."""
    if not isinstance(value, str):
        raise InvalidParam("a URL was expected")
    return value
