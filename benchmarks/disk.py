"""`python -m benchmarks.disk`: measures disk growth by cause, and prints the table of docs/operations.md.

Each cause has its own data directory. The sizes of its tables with their indexes (from SQLite's dbstat)
are compared with those of an idle node.
"""

import sqlite3
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

from benchmarks import texts
from benchmarks.coins import owner, transfer
from benchmarks.node import DATA_DIR, NODE, run_command, seed
from benchmarks.rpc import Client
from benchmarks.scale import QUICK
from benchmarks.scene import FUNDER, Scene
from benchmarks.server import running
from benchmarks.signing import contract_address, hash_of, sign
from benchmarks.wire import Http
from benchmarks.workloads_exchange import ServedChains, X, take_on_x
from benchmarks.workloads_platform_write import AMOUNT, PAID

BLOCKS = 2_000
TRANSFERS = (100, 30)
"""Blocks, and transactions in each."""
PAYMENTS = (400, 5)
LOGS = 3_000
X_TRANSFERS = 1_000
AT_ONCE = 30
"""Transactions that are sent together; a block contains about as many."""
SECONDS = 120.0
"""Seconds to wait until the calls are indexed."""

LOGGER = bytes.fromhex("60016000355543335560003533600160206000a300")
"""Code with the effects of a token transfer: a new slot, a changed slot, a log of three topics and 32 bytes."""
CREATION = bytes.fromhex(f"60{len(LOGGER):02x}80600b6000396000f3") + LOGGER

_SIZES = """
SELECT schema.tbl_name, sum(stat.pgsize) FROM dbstat AS stat
JOIN sqlite_schema AS schema ON schema.name = stat.name GROUP BY schema.tbl_name
"""


class DatabaseGrowth(NamedTuple):
    """The growth of a database by one cause."""

    what: str
    count: int
    bytes: dict[str, int]
    """Bytes by table, including its indexes."""


def main() -> int:
    """Measure all causes of growth and print them."""
    nothing, measured = causes()
    print("| What | Each | Of that |\n|---|---|---|")
    for growth in measured:
        print(_row(growth, nothing))
    print(_row(*_on_x()))
    return 0


def causes() -> tuple[dict[str, int], list[DatabaseGrowth]]:
    """Return the sizes of an idle node's tables, and the growth by each cause."""
    with tempfile.TemporaryDirectory(prefix="disk-") as name:
        directory = Path(name)
        run_command("init_node", **_settings(directory / "nothing"))
        nothing = sizes(directory / "nothing")
        measured = [DatabaseGrowth(*found) for found in _seeded(directory)]
        measured.append(_with_logs())
    return nothing, measured


def per_item(
    growth: DatabaseGrowth, nothing: dict[str, int], without: Collection[str] = ()
) -> float:
    """Return the bytes of an item in all tables, or without some tables."""
    grown = sum(
        size - nothing.get(table, 0) for table, size in growth.bytes.items() if table not in without
    )
    return grown / growth.count


def sizes(directory: Path) -> dict[str, int]:
    """Return the bytes of each table of a data directory."""
    with closing(sqlite3.connect(f"file:{directory / 'node.sqlite3'}?mode=ro", uri=True)) as found:
        return dict(found.execute(_SIZES).fetchall())


def _settings(directory: Path) -> dict[str, str]:
    return {DATA_DIR: str(directory), "NODE_MINING": "manual"}


def _seeded(directory: Path) -> Iterator[tuple[str, int, dict[str, int]]]:
    none = {"empty": 0, "light": 0, "transfers": 1, "platform": 0, "payments": 1}
    blocks, transfers = TRANSFERS
    heights, payments = PAYMENTS
    shapes: tuple[tuple[str, int, dict[str, int]], ...] = (
        ("block of the C-Chain without transactions", BLOCKS, {"empty": BLOCKS}),
        (
            f"transfer on the C-Chain, {transfers} in a block",
            blocks * transfers,
            {"light": blocks, "transfers": transfers},
        ),
        (
            f"payment on the P-Chain, {payments} in a block",
            heights * payments,
            {"platform": heights, "payments": payments},
        ),
    )
    for place, (what, count, shape) in enumerate(shapes):
        own = directory / str(place)
        seed("history", {**none, **shape}, _settings(own))
        yield what, count, sizes(own)


def _with_logs() -> DatabaseGrowth:
    """Send transactions that store and log to a running node, and wait until their calls are indexed."""
    with running(NODE) as server, closing(Client(Http(server.endpoint))) as client:
        client.mine(sign(FUNDER, 0, None, data=CREATION, gas=200_000))
        contract = contract_address(FUNDER.address, 0)
        for first in range(1, LOGS + 1, AT_ONCE):
            raws = [
                sign(FUNDER, nonce, contract, data=nonce.to_bytes(32, "big"), gas=100_000)
                for nonce in range(first, first + AT_ONCE)
            ]
            client.call_many("eth_sendRawTransaction", [[raw] for raw in raws])
            client.receipt(hash_of(raws[-1]))
        directory = Path(server.environment[DATA_DIR])
        _wait(lambda: _calls(directory) > LOGS)
        return DatabaseGrowth(
            "transaction that stores and logs as a token's transfer", LOGS, sizes(directory)
        )


def _on_x() -> tuple[DatabaseGrowth, dict[str, int]]:
    """Send transfers with change on the X-Chain of a running node; return also the sizes before them."""
    with running(NODE) as server:
        scene = Scene(server, QUICK)
        with scene.ending:
            chains, sender, recipient = ServedChains(scene), owner("sender"), owner("recipient")
            coins = take_on_x(chains, sender, AMOUNT, X_TRANSFERS)
            directory = Path(server.environment[DATA_DIR])
            before = sizes(directory)
            txs = [transfer(coin, sender, [(recipient.short_id, PAID)], chains.x) for coin in coins]
            for tx in txs:
                raw = texts.hexed(tx.raw)
                chains.clients[X].call_named("avm.issueTx", tx=raw, encoding="hex")
            for tx in txs:
                chains.await_accepted(X, tx)
            what = "transfer on the X-Chain"
            return DatabaseGrowth(what, X_TRANSFERS, sizes(directory)), before


def _calls(directory: Path) -> int:
    with closing(sqlite3.connect(f"file:{directory / 'node.sqlite3'}?mode=ro", uri=True)) as found:
        return int(found.execute("SELECT count(*) FROM cchain_app_call").fetchone()[0])


def _wait(done: Callable[[], bool]) -> None:
    deadline = time.monotonic() + SECONDS
    while not done():
        if time.monotonic() > deadline:
            raise SystemExit("calls did not become rows in time")
        time.sleep(0.2)


def _row(growth: DatabaseGrowth, nothing: dict[str, int]) -> str:
    each = per_item(growth, nothing)
    grown = Counter(growth.bytes)
    grown.subtract(nothing)
    parts = [
        f"{table.partition('_app_')[2] or table} {size / growth.count:,.0f}"
        for table, size in grown.most_common()
        if size / growth.count > each / 50
    ]
    return f"| {growth.what} | {each:,.0f} B | {', '.join(parts)} |"


if __name__ == "__main__":
    sys.exit(main())
