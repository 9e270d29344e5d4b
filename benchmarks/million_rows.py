"""The rows of `benchmarks.million`: requests whose cost could grow with the number of blocks, transactions or accounts.

Requests that ask for something else each time are sent once each, so no answer comes from a cache. Heights, accounts and
transactions are drawn from the whole seeded history, by a fixed seed.
"""

import random
import re
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Final

from benchmarks.contracts import TRANSFER_TOPIC, call_data
from benchmarks.generator import send_streams
from benchmarks.million_stages import FRESH, Stage
from benchmarks.rpc import WrongAnswer, body, page
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import Account, account, account_of, hash_of, sign
from benchmarks.workload import Measurement
from benchmarks.workloads_read import balance_of, repeat

ASKED: Final = 500
"""Requests of a row that asks for something else each time: more blocks than a node remembers, half of the fresh chain's."""
SLOWER: Final = 200
"""The same for requests that take longer."""
PAGES: Final = 40
MEASURABLE: Final = 0.05
"""Seconds of processor time that the system's clock, which counts hundredths, can tell from others."""
REACH: Final = FRESH * 9 // 10
"""Blocks of a fee history, and below the seeded head of proofs."""
OLD_FEES: Final = REACH // 2
"""Blocks of a fee history below other heights: few enough that the fresh chain has them below half of its heights."""
RECEIPTS: Final = 200
DATABASE: Final = re.compile(r'^svc_database_size_bytes\{part="database"\} (\S+)$', re.MULTILINE)
SPARSE: Final = 10
"""Logs of the sparse query."""
EMPTY: Final = 200
"""Empty blocks whose time is measured."""
SECONDS: Final = 60.0
"""Time limit of a row."""


@dataclass(slots=True)
class SeededChain:
    """A running node on a seeded chain, after the preparation."""

    scene: Scene
    stage: Stage
    hashes: Sequence[str] = ()
    """Hashes of transactions from the whole history, whose blocks are not remembered any more."""
    block_hashes: Sequence[str] = ()
    sender: Account = field(init=False)
    """One of the accounts that have sent the transfers: one in each block."""

    def __post_init__(self) -> None:
        self.sender = account_of(sha256(b"history 0").digest())

    def recipients(self, count: int) -> list[str]:
        """Return some of the accounts that transfers have created."""
        numbers = random.Random(1).choices(range(self.stage.accounts), k=count)
        return ["0x" + sha256(b"recipient %d" % number).digest()[:20].hex() for number in numbers]

    def heights(self, count: int, least: int = 2) -> list[str]:
        """Return heights of seeded blocks from `least` on, each once; in the same order, so that none is still remembered."""
        return [hex(at) for at in random.Random(2).sample(range(least, self.stage.blocks), count)]


def prepare(scene: Scene, stage: Stage) -> SeededChain:
    """Deploy the contracts, emit some logs, and note the hashes of old transactions."""
    scene.deploy()
    chain = SeededChain(scene, stage)
    scene.fund([account("holder"), account("million")])
    mint = call_data("mint(uint256)", 10**18)
    scene.client.mine(sign(account("holder"), 0, scene.contract("Token"), data=mint, gas=150_000))
    for _ in range(SPARSE):
        scene.from_funder(scene.contract("Emitter"), data=call_data("emitLogs(uint256)", 1))
    blocks = [
        scene.client.call("eth_getBlockByNumber", height, False) for height in chain.heights(ASKED)
    ]
    chain.hashes = [one["transactions"][0] for one in blocks if one["transactions"]]
    chain.block_hashes = [one["hash"] for one in blocks]
    return chain


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table."""

    name: str
    title: str
    measure: Callable[[SeededChain], Measurement]
    """Returns milliseconds, unless `unit` says otherwise; with the processor time where answers are counted."""
    unit: str = "ms"
    is_charted: bool = False
    is_embedded: bool = False
    """Whether it needs development methods, which the embedded profile alone has."""


def ask_each(chain: SeededChain, bodies: Sequence[bytes]) -> Measurement:
    """Send each request once over one connection; return the mean.

    Raises:
        WrongAnswer: An answer is an error.
    """
    server = chain.scene.server
    server.await_rest()
    used = server.processor_seconds()
    sent = send_streams(chain.scene.http, [bodies], SECONDS)
    used = server.processor_seconds() - used
    if sent.failures:
        raise WrongAnswer(sent.failures[0][:200].decode(errors="replace"))
    (answered,) = sent.answered
    processor = used / answered if used >= MEASURABLE else None
    return Measurement(1e3 * (sent.ended - sent.started) / answered, processor=processor)


def _each(
    method: str, of: Callable[[SeededChain], Sequence[Sequence[object]]]
) -> Callable[[SeededChain], Measurement]:
    """Return the measurement of one method with other params in each request."""
    return lambda chain: ask_each(chain, [body(method, *params) for params in of(chain)])


def _again(of: Callable[[SeededChain], bytes]) -> Callable[[SeededChain], Measurement]:
    """Return the measurement of one request that is repeated."""

    def measure(chain: SeededChain) -> Measurement:
        chain.scene.server.await_rest()
        found = repeat(chain.scene, [of(chain)], lambda result: result is not None, connections=1)
        return Measurement(1e3 / found.value, found.p50, found.p99, found.processor)

    return measure


def _page(of: Callable[[SeededChain], Sequence[str]]) -> Callable[[SeededChain], Measurement]:
    """Return the measurement of pages of the explorer."""
    return lambda chain: _get(chain, of(chain), "</html>")


def _get(chain: SeededChain, paths: Sequence[str], contained: str) -> Measurement:
    """Fetch pages one after the other, over a connection for each.

    Raises:
        WrongAnswer: A page lacks the expected content.
    """
    server, times = chain.scene.server, []
    page(server.endpoint, paths[0])  # loads what pages of this kind need
    server.await_rest()
    used = server.processor_seconds()
    for path in paths:
        began = time.perf_counter()
        text = page(server.endpoint, path)
        times.append(time.perf_counter() - began)
        if contained not in text or "Page not found" in text:
            raise WrongAnswer(f"{path} has not {contained}: {text[:100]}")
    used = server.processor_seconds() - used
    return Measurement(1e3 * statistics.median(times), processor=used / len(paths))


def _text(path: str, contained: str) -> Callable[[SeededChain], Measurement]:
    return lambda chain: _get(chain, [path] * PAGES, contained)


def _latest(chain: SeededChain) -> list[list[object]]:
    return [[who, "latest"] for who in chain.recipients(ASKED)]


def _below_head(chain: SeededChain) -> list[tuple[object, object]]:
    height = hex(chain.stage.blocks - REACH)
    return [(who, height) for who in chain.recipients(ASKED)]


def _at_old_heights(chain: SeededChain) -> list[tuple[str, str]]:
    return list(zip(chain.recipients(ASKED), chain.heights(ASKED), strict=True))


def _full_blocks(chain: SeededChain) -> list[list[object]]:
    return [[height, True] for height in chain.heights(ASKED)]


def _logs_of(chain: SeededChain) -> list[list[object]]:
    wide, last = REACH // 2, chain.stage.blocks
    firsts = (min(int(height, 16), last - wide) for height in chain.heights(SLOWER))
    return [[{"fromBlock": hex(first), "toBlock": hex(first + wide)}] for first in firsts]


def _sparse(chain: SeededChain) -> bytes:
    address = "0x" + chain.scene.contract("Emitter").hex()
    query = {"fromBlock": "0x0", "toBlock": "latest", "address": address}
    return body("eth_getLogs", {**query, "topics": [TRANSFER_TOPIC]})


def _keys(chain: SeededChain) -> list[str]:
    """Return pages of transactions from the whole history, by the key in the link to older ones."""
    found = re.search(r"before=(\d+)", page(chain.scene.server.endpoint, "/txs"))
    if found is None:
        raise WrongAnswer("/txs has no link to older transactions")
    keys = random.Random(3).choices(range(1, int(found[1])), k=PAGES)
    return [f"/txs?before={key}" for key in keys]


def _send(chain: SeededChain) -> list[float]:
    """Send transactions one after the other; return the seconds until the receipt of each, sorted. Done once."""
    facts, client = chain.scene.facts, chain.scene.client
    if "receipts" not in facts:
        sender, times = account("million"), []
        for nonce in range(RECEIPTS):
            raw = sign(sender, nonce, FUNDER.address, value=1)
            began = time.perf_counter()
            client.call("eth_sendRawTransaction", raw)
            client.receipt(hash_of(raw))
            times.append(time.perf_counter() - began)
        facts["receipts"] = sorted(times)
    found: list[float] = facts["receipts"]
    return found


def _sent(chain: SeededChain) -> Measurement:
    server = chain.scene.server
    server.await_rest()
    used = server.processor_seconds()
    times = _send(chain)
    used = server.processor_seconds() - used
    return Measurement(1e3 * statistics.median(times), processor=used / len(times))


def _sent_p99(chain: SeededChain) -> Measurement:
    times = _send(chain)
    return Measurement(1e3 * times[int(len(times) * 0.99)])


def _size(chain: SeededChain) -> Measurement:
    """Return the size of the database with all indexes, in bytes per seeded transaction."""
    found = DATABASE.search(page(chain.scene.server.endpoint, "/ext/metrics"))
    if found is None:
        raise WrongAnswer("/ext/metrics has no size of the database")
    return Measurement(float(found[1]) / chain.stage.transactions)


def _block_time(chain: SeededChain) -> Measurement:
    return ask_each(chain, [body("evm_mine")] * EMPTY)


def _memory(chain: SeededChain) -> Measurement:
    chain.scene.server.await_rest()
    return Measurement(chain.scene.server.memory() / 2**20)


def _old_fees(chain: SeededChain) -> list[list[object]]:
    return [[hex(OLD_FEES), at, [10, 50]] for at in chain.heights(SLOWER, OLD_FEES)]


def _trace_filter(chain: SeededChain) -> list[list[object]]:
    """Return params for the first transfer of each recipient, which has two on the last stage alone."""
    return [
        [{"fromBlock": "0x0", "toBlock": hex(chain.stage.blocks), "toAddress": [who], "count": 1}]
        for who in chain.recipients(SLOWER)
    ]


def _of(method: str, *params: object) -> Callable[[SeededChain], bytes]:
    return lambda _: body(method, *params)


ROWS: Final = (
    Row("size", "database, bytes per transaction", _size, "B"),
    Row("memory-idle", "memory after the set-up", _memory, "MiB"),
    Row("block-number", "eth_blockNumber", _again(_of("eth_blockNumber"))),
    Row("balance", "eth_getBalance, other accounts", _each("eth_getBalance", _latest), is_charted=True),
    Row("nonce", "eth_getTransactionCount, other accounts", _each("eth_getTransactionCount", _latest)),
    Row("pending", "eth_getTransactionCount, pending",
        _again(lambda chain: body("eth_getTransactionCount", chain.sender.text, "pending"))),
    Row("call", "eth_call balanceOf", _again(lambda chain: balance_of(chain.scene))),
    Row("gas-price", "eth_gasPrice", _again(_of("eth_gasPrice"))),
    Row("block", "eth_getBlockByNumber, other blocks, 20 full transactions",
        _each("eth_getBlockByNumber", _full_blocks), is_charted=True),
    Row("block-by-hash", "eth_getBlockByHash, other blocks",
        _each("eth_getBlockByHash", lambda chain: [[one, False] for one in chain.block_hashes])),
    Row("transaction", "eth_getTransactionByHash, other transactions",
        _each("eth_getTransactionByHash", lambda chain: [[one] for one in chain.hashes])),
    Row("receipt", "eth_getTransactionReceipt, other transactions",
        _each("eth_getTransactionReceipt", lambda chain: [[one] for one in chain.hashes]),
        is_charted=True),
    Row("old-balance", "eth_getBalance at other heights", _each("eth_getBalance", _at_old_heights),
        is_charted=True),
    Row("old-nonce", "eth_getTransactionCount of a busy sender at other heights",
        _each("eth_getTransactionCount",
              lambda chain: [[chain.sender.text, at] for at in chain.heights(ASKED)])),
    Row("old-call", "eth_call at other heights",
        _each("eth_call", lambda chain: [[{"to": who}, at] for who, at in _at_old_heights(chain)])),
    Row("proof", "eth_getProof, other accounts, latest",
        _each("eth_getProof", lambda chain: [[who, [], "latest"] for who in chain.recipients(SLOWER)])),
    Row("old-proof", f"eth_getProof, other accounts, {REACH} blocks below",
        _each("eth_getProof",
              lambda chain: [[who, [], at] for who, at in _below_head(chain)[:SLOWER]]),
        is_charted=True),
    Row("fee-history", f"eth_feeHistory, {REACH} blocks",
        _again(lambda chain: body("eth_feeHistory", hex(REACH), "latest", [10, 50]))),
    Row("old-fee-history", f"eth_feeHistory, {OLD_FEES} blocks below other heights",
        _each("eth_feeHistory", _old_fees)),
    Row("sparse-logs", "eth_getLogs, 10 logs of a contract in all blocks", _again(_sparse)),
    Row("range-logs", f"eth_getLogs, other ranges of {REACH // 2} blocks without logs", _each("eth_getLogs", _logs_of)),
    Row("trace", "debug_traceTransaction, other transactions",
        _each("debug_traceTransaction",
              lambda chain: [[one, {"tracer": "callTracer"}] for one in chain.hashes[:SLOWER]])),
    Row("trace-filter", "trace_filter over all blocks, other recipients",
        _each("trace_filter", _trace_filter), is_charted=True),
    Row("by-nonce", "ots_getTransactionBySenderAndNonce",
        _each("ots_getTransactionBySenderAndNonce",
              lambda chain: [[chain.sender.text, int(at, 16) - 2] for at in chain.heights(SLOWER)])),
    Row("searched", "ots_searchTransactionsBefore, a busy sender",
        _each("ots_searchTransactionsBefore",
              lambda chain: [[chain.sender.text, int(at, 16), 25] for at in chain.heights(SLOWER)])),
    Row("account-range", "debug_accountRange, 10 accounts",
        _each("debug_accountRange",
              lambda chain: [["latest", "0x", 10, True, True, True] for _ in range(5)])),
    Row("front", "explorer: front page", _page(lambda _: ["/"] * PAGES)),
    Row("blocks", "explorer: other pages of blocks",
        _page(lambda chain: [f"/blocks?before={int(at, 16)}" for at in chain.heights(PAGES)])),
    Row("txs", "explorer: other pages of transactions", _page(_keys)),
    Row("tx", "explorer: other transactions",
        _page(lambda chain: [f"/tx/{one}" for one in chain.hashes[:PAGES]])),
    Row("address", "explorer: a busy sender",
        _page(lambda chain: [f"/address/{chain.sender.text}"] * PAGES), is_charted=True),
    Row("accounts", "explorer: accounts by balance", _page(lambda _: ["/accounts"] * PAGES)),
    Row("charts", "explorer: charts", _page(lambda _: ["/charts"] * PAGES)),
    Row("supply", "Etherscan's ethsupply", _text("/api?module=stats&action=ethsupply", '"1"')),
    Row("metrics", "/ext/metrics",
        _text("/ext/metrics", "svc_cchain_calls_height")),
    Row("empty-block", "an empty block (evm_mine)", _block_time, is_charted=True,
        is_embedded=True),
    Row("sent", "send to receipt, p50", _sent, is_charted=True),
    Row("sent-p99", "send to receipt, p99", _sent_p99),
    Row("memory", "memory after all of this", _memory, "MiB"),
)  # fmt: skip
