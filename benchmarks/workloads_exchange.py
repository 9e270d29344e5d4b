"""Coins that move between the P-Chain and the C-Chain, and the X-Chain: its transfers, balances and pages of outputs."""

import statistics
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace

from benchmarks import texts
from benchmarks.atomic_coins import AtomicChain
from benchmarks.coins import (
    COIN,
    PLATFORM,
    RICH,
    Coin,
    Owner,
    Tx,
    UtxoChain,
    coins_of,
    export,
    import_coin,
    largest,
    owner,
    read_coin,
    split,
    transfer,
)
from benchmarks.generator import send_streams
from benchmarks.node import NODE
from benchmarks.platform_rpc import PATIENCE, PAUSE, take
from benchmarks.rpc import Client, NotMined, WrongAnswer, named
from benchmarks.scale import Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.signing import account_of
from benchmarks.wire import Http
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_platform_write import AMOUNT, PAID, RECIPIENTS, SENDERS, SINGLES
from benchmarks.workloads_read import repeat

P, X, C, INFO = "/ext/bc/P", "/ext/bc/X", "/ext/bc/C/avax", "/ext/info"
MOVED = 100 * COIN
"""Units of each coin that moves."""
COINS = 10_000
"""Outputs of the address whose balance is read, as on the P-Chain."""
PAGE = 1024
BACK = 5 * COIN
"""Units that each transfer from the C-Chain moves: with the fee, less than the tenth of a coin that its account has for each."""
_STATUS = {
    P: ("platform.issueTx", "platform.getTxStatus", "Committed"),
    X: ("avm.issueTx", "avm.getTxStatus", "Accepted"),
    C: ("avax.issueTx", "avax.getAtomicTxStatus", "Accepted"),
}
"""The methods that issue a transaction and return its status, and the status of an accepted one."""


class ServedChains:
    """The chains of a server."""

    def __init__(self, scene: Scene) -> None:
        endpoint = scene.server.endpoint
        self._framings = {path: Http(replace(endpoint, http_path=path)) for path in (P, X, C, INFO)}
        self.clients = {
            path: scene.ending.enter_context(closing(Client(framing)))
            for path, framing in self._framings.items()
        }
        ids = [
            texts.uncb58(
                self.clients[INFO].call_named("info.getBlockchainID", alias=alias)["blockchainID"],
                32,
            )
            for alias in "XC"
        ]
        found = self.clients[X].call_named("avm.getAssetDescription", assetID="AVAX")
        self.x = UtxoChain(ids[0], base_tx=0, import_tx=3, export_tx=4)
        self.c = AtomicChain(ids[1], texts.uncb58(found["assetID"], 32))

    def framing(self, path: str) -> Http:
        """Return the framing of calls of a chain."""
        return self._framings[path]

    def accept(self, path: str, tx: Tx) -> None:
        """Issue a transaction and request its status until it is accepted.

        Raises:
            RpcFailed: The node refused the transaction.
            NotMined: It was not accepted in time.
        """
        self.clients[path].call_named(_STATUS[path][0], tx=texts.hexed(tx.raw), encoding="hex")
        self.await_accepted(path, tx)

    def await_accepted(self, path: str, tx: Tx) -> None:
        """Request the status of a transaction until it is accepted. Raises as `accept`."""
        _, method, accepted = _STATUS[path]
        question = named(method, txID=texts.cb58(tx.tx_id))
        deadline = time.perf_counter() + PATIENCE
        while time.perf_counter() < deadline:
            if self.clients[path].ask(question)["result"]["status"] == accepted:
                return
            time.sleep(PAUSE)
        raise NotMined(f"{texts.cb58(tx.tx_id)} is not in a block after {PATIENCE:.0f} s")


def fresh(_scale: Scale) -> Kind:
    """Return a new node."""
    return replace(NODE, http_path=P, probe="platform.getHeight")


def prepare_moves(scene: Scene) -> None:
    """Give an owner coins on the P-Chain, and coins of its account on the C-Chain."""
    chains, count = ServedChains(scene), scene.scale.latencies
    sender, account = _mover()
    first, *coins = take(scene, sender, MOVED * max(1, count // 10), 1) + take(
        scene, sender, MOVED, count
    )
    there = export(first, sender, PLATFORM, chains.c.chain_id)
    chains.accept(P, there)
    (arrived,) = coins_of(there, sender)
    chains.accept(C, chains.c.import_coin(arrived, sender, PLATFORM.chain_id, account))
    scene.facts |= {"chains": chains, "coins": coins}


def prepare_x_coins(scene: Scene) -> None:
    """Give the senders an output on the X-Chain for each of their transfers."""
    chains = ServedChains(scene)
    sender = owner("platform sender")
    scene.facts |= {
        "chains": chains,
        "coins": take_on_x(chains, sender, AMOUNT, SENDERS * SINGLES),
    }


def prepare_x_reads(scene: Scene) -> None:
    """Give one address many outputs on the X-Chain."""
    chains = ServedChains(scene)
    take_on_x(chains, owner("holder"), COIN, COINS)
    scene.client = chains.clients[X]
    scene.facts["chains"] = chains


def _to_c(scene: Scene) -> Measurement:
    """Export a coin and import it, and wait until each is accepted; repeat this."""
    chains: ServedChains = scene.facts["chains"]
    sender, account = _mover()
    pairs = []
    for coin in scene.facts["coins"][: scene.scale.latencies]:
        there = export(coin, sender, PLATFORM, chains.c.chain_id)
        (arrived,) = coins_of(there, sender)
        pairs.append((there, chains.c.import_coin(arrived, sender, PLATFORM.chain_id, account)))
    return _timed(pairs, lambda tx: chains.accept(P, tx), lambda tx: chains.accept(C, tx))


def _to_p(scene: Scene) -> Measurement:
    """The same, in the other direction."""
    chains: ServedChains = scene.facts["chains"]
    sender, account = _mover()
    pairs = []
    for nonce in range(scene.scale.latencies):
        there = chains.c.export(BACK, account, nonce, sender, PLATFORM.chain_id)
        (arrived,) = coins_of(there, sender)
        pairs.append((there, import_coin(arrived, sender, PLATFORM, chains.c.chain_id)))
    return _timed(pairs, lambda tx: chains.accept(C, tx), lambda tx: chains.accept(P, tx))


def _timed(
    pairs: Sequence[tuple[Tx, Tx]], leave: Callable[[Tx], None], arrive: Callable[[Tx], None]
) -> Measurement:
    times = []
    for exported, imported in pairs:
        started = time.perf_counter()
        leave(exported)
        arrive(imported)
        times.append(time.perf_counter() - started)
    p50 = statistics.median(times)
    return Measurement(p50 * 1e3, p50, sorted(times)[int(len(times) * 0.99)])


def _stream(scene: Scene) -> Measurement:
    """Send transfers over many connections and wait until the last of each is accepted."""
    chains: ServedChains = scene.facts["chains"]
    sender = owner("platform sender")
    recipients = [owner("recipient", number) for number in range(RECIPIENTS)]
    txs = [
        transfer(coin, sender, [(recipients[place % RECIPIENTS].short_id, PAID)], chains.x)
        for place, coin in enumerate(scene.facts["coins"])
    ]
    streams = [txs[first : first + SINGLES] for first in range(0, SENDERS * SINGLES, SINGLES)]
    sent = send_streams(
        chains.framing(X),
        [
            [named("avm.issueTx", tx=texts.hexed(tx.raw), encoding="hex") for tx in stream]
            for stream in streams
        ],
        scene.scale.send_seconds,
    )
    answered = [
        stream[:count] for stream, count in zip(streams, sent.answered, strict=True) if count
    ]
    for stream in answered:
        chains.await_accepted(X, stream[-1])
    ended = time.perf_counter()
    if sent.failures:
        raise WrongAnswer(sent.failures[0].decode(errors="replace"))
    for stream in answered:
        for tx in stream:
            chains.await_accepted(X, tx)
    return Measurement(sum(map(len, answered)) / (ended - sent.started))


def _balance(scene: Scene) -> Measurement:
    question = named("avm.getBalance", address=_holder_text(), assetID="AVAX")
    return _time(
        scene,
        question,
        lambda found: found["balance"] == str(COINS * COIN) and len(found["utxoIDs"]) == COINS,
    )


def _utxos(scene: Scene) -> Measurement:
    question = named("avm.getUTXOs", addresses=[_holder_text()], limit=PAGE)
    return _time(scene, question, lambda found: len(found["utxos"]) == PAGE)


def _time(scene: Scene, question: bytes, check: Callable[..., bool]) -> Measurement:
    """Repeat a request over one connection; the value is milliseconds per answer."""
    chains: ServedChains = scene.facts["chains"]
    speed = repeat(scene, [question], check, connections=1, framing=chains.framing(X))
    return replace(speed, value=1e3 / speed.value)


def _mover() -> tuple[Owner, bytes]:
    """Return the owner whose coins move, and the address of its account."""
    mover = owner("mover")
    return mover, account_of(mover.key.secret).address


def _holder_text() -> str:
    return texts.address("local", owner("holder").short_id).replace("P-", "X-", 1)


def take_on_x(chains: ServedChains, taker: Owner, amount: int, count: int) -> list[Coin]:
    """Send outputs from the network's rich owner to another owner of the X-Chain."""
    address = RICH.text.replace("P-", "X-", 1)
    found = chains.clients[X].call_named("avm.getUTXOs", addresses=[address])
    coins = [read_coin(texts.unhexed(text)) for text in found["utxos"]]
    payments = [(taker.short_id, amount)] * count
    txs = split(largest(filter(None, coins)), RICH, payments, chains.x)
    for tx in txs:
        chains.accept(X, tx)
    return [coin for tx in txs for coin in coins_of(tx, taker)]


MOVES = (
    Workload(
        "p-to-c",
        "P-Chain to C-Chain, both sides accepted, p50, idle node",
        "ms",
        _to_c,
        None,
        Bar(50),
        Better.LESS,
    ),
    Workload(
        "c-to-p",
        "C-Chain to P-Chain, both sides accepted, p50, idle node",
        "ms",
        _to_p,
        None,
        Bar(50),
        Better.LESS,
    ),
)
X_TRANSFERS = Workload(
    "x-transfers",
    "X-Chain transfers to Accepted, 32 connections",
    "tx/s",
    _stream,
    None,
    Bar(300),
)
X_READS = (
    Workload(
        "x-balance", "avm.getBalance, 10,000 UTXOs, 1", "ms", _balance, None, None, Better.LESS
    ),
    Workload("x-utxos", "avm.getUTXOs, page of 1,024, 1", "ms", _utxos, None, Bar(20), Better.LESS),
)
