"""Features of a development chain that test suites use: snapshots, blocks on request, and a suite of tests."""

import statistics
import time
from dataclasses import replace

from benchmarks.contracts import call_data, transfer
from benchmarks.growth import grow_accounts, grow_blocks
from benchmarks.rpc import Client, WrongAnswer
from benchmarks.scene import FUNDER, Scene
from benchmarks.signing import account, hash_of, sign
from benchmarks.workload import Bar, Better, Measurement, Workload

TIME_LIMIT = 8.0
"""Seconds for the snapshots that are timed."""
TRANSFERS = 3
"""Transactions of one test."""
MINTED = 10**18
TOKEN_GAS = 150_000


def prepare(scene: Scene) -> None:
    """Fund the account that sends a test's transactions, and give it tokens."""
    tester = account("tester")
    scene.fund([tester])
    mint = call_data("mint(uint256)", MINTED)
    scene.client.mine(sign(tester, 0, scene.contract("Token"), data=mint, gas=TOKEN_GAS))


def _snapshots(scene: Scene) -> Measurement:
    """Time evm_snapshot and evm_revert on a grown chain; between them one transaction is mined."""
    grow_blocks(scene)
    grown = grow_accounts(scene)
    sender = account("snapshots")
    scene.fund([sender])
    return replace(time_snapshots(scene.client, scene.scale.latencies), note=grown.note)


def time_snapshots(client: Client, count: int) -> Measurement:
    """Return the milliseconds of a snapshot and the revert to it, p50.

    Args:
        client: Client of a chain where the account "snapshots" is funded and has sent nothing.
        count: Number of snapshots, if time permits.

    Raises:
        WrongAnswer: The chain was not restored.
    """
    sender = account("snapshots")
    times: list[float] = []
    deadline = time.perf_counter() + TIME_LIMIT
    for number in range(count):
        # A different hash each time, because some pools remember earlier transactions.
        raw = sign(sender, 0, FUNDER.address, value=1 + number)
        height = client.height()
        started = time.perf_counter()
        snapshot = client.call("evm_snapshot")
        taken = time.perf_counter()
        client.mine(raw)
        begun = time.perf_counter()
        reverted = client.call("evm_revert", snapshot)
        times.append(taken - started + time.perf_counter() - begun)
        _check_reverted(client, reverted, height, sender.text)
        if time.perf_counter() > deadline:
            break
    p50 = statistics.median(times)
    return Measurement(p50 * 1e3, p50, sorted(times)[int(len(times) * 0.99)])


def _mines(scene: Scene) -> Measurement:
    return time_mining(scene.client, scene.scale.blocks // 5)


def time_mining(client: Client, count: int) -> Measurement:
    """Return the blocks per second of sequential evm_mine calls.

    Raises:
        WrongAnswer: The chain did not grow by that many blocks.
    """
    height = client.height()
    started = time.perf_counter()
    for _ in range(count):
        client.call("evm_mine")
    seconds = time.perf_counter() - started
    if client.height() != height + count:
        raise WrongAnswer(f"{client.height() - height} of {count} blocks were mined")
    return Measurement(count / seconds)


def _suite(scene: Scene) -> Measurement:
    return time_suite(scene.client, scene.scale.latencies, scene.contract("Token"))


def time_suite(client: Client, count: int, token: bytes) -> Measurement:
    """Return the seconds of a suite of tests with a snapshot around each.

    A test sends three token transfers, waits for the receipt of each, and reads a balance.

    Args:
        client: Client of a chain where the account "tester" has tokens and has sent one transaction.
        count: Number of tests.
        token: Address of the token contract.

    Raises:
        WrongAnswer: A test did not find its own effects, or found those of another test.
    """
    tester, friend = account("tester"), account("friend")
    data = transfer(friend.address, 1)
    raws = [
        sign(tester, 1 + number, token, data=data, gas=TOKEN_GAS) for number in range(TRANSFERS)
    ]
    asked = call_data("balanceOf(address)", friend.address)
    question = {"to": "0x" + token.hex(), "data": "0x" + asked.hex()}
    height = client.height()
    started = time.perf_counter()
    for _ in range(count):
        snapshot = client.call("evm_snapshot")
        for raw in raws:
            client.call("eth_sendRawTransaction", raw)
            client.receipt(hash_of(raw))
        found = int(client.call("eth_call", question, "latest"), 16)
        if found != TRANSFERS:
            raise WrongAnswer(f"a test found {found} tokens in place of {TRANSFERS}")
        _check_reverted(client, client.call("evm_revert", snapshot), height, None)
    return Measurement(time.perf_counter() - started)


def _check_reverted(client: Client, answer: object, height: int, unused: str | None) -> None:
    """Check that a chain was reverted to a height, and that an account has sent nothing.

    Raises:
        WrongAnswer: The chain was not reverted.
    """
    if answer is not True or client.height() != height:
        raise WrongAnswer(f"the chain is at {client.height()} in place of {height}")
    if unused and int(client.call("eth_getTransactionCount", unused, "latest"), 16):
        raise WrongAnswer("a nonce was not reverted")


SNAPSHOTS = Workload(
    "snapshot",
    "evm_snapshot and evm_revert at 5,000 blocks, 50,000 accounts, p50",
    "ms",
    _snapshots,
    None,
    Bar(10),
    Better.LESS,
)
MINES = Workload("mine", "1,000 evm_mine, 1", "blocks/s", _mines, None, None)
SUITE = Workload(
    "suite", "200 tests with a snapshot around each", "s", _suite, None, None, Better.LESS
)
