"""The C-Chain's API with and without its shortcuts, and the requests that the shortcuts answer."""

import asyncio
import json
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from chaindb import clock
from jsonrpc.dispatch.calls import DispatchLimits
from jsonrpc.dispatch.dispatcher import MISS, Dispatcher
from nodeproject.apps import this_node
from primitives.hexadecimal import encode_data
from tests.builders import bytecode
from tests.builders.hot_dispatcher import hot_dispatcher
from tests.builders.transactions import RECIPIENT, SENDER

COUNTER = bytecode.created(SENDER, 0)

READER = bytecode.assemble(
    "0 JUMPDEST DUP1 SLOAD POP 1 ADD 200 DUP2 LT 2 JUMPI 0 MSTORE 32 0 RETURN"
)
"""Reads two hundred slots: more gas than other calls may use on an event loop."""

SENDER_TEXT, RECIPIENT_TEXT, COUNTER_TEXT = map(encode_data, (SENDER, RECIPIENT, COUNTER))
NOBODY = "0x" + "31" * 20
ZERO_SLOT = "0x" + "00" * 32


@contextmanager
def stopped_clock() -> Iterator[None]:
    """Stop the node's clock, from which the pending block has its time."""
    with mock.patch.object(clock, "time", mock.Mock(time=mock.Mock(return_value=clock.wall()))):
        yield


class Asked:
    """The same API twice, with and without the shortcut, and the calls that each has counted."""

    def __init__(self, limits: DispatchLimits | None = None) -> None:
        self.counts: tuple[Counter[tuple[str, int]], ...] = (Counter(), Counter())
        self.by_shortcut = 0
        """Number of request bodies that the shortcut has answered."""
        self.in_thread = 0
        """Number of request bodies that the thread shortcut has answered."""
        rpc = this_node().evm_rpc
        shortcut, thread_shortcut = rpc.shortcut, rpc.thread_shortcut
        assert shortcut is not None
        assert thread_shortcut is not None

        def noticed(body: bytes, most_calls: int, most_bytes: int):
            found = shortcut(body, most_calls, most_bytes)
            self.by_shortcut += found is not None and found[1] is not None
            return found

        def noticed_in_thread(body: bytes, most_calls: int, most_bytes: int):
            found = thread_shortcut(body, most_calls, most_bytes)
            self.in_thread += found is not None
            return found

        self.dispatchers: tuple[Dispatcher, ...] = (
            hot_dispatcher(limits=limits, observer=self._observer(0)),
            hot_dispatcher(
                limits=limits,
                observer=self._observer(1),
                shortcut=noticed,
                thread_shortcut=noticed_in_thread,
            ),
        )

    def _observer(self, place: int):
        def observe(method: str, seconds: float, code: int = 0, count: int = 1) -> None:
            assert seconds >= 0
            self.counts[place][method, code] += count

        return observe

    def same(self, body: bytes) -> bytes:
        """Return the response to a body, which must not depend on the shortcut, on the loop or in a thread."""
        alone, with_shortcut = self.dispatchers

        async def on_event_loop(dispatcher: Dispatcher):
            return dispatcher.answer_hot(body)

        with stopped_clock():
            answered = self.same_in_thread(body)
            self._count_anew()
            # Each in its own turn of the event loop, with a full time budget.
            hot = [asyncio.run(on_event_loop(value)) for value in (alone, with_shortcut)]
        assert hot[0] == hot[1], body
        assert hot[0] is MISS or (hot[0] or b"") == answered, body
        assert self.counts[0] == self.counts[1], body
        return answered

    def same_in_thread(self, body: bytes) -> bytes:
        """Return the response to a body in a thread, which must not depend on the shortcut."""
        alone, with_shortcut = self.dispatchers
        self._count_anew()
        with stopped_clock():
            answered = alone.answer(body)
            assert with_shortcut.answer(body) == answered, body
        assert self.counts[0] == self.counts[1], body
        return answered or b""

    def _count_anew(self) -> None:
        for counted in self.counts:
            counted.clear()


def deploy_counter(chain) -> None:
    chain.do(to=None, data=bytecode.deploy_code(bytecode.COUNTER), gas=500_000, value=0)
    chain.do(to=COUNTER, gas=100_000, value=0)


def one(method: str, *params: object, **more: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": list(params), **more}


def plain(asked: object) -> bytes:
    return json.dumps(asked).encode()


def of_head(receipts: list[str]) -> list[dict[str, object]]:
    """Return requests that the shortcut answers."""
    return [
        *map(one, ("eth_blockNumber", "eth_chainId", "net_version", "eth_gasPrice", "eth_baseFee")),
        *map(one, ("web3_clientVersion", "eth_maxPriorityFeePerGas", "eth_blobBaseFee")),
        *(
            one(method, address, *block)
            for method in ("eth_getBalance", "eth_getTransactionCount", "eth_getCode")
            for address in (SENDER_TEXT, RECIPIENT_TEXT, COUNTER_TEXT, NOBODY)
            for block in ((), ("latest",), ("accepted",))
        ),
        one("eth_getStorageAt", COUNTER_TEXT, ZERO_SLOT, "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, ZERO_SLOT),
        one("eth_getStorageAt", COUNTER_TEXT, "0x0", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x000", "latest"),
        one("eth_call", {"to": COUNTER_TEXT}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "from": SENDER_TEXT, "gas": "0x186a0"}),
        one("eth_call", {"to": RECIPIENT_TEXT, "data": "0x12", "value": "0x0"}, "latest"),
        one("eth_estimateGas", {"to": COUNTER_TEXT}, "latest"),
        one("eth_estimateGas", {"to": COUNTER_TEXT, "from": SENDER_TEXT, "gas": "0x186a0"}),
        one("eth_estimateGas", {"to": COUNTER_TEXT, "gas": "0x5207"}, "accepted"),
        one("eth_estimateGas", {"to": RECIPIENT_TEXT, "from": SENDER_TEXT, "value": "0x1"}),
        *(
            one("eth_getBlockByNumber", block, full)
            for block in ("latest", "accepted", "0x0", "0x1", "0x2")
            for full in (False, True)
        ),
        *(one("eth_getTransactionReceipt", each) for each in receipts),
        *(one("eth_getTransactionByHash", each) for each in receipts),
    ]


def other_forms(receipts: list[str]) -> list[object]:
    """Return bodies with the same meaning in another form, with another meaning, or invalid."""
    balance = one("eth_getBalance", SENDER_TEXT, "latest")
    return [
        *(
            {**balance, "id": each}
            for each in (0, -1, 1.5, "a", 'q"', "é", None, True, [], {}, 10**20)
        ),
        *({**balance, "params": each} for each in (None, {}, [], [SENDER_TEXT, "latest", 1], "x")),
        *(
            {**balance, "params": [each, "latest"]}
            for each in (1, None, "", "0x", SENDER_TEXT[:-1])
        ),
        *(
            {**balance, "params": [SENDER_TEXT, each]}
            for each in (
                "pending",
                "earliest",
                "safe",
                "finalized",
                "0x0",
                "0x1",
                "0x01",
                "0xffff",
                1,
                None,
                "x",
                ZERO_SLOT,
            )
        ),
        {**balance, "params": ["0X" + SENDER_TEXT[2:]]},
        {**balance, "params": [SENDER_TEXT.upper().replace("0X", "0x")]},
        {**balance, "jsonrpc": "1.0"},
        {key: value for key, value in balance.items() if key != "id"},
        {key: value for key, value in balance.items() if key != "params"},
        {**balance, "method": "eth_nothing"},
        {**balance, "more": 1},
        one("eth_getStorageAt", COUNTER_TEXT, "0", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x", "latest"),
        one("eth_getStorageAt", COUNTER_TEXT, "0x" + "0" * 65, "latest"),
        one("eth_call", {"to": COUNTER_TEXT}, "pending"),
        one("eth_call", {"to": COUNTER_TEXT, "gas": "0x1"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "value": "0x1", "from": NOBODY}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "data": "0x", "input": "0x"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "data": "0x1"}, "latest"),
        one("eth_call", {"to": COUNTER_TEXT, "gasPrice": "0x1"}, "latest"),
        one("eth_call", {"data": "0x00"}, "latest"),
        *(
            one("eth_estimateGas", each, *block)
            for block in ((), ("latest",), ("pending",), ("0x1",))
            for each in (
                {"to": COUNTER_TEXT, "gas": "0x7530"},
                {"to": COUNTER_TEXT, "gas": "0xffffffffffff"},
                {"to": COUNTER_TEXT, "gasPrice": "0x1"},
                {"to": COUNTER_TEXT, "value": "0x1", "from": NOBODY},
                {"data": "0x00"},
            )
        ),
        one("eth_call", {"to": COUNTER_TEXT}, "latest", {}),
        *(
            one("eth_getBlockByNumber", *params)
            for params in (
                (),
                ("latest",),
                ("latest", None),
                ("latest", 1),
                ("latest", "true"),
                ("latest", True, 1),
                ("pending", True),
                ("earliest", False),
                ("0x01", True),
                ("0x", True),
                (1, True),
                ("0xffff", False),
                ("0x" + "f" * 17, True),
                ("0X1", True),
                (ZERO_SLOT, False),
            )
        ),
        *(
            one("eth_getBlockByHash", *params)
            for params in (
                (ZERO_SLOT, True),
                ("0x1", True),
                (ZERO_SLOT,),
                ("latest", True),
                (None, False),
            )
        ),
        one("eth_getTransactionReceipt", receipts[0], 1),
        one("eth_getTransactionReceipt", "0x" + "31" * 32),
        one("eth_blockNumber", 1),
        [],
        [1],
        [balance, {}],
        [balance, {**balance, "id": 2}, one("eth_blockNumber")],
        [one("eth_call", {"to": COUNTER_TEXT}, "latest"), balance, balance],
        [one("eth_estimateGas", {"to": COUNTER_TEXT}), one("eth_call", {"to": COUNTER_TEXT})],
    ]


def texts(*bodies: object) -> list[bytes]:
    """Return the encoded bodies, each also with whitespace and with its members reversed."""
    plain = [json.dumps(body).encode() for body in bodies]
    spaced = [
        json.dumps(dict(reversed(body.items())), indent=1, ensure_ascii=False).encode()
        for body in bodies
        if isinstance(body, dict)
    ]
    return plain + spaced


BROKEN = [
    b"",
    b"{",
    b"[",
    b" ",
    b"7",
    b"\xff",
    b'{"id":1,"id":2}',
    b'{"jsonrpc":"2.0"}x',
    b"[{}",
    b"null",
]
