"""The walks: what each one does, step by step, and the function that does it. And how files are counted.

A step is told by file and qualified name of a function that does it on every such walk. Whoever moves
that function moves its step here; a test looks each one up.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """What is done, and by whom."""

    does: str
    file: str
    function: str
    caller: str = ""
    """A function further up, where the same is done for other ends."""


class Walk(NamedTuple):
    """One walk through the node."""

    name: str
    steps: tuple[Step, ...]


_DOOR = (
    Step("bytes come from the socket", "jsonrpc/http/fast_path.py", "DirectProtocol.data_received"),
    Step("a whole request is there", "jsonrpc/http/answering.py", "Answering.answer"),
    Step("the call leaves the event loop", "jsonrpc/dispatch/workers.py", "Workers.run"),
)

RAW_TRANSACTION = Walk(
    "raw transaction to `newHeads`",
    (
        *_DOOR,
        Step("its bytes are read", "cchain_app/txs/codec.py", "decode_unsigned"),
        Step(
            "it may go straight into a block", "cchain_app/services/automine.py", "Automine.admit"
        ),
        Step("it is judged beside the pool", "cchain_app/pool/admission.py", "check_against"),
        Step("transactions are chosen", "cchain_app/pool/ordering.py", "select"),
        Step("the block is executed", "cchain_app/evm/native.py", "NativeEngine.execute_block"),
        Step("the block is put together", "cchain_app/blocks/assembly.py", "assemble"),
        Step("the block becomes rows", "cchain_app/store/chain.py", "commit"),
        Step("the node is told", "chaindb/pointers.py", "Pointers.send", "head_accepted"),
        Step("the head goes to a socket", "jsonrpc/websocket/connection.py", "Connection.push"),
    ),
)

ISSUE_TX = Walk(
    "`platform.issueTx` to the admin",
    (
        *_DOOR,
        Step("its bytes are read", "platform_app/txs/codec.py", "parse"),
        Step("its syntax is verified", "platform_app/txs/syntax.py", "verify_syntax"),
        Step("it is tried on the state", "platform_app/executor/standard.py", "execute"),
        Step("it becomes a row", "platform_app/store/mempool.py", "add"),
        Step("a block is asked for", "chaindb/wakeup.py", "Wakeup.request", "issue"),
        Step("the block is built", "platform_app/blocks/builder.py", "build"),
        Step("the block becomes rows", "platform_app/store/blocks.py", "commit"),
        Step("the admin asks for the row", "platform_app/admin/transactions.py", "TxAdmin.get_queryset"),
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
        Step("the inner block is read", "cchain_app/blocks/candidate.py", "parse_block"),
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
        *_DOOR,
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
    """One entry into a file, from one way into another."""

    file: str
    below: dict[str, "_Node"] = field(default_factory=dict)


class Counted(NamedTuple):
    """A walk as it was gone."""

    files: tuple[str, ...]
    """In the order in which they are first entered."""
    entries: tuple[str, ...]
    """Likewise with each entry: a file that is entered from two others is there twice."""

    @property
    def returns(self) -> tuple[str, ...]:
        """Entries into files that the walk had been in already."""
        seen: set[str] = set()
        again = []
        for file in self.entries:
            if file in seen:
                again.append(file)
            seen.add(file)
        return tuple(again)


def count(stacks: Iterable[Sequence[str]]) -> Counted:
    """Count the files of a walk.

    Calls that follow each other within a file are one entry, and so are calls of one file from another
    one on the same way, however many: whoever reads goes there once. Coming back from a call is no
    entry. Where work goes on in another thread or task, the walk goes on in the file where that begins;
    if the step before ended in that file, it has not been left.

    Args:
        stacks: Of each step, the files that call each other, outermost first.
    """
    start = _Node("")
    begun: dict[str, _Node] = {}
    """Where the work of each thread or task begins, by its first file."""
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
