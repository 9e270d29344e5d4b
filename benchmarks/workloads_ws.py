"""WebSocket: calls over sixteen sockets and over one, new heads for subscribers, a thousand logs for one."""

import json
import socket
import statistics
import time
from collections.abc import Sequence
from contextlib import closing

from benchmarks.contracts import TRANSFER_TOPIC, call_data
from benchmarks.exchanges import exchange, receive_many, wait_for_all
from benchmarks.rpc import NotMined, RpcFailed, WrongAnswer, body
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, hash_of, sign
from benchmarks.workload import AS_EMBEDDED, Bar, Better, Measurement, Workload
from benchmarks.workloads_read import ANVIL, CONNECTIONS, balance_of, run_loop

PATIENCE = 5.0
"""Maximum seconds until the last subscriber has a head, or a block's logs."""
NOTIFIED = 1_000
"""Logs of the block for one subscriber."""
EMITTING_GAS = 3_000_000
"""Gas for all of them in one transaction: about 2,000 each."""
IN_FLIGHT = 64
"""Requests in flight on one socket."""
FEW, MORE = 10, 200
"""Subscribers of the rows with less than the usual number."""
REST = 0.05
"""Seconds between two blocks, so that a server's work after one block does not affect the next."""


def _block_number(scene: Scene) -> Measurement:
    return _repeat(scene, body("eth_blockNumber"), CONNECTIONS, 1)


def _numbers_in_flight(scene: Scene) -> Measurement:
    return _repeat(scene, body("eth_blockNumber"), 1, IN_FLIGHT)


def _calls_in_flight(scene: Scene) -> Measurement:
    return _repeat(scene, balance_of(scene), 1, IN_FLIGHT)


def _repeat(scene: Scene, question: bytes, connections: int, in_flight: int) -> Measurement:
    """Check one answer, then repeat the request at full speed."""
    connection = scene.ws.connect()
    answer = json.loads(exchange(scene.ws, connection, question))
    connection.close()
    if "result" not in answer:
        raise RpcFailed(str(answer))
    pace = scene.scale.pace
    return run_loop(scene, scene.ws, [question], connections, pace, in_flight=in_flight)


def _new_heads(scene: Scene) -> Measurement:
    return _heads_for(scene, scene.scale.subscribers)


def _heads_for_few(scene: Scene) -> Measurement:
    return _heads_for(scene, FEW)


def _heads_for_more(scene: Scene) -> Measurement:
    return _heads_for(scene, MORE)


def _heads_for(scene: Scene, subscribers: int) -> Measurement:
    """Time from sending a transaction until the last subscriber has the block's header."""
    sender = account("herald", subscribers)
    scene.fund([sender])
    raws = [sign(sender, nonce, FUNDER.address, value=1) for nonce in range(scene.scale.rounds)]
    sockets = [scene.ws.connect() for _ in range(subscribers)]
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
        time.sleep(REST)
    return Measurement(statistics.median(times) * 1e3, statistics.median(times), max(times))


def _logs(scene: Scene) -> Measurement:
    """Time from sending a transaction until its subscriber has the thousand logs of its block."""
    sender = account("emitting")
    scene.fund([sender])
    emitter = scene.contract("Emitter")
    data = call_data("emitLogs(uint256)", NOTIFIED)
    raws = [
        sign(sender, nonce, emitter, data=data, gas=EMITTING_GAS)
        for nonce in range(1 + scene.scale.rounds)
    ]
    wanted = {"address": "0x" + emitter.hex(), "topics": [TRANSFER_TOPIC]}
    with closing(scene.ws.connect()) as connection:
        answer = exchange(scene.ws, connection, body("eth_subscribe", "logs", wanted))
        if b'"result"' not in answer:
            raise RpcFailed(answer.decode())
        # The first block is a check and a warm-up.
        times = [_notify(scene, raw, connection) for raw in raws][1:]
    return Measurement(statistics.median(times) * 1e3, statistics.median(times), max(times))


def _notify(scene: Scene, raw: str, connection: socket.socket) -> float:
    """Return the seconds from sending a transaction to the last of its logs, which are then checked.

    Raises:
        NotMined: Some logs did not arrive.
        WrongAnswer: They are not its logs, each once and in order.
    """
    started = time.perf_counter()
    scene.client.call("eth_sendRawTransaction", raw)
    messages = receive_many(scene.ws, connection, NOTIFIED, PATIENCE)
    seconds = time.perf_counter() - started
    if len(messages) < NOTIFIED:
        raise NotMined(f"{len(messages)} of {NOTIFIED} logs came of {hash_of(raw)}")
    check_logs([json.loads(message)["params"]["result"] for message in messages], hash_of(raw))
    time.sleep(REST)
    return seconds


def check_logs(logs: Sequence[dict[str, str]], transaction_hash: str) -> None:
    """Check that logs are those of one transaction, each once and in order.

    Raises:
        WrongAnswer: They are not.
    """
    indexes = [int(log["logIndex"], 16) for log in logs]
    if indexes != list(range(NOTIFIED)):
        raise WrongAnswer(f"{len(indexes)} logs came, with the numbers {indexes[:10]} …")
    hashes = {log["transactionHash"] for log in logs}
    if hashes != {transaction_hash}:
        raise WrongAnswer(f"logs of {hashes} came in place of {transaction_hash}'s")


BLOCK_NUMBER = Workload(
    "ws-block-number",
    "ws eth_blockNumber, 16",
    "req/s",
    _block_number,
    Bar(13_000),
    Bar(33_000),
    production=AS_EMBEDDED,
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
FEW_HEADS = Workload(
    "new-heads-few",
    f"newHeads, {FEW} subscribers, send to last",
    "ms",
    _heads_for_few,
    None,
    ANVIL,
    Better.LESS,
)
MORE_HEADS = Workload(
    "new-heads-more",
    f"newHeads, {MORE} subscribers, send to last",
    "ms",
    _heads_for_more,
    None,
    ANVIL,
    Better.LESS,
)
NUMBERS_IN_FLIGHT = Workload(
    "ws-in-flight",
    f"ws eth_blockNumber, one socket, {IN_FLIGHT} in flight",
    "req/s",
    _numbers_in_flight,
    None,
    Bar(peers=("anvil",), times=1.2),
)
CALLS_IN_FLIGHT = Workload(
    "ws-calls-in-flight",
    f"ws eth_call balanceOf, one socket, {IN_FLIGHT} in flight",
    "req/s",
    _calls_in_flight,
    None,
    Bar(peers=("anvil",), times=1.2),
)
LOGS = Workload(
    "log-notifications",
    "1,000 logs of a block, one subscriber, send to last",
    "ms",
    _logs,
    None,
    Bar(peers=("anvil",)),
    Better.LESS,
)
