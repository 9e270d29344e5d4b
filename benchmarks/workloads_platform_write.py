"""P-Chain transactions, and time travel over the ends of many stakers."""

import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.coins import FEE, Owner, Tx, owner, transfer
from benchmarks.generator import send_streams
from benchmarks.node import ROOT
from benchmarks.platform_node import EMPTY, SeedShape, started_on
from benchmarks.platform_rpc import await_committed, balance, height, issue, issuing, take
from benchmarks.rpc import WrongAnswer
from benchmarks.scale import FULL, Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.workload import Bar, Better, Measurement, Workload

SENDERS = 32
SINGLES = 250
"""Transfers prepared for each sender; enough for 2,000 a second."""
RECIPIENTS = 1_000
"""Number of recipients; one call returns the balance of at most 1,024 addresses."""
AMOUNT = 2 * FEE + 1
"""Amount of each coin: a transfer pays a thousandth of a coin, and one unit is left over."""
PAID = FEE
OF_EACH = 4
"""Delegators of each validator that ends during the time travel."""
APART = 43_200
"""Seconds between the end times of validators: those of four hundred are spread over two hundred days."""
JOURNEY = "1y"


def fresh(_scale: Scale) -> Kind:
    """Return a new node."""
    return EMPTY


def staked(scale: Scale) -> Kind:
    """Return a node on whose chain stakers end within a year."""
    validators = scale.travellers // (1 + OF_EACH)
    return started_on(SeedShape(validators, validators * OF_EACH, APART))


def prepare_coins(scene: Scene) -> None:
    """Give the senders an output for each of their transfers, so that transfers are independent."""
    sender = owner("platform sender")
    scene.facts["coins"] = take(scene, sender, AMOUNT, SENDERS * SINGLES + scene.scale.latencies)


def prepare_journey(scene: Scene) -> None:
    """Store the height of the chain."""
    scene.facts["height"] = height(scene)


def _time_to_commit(scene: Scene) -> Measurement:
    """Issue a transaction and request its status until it is Committed; repeat this."""
    times = []
    for tx in _transfers(scene, 0, scene.scale.latencies):
        started = time.perf_counter()
        issue(scene, tx)
        times.append(time.perf_counter() - started)
    p50 = statistics.median(times)
    return Measurement(p50 * 1e3, p50, sorted(times)[int(len(times) * 0.99)])


def _stream(scene: Scene) -> Measurement:
    """Send transfers over many connections and wait until the last of each is Committed."""
    first = scene.scale.latencies
    streams = [_transfers(scene, first + number * SINGLES, SINGLES) for number in range(SENDERS)]
    before = _paid(scene)
    sent = send_streams(
        scene.http,
        [[issuing(tx) for tx in stream] for stream in streams],
        scene.scale.send_seconds,
    )
    for stream, answered in zip(streams, sent.answered, strict=True):
        if answered:
            await_committed(scene, stream[answered - 1])
    ended = time.perf_counter()
    committed, accepted = _paid(scene) - before, sum(sent.answered)
    if sent.failures:
        raise WrongAnswer(sent.failures[0].decode(errors="replace"))
    if committed != accepted:
        raise WrongAnswer(f"{committed:,} of {accepted:,} transfers were committed")
    return Measurement(committed / (ended - sent.started))


def _travel(scene: Scene) -> Measurement:
    """Travel over a year, as an operator does it, beside the running node."""
    started = time.perf_counter()
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "time_travel", JOURNEY],
        cwd=ROOT,
        env=scene.server.environment,
        check=False,
        capture_output=True,
        text=True,
    )
    seconds = time.perf_counter() - started
    if done.returncode:
        raise WrongAnswer(done.stderr.splitlines()[-1])
    blocks = height(scene) - scene.facts["height"]
    left = scene.client.call_named("platform.getCurrentValidators")["validators"]
    travellers = scene.scale.travellers
    # Each has a proposal block and its option. The node itself stays a validator: it renews itself.
    if len(left) != 1 or blocks < 2 * travellers:
        raise WrongAnswer(f"{len(left)} validators are left after {blocks:,} blocks")
    smaller = "" if travellers == FULL.travellers else f" of {travellers:,} stakers"
    return Measurement(seconds, note=f"{blocks:,} blocks{smaller}")


def _transfers(scene: Scene, first: int, count: int) -> list[Tx]:
    """Sign `count` transfers, each from one coin, starting at index `first`."""
    sender = owner("platform sender")
    recipients = _recipients()
    return [
        transfer(coin, sender, [(recipients[place % RECIPIENTS].short_id, PAID)])
        for place, coin in enumerate(scene.facts["coins"][first : first + count], start=first)
    ]


def _recipients() -> Sequence[Owner]:
    return [owner("recipient", number) for number in range(RECIPIENTS)]


def _paid(scene: Scene) -> int:
    """Return how many transfers are in blocks."""
    return balance(scene, _recipients()) // PAID


TIME_TO_COMMIT = Workload(
    "commit-time",
    "platform.issueTx to Committed, p50, idle node",
    "ms",
    _time_to_commit,
    None,
    Bar(300),
    Better.LESS,
)
TRANSFERS = Workload(
    "platform-transfers",
    "P-Chain transfers to Committed, 32 connections",
    "tx/s",
    _stream,
    None,
    Bar(300),
)
JOURNEY_OVER_STAKERS = Workload(
    "time-travel", "time travel of a year over 2,000 stakers", "s", _travel, None, None, Better.LESS
)
