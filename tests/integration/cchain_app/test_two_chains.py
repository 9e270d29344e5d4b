"""Two EVM chains with different genesis blocks, in one process on two databases: neither affects the other."""

import asyncio
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from django.conf import settings
from django.db import connections
from django.test import Client
from django.urls import reverse

from cchain_app import models, notifications
from cchain_app.admin.dashboard import overview
from cchain_app.admin.pages import find_page
from cchain_app.api import EvmRpc, registry
from cchain_app.api.eth import head_listener
from cchain_app.api.eth import logs as eth_logs
from cchain_app.apps import evm_runtime, use
from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain, NoBlockchainID
from cchain_app.selectors import blocks, figures, pool
from cchain_app.services import transactions
from cchain_app.services.genesis import WrongChainInDatabase, load_genesis
from cchain_app.services.runtime import EvmRuntime
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from cchain_app.txs.transaction import Transaction
from chaindb.database import Database
from chaindb.events import ChainEvents, Message
from jsonrpc.dispatch.dispatcher import Dispatcher
from jsonrpc.errors import JsonRpcError
from jsonrpc.websocket.hub import SocketExchange
from primitives.ids import ID
from tests.builders import bytecode
from tests.builders.evm_chains import produce
from tests.builders.evm_genesis import genesis_of
from tests.builders.node_settings import updated
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.integration.recomputed import assert_recomputes

ALIASES = ("default", "second")
CHAIN_IDS = (43_112, 777)
BALANCES = (10**24, 5 * 10**21)
"""Balance in wei of the well-known key's account, in each genesis."""

CONTRACT = bytecode.created(SENDER, 0)
"""The first contract of that account: its address is the same on both chains."""

pytestmark = pytest.mark.django_db(transaction=True, databases=ALIASES)


def hexed(data: bytes) -> str:
    return "0x" + data.hex()


@dataclass
class Node:
    """A chain with its RPC endpoint; its blocks are made on demand."""

    runtime: EvmRuntime
    rpc: EvmRpc
    nonce: int = 0

    @property
    def chain(self) -> EvmChain:
        return self.runtime.chain

    def __post_init__(self) -> None:
        self.dispatcher = Dispatcher(registry(self.rpc))
        self.genesis = load_genesis(self.chain)

    def ask(self, method: str, *params: Any, by: SocketExchange | None = None) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = self.dispatcher.answer(json.dumps(body).encode(), by)
        assert answer is not None
        shown = json.loads(answer)
        if "error" in shown:
            raise JsonRpcError(**shown["error"])
        return shown["result"]

    def make(self, **fields: Any) -> Transaction:
        chain_id = self.chain.config.chain_id
        given = unsigned(**{"nonce": self.nonce, "chain_id": chain_id, **fields})
        self.nonce += 1
        return decode_transaction(sign_transaction(given, KEY), chain_id)

    def send(self, **fields: Any) -> str:
        sent: str = self.ask("eth_sendRawTransaction", hexed(self.make(**fields).raw))
        return sent

    def mine(self) -> AcceptedBlock:
        time = blocks.head(self.chain).header.timestamp + 1
        made = produce(self.runtime, now=time, allow_empty=True)
        assert made is not None
        return made

    def do(self, **fields: Any) -> AcceptedBlock:
        self.send(**fields)
        return self.mine()


@pytest.fixture
def two() -> Iterator[tuple[Node, Node]]:
    """Both chains; every block that a test makes is recomputed at the end."""
    node = updated(settings.NODE, mining="manual")
    events = ChainEvents("embedded")
    runtimes = [
        EvmRuntime(
            EvmChain(
                node.common,
                node.cchain,
                Database(alias),
                events=events,
                aliases=(f"C{place}", f"evm{place}"),
                blockchain_id=partial(ID, bytes([place]) * 32),
                genesis_file=genesis_of(*given),
            )
        )
        for place, (alias, *given) in enumerate(zip(ALIASES, CHAIN_IDS, BALANCES, strict=True))
    ]
    first, second = (Node(runtime, EvmRpc(runtime)) for runtime in runtimes)
    yield first, second
    for runtime in runtimes:
        assert_recomputes(runtime.chain)


def test_each_chain_has_its_own_genesis(two: tuple[Node, Node]) -> None:
    assert two[0].genesis.hash != two[1].genesis.hash
    for node, chain_id, balance in zip(two, CHAIN_IDS, BALANCES, strict=True):
        assert node.ask("eth_chainId") == hex(chain_id)
        assert node.ask("eth_getBlockByNumber", "latest", False)["hash"] == hexed(node.genesis.hash)
        assert node.ask("eth_getBalance", hexed(SENDER), "latest") == hex(balance)
        assert node.ask("eth_getChainConfig")["chainId"] == chain_id


def test_each_has_its_own_names(two: tuple[Node, Node]) -> None:
    for node, own, other in ((two[0], 0, 1), (two[1], 1, 0)):
        assert node.chain.blockchain_id == ID(bytes([own]) * 32)
        for name in (f"C{own}", f"evm{own}", str(node.chain.blockchain_id)):
            assert node.chain.is_named(name)
        for name in (f"C{other}", f"evm{other}", str(two[other].chain.blockchain_id), "C", ""):
            assert not node.chain.is_named(name)


def test_a_chain_that_no_p_chain_knows_has_no_blockchain_id() -> None:
    chain = EvmChain(settings.NODE.common, settings.NODE.cchain, Database())

    with pytest.raises(NoBlockchainID):
        _ = chain.blockchain_id
    assert chain.is_named("evm")
    assert not chain.is_named(str(ID(bytes(32))))


def test_database_of_another_chain_is_refused(two: tuple[Node, Node]) -> None:
    stranger = EvmChain(
        settings.NODE.common,
        settings.NODE.cchain,
        two[1].chain.db,
        genesis_file=genesis_of(CHAIN_IDS[0], BALANCES[0]),
    )
    with pytest.raises(WrongChainInDatabase, match="choose another data directory"):
        load_genesis(stranger)


def test_a_transaction_waits_and_is_mined_on_the_chain_it_was_sent_to(
    two: tuple[Node, Node],
) -> None:
    first, second = two
    sent = first.send(value=7)

    assert first.ask("txpool_status") == {"pending": "0x1", "queued": "0x0"}
    assert second.ask("txpool_status") == {"pending": "0x0", "queued": "0x0"}
    assert first.ask("eth_getTransactionCount", hexed(SENDER), "pending") == "0x1"
    assert second.ask("eth_getTransactionCount", hexed(SENDER), "pending") == "0x0"
    assert second.mine().transactions == ()
    assert second.ask("eth_getTransactionByHash", sent) is None

    first.mine()
    assert first.ask("eth_getTransactionReceipt", sent)["blockNumber"] == "0x1"
    assert second.ask("eth_getTransactionReceipt", sent) is None
    assert first.ask("eth_getBalance", hexed(RECIPIENT), "latest") == "0x7"
    assert second.ask("eth_getBalance", hexed(RECIPIENT), "latest") == "0x0"
    assert [models.Transaction.objects.using(alias).count() for alias in ALIASES] == [1, 0]


def test_transaction_of_another_chain_is_refused(two: tuple[Node, Node]) -> None:
    made = two[0].make()
    with pytest.raises(JsonRpcError, match="chain id") as refusal:
        two[1].ask("eth_sendRawTransaction", hexed(made.raw))
    assert refusal.value.code == -32000
    assert pool.counts(two[1].chain) == (0, 0)


def test_both_take_transactions_and_make_blocks_at_once(two: tuple[Node, Node]) -> None:
    rounds, together = 6, threading.Barrier(2)

    def live(node: Node, value: int) -> list[AcceptedBlock]:
        try:
            made = []
            for _ in range(rounds):
                together.wait(30)
                sent = [node.make(value=value).raw for _ in range(5)]
                outcomes = transactions.submit(node.runtime, sent)
                assert all(isinstance(outcome, bytes) for outcome in outcomes), outcomes
                made.append(node.mine())
            return made
        finally:
            connections.close_all()

    with ThreadPoolExecutor(2) as threads:
        lived = list(threads.map(live, two, (3, 4)))

    for node, made, value in zip(two, lived, (3, 4), strict=True):
        assert [item.number for item in made] == list(range(1, rounds + 1))
        assert [len(other.transactions) for other in made] == [5] * rounds
        assert blocks.head(node.chain) == made[-1]
        paid = node.ask("eth_getBalance", hexed(RECIPIENT), "latest")
        assert paid == hex(5 * rounds * value)
        assert figures.waiting(node.chain, rounds).pending == 0


def test_calls_see_the_code_and_state_of_their_chain(two: tuple[Node, Node]) -> None:
    first, second = two
    counter, answer = bytecode.COUNTER, bytecode.assemble("42 0 MSTORE 32 0 RETURN")
    for node, code in ((first, counter), (second, answer)):
        node.do(to=None, data=bytecode.deploy_code(code), gas=500_000, value=0)
    for _ in range(2):
        first.do(to=CONTRACT, gas=100_000, value=0)

    def at(block: str) -> list[int]:
        asked = ({"to": hexed(CONTRACT)}, block)
        return [int(node.ask("eth_call", *asked), 16) for node in two]

    assert at("latest") == [3, 42]
    assert at("0x1") == [1, 42]
    assert [node.ask("eth_getCode", hexed(CONTRACT), "latest") for node in two] == [
        hexed(counter), hexed(answer),
    ]  # fmt: skip
    slots = [node.ask("eth_getStorageAt", hexed(CONTRACT), "0x0", "latest") for node in two]
    assert [int(slot, 16) for slot in slots] == [2, 0]
    proofs = [node.ask("eth_getProof", hexed(CONTRACT), ["0x0"], "latest") for node in two]
    assert [proof["storageProof"][0]["value"] for proof in proofs] == ["0x2", "0x0"]


@pytest.mark.parametrize("searched", ["memory", "rows"])
def test_logs_are_found_on_the_chain_that_emitted_them(
    two: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch, searched: str
) -> None:
    if searched == "rows":
        monkeypatch.setattr(eth_logs, "IN_MEMORY", 0)
    for place, node in enumerate(two):
        node.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0)
        for data in range(place + 1):
            node.do(to=CONTRACT, data=bytes([place, data]), gas=100_000, value=0)

    found = [
        node.ask("eth_getLogs", {"fromBlock": "0x0", "address": hexed(CONTRACT)}) for node in two
    ]

    assert [[item["data"] for item in of_one] for of_one in found] == [
        ["0x0000"] * 2, ["0x0100"] * 2 + ["0x0101"] * 2,
    ]  # fmt: skip


def test_a_polled_filter_belongs_to_its_chain(two: tuple[Node, Node]) -> None:
    first, second = two
    kinds = ("eth_newBlockFilter", "eth_newPendingTransactionFilter")
    of_first, of_second = ([node.ask(kind) for kind in kinds] for node in two)
    sent = second.send()
    mined = [hexed(second.mine().hash), hexed(second.mine().hash)]

    assert [second.ask("eth_getFilterChanges", other) for other in of_second] == [mined, [sent]]
    assert [first.ask("eth_getFilterChanges", item) for item in of_first] == [[], []]
    for stranger, known in ((first, of_second), (second, of_first)):
        with pytest.raises(JsonRpcError, match="filter not found"):
            stranger.ask("eth_getFilterChanges", known[0])
        assert stranger.ask("eth_uninstallFilter", known[0]) is False
    assert first.ask("eth_uninstallFilter", of_first[0]) is True


class Socket:
    """A WebSocket listener that keeps the messages it receives."""

    def __init__(self, node: Node) -> None:
        self.exchange = SocketExchange(node.rpc.hub, self)
        self.texts: list[bytes] = []
        self._node = node
        node.rpc.hub.connect(self)

    def is_gone(self) -> bool:
        return False

    async def close(self, code: int, reason: str) -> None:
        raise AssertionError(f"closed with {code}: {reason}")  # no chain ends here

    def push(self, text: bytes) -> None:
        self.texts.append(text)

    def push_all(self, begin: bytes, middles: Sequence[bytes | memoryview], end: bytes) -> None:
        self.texts.extend(b"".join((begin, middle, end)) for middle in middles)

    def subscribe(self, *given: Any) -> None:
        self._node.ask("eth_subscribe", *given, by=self.exchange)
        self.exchange.confirm()

    def heard(self) -> list[Any]:
        return [json.loads(text)["params"]["result"] for text in self.texts]


async def tell(node: Node, block: AcceptedBlock) -> None:
    """Announce a block to the subscribers, as the chain's follower does."""
    await head_listener.head_accepted(node.rpc, block.number)


def test_subscribers_receive_their_chain_only(two: tuple[Node, Node]) -> None:
    sockets = [Socket(node) for node in two]
    for node, socket in zip(two, sockets, strict=True):
        node.do(to=None, data=bytecode.deploy_code(bytecode.LOGGER), gas=500_000, value=0)
        socket.subscribe("newHeads")
        socket.subscribe("logs", {"address": hexed(CONTRACT)})

    # The second chain's third block would be invalid on the first chain, which has two blocks.
    made = [
        (node, node.do(to=CONTRACT, data=bytes([place]), gas=100_000, value=0))
        for place, node in ((1, two[1]), (0, two[0]), (2, two[1]))
    ]
    for node, block in made:
        asyncio.run(tell(node, block))

    heads = [
        [other["hash"] for other in socket.heard() if "parentHash" in other] for socket in sockets
    ]
    assert heads == [[hexed(block.hash) for node, block in made if node is owner] for owner in two]
    logs = [[item["data"] for item in socket.heard() if "topics" in item] for socket in sockets]
    assert logs == [["0x00"] * 2, ["0x01"] * 2 + ["0x02"] * 2]


def test_event_loops_receive_the_requested_chain_only(two: tuple[Node, Node]) -> None:
    loop = asyncio.new_event_loop()
    heard: list[list[Message]] = [[], []]
    unbinds = [
        node.chain.events.bind(loop, inbox.append, node.chain.aliases[:1])
        for node, inbox in zip(two, heard, strict=True)
    ]
    try:
        assert two[0].chain.events is two[1].chain.events  # shared within a node
        sent = [bytes.fromhex(node.send()[2:]) for node in (two[1], two[1], two[0])]
        made = [node.mine() for node in (*two, two[1])]
        loop.call_soon(loop.stop)  # after everything that was sent
        loop.run_forever()
    finally:
        for unbind in unbinds:
            unbind()
        loop.close()

    waiting = [
        [item["hashes"] for item in inbox if item["type"] == notifications.PENDING]
        for inbox in heard
    ]
    assert waiting == [[[sent[2]]], [[sent[0]], [sent[1]]]]
    heads = [
        [(other["number"], other["hash"]) for other in inbox if other["type"] == notifications.HEAD]
        for inbox in heard
    ]
    assert heads == [
        [(1, made[0].hash)], [(1, made[1].hash), (2, made[2].hash)],
    ]  # fmt: skip


def test_a_block_is_outstanding_and_timed_on_the_chain_that_makes_it(
    two: tuple[Node, Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = (node.chain for node in two)
    timed: list[list[float]] = [[], []]
    for chain, of_one in zip((first, second), timed, strict=True):
        chain.building.observe(of_one.append)
    seen: list[list[list[int]]] = []
    vm: Any = two[0].runtime.vm
    accept = vm.accept

    def look(*arguments: Any, **more: Any) -> None:
        seen.append(
            [[height for height, _ in value.building.outstanding()] for value in (first, second)]
        )
        accept(*arguments, **more)

    monkeypatch.setattr(vm, "accept", look)
    two[1].mine()
    two[0].mine()
    with second.building.count(9):
        two[0].mine()

    assert seen == [[[1], []], [[2], [9]]]
    assert [len(of_one) for of_one in timed] == [2, 1]
    assert first.building.outstanding() == second.building.outstanding() == []


def test_the_admin_shows_the_chain_of_its_process(
    two: tuple[Node, Node], admin_client: Client
) -> None:
    sent = [node.send(value=9) for node in two]
    heads = [node.mine() for node in two]
    before = evm_runtime()
    try:
        for node, own, other in ((two[0], 0, 1), (two[1], 1, 0)):
            use(node.runtime)
            for page, shown, hidden in (
                ("block", hexed(heads[own].hash), hexed(heads[other].hash)),
                ("transaction", sent[own], sent[other]),
            ):
                text = admin_client.get(reverse(f"admin:cchain_app_{page}_changelist")).text
                assert shown[:10] in text
                assert hidden[:10] not in text
            assert find_page(sent[own]) is not None
            assert find_page(sent[other]) is None
            found = overview()
            assert found is not None
            assert CHAIN_IDS[own] in [card.value for card in found.cards]
    finally:
        use(before)


def test_caches_of_the_chains_are_independent(
    two: tuple[Node, Node], django_assert_num_queries: Any
) -> None:
    for node in two:
        node.do()
    first, second = two
    first.chain.memory.reset_to(blocks.head(first.chain))

    with django_assert_num_queries(0, using="second"):
        assert second.ask("eth_getBalance", hexed(SENDER), "latest") != hex(BALANCES[1])
    with django_assert_num_queries(1, using="default"):
        assert first.ask("eth_getBalance", hexed(SENDER), "latest") != hex(BALANCES[0])
