"""Call search and explorer pages on a chain with a history. This node alone: peers have neither."""

import re
import time
from collections.abc import Callable
from dataclasses import replace
from statistics import median

from benchmarks import node
from benchmarks.growth import grow_accounts, grow_blocks
from benchmarks.growth import prepare as prepare_growth
from benchmarks.rpc import WrongAnswer, body, page
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.signing import account
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_read import repeat

CATCH_UP = 120.0
"""Seconds that the call index has to reach the head."""
VIEWS = 40
"""Number of times that a page is fetched."""
WARM_UP = 5
"""Number of first fetches that do not count."""
INDEXED = re.compile(r"^svc_cchain_calls_height (\S+)$", re.MULTILINE)


def alone(_: Scale) -> Kind:
    """Return the node without cached traces, so that it traces a match again for each request."""
    return node.NODE_WITHOUT_KEPT_TRACES


def prepare(scene: Scene) -> None:
    """Grow the chain by blocks and accounts."""
    scene.deploy()
    prepare_growth(scene)
    grow_blocks(scene)
    grow_accounts(scene)


def _trace_filter(scene: Scene) -> Measurement:
    """Find the call that funded the account that moves the tokens: one call among thousands."""
    query = {
        "fromBlock": "0x0",
        "toBlock": hex(grow_blocks(scene).reached),
        "toAddress": [account("filler").text],
    }
    _await_index(scene)
    question = body("trace_filter", query)
    found = repeat(scene, [question], lambda result: len(result) == 1, connections=1)
    return replace(found, value=1e3 / found.value, note=grow_blocks(scene).note)


def _await_index(scene: Scene) -> None:
    """Wait until the calls of all blocks are indexed; until then blocks would be executed to find them.

    Raises:
        WrongAnswer: They are not indexed in time.
    """
    height, deadline = scene.client.height(), time.monotonic() + CATCH_UP
    while (reached := _indexed_height(scene)) < height:
        if time.monotonic() > deadline:
            raise WrongAnswer(f"calls are rows up to {reached} of {height} after {CATCH_UP:.0f} s")
        time.sleep(0.5)


def _indexed_height(scene: Scene) -> int:
    found = INDEXED.search(page(scene.server.endpoint, "/ext/metrics"))
    return int(float(found[1])) if found else -1


def _page(path: Callable[[Scene], str]) -> Callable[[Scene], Measurement]:
    """Return a function that measures an explorer page, with one reader and a connection for each page."""

    def measure(scene: Scene) -> Measurement:
        note = grow_blocks(scene).note
        where = path(scene)
        times = []
        for _ in range(VIEWS):
            began = time.perf_counter()
            text = page(scene.server.endpoint, where)
            times.append(time.perf_counter() - began)
            if "</html>" not in text:
                raise WrongAnswer(f"{where} is not a page: {text[:100]}")
        return Measurement(1e3 * median(times[WARM_UP:]), note=note)

    return measure


def _busy_address(_: Scene) -> str:
    return f"/address/{account('filler').text}"


def _last_transaction(scene: Scene) -> str:
    block = scene.client.call("eth_getBlockByNumber", hex(grow_blocks(scene).reached), False)
    return f"/tx/{block['transactions'][0]}"


def _pages() -> tuple[Workload, ...]:
    rows: tuple[tuple[str, str, Callable[[Scene], str]], ...] = (
        ("explorer-front", "explorer: front page, median", lambda _: "/"),
        ("explorer-blocks", "explorer: list of blocks, median", lambda _: "/blocks"),
        ("explorer-transaction", "explorer: transaction, median", _last_transaction),
        ("explorer-address", "explorer: address with thousands of transactions, median", _busy_address),
        ("explorer-validators", "explorer: validators, median", lambda _: "/p/validators"),
    )  # fmt: skip
    return tuple(
        Workload(name, title, "ms", _page(path), None, Bar(100), Better.LESS)
        for name, title, path in rows
    )


HISTORY = (
    Workload(
        "trace-filter",
        "trace_filter over 5,000 blocks, one match, 1",
        "ms",
        _trace_filter,
        None,
        Bar(20),
        Better.LESS,
    ),
    *_pages(),
)
