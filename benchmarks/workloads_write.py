"""Transactions: 32 connections, each with its own account, from the first send to the last receipt."""

import re
import time
from collections.abc import Sequence
from functools import cache

from benchmarks.contracts import call_data, transfer
from benchmarks.generator import send_streams
from benchmarks.rpc import WrongAnswer, batch, body
from benchmarks.scene import Scene
from benchmarks.signing import CHAIN_ID, Account, account, hash_of, sign
from benchmarks.workload import Bar, Measurement, Workload

SENDERS = 32
RECIPIENTS = 1_000
BATCH = 50
SINGLES = 400
"""Transactions prepared for each sender; enough for 3,000 a second."""
BATCHES = 40
"""Batches prepared for each sender; enough for 16,000 transactions a second."""
TOKEN_GAS = 80_000
_MESSAGE = re.compile(rb'"message": ?"([^"]*)"')
GRACE = 6.0
"""Seconds after the last answer in which accepted transactions may still be mined."""


def prepare_singles(scene: Scene) -> None:
    """Fund the senders of single transfers."""
    scene.fund(senders("single"))


def prepare_batches(scene: Scene) -> None:
    """Fund the senders of batches."""
    scene.fund(senders("batch"))


def prepare_tokens(scene: Scene) -> None:
    """Fund the senders of single token transfers and give them tokens."""
    _give_tokens(scene, senders("token"))


def prepare_token_batches(scene: Scene) -> None:
    """Fund the senders of batches of token transfers and give them tokens."""
    _give_tokens(scene, senders("token batch"))


def _give_tokens(scene: Scene, senders: Sequence[Account]) -> None:
    """Fund accounts and let each mint tokens, which uses nonce 0."""
    scene.fund(senders)
    mint = call_data("mint(uint256)", 10**18)
    token = scene.contract("Token")
    scene.mine_all([sign(who, 0, token, data=mint, gas=150_000) for who in senders])


def send_singles(scene: Scene, purpose: str, chain_id: int = CHAIN_ID) -> Measurement:
    """Send the transfers of a purpose's senders, which are funded, one in each request. Raises as `_send`."""
    return _send(scene, purpose, _transfers(purpose, SINGLES, chain_id), 1)


def _singles(scene: Scene) -> Measurement:
    return send_singles(scene, "single")


def _batches(scene: Scene) -> Measurement:
    return _send(scene, "batch", _transfers("batch", BATCHES * BATCH), BATCH)


def _tokens(scene: Scene) -> Measurement:
    raws = _token_transfers("token", SINGLES, scene.contract("Token"))
    return _send(scene, "token", raws, 1)


def _token_batches(scene: Scene) -> Measurement:
    raws = _token_transfers("token batch", BATCHES * BATCH, scene.contract("Token"))
    return _send(scene, "token batch", raws, BATCH)


def _send(scene: Scene, purpose: str, raws: Sequence[Sequence[str]], at_once: int) -> Measurement:
    """Send the streams for a while and wait for the receipt of the last transaction of each.

    Raises:
        WrongAnswer: A sender's last transaction failed.
    """
    before = _mined(scene, purpose)
    streams = [_bodies(stream, at_once) for stream in raws]
    sent = send_streams(scene.http, streams, scene.scale.send_seconds)
    last = [
        hash_of(stream[answered * at_once - 1])
        for stream, answered in zip(raws, sent.answered, strict=True)
        if answered
    ]
    receipts = _await_receipts(scene, last)
    ended = time.perf_counter()
    if any(receipt and receipt["status"] != "0x1" for receipt in receipts):
        raise WrongAnswer("a transfer failed")
    refused = sum(answer.count(b'"error"') for answer in sent.failures)
    accepted = sum(sent.answered) * at_once - refused
    mined = _mined(scene, purpose) - before
    notes = []
    if refused:
        reasons = {text.decode() for answer in sent.failures for text in _MESSAGE.findall(answer)}
        notes.append(f"{refused:,} refused: {', '.join(sorted(reasons))[:200]}")
    if mined < accepted:
        # Waiting for those that are never mined does not count against the others.
        ended = sent.ended
        notes.append(f"{accepted - mined:,} of {accepted:,} accepted ones never mined")
    return Measurement(mined / (ended - sent.started), note="; ".join(notes))


def _await_receipts(scene: Scene, hashes: Sequence[str]) -> list[dict[str, str] | None]:
    deadline = time.perf_counter() + GRACE
    question = [[transaction_hash] for transaction_hash in hashes]
    while True:
        receipts = scene.client.call_many("eth_getTransactionReceipt", question)
        if all(receipts) or time.perf_counter() > deadline:
            return receipts
        time.sleep(0.002)


def _mined(scene: Scene, purpose: str) -> int:
    """Return how many transactions of the senders are in blocks."""
    counts = scene.client.call_many(
        "eth_getTransactionCount", [[who.text, "latest"] for who in senders(purpose)]
    )
    return sum(int(count, 16) for count in counts)


def _bodies(raws: Sequence[str], at_once: int) -> list[bytes]:
    if at_once == 1:
        return [body("eth_sendRawTransaction", raw) for raw in raws]
    return [
        batch("eth_sendRawTransaction", [[raw] for raw in raws[start : start + at_once]])
        for start in range(0, len(raws), at_once)
    ]


def senders(purpose: str) -> list[Account]:
    """Return the accounts that send for a purpose."""
    return [account(purpose, index) for index in range(SENDERS)]


def _recipient(number: int) -> bytes:
    return account("recipient", number % RECIPIENTS).address


@cache
def _transfers(purpose: str, count: int, chain_id: int = CHAIN_ID) -> list[list[str]]:
    """Sign each sender's transfers, once for all servers."""
    return [
        [
            sign(who, nonce, _recipient(index * count + nonce), value=1, chain_id=chain_id)
            for nonce in range(count)
        ]
        for index, who in enumerate(senders(purpose))
    ]


@cache
def _token_transfers(purpose: str, count: int, token: bytes) -> list[list[str]]:
    """Sign each sender's token transfers, once for all servers."""
    return [
        [
            sign(
                who,
                1 + number,
                token,
                data=transfer(_recipient(index * count + number), 1),
                gas=TOKEN_GAS,
            )
            for number in range(count)
        ]
        for index, who in enumerate(senders(purpose))
    ]


SINGLE_TRANSFERS = Workload(
    "transfers",
    "transfers, 32 connections",
    "tx/s",
    _singles,
    Bar(1_000),
    Bar(2_200),
    production=Bar(1_000),
)
BATCHED_TRANSFERS = Workload(
    "transfers-batched",
    "transfers, 32 connections, batches of 50",
    "tx/s",
    _batches,
    Bar(1_000),
    Bar(7_000),
)
TOKEN_TRANSFERS = Workload(
    "tokens", "ERC-20 transfers, 32 connections", "tx/s", _tokens, Bar(800), Bar(1_800)
)
BATCHED_TOKENS = Workload(
    "tokens-batched",
    "ERC-20 transfers, 32 connections, batches of 50",
    "tx/s",
    _token_batches,
    Bar(800),
    Bar(1_800),
)
