"""A producer and a follower: time from commit to commit, and health, metrics and `info` requests."""

import json
import random
import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from benchmarks.coins import FEE, Tx, owner, transfer
from benchmarks.commits import HeadWatch, watching
from benchmarks.generator import send_streams
from benchmarks.network_nodes import data_directory, joiner
from benchmarks.node import NODE
from benchmarks.platform_rpc import issue, issuing, take
from benchmarks.rpc import Client, WrongAnswer, body, named
from benchmarks.scale import Scale
from benchmarks.scene import ALLOWANCE, FUNDER, Scene
from benchmarks.server import Kind, Server, running
from benchmarks.signing import account, sign
from benchmarks.wire import Endpoint, Http, Pages
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_read import CONNECTIONS, Check, beside_anvil, repeat, run_loop

SENDERS = 32
SINGLES = 200
"""Transactions prepared for each sender under load; enough for 1,600 a second."""
AMOUNT = 2 * FEE
SETTLE = 0.5
"""Seconds after the last answer in which the producer may still build blocks."""
PATIENCE = 60.0
"""Seconds for the follower to reach the producer's head."""
POLL_SECONDS = 0.001
PAUSES = (0.01, 0.05)
"""Range of seconds between two single blocks; varied, so that they match no periodic work of the nodes."""

INFO = "/ext/info"


def alone(_scale: Scale) -> Kind:
    """Return a new node that produces the blocks of its network."""
    return NODE


def prepare(scene: Scene) -> None:
    """Let another node join, and wait until it follows."""
    follower = scene.ending.enter_context(running(joiner(scene.server)))
    scene.facts["follower"] = follower
    deadline = time.perf_counter() + PATIENCE
    questions = [named("info.isBootstrapped", chain=chain) for chain in "PC"]
    with closing(Client(Http(_at(follower, INFO)))) as info:
        while not all(info.ask(question)["result"]["isBootstrapped"] for question in questions):
            if time.perf_counter() > deadline:
                raise WrongAnswer(f"the follower does not follow after {PATIENCE:.0f} s")
            time.sleep(0.1)
    scene.facts["heads"] = [
        scene.ending.enter_context(closing(HeadWatch(data_directory(node))))
        for node in (scene.server, follower)
    ]


def _cchain(scene: Scene) -> Measurement:
    """Have the producer build blocks of one transaction, one after the other."""

    def act() -> None:
        for _ in range(scene.scale.latencies):
            scene.from_funder(FUNDER.address, value=1)
            _await_follower(scene, "C")
            time.sleep(random.uniform(*PAUSES))

    return _ways(scene, "C", act)


def _platform(scene: Scene) -> Measurement:
    platform = _on_platform(scene)
    txs = _payments(platform, "followed", scene.scale.latencies)

    def act() -> None:
        for tx in txs:
            issue(platform, tx)
            _await_follower(scene, "P")
            time.sleep(random.uniform(*PAUSES))

    return _ways(scene, "P", act)


def _busy_cchain(scene: Scene) -> Measurement:
    senders = [account("busy", number) for number in range(SENDERS)]
    for sender in senders:
        scene.from_funder(sender.address, value=ALLOWANCE)
    streams = [
        [
            body("eth_sendRawTransaction", sign(item, nonce, FUNDER.address, value=1))
            for nonce in range(SINGLES)
        ]
        for item in senders
    ]
    return _under_load(scene, "C", scene, streams)


def _busy_platform(scene: Scene) -> Measurement:
    platform = _on_platform(scene)
    bodies = [issuing(tx) for tx in _payments(platform, "busy", SENDERS * SINGLES)]
    streams = [bodies[place::SENDERS] for place in range(SENDERS)]
    return _under_load(scene, "P", platform, streams)


def _under_load(
    scene: Scene, chain: str, asked: Scene, streams: Sequence[Sequence[bytes]]
) -> Measurement:
    """Send as fast as the producer answers, and wait until the follower has the same head."""
    _await_follower(scene, chain)
    rates: list[float] = []

    def act() -> None:
        sent = send_streams(asked.http, streams, scene.scale.send_seconds)
        if sent.failures:
            raise WrongAnswer(sent.failures[0].decode(errors="replace"))
        rates.append(sum(sent.answered) / (sent.ended - sent.started))
        time.sleep(SETTLE)
        _await_follower(scene, chain)

    ways = _ways(scene, chain, act)
    return replace(ways, note=f"{ways.note}; the producer took {rates[0]:,.0f} tx/s")


def _ways(scene: Scene, chain: str, act: Callable[[], None]) -> Measurement:
    """Return the time from commit to commit of the blocks that are built while `act` runs."""
    nodes = (scene.server, scene.facts["follower"])
    with watching([data_directory(node) for node in nodes]) as watch:
        act()
    here, there = (watch.growth[place, chain] for place in range(len(nodes)))
    # The first observed heights are those at the start of the watch, so they do not count.
    seconds = [
        there.reached(height) - here.reached(height)
        for height in range(here.heights[0] + 1, here.head + 1)
    ]
    cuts = statistics.quantiles(seconds, n=100, method="inclusive")
    note = f"p95 {cuts[94] * 1e3:.1f} ms, {len(seconds):,} blocks"
    return Measurement(cuts[49] * 1e3, cuts[49], cuts[98], note=note)


def _await_follower(scene: Scene, chain: str) -> None:
    """Wait until the follower has the producer's head."""
    here, there = scene.facts["heads"]
    deadline = time.perf_counter() + PATIENCE
    while there.read()[chain] < here.read()[chain]:
        if time.perf_counter() > deadline:
            raise WrongAnswer(f"the follower is behind after {PATIENCE:.0f} s: {there.read()}")
        time.sleep(POLL_SECONDS)


def _on_platform(scene: Scene) -> Scene:
    """Return a scene of the same node for its P-Chain."""
    return Scene(replace(scene.server, endpoint=_at(scene.server, "/ext/P")), scene.scale)


def _payments(platform: Scene, purpose: str, count: int) -> list[Tx]:
    """Sign payments from independent coins."""
    sender, taker = owner(purpose), owner(purpose, 1)
    return [
        transfer(coin, sender, [(taker.short_id, FEE)])
        for coin in take(platform, sender, AMOUNT, count)
    ]


def _health(scene: Scene) -> Measurement:
    return _page(scene, "/ext/health", lambda page: json.loads(page)["healthy"])


def _liveness(scene: Scene) -> Measurement:
    return _page(scene, "/ext/health/liveness", lambda page: json.loads(page)["healthy"])


def _metrics(scene: Scene) -> Measurement:
    # Sequential, like a scraper: of many concurrent requests most would be refused, which takes no time.
    return _page(scene, "/ext/metrics", lambda page: b"\nsvc_network_peers 1" in page, 1)


def _node_id(scene: Scene) -> Measurement:
    return _ask(scene, "info.getNodeID", lambda result: result["nodeID"].startswith("NodeID-"))


def _peers(scene: Scene) -> Measurement:
    return _ask(scene, "info.peers", lambda result: result["numPeers"] == "1")


def _page(
    scene: Scene, path: str, check: Callable[[bytes], bool], connections: int = CONNECTIONS
) -> Measurement:
    pages = Pages(scene.server.endpoint)
    with closing(Client(pages)) as client:
        page = client.ask_raw(path.encode())
    if not check(page):
        raise WrongAnswer(page.decode()[:200])
    return run_loop(scene, pages, [path.encode()], connections, scene.scale.pace)


def _ask(scene: Scene, method: str, check: Check) -> Measurement:
    info = Scene(replace(scene.server, endpoint=_at(scene.server, INFO)), scene.scale)
    return repeat(info, [named(method)], check)


def _at(server: Server, path: str) -> Endpoint:
    """Return a node's endpoint for other methods."""
    return replace(server.endpoint, http_path=path)


def _way(name: str, title: str, measure: Callable[[Scene], Measurement]) -> Workload:
    return Workload(name, title, "ms", measure, None, Bar(100), Better.LESS)


WAYS = (
    _way("follow", "C-Chain block, commit to a follower's, p50, idle", _cchain),
    _way("follow-platform", "P-Chain block, commit to a follower's, p50, idle", _platform),
    _way(
        "follow-load",
        "C-Chain block, commit to a follower's, p50, 32 connections send",
        _busy_cchain,
    ),
    _way(
        "follow-platform-load",
        "P-Chain block, commit to a follower's, p50, 32 connections send",
        _busy_platform,
    ),
)
PAGES = tuple(
    Workload(name, title, "req/s", measure, None, goal)
    for name, title, measure, goal in (
        ("health", "GET /ext/health, 16", _health, beside_anvil(12_000)),
        ("liveness", "GET /ext/health/liveness, 16", _liveness, None),
        ("metrics", "GET /ext/metrics, 1", _metrics, None),
        ("node-id", "info.getNodeID, 16", _node_id, beside_anvil(20_000)),
        ("peers", "info.peers, one peer, 16", _peers, None),
    )
)
