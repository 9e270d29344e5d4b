"""A small JSON-RPC interface: one method of each kind."""

import time
from dataclasses import dataclass, field

import pytest

from jsonrpc.dispatch.caller import Caller
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.dispatch.envelope import Raw
from jsonrpc.dispatch.params import Param
from jsonrpc.dispatch.registry import MethodRegistry
from jsonrpc.errors import InvalidParam, JsonRpcError


class WouldBlock(Exception):
    """A hot method needs something that is not in memory."""


class NonceTooLow(Exception):
    """An error of the application."""


@dataclass
class Clock:
    """A clock that advances only when a test says so."""

    now: float = 1000.0

    def __call__(self) -> float:
        return self.now


@dataclass
class Calls:
    """The arguments of all calls, and whether hot methods find their data."""

    seen: list[tuple[object, ...]] = field(default_factory=list)
    in_memory: bool = True


def quantity(value: object) -> int:
    if not isinstance(value, str) or not value.startswith("0x"):
        raise InvalidParam("hex string without 0x prefix")
    return int(value, 16)


def explain(error: Exception) -> JsonRpcError | None:
    return JsonRpcError(-32000, "nonce too low") if isinstance(error, NonceTooLow) else None


def refuse_pages(caller: Caller, _arguments: object) -> None:
    """Reject web pages with an error that names how they are recognised."""
    if caller.origin:
        raise JsonRpcError(-32000, f"not for {caller.origin.decode()}")


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def calls() -> Calls:
    return Calls()


@pytest.fixture
def would_block() -> tuple[type[Exception], ...]:
    return (WouldBlock,)


@pytest.fixture
def registry(calls: Calls, clock: Clock) -> MethodRegistry:
    registry = MethodRegistry(errors=explain)

    def block_number() -> str:
        calls.seen.append(("number",))
        return "0x10"

    def balance(address: int, block: str) -> str:
        calls.seen.append(("balance", address, block))
        if not calls.in_memory:
            raise WouldBlock
        return hex(address)

    def send_all(batch: list[tuple[int]]) -> list[object]:
        calls.seen.append(("send", *(number for (number,) in batch)))
        return [NonceTooLow() if number == 0 else hex(number) for (number,) in batch]

    def crash() -> None:
        raise ZeroDivisionError("an inside")

    def fail(code: int) -> None:
        raise JsonRpcError(code, "execution reverted", "0x")

    def wait(seconds: int) -> str:
        clock.now += seconds
        return "0x1"

    def big(size: int) -> str:
        return "x" * size

    block = Param("block", str, default="latest")
    registry.add("number", block_number, hot=True)
    registry.add("balance", balance, params=(Param("address", quantity), block), hot=True)
    registry.add("send", params=(Param("number", quantity),), vectorized=send_all)
    registry.add("crash", crash)
    registry.add("fail", fail, params=(Param("code", int),))
    registry.add("wait", wait, params=(Param("seconds", int),))
    registry.add("big", big, params=(Param("size", int),))
    registry.add("echo", lambda value: value, params=(Param("value", lambda value: value),))
    registry.add("null", lambda: None)
    registry.add("guarded", lambda: "0x10", guard=refuse_pages)
    registry.add("raw", lambda: Raw(b'{"ready" : 1}'), hot=True)
    registry.add("sleep", time.sleep, params=(Param("seconds", float),))
    registry.add("whose", lambda client: client, hot=True, client=True)
    registry.add("whose_in_thread", lambda client: client, client=True)
    registry.add(
        "subscribe",
        lambda connection, kind: connection.subscribe(kind),
        params=(Param("kind", str),),
        connection=True,
    )
    registry.add(
        "unsubscribe",
        lambda connection, identifier: connection.unsubscribe(identifier),
        params=(Param("id", str),),
        connection=True,
    )
    return registry


@pytest.fixture
def dispatcher(registry: MethodRegistry, clock: Clock) -> Dispatcher:
    return Dispatcher(registry, limits=DispatchLimits(), would_block=(WouldBlock,), clock=clock)
