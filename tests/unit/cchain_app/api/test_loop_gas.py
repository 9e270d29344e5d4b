"""Limits of calls on the event loop: of a request, of a batch, and of all requests in a turn."""

import asyncio
import json
import time
from contextlib import suppress
from typing import Any

import pytest

from cchain_app.api import loop_gas
from cchain_app.api.eth import execution
from cchain_app.api.loop_gas import GAS_OF_REQUEST, LoopGas
from cchain_app.api.params.call import CallRequest
from cchain_app.api.params.values import Tag
from cchain_app.apps import evm_chain
from cchain_app.evm.select import select_engine
from chaindb.connections import WouldBlock
from jsonrpc.dispatch.dispatcher import MISS, HotAnswer
from jsonrpc.limits.interpreter import SECONDS_OF_TURN, LoopTurn
from nodeproject.apps import this_node
from primitives.evm import Address
from tests.builders import bytecode
from tests.builders.bytecode import assemble
from tests.builders.hot_dispatcher import hot_dispatcher

CONTRACT = Address(b"\xc0" * 20)

SOME_GAS = assemble("16384 0 KECCAK256 POP") * 10
"""Some 33,000 gas: six of these calls fit into a request."""
MODEXP = bytecode.words(2048, 255, 2048) + b"\xff" * (2048 + 255 + 2048)


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """Let only gas limit a call, because on a busy machine milliseconds pass without progress."""
    monkeypatch.setattr(loop_gas, "SECONDS_OF_REQUEST", 60.0)
    monkeypatch.setattr(this_node().evm_rpc, "loop_gas", LoopGas(turn=LoopTurn(60.0)))


@pytest.fixture
def contract(memory_chain):
    memory_chain.state.put(CONTRACT, code=SOME_GAS, nonce=1)


def body(method: str, calls: int | None = None, **given: str) -> bytes:
    """Return a single call, or a batch of `calls`."""
    given = {"to": "0x" + CONTRACT.hex(), "gas": hex(50_000_000), **given}
    one = {"jsonrpc": "2.0", "id": 1, "method": method, "params": [given, "latest"]}
    return json.dumps(one if calls is None else [one] * calls).encode()


def tried(*bodies: bytes) -> list[HotAnswer]:
    """Answer bodies in one turn of the event loop."""

    async def answer() -> list[HotAnswer]:
        return [hot_dispatcher().answer_hot(item) for item in bodies]

    return asyncio.run(answer())


@pytest.mark.usefixtures("contract")
@pytest.mark.parametrize("method", ["eth_call", "eth_createAccessList", "eth_estimateGas"])
def test_a_call_that_fits_is_answered_on_the_event_loop(method: str) -> None:
    asked = body(method, gas=hex(100_000))
    assert tried(asked) == [hot_dispatcher().answer(asked)]


@pytest.mark.usefixtures("contract")
def test_calls_of_a_batch_share_the_gas_limit_of_one_request() -> None:
    assert tried(body("eth_call", 6)) == [hot_dispatcher().answer(body("eth_call", 6))]
    assert tried(body("eth_call", 7)) == [MISS]
    assert MISS not in tried(*[body("eth_call")] * 7)


@pytest.mark.usefixtures("memory_chain")
@pytest.mark.parametrize("method", ["eth_call", "eth_createAccessList", "eth_estimateGas"])
def test_batch_of_heavy_calls_runs_in_a_thread(method: str) -> None:
    """MODEXP of 2,048 bytes a hundred times used to block the node for half a minute."""
    asked = body(method, 4, to="0x" + bytes(19).hex() + "05", data="0x" + MODEXP.hex())
    assert len(asked) < hot_dispatcher().limits.hot_body
    assert tried(asked) == [MISS]


class Clock:
    """A clock that a test advances."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def test_a_turn_of_the_event_loop_is_bounded_too() -> None:
    clock = Clock()
    gas = LoopGas(clock)

    async def use() -> int:
        """Take all available shares in two turns, with a millisecond for each."""
        taken = 0
        for _ in range(2):
            with suppress(WouldBlock):
                while taken < 1000:
                    gas.share()
                    taken += 1
                    clock.now += 0.001
            await asyncio.sleep(0)
        return taken

    assert asyncio.run(use()) == pytest.approx(2 * SECONDS_OF_TURN / 0.001, abs=2)


@pytest.mark.usefixtures("contract")
def test_call_beyond_the_loop_time_runs_in_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    clock.now = time.monotonic() + 60  # the call itself uses the machine's clock, which may be slow
    monkeypatch.setattr(this_node().evm_rpc, "loop_gas", LoopGas(clock))
    single = body("eth_call")

    async def ask() -> list[HotAnswer]:
        answers = [hot_dispatcher().answer_hot(single)]
        clock.now += 2 * SECONDS_OF_TURN
        answers.append(hot_dispatcher().answer_hot(single))
        await asyncio.sleep(0)
        return [*answers, hot_dispatcher().answer_hot(single)]

    assert [answer is MISS for answer in asyncio.run(ask())] == [False, True, False]


def test_event_loop_ended_within_a_turn_leaves_the_next_a_full_turn() -> None:
    clock = Clock()
    gas = LoopGas(clock)

    async def use() -> int:
        left = gas.share().gas.left
        clock.now += 2 * SECONDS_OF_TURN
        with pytest.raises(WouldBlock):
            gas.share()
        return left

    loop = asyncio.new_event_loop()
    assert loop.run_until_complete(use()) == GAS_OF_REQUEST
    loop.close()
    assert asyncio.run(use()) == GAS_OF_REQUEST


def test_the_reference_engine_gets_nothing_of_the_event_loop(
    memory_chain: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its work in a millisecond is hardly worth more than the switch to a thread that it saves."""
    memory_chain.state.put(CONTRACT, code=b"", nonce=1)
    reference = select_engine("reference")
    monkeypatch.setattr(evm_chain(), "engine", reference)

    async def ask() -> str:
        return execution.call(this_node().evm_rpc, CallRequest(to=CONTRACT), Tag.LATEST, None, None)

    with pytest.raises(WouldBlock):
        asyncio.run(ask())
    assert (
        execution.call(this_node().evm_rpc, CallRequest(to=CONTRACT), Tag.LATEST, None, None)
        == "0x"
    )
