"""eth_subscribe: kinds and their arguments, order, and one encoding for many subscribers."""

import asyncio
import json
import threading
from collections.abc import Sequence

import pytest

from cchain_app.api import registry
from cchain_app.api.eth import head_listener
from cchain_app.api.rpc import SentHeads
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from jsonrpc.websocket.hub import Hub, SocketExchange
from nodeproject.apps import this_node
from tests.builders.accepted import EMITTER, OTHER_TOPIC, TOPIC, log
from tests.builders.transactions import signed


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


class Socket:
    """A socket that records sent messages."""

    def __init__(self, hub: Hub) -> None:
        self.exchange = SocketExchange(hub, self)
        self.texts: list[bytes] = []
        hub.connect(self)

    def push(self, text: bytes) -> None:
        self.texts.append(text)

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        self.texts.extend(b"".join((begin, middle, end)) for middle in middles)

    def is_gone(self) -> bool:
        return False

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(f"closed with {code}: {reason}")  # no chain ends here

    def call(self, method, *params):
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = json.loads(
            Dispatcher(registry(this_node().evm_rpc)).answer(
                json.dumps(body).encode(), self.exchange
            )
        )
        self.exchange.confirm()
        if "error" in answer:
            raise JsonRpcError(**answer["error"])
        return answer["result"]

    def heard(self, identifier: str | None = None) -> list:
        messages = [json.loads(text) for text in self.texts]
        assert all(item["method"] == "eth_subscription" and "id" not in item for item in messages)
        events = [message["params"] for message in messages]
        return [event["result"] for event in events if identifier in (None, event["subscription"])]


@pytest.fixture
def hub(memory_chain, monkeypatch):
    made = Hub()
    monkeypatch.setattr(this_node().evm_rpc, "hub", made)
    monkeypatch.setattr(this_node().evm_rpc, "heads", SentHeads())
    return made


@pytest.fixture
def socket(hub):
    return Socket(hub)


async def reach(chain) -> None:
    await head_listener.head_accepted(this_node().evm_rpc, chain.head().number)


async def test_new_heads_are_headers_in_order(socket, memory_chain):
    identifier = socket.call("eth_subscribe", "newHeads")
    assert identifier.startswith("0x")
    first = memory_chain.accept(signed())
    await reach(memory_chain)
    memory_chain.accept()
    await reach(memory_chain)
    heads = socket.heard(identifier)
    assert [head["number"] for head in heads] == ["0x1", "0x2"]
    assert heads[0]["hash"] == hexed(first.hash)
    assert not {"transactions", "size", "uncles"} & heads[0].keys()
    assert "baseFeePerGas" in heads[0]


async def test_the_head_at_the_time_of_subscribing_is_not_sent(socket, memory_chain):
    memory_chain.accept()
    socket.call("eth_subscribe", "newHeads")
    await reach(memory_chain)
    assert socket.heard() == []


async def test_lost_pointers_heal(socket, memory_chain):
    socket.call("eth_subscribe", "newHeads")
    for _ in range(5):
        memory_chain.accept()
    await reach(memory_chain)
    assert [item["number"] for item in socket.heard()] == ["0x1", "0x2", "0x3", "0x4", "0x5"]


async def test_repeated_or_late_event_sends_nothing_again(socket, memory_chain):
    socket.call("eth_subscribe", "newHeads")
    memory_chain.accept()
    memory_chain.accept()
    await reach(memory_chain)
    await reach(memory_chain)
    await head_listener.head_accepted(this_node().evm_rpc, 1)
    assert [item["number"] for item in socket.heard()] == ["0x1", "0x2"]


async def test_events_at_the_same_time_send_each_head_once(socket, memory_chain):
    socket.call("eth_subscribe", "newHeads")
    for _ in range(8):
        memory_chain.accept()
    await asyncio.gather(
        *(
            head_listener.head_accepted(this_node().evm_rpc, block.number)
            for block in memory_chain.blocks[1:]
        )
    )
    assert [int(item["number"], 16) for item in socket.heard()] == list(range(1, 9))


async def test_a_pointer_to_a_block_that_is_not_there_yet_waits_for_the_next(socket, memory_chain):
    socket.call("eth_subscribe", "newHeads")
    await head_listener.head_accepted(this_node().evm_rpc, 1)
    assert socket.heard() == []
    memory_chain.accept()
    await reach(memory_chain)
    assert [item["number"] for item in socket.heard()] == ["0x1"]


async def test_rewound_chain_is_followed_without_notification(socket, memory_chain):
    socket.call("eth_subscribe", "newHeads")
    for _ in range(3):
        memory_chain.accept()
    await reach(memory_chain)
    socket.texts.clear()
    del memory_chain.blocks[2:]
    await reach(memory_chain)
    assert socket.heard() == []
    memory_chain.accept(extra_data=b"again")
    await reach(memory_chain)
    assert [item["number"] for item in socket.heard()] == ["0x2"]


async def test_logs_are_sent_one_by_one_to_matching_subscriptions(hub, memory_chain):
    all_logs, some = Socket(hub), Socket(hub)
    everything = all_logs.call("eth_subscribe", "logs", {})
    wanted = {"address": hexed(EMITTER), "topics": [hexed(TOPIC)], "fromBlock": "0x0"}
    chosen = some.call("eth_subscribe", "logs", wanted)
    memory_chain.accept(signed(), logs=[[log(TOPIC), log(OTHER_TOPIC)]])
    await reach(memory_chain)
    assert [other["logIndex"] for other in all_logs.heard(everything)] == ["0x0", "0x1"]
    assert [item["topics"] for item in some.heard(chosen)] == [[hexed(TOPIC)]]
    assert all_logs.heard()[0]["removed"] is False


def on_event_loop_at_most(logs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit the number of logs that are matched on the event loop."""
    rendered = this_node().evm_rpc.rendered
    monkeypatch.setattr(rendered, "renderer", rendered.renderer._replace(on_event_loop=logs))


@pytest.mark.parametrize("most", [500, 1_000])
async def test_many_logs_are_sent_whole_and_in_order(socket, memory_chain, monkeypatch, most):
    on_event_loop_at_most(most, monkeypatch)
    socket.call("eth_subscribe", "logs", {"address": hexed(EMITTER)})
    sent = [signed(nonce=number) for number in range(3)]
    memory_chain.accept(*sent, logs=[[log()] * 250] * 3)
    await reach(memory_chain)
    assert [int(item["logIndex"], 16) for item in socket.heard()] == list(range(750))


async def test_equal_filters_are_matched_once(hub, memory_chain, monkeypatch):
    asked = []
    real = head_listener.eth_logs.matching
    monkeypatch.setattr(
        head_listener.eth_logs,
        "matching",
        lambda rpc, block, wanted: asked.append(wanted) or real(rpc, block, wanted),
    )
    sockets = [Socket(hub) for _ in range(3)]
    for other in sockets:
        other.call("eth_subscribe", "logs", {"topics": [hexed(TOPIC)]})
    memory_chain.accept(signed(), logs=[[log(TOPIC)]])
    await reach(memory_chain)
    assert len(asked) == 1
    assert [len(item.texts) for item in sockets] == [1, 1, 1]


async def test_many_filters_are_matched_once_each_and_in_threads(hub, memory_chain, monkeypatch):
    asked = []
    real = head_listener.eth_logs.matching
    here = threading.current_thread()

    def noticed(rpc, block, wanted):
        asked.append((wanted, threading.current_thread() is here))
        return real(rpc, block, wanted)

    monkeypatch.setattr(head_listener.eth_logs, "matching", noticed)
    on_event_loop_at_most(59, monkeypatch)
    monkeypatch.setattr(head_listener, "LOGS_AT_ONCE", 59)
    sockets = [Socket(hub) for _ in range(20)]
    for number, one in enumerate(sockets):
        wanted = [hexed(TOPIC), hexed(number.to_bytes(32, "big"))]
        one.call("eth_subscribe", "logs", {"topics": [wanted]})
    memory_chain.accept(signed(), logs=[[log(TOPIC)] * 3])
    await reach(memory_chain)
    assert (len(asked), len(dict(asked)), any(on_loop for _, on_loop in asked)) == (20, 20, False)
    assert [len(item.texts) for item in sockets] == [3] * 20


async def test_unsubscribed_socket_receives_nothing(hub, memory_chain, monkeypatch):
    leaving, staying = Socket(hub), Socket(hub)
    identifier = leaving.call("eth_subscribe", "logs", {})
    staying.call("eth_subscribe", "logs", {"topics": [hexed(TOPIC)]})
    real = head_listener.eth_logs.matching

    def leave(rpc, block, wanted):
        hub.close(leaving, identifier)
        return real(rpc, block, wanted)

    monkeypatch.setattr(head_listener.eth_logs, "matching", leave)
    on_event_loop_at_most(1, monkeypatch)
    memory_chain.accept(signed(), logs=[[log(TOPIC)]])
    await reach(memory_chain)
    assert (len(leaving.texts), len(staying.texts)) == (0, 1)


async def test_pending_transactions_are_hashes_or_objects(hub, memory_chain):
    hashes, whole = Socket(hub), Socket(hub)
    hashes.call("eth_subscribe", "newPendingTransactions", False)
    whole.call("eth_subscribe", "newPendingTransactions", True)
    waiting, quick = signed(nonce=1), signed(nonce=0)
    memory_chain.pending.append(waiting)
    memory_chain.accept(quick)
    await head_listener.pending_transactions(this_node().evm_rpc, [quick.hash, waiting.hash])
    assert hashes.heard() == [hexed(quick.hash), hexed(waiting.hash)]
    assert [item["hash"] for item in whole.heard()] == hashes.heard()
    assert [other["blockHash"] for other in whole.heard()] == [None, None]


async def test_accepted_transactions_are_hashes_or_objects(hub, memory_chain):
    hashes, whole = Socket(hub), Socket(hub)
    hashes.call("eth_subscribe", "newAcceptedTransactions")
    whole.call("eth_subscribe", "newAcceptedTransactions", True)
    block = memory_chain.accept(signed(), signed(nonce=1))
    await reach(memory_chain)
    assert hashes.heard() == [hexed(transaction.hash) for transaction in block.transactions]
    assert [item["blockNumber"] for item in whole.heard()] == ["0x1", "0x1"]


async def test_receipts_of_a_block_are_one_notification(hub, memory_chain, rpc):
    sent = [signed(nonce=number) for number in range(3)]
    every, nothing_named, two, none = (Socket(hub) for _ in range(4))
    every.call("eth_subscribe", "transactionReceipts")
    nothing_named.call("eth_subscribe", "transactionReceipts", {"transactionHashes": None})
    chosen = [hexed(sent[2].hash), hexed(sent[0].hash), hexed(bytes(32))]
    two.call("eth_subscribe", "transactionReceipts", {"transactionHashes": chosen})
    none.call("eth_subscribe", "transactionReceipts", {"transactionHashes": chosen[2:]})
    memory_chain.accept(*sent, logs=[[log(TOPIC)], [], [log(TOPIC)]])
    memory_chain.accept()
    await reach(memory_chain)
    receipts = rpc("eth_getBlockReceipts", "0x1")
    assert every.heard() == nothing_named.heard() == [receipts]
    assert two.heard() == [[receipts[0], receipts[2]]]
    assert none.heard() == []


async def test_receipts_are_rendered_in_a_thread(socket, memory_chain, monkeypatch):
    on_event_loop_at_most(1, monkeypatch)
    socket.call("eth_subscribe", "transactionReceipts", {})
    memory_chain.accept(signed(), logs=[[log(TOPIC)] * 3])
    await reach(memory_chain)
    ((receipt,),) = socket.heard()
    assert len(receipt["logs"]) == 3


async def test_syncing_is_silent_while_nothing_changes(socket, memory_chain):
    assert socket.call("eth_subscribe", "syncing").startswith("0x")
    memory_chain.accept()
    await reach(memory_chain)
    assert socket.heard() == []


async def test_unsubscribing_ends_it(socket, memory_chain):
    identifier = socket.call("eth_subscribe", "newHeads")
    assert socket.call("eth_unsubscribe", identifier) is True
    memory_chain.accept()
    await reach(memory_chain)
    assert socket.heard() == []
    with pytest.raises(JsonRpcError) as failure:
        socket.call("eth_unsubscribe", identifier)
    assert (failure.value.code, failure.value.message) == (-32000, "subscription not found")


def test_another_connections_subscription_is_not_found(hub, memory_chain):
    identifier = Socket(hub).call("eth_subscribe", "newHeads")
    with pytest.raises(JsonRpcError, match="subscription not found"):
        Socket(hub).call("eth_unsubscribe", identifier)


@pytest.mark.parametrize(
    ("params", "code", "words"),
    [
        ([], -32602, "expected subscription name as first argument"),
        ([5], -32602, "expected subscription name as first argument"),
        (["oldHeads"], -32601, 'no "oldHeads" subscription in eth namespace'),
        (["newHeads", {}], -32602, "too many arguments, want at most 1"),
        (["logs"], -32602, "missing value for required argument 1"),
        (["logs", {"topics": [None] * 5}], -32602, "invalid argument 1: exceed max topics"),
        (
            ["newPendingTransactions", "yes"],
            -32602,
            "invalid argument 1: json: cannot unmarshal string into Go value of type bool",
        ),
        (
            ["transactionReceipts", ["0x" + "00" * 32]],
            -32602,
            "invalid argument 1: json: cannot unmarshal array into Go value of type filters.input",
        ),
        (
            [
                "transactionReceipts",
                {"transactionHashes": [f"0x{number:064x}" for number in range(201)]},
            ],
            -32000,
            "exceed max number of transaction hashes allowed per transactionReceipts subscription",
        ),
    ],
)
def test_invalid_subscription_parameters_are_refused(socket, params, code, words):
    with pytest.raises(JsonRpcError) as failure:
        socket.call("eth_subscribe", *params)
    assert (failure.value.code, failure.value.message) == (code, words)


@pytest.mark.parametrize("method", ["eth_subscribe", "eth_unsubscribe"])
def test_subscriptions_over_http_are_refused(rpc, memory_chain, method):
    with pytest.raises(JsonRpcError) as failure:
        rpc(method, "newHeads")
    assert (failure.value.code, failure.value.message) == (
        -32601, "notifications not supported",
    )  # fmt: skip
