"""Responses cached for the event loop equal those a thread reads from the rows, and expire when they may differ."""

import asyncio
import json
from collections.abc import Callable
from math import inf
from typing import Any

import pytest

from chaindb import clock, generation
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher, HotAnswer
from jsonrpc.dispatch.registry import MethodRegistry
from nodeproject.apps import this_node
from platform_app.api import presence
from platform_app.apps import platform_chain, platform_runtime
from platform_app.chain import PlatformChain
from platform_app.memory import answers
from platform_app.memory.answers import MAX_AGE, POLL_SECONDS, AnswerMemory
from platform_app.models import KeystoreUser
from platform_app.services import mempool, uptime
from platform_app.services.runtime import PlatformRuntime
from platform_app.services.time_travel import time_travel
from platform_app.txs.base import BaseTx
from primitives.ids import PRIMARY_NETWORK_ID
from tests.builders.process import restart_node
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.made import DELEGATION, delegator, node, split, validator

ADDRESS = "P-local18jma8ppw3nhx5r4ap8clazz0dps7rv5u00z96u"
HEIGHT = ("platform.getHeight", {})
VALIDATORS = ("platform.getCurrentValidators", {})
BALANCE = ("platform.getBalance", {"address": ADDRESS})
UTXOS = ("platform.getUTXOs", {"addresses": [ADDRESS], "limit": 3})
PRIMARY = str(PRIMARY_NETWORK_ID)
QUESTIONS: list[tuple[str, dict[str, Any]]] = [
    HEIGHT,
    VALIDATORS,
    BALANCE,
    UTXOS,
    ("platform.getBalance", {"addresses": [ADDRESS, ADDRESS]}),
    ("platform.getUTXOs", {"addresses": [ADDRESS], "sourceChain": "P", "encoding": "hexnc"}),
    ("platform.getTimestamp", {}),
    ("platform.getBlockByHeight", {"height": "1", "encoding": "json"}),
    ("platform.getCurrentValidators", {"subnetID": PRIMARY}),
    ("platform.getPendingValidators", {}),
    ("platform.getTotalStake", {"subnetID": PRIMARY}),
    ("platform.getCurrentSupply", {}),
    ("platform.getStakingAssetID", {}),
    ("platform.getStake", {"addresses": [ADDRESS], "validatorsOnly": True}),
    ("platform.getSubnets", {}),
    ("platform.getSubnets", {"ids": [PRIMARY]}),
    ("platform.getBlockchains", {}),
    ("platform.getBlockchainStatus", {"blockchainID": "C"}),
    ("platform.validates", {"subnetID": PRIMARY}),
    ("platform.validatedBy", {"blockchainID": PRIMARY}),
    ("platform.getFeeState", {}),
    ("platform.getValidatorFeeState", {}),
    ("platform.getMinStake", {}),
    ("info.getNodeID", {}),
    ("info.getNodeVersion", {}),
    ("info.getNodeIP", {}),
    ("info.getNetworkID", {}),
    ("info.getNetworkName", {}),
    ("info.getTxFee", {}),
    ("info.getVMs", {}),
    ("info.getBlockchainID", {"alias": "X"}),
    ("info.isBootstrapped", {"chain": "P"}),
    ("health.liveness", {}),
]

Ask = Callable[..., Any]


@pytest.fixture(autouse=True)
def patience(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Disable all expiry by time, and all background checks, however slow the machine is."""
    monkeypatch.setattr(answers, "MAX_AGE", inf)
    monkeypatch.setattr(answers, "POLL_SECONDS", inf)
    monkeypatch.setattr(presence, "SECONDS", inf)
    restart_node()


def body(method: str, params: dict[str, Any]) -> bytes:
    return json.dumps({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}).encode()


def dispatcher_of(method: str) -> Dispatcher:
    endpoints = this_node().endpoints
    service = method.partition(".")[0]
    return {"platform": endpoints.platform, "info": endpoints.info, "health": endpoints.health}[
        service
    ].dispatcher


def hot(question: tuple[str, dict[str, Any]]) -> HotAnswer:
    """Return the response on an event loop."""

    async def ask() -> HotAnswer:
        return dispatcher_of(question[0]).answer_hot(body(*question))

    return asyncio.run(ask())


def cold(question: tuple[str, dict[str, Any]]) -> bytes | None:
    """Return the response in a thread."""
    return dispatcher_of(question[0]).answer(body(*question))


def known(question: tuple[str, dict[str, Any]]) -> bytes | None:
    """Request until the response is cached: by then the chain's position has been confirmed."""
    cold(question)
    answer = cold(question)
    assert hot(question) == answer
    assert b'"result"' in (answer or b"")
    return answer


def other_process() -> PlatformRuntime:
    """Return the same chain as an object of another process."""
    node = this_node()
    return PlatformRuntime(
        PlatformChain(
            node.settings.common, node.settings.platform, platform_chain().db, node.identity
        )
    )


def accept_elsewhere(pchain: PChain, *txs: Any) -> None:
    """Have another process issue transactions and accept a block."""
    other = other_process()
    pchain.now += 1
    for outcome in mempool.issue(other.chain, txs or [pchain.make()], now=pchain.now):
        assert not isinstance(outcome, Exception)
    assert other.consensus.produce(now=pchain.now) is not None


@pytest.mark.parametrize("question", QUESTIONS, ids=str)
def test_the_event_loop_answers_as_a_thread_does(
    pchain: PChain, question: tuple[str, dict[str, Any]]
) -> None:
    pchain.do(pchain.make())
    known(question)


def test_each_method_that_keeps_answers_is_asked_here() -> None:
    kept = {item.name for item in registry() if item.hot}
    # These methods need an ID that exists: the tests below cover them.
    by_id = {"platform.getBlock", "platform.getTx", "platform.getRewardUTXOs", "platform.getSubnet"}
    unchanging = {"platform.getFeeConfig", "platform.getValidatorFeeConfig"}
    assert kept == {name for name, _ in QUESTIONS if name.startswith("platform")} | by_id | (
        unchanging
    )


def registry() -> MethodRegistry:
    return this_node().endpoints.platform.dispatcher.registry


def test_answers_by_id_are_cached(pchain: PChain) -> None:
    tx = pchain.do(pchain.make())
    block_id = str(platform_chain().tip().block_id)
    known(("platform.getTx", {"txID": str(tx.tx_id)}))
    known(("platform.getTx", {"txID": str(tx.tx_id), "encoding": "json"}))
    known(("platform.getBlock", {"blockID": block_id}))
    known(("platform.getRewardUTXOs", {"txID": str(tx.tx_id)}))


def test_cache_key_includes_all_arguments(pchain: PChain) -> None:
    split(pchain, 4)
    first = known(UTXOS)
    other = ("platform.getUTXOs", {"addresses": [ADDRESS], "limit": 2})
    assert hot(other) is MISS
    assert known(other) != first
    assert hot(UTXOS) == first


@pytest.mark.parametrize(
    "question", [HEIGHT, VALIDATORS, BALANCE, UTXOS, ("platform.getTimestamp", {})], ids=str
)
def test_own_block_drops_cached_answers(
    pchain: PChain, question: tuple[str, dict[str, Any]]
) -> None:
    split(pchain, 4, DELEGATION + 10**6)
    before = known(question)
    pchain.do(delegator(pchain, _own_name(pchain), end=200 * 86_400))
    assert hot(question) is MISS
    assert known(question) != before


def _own_name(pchain: PChain) -> str:
    """Make a node a validator under a name, so that others can delegate to it."""
    pchain.do(validator(pchain, "kept", end=300 * 86_400))
    return "kept"


def test_nothing_is_handed_out_while_a_block_is_written(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    known(HEIGHT)
    seen = []
    write = platform_chain().db.atomic

    def watched(**options: Any) -> Any:
        seen.append(hot(HEIGHT))
        return write(**options)

    pchain.issue(pchain.make())
    monkeypatch.setattr(platform_chain().db, "atomic", watched)
    pchain.now += 1
    pchain.build()

    assert seen
    assert seen[-1] is MISS


def test_unannounced_block_of_another_process_drops_cached_answers(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = platform_chain().answers
    moment = 100.0
    memory._elapsed = lambda: moment
    monkeypatch.setattr(answers, "MAX_AGE", MAX_AGE)
    before = known(HEIGHT)
    accept_elsewhere(pchain)
    moment += MAX_AGE
    assert hot(HEIGHT) is MISS
    assert known(HEIGHT) != before


def test_thread_that_reads_a_later_block_drops_cached_answers(pchain: PChain) -> None:
    known(HEIGHT)
    tx = pchain.make()
    accept_elsewhere(pchain, tx)
    answer = cold(("platform.getTxStatus", {"txID": str(tx.tx_id)}))
    assert b'"Committed"' in (answer or b"")
    assert hot(HEIGHT) is MISS


def test_restored_rows_drop_cached_answers(pchain: PChain) -> None:
    known(HEIGHT)
    generation.advance(platform_chain().db)
    platform_chain().answers.check_rows()
    assert hot(HEIGHT) is MISS
    known(HEIGHT)


def test_moved_clock_drops_cached_answers(pchain: PChain) -> None:
    known(BALANCE)
    clock.move(10)
    platform_chain().answers.check_rows()
    assert hot(BALANCE) is MISS
    known(BALANCE)


def test_time_travel_drops_cached_answers(pchain: PChain, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "now", lambda: pchain.now + clock.offset())
    known(BALANCE)
    time_travel(platform_runtime(), 60)
    assert hot(BALANCE) is MISS
    known(BALANCE)


def test_cached_balance_expires_at_the_next_unlock(pchain: PChain) -> None:
    memory = platform_chain().answers
    memory._wall = lambda: pchain.now
    unlocks = pchain.now + 1000
    pchain.do(pchain.make(BaseTx, pchain.output(5, EWOQ, locktime=unlocks)))
    before = json.loads(known(BALANCE) or b"")["result"]
    pchain.now = unlocks - 1
    assert hot(BALANCE) is not MISS
    pchain.now = unlocks
    assert hot(BALANCE) is MISS
    after = json.loads(known(BALANCE) or b"")["result"]
    assert int(after["unlocked"]) == int(before["unlocked"]) + 5
    pchain.now = unlocks - 1  # the machine's clock was set back
    assert hot(BALANCE) is MISS


def test_cached_uptimes_expire_after_a_second(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "SECONDS", 1.0)
    restart_node()
    memory: AnswerMemory = platform_chain().answers
    moment = 100.0
    memory._elapsed = lambda: moment
    before = known(VALIDATORS)
    uptime.observe(platform_chain(), [node("a peer")], pchain.now)
    pchain.now += 86_400
    moment += 0.99
    memory.check_rows()
    assert hot(VALIDATORS) == before
    moment += 0.01
    memory.check_rows()
    assert hot(VALIDATORS) is MISS


def test_refusals_and_uncacheable_requests_run_in_threads(pchain: PChain) -> None:
    wrong = ("platform.getBalance", {"address": "P-nothing"})
    for _ in range(3):
        assert b'"error"' in (cold(wrong) or b"")
    assert hot(wrong) is MISS
    many = ("platform.getUTXOs", {"addresses": [ADDRESS] * 200})
    for _ in range(3):
        cold(many)
    assert hot(many) is MISS
    assert KeystoreUser.objects.count() == 0


@pytest.mark.parametrize("source", ["X", "C"])
def test_outputs_that_other_chains_export_are_not_cached(pchain: PChain, source: str) -> None:
    """They come without a block of this chain."""
    pchain.do(pchain.make())
    question = ("platform.getUTXOs", {"addresses": [ADDRESS], "sourceChain": source})
    known(UTXOS)
    for _ in range(3):
        assert b'"numFetched":"0"' in (cold(question) or b"")
    assert hot(question) is MISS


async def test_answer_from_cache_starts_a_check_of_the_rows(
    pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = platform_chain().answers
    looked = asyncio.Event()
    loop = asyncio.get_running_loop()
    monkeypatch.setattr(answers, "POLL_SECONDS", POLL_SECONDS)
    place = answers.ChainPosition(b"genesis", b"block", 0, 0)
    moment = 100.0
    memory._elapsed = lambda: moment

    def read() -> answers.ChainPosition:
        loop.call_soon_threadsafe(looked.set)
        return place

    memory._read = read
    memory.check_rows()
    memory.read(("platform.getHeight",), lambda: (b'{"height":"5"}', answers.ALWAYS))
    await asyncio.sleep(0)
    looked.clear()
    question = body(*HEIGHT)
    ask = dispatcher_of("platform.getHeight").answer_hot
    assert b'"height":"5"' in (ask(question) or b"")  # type: ignore[operator]
    assert this_node().platform_rpc.answers._looking is None

    moment += POLL_SECONDS
    assert ask(question) is not MISS
    assert this_node().platform_rpc.answers._looking is not None
    async with asyncio.timeout(60):
        await looked.wait()
        await this_node().platform_rpc.answers._looking
    assert not memory.is_due()
