"""P-Chain calls for set-up and checks of the workloads: coins, transactions, their status."""

import time
from collections.abc import Sequence

from benchmarks import texts
from benchmarks.coins import RICH, Coin, Owner, Tx, coins_of, largest, read_coin, split
from benchmarks.rpc import NotMined, WrongAnswer, named
from benchmarks.scene import Scene

PATIENCE = 60.0
"""Seconds after which an accepted transaction counts as lost."""
PAUSE = 0.0003
"""Seconds between two status requests for a transaction."""


def issuing(tx: Tx) -> bytes:
    """Return the call that issues a transaction, as SDKs make it."""
    return named("platform.issueTx", tx=texts.hexed(tx.raw), encoding="hex")


def issue(scene: Scene, tx: Tx) -> None:
    """Issue a transaction and wait until it is in a block.

    Raises:
        RpcFailed: The node refused the transaction.
        WrongAnswer: The transaction was dropped.
        NotMined: It was neither accepted nor dropped in time.
    """
    scene.client.call_named("platform.issueTx", tx=texts.hexed(tx.raw), encoding="hex")
    await_committed(scene, tx)


def await_committed(scene: Scene, tx: Tx) -> None:
    """Request the status of a transaction until it is Committed. Raises as `issue`."""
    question = named("platform.getTxStatus", txID=texts.cb58(tx.tx_id))
    deadline = time.perf_counter() + PATIENCE
    while time.perf_counter() < deadline:
        answer = scene.client.ask(question)["result"]
        if answer["status"] == "Committed":
            return
        if answer["status"] != "Processing":
            raise WrongAnswer(str(answer))
        time.sleep(PAUSE)
    raise NotMined(f"{texts.cb58(tx.tx_id)} is not in a block after {PATIENCE:.0f} s")


def take(scene: Scene, taker: Owner, amount: int, count: int) -> list[Coin]:
    """Send outputs of some amount from the network's rich owner to another owner. Raises as `issue`."""
    found = scene.client.call_named("platform.getUTXOs", addresses=[RICH.text])
    coins = [read_coin(texts.unhexed(text)) for text in found["utxos"]]
    txs = split(largest(filter(None, coins)), RICH, [(taker.short_id, amount)] * count)
    for tx in txs:
        issue(scene, tx)
    return [coin for tx in txs for coin in coins_of(tx, taker)]


def height(scene: Scene) -> int:
    """Return the height of the last accepted block."""
    return int(scene.client.call_named("platform.getHeight")["height"])


def balance(scene: Scene, owners: Sequence[Owner]) -> int:
    """Return the total balance of the owners."""
    addresses = [owner.text for owner in owners]
    return int(scene.client.call_named("platform.getBalance", addresses=addresses)["balance"])
