"""The walks, that is, the paths of requests through the code: their steps, and how files are counted.

A step is identified by the file and qualified name of a function that performs it on every such walk. If you
move that function, move its step here; a test checks that each one exists.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """A step, and the function that performs it."""

    does: str
    file: str
    function: str
    caller: str = ""
    """A caller of the function, for functions that also serve other purposes."""


class Walk(NamedTuple):
    """A path of one request through the node."""

    name: str
    steps: tuple[Step, ...]


_REQUEST = (
    Step("bytes come from the socket", "jsonrpc/http/fast_path.py", "DirectProtocol.data_received"),
    Step("the request is complete", "jsonrpc/http/answering.py", "Answering.answer_http"),
    Step("the call leaves the event loop", "jsonrpc/dispatch/workers.py", "Workers.run"),
)

RAW_TRANSACTION = Walk(
    "raw transaction to `newHeads`",
    (
        *_REQUEST,
        Step("its bytes are read", "cchain_app/txs/codec.py", "decode_unsigned"),
        Step("it may bypass the pool", "cchain_app/services/transactions.py", "admit"),
        Step("it is checked against the pool", "cchain_app/pool/queues.py", "check_against"),
        Step("transactions are chosen", "cchain_app/pool/queues.py", "select"),
        Step("the block is executed", "cchain_app/evm/native.py", "NativeEngine.execute_block"),
        Step("the block is assembled", "cchain_app/blocks/assembly.py", "assemble"),
        Step("the block becomes rows", "cchain_app/store/chain.py", "commit"),
        Step("the node is notified", "chaindb/events.py", "ChainEvents.send", "announce"),
        Step("the head goes to a socket", "jsonrpc/websocket/outbound.py", "SocketWriter.push"),
    ),
)

ISSUE_TX = Walk(
    "`platform.issueTx` to the admin",
    (
        *_REQUEST,
        Step("its bytes are read", "platform_app/txs/codec.py", "parse", "issue_txs"),
        Step("its syntax is verified", "platform_app/txs/syntax.py", "verify_syntax", "issue"),
        Step("it is tried on the state", "platform_app/executor/standard.py", "execute", "issue"),
        Step("it becomes a row", "platform_app/store/mempool.py", "add"),
        Step("a block is requested", "chaindb/wakeup.py", "Wakeup.request", "issue"),
        Step("the block is built", "platform_app/blocks/builder.py", "build"),
        Step("its row is read", "platform_app/store/mempool.py", "oldest_first", "build"),
        Step("it is executed in the block", "platform_app/executor/standard.py", "execute", "build"),
        Step("the block becomes rows", "platform_app/store/blocks.py", "commit"),
        Step("the admin finds the row", "adminkit/changelist.py", "KeysetChangeList.get_results"),
        Step("the admin shows it", "platform_app/admin/transactions.py", "TxAdmin.effect"),
    ),
)  # fmt: skip

PEERS_BLOCK = Walk(
    "a peer's block, from the socket to the row",
    (
        Step("bytes come from the socket", "network_app/peers/stream.py", "Stream.buffer_updated"),
        Step("a message is read", "network_app/wire/framing.py", "parse"),
        Step("the block is taken in", "network_app/consensus/runner.py", "Runner.answer"),
        Step("the outer block is read", "network_app/proposervm/block.py", "parse"),
        Step(
            "the inner block is read", "cchain_app/blocks/candidate.py", "parse_block_with_payload"
        ),
        Step("its place is verified", "cchain_app/blocks/verification.py", "verify_place"),
        Step("it is executed", "cchain_app/evm/native.py", "NativeEngine.execute_block"),
        Step("its outcome is verified", "cchain_app/blocks/verification.py", "verify_outcome"),
        Step("the inner block becomes rows", "cchain_app/store/chain.py", "commit"),
        Step("the outer block becomes a row", "network_app/store/outer.py", "add"),
    ),
)

GET_LOGS = Walk(
    "`eth_getLogs`",
    (
        *_REQUEST,
        Step("the filter is read", "cchain_app/api/params/logs.py", "log_criteria"),
        Step("the range is settled", "cchain_app/api/eth/logs.py", "resolve_range"),
        Step("the rows are asked for", "cchain_app/selectors/logs.py", "search"),
        Step("a log is written as JSON", "cchain_app/api/eth/logs.py", "render_rows"),
        Step("the reply is made", "jsonrpc/http/replies.py", "Endpoint.reply"),
    ),
)

FAILING_CHECK = Walk(
    "a failing check to the 503",
    (
        Step("it is measured", "health_app/checks.py", "Checks.measure_network"),
        Step("it is judged", "health_app/rules.py", "network"),
        Step("the result is kept", "health_app/result.py", "CheckResult.followed_by"),
        Step("the change is written", "health_app/store.py", "add"),
        Step("the page is asked for", "nodeproject/web/get_pages.py", "PagesAtOnce.get"),
        Step("the report is made", "health_app/api.py", "_page"),
        Step("the reply is made", "nodeproject/web/get_pages.py", "Front.reply"),
    ),
)

WALKS = (RAW_TRANSACTION, ISSUE_TX, PEERS_BLOCK, GET_LOGS, FAILING_CHECK)


@dataclass(slots=True)
class _Node:
    """One entry into a file, with the entries that it leads to."""

    file: str
    below: dict[str, "_Node"] = field(default_factory=dict)


class Counted(NamedTuple):
    """The counts of a completed walk."""

    files: tuple[str, ...]
    """In the order of first entry."""
    entries: tuple[str, ...]
    """In the order of entry: a file that is entered from two others appears twice."""

    @property
    def returns(self) -> tuple[str, ...]:
        """Entries into files that the walk has already entered before."""
        seen: set[str] = set()
        again = []
        for file in self.entries:
            if file in seen:
                again.append(file)
            seen.add(file)
        return tuple(again)


def count(stacks: Iterable[Sequence[str]]) -> Counted:
    """Count the files of a walk.

    Consecutive calls within a file are one entry, and so are all calls from one file to another
    on the same path, because a reader goes there once. The return from a call is not an
    entry. If work continues in another thread or task, the walk continues in the file where that starts;
    if the previous step ended in that file, the file has not been left.

    Args:
        stacks: For each step, the files in the call stack, outermost first.
    """
    start = _Node("")
    begun: dict[str, _Node] = {}
    """The start of the work of each thread or task, by its first file."""
    entries: list[str] = []
    last = start
    for stack in stacks:
        if stack[0] not in begun and stack[0] == last.file:
            begun[stack[0]] = last
        node = begun.get(stack[0], start)
        for file in stack[1:] if stack[0] in begun else stack:
            if file != node.file and file not in node.below:
                node.below[file] = _Node(file)
                entries.append(file)
            node = node.below.get(file, node)
        begun.setdefault(stack[0], start.below.get(stack[0], node))
        last = node
    return Counted(tuple(dict.fromkeys(entries)), tuple(entries))
