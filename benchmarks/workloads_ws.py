"""WebSocket: calls over sixteen sockets, and a new head on its way to a thousand subscribers."""

import json
import socket
import statistics
import time
from collections.abc import Sequence

from benchmarks.exchanges import exchange, wait_for_all
from benchmarks.rpc import NotMined, RpcFailed, body
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, hash_of, sign
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_read import CONNECTIONS, run_loop

PATIENCE = 5.0
"""Seconds that a head may take to the last subscriber."""


def _block_number(scene: Scene) -> Measurement:
    question = body("eth_blockNumber")
    connection = scene.ws.connect()
    answer = json.loads(exchange(scene.ws, connection, question))
    connection.close()
    if "result" not in answer:
        raise RpcFailed(str(answer))
    return run_loop(scene, scene.ws, [question], CONNECTIONS, scene.scale.pace)


def _new_heads(scene: Scene) -> Measurement:
    """Time from sending a transaction until the last subscriber holds the block's header."""
    sender = account("herald")
    scene.fund([sender])
    raws = [sign(sender, nonce, FUNDER.address, value=1) for nonce in range(scene.scale.rounds)]
    sockets = [scene.ws.connect() for _ in range(scene.scale.subscribers)]
    try:
        for connection in sockets:
            answer = exchange(scene.ws, connection, body("eth_subscribe", "newHeads"))
            if b'"result"' not in answer:
                raise RpcFailed(answer.decode())
        return _announce(scene, raws, sockets)
    finally:
        for connection in sockets:
            connection.close()


def _announce(scene: Scene, raws: Sequence[str], sockets: Sequence[socket.socket]) -> Measurement:
    times = []
    for raw in raws:
        started = time.perf_counter()
        scene.client.call("eth_sendRawTransaction", raw)
        if not wait_for_all(scene.ws, sockets, PATIENCE):
            raise NotMined(f"a subscriber did not see the head of {hash_of(raw)}")
        times.append(time.perf_counter() - started)
        time.sleep(0.05)  # what the server does after a head is not part of the next one
    return Measurement(statistics.median(times) * 1e3, statistics.median(times), max(times))


BLOCK_NUMBER = Workload(
    "ws-block-number",
    "ws eth_blockNumber, 16",
    "req/s",
    _block_number,
    Bar(13_000),
    Bar(33_000),
)
NEW_HEADS = Workload(
    "new-heads",
    "newHeads, 1,000 subscribers, send to last",
    "ms",
    _new_heads,
    Bar(60),
    Bar(23),
    Better.LESS,
)
