"""P-Chain reads: validators with a short and a long history, balances, pages of outputs."""

import statistics
import time
from dataclasses import replace
from typing import Any

from benchmarks.coins import COIN, DAY, delegation, owner
from benchmarks.platform_node import HOLDER, SeedShape, started_on
from benchmarks.platform_rpc import height, issue, take
from benchmarks.rpc import WrongAnswer, named
from benchmarks.scale import FULL, Scale
from benchmarks.scene import Scene
from benchmarks.server import Kind
from benchmarks.texts import uncb58
from benchmarks.workload import Bar, Better, Measurement, Workload
from benchmarks.workloads_read import Check, beside_anvil, repeat

COINS = 10_000
"""Outputs of the address whose balance is read."""
FEW_COINS = 100
"""Outputs on a small chain, which has as many validators as a local network."""
FEW_VALIDATORS = 5
PAGE = 1024
OF_EACH = 10
"""Delegators of each validator."""
APART = 5_400
"""Seconds between the end times of validators, as in the reference's own genesis."""
JOINING = 10
"""Delegators that join during the measurement of validators."""
STAKE = 25 * COIN
NODE_ID = 20
"""Bytes of a node ID."""

_VALIDATORS = named("platform.getCurrentValidators")


def young(scale: Scale) -> Kind:
    """Return a node whose chain has validators, delegators and outputs, and no past stakers."""
    return started_on(_young(scale))


def aged(scale: Scale) -> Kind:
    """Return a node whose chain also has past stakers."""
    return started_on(replace(_young(scale), past=scale.past))


def small(_scale: Scale) -> Kind:
    """Return a node whose chain has few validators, including itself, and few outputs."""
    return started_on(SeedShape(FEW_VALIDATORS - 1, 0, APART, FEW_COINS))


def _young(scale: Scale) -> SeedShape:
    return SeedShape(scale.validators, scale.validators * OF_EACH, APART, COINS)


def prepare(scene: Scene) -> None:
    """Store the height of the chain at the node's start."""
    scene.facts["height"] = height(scene)


def _validators(scene: Scene) -> Measurement:
    """Request all validators, after a check that all of them and their delegators are present."""
    speed = _time(scene, _VALIDATORS, lambda result: _is_everybody(scene, result))
    return replace(speed, note=_note(scene))


def _many_validators(scene: Scene) -> Measurement:
    speed = repeat(scene, [_VALIDATORS], lambda result: _is_everybody(scene, result))
    return replace(speed, note=_note(scene))


def _few_validators(scene: Scene) -> Measurement:
    return repeat(scene, [_VALIDATORS], lambda result: len(result["validators"]) == FEW_VALIDATORS)


def _height(scene: Scene) -> Measurement:
    wanted = str(scene.facts["height"])
    return repeat(scene, [named("platform.getHeight")], lambda result: result["height"] == wanted)


def _few_balance(scene: Scene) -> Measurement:
    question = named("platform.getBalance", address=HOLDER.text)
    return repeat(scene, [question], lambda result: result["balance"] == str(FEW_COINS * COIN))


def _few_utxos(scene: Scene) -> Measurement:
    question = named("platform.getUTXOs", addresses=[HOLDER.text], limit=PAGE)
    return repeat(scene, [question], lambda result: len(result["utxos"]) == FEW_COINS)


def _old_validators(scene: Scene) -> Measurement:
    past, wanted = scene.facts["height"] // 2, scene.scale.past
    if past < wanted:
        raise WrongAnswer(f"{past:,} of {wanted:,} stakers are past")
    return _validators(scene)


def _changed_validators(scene: Scene) -> Measurement:
    """Time the first answer after a block that changed a staker, when cached data is stale."""
    delegator, now = owner("newcomer"), int(time.time())
    everybody = scene.client.ask(_VALIDATORS)["result"]["validators"]
    nodes = [item["nodeID"] for item in everybody if int(item["delegatorCount"])]
    times = []
    for number, coin in enumerate(take(scene, delegator, STAKE, JOINING)):
        node_id = uncb58(nodes[number].removeprefix("NodeID-"), NODE_ID)
        issue(scene, delegation(coin, delegator, node_id, now, now + 30 * DAY))
        started = time.perf_counter()
        answer = scene.client.ask(_VALIDATORS)
        times.append(time.perf_counter() - started)
        if not _is_everybody(scene, answer["result"], joined=number + 1):
            raise WrongAnswer("a delegator that joined is not counted")
    p50 = statistics.median(times)
    return Measurement(p50 * 1e3, p50, max(times), note=_note(scene))


def _balance(scene: Scene) -> Measurement:
    question = named("platform.getBalance", address=HOLDER.text)
    return _time(
        scene,
        question,
        lambda result: result["balance"] == str(COINS * COIN) and len(result["utxoIDs"]) == COINS,
    )


def _utxos(scene: Scene) -> Measurement:
    question = named("platform.getUTXOs", addresses=[HOLDER.text], limit=PAGE)
    return _time(scene, question, lambda result: len(result["utxos"]) == PAGE)


def _time(scene: Scene, question: bytes, check: Check) -> Measurement:
    """Repeat a request over one connection; the value is milliseconds per answer."""
    speed = repeat(scene, [question], check, connections=1)
    return replace(speed, value=1e3 / speed.value)


def _is_everybody(scene: Scene, result: Any, joined: int = 0) -> bool:
    validators = result["validators"]
    delegators = sum(int(validator["delegatorCount"]) for validator in validators)
    wanted = scene.scale.validators
    # The node itself is a validator too.
    return len(validators) == wanted + 1 and delegators == wanted * OF_EACH + joined


def _note(scene: Scene) -> str:
    """Return the note for a chain that is smaller than the row's title says."""
    validators, wanted = scene.scale.validators, FULL.validators
    return "" if validators == wanted else f"a tenth: {validators:,} of {wanted:,} validators"


VALIDATORS = Workload(
    "validators",
    "getCurrentValidators, 2,000 with 20,000 delegators, 1",
    "ms",
    _validators,
    None,
    Bar(30),
    Better.LESS,
)
OLD_VALIDATORS = Workload(
    "validators-aged",
    "getCurrentValidators, and 50,000 past stakers, 1",
    "ms",
    _old_validators,
    None,
    Bar(30),
    Better.LESS,
)
CHANGED_VALIDATORS = Workload(
    "validators-changed",
    "getCurrentValidators just after a staker joined, p50",
    "ms",
    _changed_validators,
    None,
    None,
    Better.LESS,
)
BALANCE = Workload(
    "platform-balance",
    "platform.getBalance, 10,000 UTXOs, 1",
    "ms",
    _balance,
    None,
    None,
    Better.LESS,
)
UTXOS = Workload(
    "utxos", "platform.getUTXOs, page of 1,024, 1", "ms", _utxos, None, Bar(20), Better.LESS
)
MANY_VALIDATORS = Workload(
    "validators-16",
    "getCurrentValidators, 2,000 with 20,000 delegators, 16",
    "req/s",
    _many_validators,
    None,
    None,
)
SMALL = tuple(
    Workload(name, title, "req/s", measure, None, beside_anvil(rate))
    for name, title, measure, rate in (
        ("platform-height", "platform.getHeight, 16", _height, 15_000),
        ("few-validators", "platform.getCurrentValidators, 5, 16", _few_validators, 5_000),
        ("few-utxos", "platform.getUTXOs, 100, 16", _few_utxos, 5_000),
        ("few-balance", "platform.getBalance, 100 UTXOs, 16", _few_balance, 7_000),
    )
)
