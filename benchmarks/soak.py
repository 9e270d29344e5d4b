"""`make soak`: one node under mixed load for ten minutes, without loss, duplicates, delays or memory growth."""

import argparse
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from benchmarks.machine import allow_many_sockets, description
from benchmarks.node import NODE
from benchmarks.report import put_between
from benchmarks.scale import FULL
from benchmarks.scene import Scene
from benchmarks.server import Server, running
from benchmarks.soak_clients import Reader, SoakClient, SoakPayer, SoakSender, SoakTally, Visitor
from benchmarks.soak_subscribers import Notifications, subscribed
from benchmarks.soak_verdict import SentTransactions, SoakResult, markdown, passes

SENDERS = 2
EARLY = 60.0
"""Seconds after which memory growth counts, because the node's caches are full by then."""
POLL_SECONDS = 5.0
"""Seconds between two progress lines."""
AT_ONCE = 100
"""Blocks that are requested together."""
BEGIN, END = "<!-- soaked: begin -->", "<!-- soaked: end -->"


@dataclass(frozen=True, slots=True)
class Clients:
    """The clients of the node."""

    senders: Sequence[SoakSender]
    payer: SoakPayer
    others: Sequence[SoakClient]

    @property
    def all(self) -> list[SoakClient]:
        """All clients."""
        return [*self.senders, self.payer, *self.others]


def main() -> int:
    """Soak a node; return 1 if a bar is missed."""
    options = _parse()
    allow_many_sockets()
    signal.signal(signal.SIGTERM, lambda _signal, _frame: sys.exit(1))  # ends the node too
    machine = description([])
    with running(NODE) as server:
        soaked = soak(server, options.minutes * 60, options.subscribers)
    table = markdown(soaked, machine)
    print(table)
    if options.markdown:
        put_between(options.markdown, table, BEGIN, END)
    return 0 if passes(soaked) else 1


def soak(server: Server, seconds: float, subscribers: int) -> SoakResult:
    """Load a node for some seconds, and compare its chains with the transactions that were sent."""
    tally = SoakTally()
    scene = Scene(server, FULL)
    clients = prepared(scene, tally)
    head = scene.client.height()
    with ExitStack() as ending:
        listening = ending.enter_context(subscribed(server.endpoint, subscribers, head))
        began = time.perf_counter()
        for other in clients.all:
            other.start()
        early, late = _watch(server, tally, seconds)
        for item in clients.all:
            item.stop()
        lasted = time.perf_counter() - began
        last = scene.client.height()
        heard = listening.finish(last)
    return SoakResult(
        seconds=lasted,
        sent=[on_cchain(scene, tally, head, last), on_platform(clients.payer, tally)],
        subscribers=subscribers,
        blocks=last - head,
        lost=heard.lost,
        doubled=heard.doubled,
        delays=_delays(heard, tally),
        reads=sorted(tally.reads),
        pages=sorted(tally.pages),
        errors=tally.errors + Counter({"a subscriber's connection was ended": heard.closed}),
        memory_early=early,
        memory_late=late,
    )


def _parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=10, help="minutes of load (default: 10)")
    parser.add_argument(
        "--subscribers", type=int, default=1_000, help="subscribers to new heads (default: 1,000)"
    )
    parser.add_argument(
        "--markdown", type=Path, help=f"put the table into this file, between {BEGIN} and {END}"
    )
    return parser.parse_args()  # fmt: skip


def prepared(scene: Scene, tally: SoakTally) -> Clients:
    """Deploy the token and fund the senders. Later blocks contain only the clients' transactions."""
    scene.deploy()
    server, token = scene.server, scene.contract("Token")
    senders = [SoakSender(server, tally, place, token) for place in range(SENDERS)]
    scene.fund([sender.account for sender in senders])
    for item in senders:
        item.prepare()
    others = [Reader(server, tally, senders[0], token), Visitor(server, tally, senders[0], token)]
    return Clients(senders, SoakPayer(server, tally), others)


def _watch(server: Server, tally: SoakTally, seconds: float) -> tuple[int, int]:
    """Wait until the time is over; return the node's memory early and at the end."""
    began = time.perf_counter()
    early = min(EARLY, seconds / 2)
    _wait(server, tally, began, early)
    memory = server.memory()
    _wait(server, tally, began, seconds)
    return memory, server.memory()


def _wait(server: Server, tally: SoakTally, began: float, seconds: float) -> None:
    """Wait until some seconds have passed since `began`, and print progress."""
    while (left := began + seconds - time.perf_counter()) > 0:
        time.sleep(min(POLL_SECONDS, left))
        _say(server, tally, time.perf_counter() - began)


def _say(server: Server, tally: SoakTally, lasted: float) -> None:
    print(
        f"{lasted:4.0f} s: {len(tally.hashes):,} and {len(tally.issued):,} transactions, {len(tally.pages):,} pages,"
        f" {len(tally.reads):,} calls, {tally.errors.total():,} errors, {server.memory() / 2**20:.1f} MiB",
        file=sys.stderr,
        flush=True,
    )


def on_cchain(scene: Scene, tally: SoakTally, head: int, last: int) -> SentTransactions:
    """Look for the transactions in all blocks since the start."""
    found: Counter[str] = Counter()
    for first in range(head + 1, last + 1, AT_ONCE):
        wanted = [[hex(index), False] for index in range(first, min(first + AT_ONCE, last + 1))]
        for block in scene.client.call_many("eth_getBlockByNumber", wanted):
            found.update(block["transactions"])
    own = {block_hash: found[block_hash] for block_hash in tally.hashes if block_hash in found}
    return SentTransactions(
        "C-Chain", len(tally.hashes), Counter(own), found.total() - sum(own.values())
    )


def on_platform(payer: SoakPayer, tally: SoakTally) -> SentTransactions:
    """Check the transactions' status, and that the recipients received only their payments."""
    committed = payer.committed()
    found = Counter({str(place): 1 for place in range(committed)})
    return SentTransactions("P-Chain", len(tally.issued), found, payer.paid() - committed)


def _delays(heard: Notifications, tally: SoakTally) -> list[float]:
    """Return the sorted delays of notifications, from the sending of the block's first transaction."""
    return sorted(
        at - tally.sent_at[number]
        for number, times in heard.times.items()
        if number in tally.sent_at
        for at in times
    )


if __name__ == "__main__":
    sys.exit(main())
