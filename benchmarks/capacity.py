"""`python -m benchmarks.capacity`: measures the cost of blocks, transactions, reads, pages and subscribers.

Costs are processor time of the node's processes, by their part in the production profile, so other work on the machine
matters little. `--markdown` writes docs/capacity.md: the costs, and what installations need, which is computed from them.
"""

import argparse
import signal
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from benchmarks import disk
from benchmarks.capacity_document import (
    BEGIN,
    DISK,
    DOCUMENT,
    EMBEDDED,
    END,
    MEASURED_WEB_PROCESSES,
    MEMORY,
    NETWORK,
    OTHER,
    PEER,
    PROCESSOR,
    PRODUCTION,
    Costs,
    Row,
    as_printed,
    cost_tables,
)
from benchmarks.capacity_needs import needs
from benchmarks.contracts import TRANSFER_TOPIC, call_data, transfer
from benchmarks.exchanges import READ, exchange
from benchmarks.machine import allow_many_sockets, description
from benchmarks.node import NODE
from benchmarks.production import PRODUCTION as PRODUCTION_SERVER
from benchmarks.report import put_between
from benchmarks.rpc import NotMined, RpcFailed, body
from benchmarks.scale import FULL
from benchmarks.scene import Scene
from benchmarks.server import Kind, Server, running
from benchmarks.signing import account, hash_of, sign
from benchmarks.wire import UNKNOWN, Framing, Http, Pages, WebSocket

IDLE_SECONDS = 10.0
SECONDS = 2.0
"""Duration of the requests of one kind."""
FEW, MANY = 2, 50
"""Transactions of a block: two sizes, whose difference gives the cost of one."""
FEW_BLOCKS, MANY_BLOCKS = 150, 40
"""Blocks of each size."""
PATIENCE = 60.0
POLL_SECONDS = 0.05
LISTENERS = 1_000
HEADS = 50
"""Blocks whose heads all listeners are sent."""
LOG_BLOCKS = 20
"""Blocks whose logs are read; the first one alone has logs."""
TOKEN_GAS = 80_000
DISK_ITEMS = ("block", "transfer", "payment", "token-transfer")
"""The causes of `benchmarks.disk`, in its order."""
TRIMMED = "cchain_app_trienodechange"
"""A table whose rows are deleted after NODE_PROOF_WINDOW blocks, so it does not grow on a long chain."""
_ROLES = {
    "runnode": "web",
    "runproducer": "producer",
    "postgres": "PostgreSQL",
    "redis-server": OTHER,
    "celery": OTHER,
    "runnetwork": OTHER,
}
Used = dict[str, float]
"""Processor seconds by part."""


class CostMeter:
    """Measures what requests cost a server."""

    def __init__(self, server: Server, profile: str) -> None:
        self.server = server
        self.parts = PROCESSOR[profile]
        self.idle: Used = dict.fromkeys(self.parts, 0.0)
        """Processor seconds of each part in a second without load, which cost no request."""
        self.scene = Scene(server, FULL)

    def used(self) -> Used:
        """Return the processor seconds of each part so far."""
        if len(self.parts) == 1:
            return {self.parts[0]: self.server.processor_seconds()}
        found = self.server.by_role(_role)
        return {part: found.get(part, (0.0, 0))[0] for part in self.parts}

    @contextmanager
    def cost(self, row: Row, count: Callable[[], float]) -> Iterator[None]:
        """Put the microseconds of each part for each of `count()` items into a row when the body is done.

        The processor time of an idle node is subtracted.
        """
        self.server.await_rest()
        began, before = time.perf_counter(), self.used()
        yield
        self.server.await_rest()
        after, lasted = self.used(), time.perf_counter() - began
        for part in self.parts:
            used = after[part] - before[part] - self.idle[part] * lasted
            row[part] = max(0.0, used) * 1e6 / count()

    def repeat(self, framing: Framing, requests: Sequence[bytes]) -> Row:
        """Send requests in turn over one connection for some seconds; return the cost of one.

        Raises:
            RpcFailed: The answer to one of them is an error.
        """
        row: Row = {}
        done = sizes = 0
        with closing(framing.connect()) as connection:
            for request in requests:
                _, answer = _exchange(framing, connection, request)
                if b'"error"' in answer or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")):
                    raise RpcFailed(answer[:200].decode(errors="replace"))
            with self.cost(row, lambda: done):
                until = time.perf_counter() + SECONDS
                while time.perf_counter() < until:
                    size, _ = _exchange(framing, connection, requests[done % len(requests)])
                    sizes += size
                    done += 1
        row[NETWORK] = sizes / done
        return row


def main() -> int:
    """Measure both profiles, and print or write the document's generated part."""
    options = _parse()
    allow_many_sockets()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))  # ends the servers too
    machine = description([], production=True)
    profiles = {
        EMBEDDED: _measure(NODE, EMBEDDED),
        PRODUCTION: _measure(PRODUCTION_SERVER, PRODUCTION),
    }
    _say("disk")
    nothing, causes = disk.causes()
    for item, cause in zip(DISK_ITEMS, causes, strict=True):
        profiles[EMBEDDED].setdefault(item, {})[DISK] = disk.per_item(cause, nothing, {TRIMMED})
    costs = as_printed(Costs(profiles))
    lines = [*(f"- {line}" for line in machine), "", "## Costs", "", *cost_tables(costs)]
    text = "\n".join([*lines, "## Needs", "", *needs(costs)])
    print(text)
    if options.markdown:
        put_between(options.markdown, text, BEGIN, END)
    return 0


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.capacity", description=__doc__)
    parser.add_argument(
        "--markdown", nargs="?", const=DOCUMENT, type=Path,
        help=f"put the result into this file, between {BEGIN} and {END} (default: docs/{DOCUMENT.name})",
    )  # fmt: skip
    return parser.parse_args()


def _measure(kind: Kind, profile: str) -> dict[str, Row]:
    rows: dict[str, Row] = {}
    with running(kind) as server:
        meter = CostMeter(server, profile)
        for name, measure in _STEPS.items():
            _say(f"{profile}: {name}")
            measure(meter, rows)
    return rows


def _idle(meter: CostMeter, rows: dict[str, Row]) -> None:
    """Measure a node that has loaded everything: its pages too."""
    meter.scene.deploy()
    _pages_of(meter, ["/", "/p/validators"])
    row = rows["idle"] = {}
    with meter.cost(row, lambda: IDLE_SECONDS):
        time.sleep(IDLE_SECONDS)
    meter.idle = {part: row[part] / 1e6 for part in meter.parts}
    row[MEMORY] = meter.server.memory() / 1024
    found = meter.server.by_role(_role)
    if "web" in meter.parts:
        # The process that started those that answer takes little.
        rows["web"] = {MEMORY: found["web"][1] / 1024 / MEASURED_WEB_PROCESSES}


def _transactions(meter: CostMeter, rows: dict[str, Row]) -> None:
    """Measure transfers and blocks: those of two sizes of blocks give two equations."""
    transfers = [
        lambda who, nonce: sign(who, nonce, account("recipient", nonce % 16).address, value=1),
        lambda who, nonce: sign(
            who, nonce, meter.scene.contract("Token"),
            data=transfer(account("recipient", nonce % 16).address, 1), gas=TOKEN_GAS,
        ),
    ]  # fmt: skip
    for item, make in zip(("transfer", "token-transfer"), transfers, strict=True):
        who = account("capacity", len(rows))
        meter.scene.fund([who])
        meter.scene.client.mine(
            sign(who, 0, meter.scene.contract("Token"), data=call_data("mint(uint256)", 10**12), gas=150_000)
        )  # fmt: skip
        count = FEW * FEW_BLOCKS + MANY * MANY_BLOCKS
        alone, *raws = (make(who, nonce) for nonce in range(1, 2 + count))
        framing = Http(meter.server.endpoint)
        with closing(framing.connect()) as connection:
            size, _ = _exchange(framing, connection, body("eth_sendRawTransaction", alone))
        _wait_for(meter, alone)
        small = _in_blocks(meter, raws[: FEW * FEW_BLOCKS], FEW)
        large = _in_blocks(meter, raws[FEW * FEW_BLOCKS :], MANY)
        one, block = _solved(small, large)
        rows[item] = {**one, NETWORK: size}
        rows.setdefault("block", block)


def _in_blocks(meter: CostMeter, raws: Sequence[str], size: int) -> tuple[Row, float]:
    """Send transactions in batches, each mined before the next; return the costs of one, and blocks for each one."""
    client = meter.scene.client
    row: Row = {}
    first = client.height()
    sizes = 0
    with meter.cost(row, lambda: len(raws)):
        for start in range(0, len(raws), size):
            some = raws[start : start + size]
            client.call_many("eth_sendRawTransaction", [[raw] for raw in some])
            _wait_for(meter, some[-1])
    last = client.height()
    for number in range(first + 1, last + 1):
        sizes += int(client.call("eth_getBlockByNumber", hex(number), False)["size"], 16)
    row[PEER] = sizes / len(raws)
    return row, (last - first) / len(raws)


def _wait_for(meter: CostMeter, raw: str) -> None:
    """Wait until a transaction is in a block, with few requests, because they count too.

    Raises:
        NotMined: It is in no block in time.
    """
    deadline = time.perf_counter() + PATIENCE
    while meter.scene.client.call("eth_getTransactionReceipt", hash_of(raw)) is None:
        if time.perf_counter() > deadline:
            raise NotMined(f"not in a block after {PATIENCE:.0f} s")
        time.sleep(POLL_SECONDS)


def _solved(small: tuple[Row, float], large: tuple[Row, float]) -> tuple[Row, Row]:
    """Return the costs of a transaction and of a block from those of a transaction with its share of a block."""
    (few, few_share), (many, many_share) = small, large
    block = {
        column: max(0.0, (few[column] - many[column]) / (few_share - many_share)) for column in few
    }
    one = {column: max(0.0, many[column] - many_share * block[column]) for column in many}
    return one, block


def _subscribers(meter: CostMeter, rows: dict[str, Row]) -> None:
    """Measure WebSockets that are subscribed, and the heads that they get."""
    scene = meter.scene
    sender = account("herald")
    scene.fund([sender])
    raws = [sign(sender, nonce, sender.address, value=1) for nonce in range(2 * HEADS)]
    alone: Row = {}
    with meter.cost(alone, lambda: HEADS):
        for raw in raws[:HEADS]:
            scene.client.call("eth_sendRawTransaction", raw)
            _wait_for(meter, raw)
    framing = WebSocket(scene.server.endpoint)
    before = scene.server.memory()
    sockets = [framing.connect() for _ in range(LISTENERS)]
    for connection in sockets:
        connection.settimeout(PATIENCE)
        exchange(framing, connection, body("eth_subscribe", "newHeads"))
    rows["subscriber"] = {MEMORY: max(0, scene.server.memory() - before) / LISTENERS / 1024}
    together: Row = {}
    received = 0
    with meter.cost(together, lambda: HEADS):
        for raw in raws[HEADS:]:
            scene.client.call("eth_sendRawTransaction", raw)
            _wait_for(meter, raw)
            for connection in sockets:
                received += len(connection.recv(READ))
    for connection in sockets:
        connection.close()
    row = {part: max(0.0, together[part] - alone[part]) / LISTENERS for part in meter.parts}
    rows["notification"] = {**row, NETWORK: received / HEADS / LISTENERS}


def _reads(meter: CostMeter, rows: dict[str, Row]) -> None:
    scene = meter.scene
    head = scene.client.height()
    holder, token = account("capacity", 0).text, "0x" + scene.contract("Token").hex()
    whole = next(
        number
        for number in range(head, 0, -1)
        if len(scene.client.call("eth_getBlockByNumber", hex(number), False)["transactions"])
        >= MANY
    )
    block: Any = scene.client.call("eth_getBlockByNumber", hex(whole), True)
    balance = {"to": token, "data": "0x" + call_data("balanceOf(address)", account("recipient").address).hex()}  # fmt: skip
    logs = {"fromBlock": hex(whole), "toBlock": hex(whole + LOG_BLOCKS - 1), "topics": [TRANSFER_TOPIC]}  # fmt: skip
    sending = {"from": block["transactions"][0]["from"], "to": token, "data": block["transactions"][0]["input"]}  # fmt: skip
    requests = {
        "block-number": body("eth_blockNumber"),
        "balance": body("eth_getBalance", holder, "latest"),
        "call": body("eth_call", balance, "latest"),
        "receipt": body("eth_getTransactionReceipt", block["transactions"][0]["hash"]),
        "block-read": body("eth_getBlockByNumber", hex(whole), True),
        "logs": body("eth_getLogs", logs),
        "estimate": body("eth_estimateGas", sending),
        "fee-history": body("eth_feeHistory", hex(20), hex(head), [50]),
    }
    framing = Http(scene.server.endpoint)
    for item, request in requests.items():
        rows[item] = meter.repeat(framing, [request])
    pages = {
        "page-front": ["/"],
        "page-block": [f"/block/{number}" for number in range(whole - 20, whole)],
        "page-transaction": [f"/tx/{each['hash']}" for each in block["transactions"][:20]],
        "page-address": [f"/address/{account('recipient', place).text}" for place in range(16)],
        "page-token": [f"/token/{token}"],
    }
    for item, paths in pages.items():
        rows[item] = meter.repeat(Pages(scene.server.endpoint), [path.encode() for path in paths])


_STEPS: Mapping[str, Callable[[CostMeter, dict[str, Row]], None]] = {
    "idle": _idle,
    "transactions": _transactions,
    "subscribers": _subscribers,
    "reads and pages": _reads,
}


def _pages_of(meter: CostMeter, paths: Sequence[str]) -> None:
    framing = Pages(meter.server.endpoint)
    for path in paths:
        with closing(framing.connect()) as connection:
            _exchange(framing, connection, path.encode())


def _exchange(framing: Framing, connection: Any, request: bytes) -> tuple[int, bytes]:
    """Send a request; return the bytes of both directions, and the answer with its head."""
    sent = framing.frame(request)
    connection.sendall(sent)
    received = bytearray()
    while (size := framing.size(received)) == UNKNOWN or len(received) < size:
        received += connection.recv(READ)
    return len(sent) + size, bytes(received)


def _role(command: str) -> str | None:
    return next((role for word, role in _ROLES.items() if word in command), None)


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    sys.exit(main())
