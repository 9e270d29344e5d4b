"""A node with a third chain: an EVM chain besides the C-Chain, with its own name, ID, rules, database and paths."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db import connections
from django.test import Client

from cchain_app import tasks
from cchain_app.apps import evm_chain, find_evm_chain
from cchain_app.services.genesis import load_genesis
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from chaindb import wakeup
from chaindb.chains import ChainRegistry, DuplicateChain, title
from chaindb.connections import in_thread
from chaindb.database import Database
from health_app.checks import APPLICATION
from network_app.models import OuterBlock
from nodeproject.apps import this_node, use
from nodeproject.node import Node
from nodeproject.startup.further_chains import FurtherChain
from platform_app.apps import platform_chain
from primitives.ids import ID, PRIMARY_NETWORK_ID
from tests.builders.evm_genesis import genesis_of
from tests.builders.node_settings import updated
from tests.builders.transactions import KEY, RECIPIENT, unsigned
from tests.integration.health_app.metrics.conftest import parse
from tests.integration.patience import PatientCommunicator
from tests.integration.platform_app.conftest import PChain
from tests.unit.jsonrpc.test_endpoints import Answer, ask

NAME = "D"
CHAIN_ID = 777
BLOCKCHAIN_ID = ID(b"third chain".ljust(32))
FURTHER = FurtherChain(
    aliases=(NAME, "dex"),
    blockchain_id=BLOCKCHAIN_ID,
    database="second",
    genesis_file=genesis_of(CHAIN_ID, 5 * 10**21),
)
WAY = f"/ext/bc/{NAME}/rpc"
CCHAIN = "/ext/bc/C/rpc"

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "second"]),
    pytest.mark.node_settings(mining="manual"),
]


@pytest.fixture
def node(shared_pchain: PChain) -> Iterator[Node]:
    """A started node with three chains; the tests make its blocks."""
    before = this_node()
    made = Node(before.settings, further=[FURTHER])
    use(made)
    made.network.connect_consensus()
    for chain in made.evm_chains.values():
        load_genesis(chain)
    yield made
    made.endpoints.workers.close()
    use(before)


@pytest.fixture
def application(node: Node, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Everything that a server of this node serves; health checks run only when a test runs them."""
    from nodeproject.asgi import Application

    monkeypatch.setattr(node.observation.reporter, "start", lambda: None)
    yield Application(node)
    node.plain.workers.close()


@pytest.fixture
def client(node: Node) -> Client:
    """An operator's browser."""
    get_user_model().objects.create_superuser("operator", password="a password")
    made = Client(headers={"host": "localhost"})
    assert made.login(username="operator", password="a password")
    return made


def transfer(nonce: int = 0, chain_id: int = CHAIN_ID) -> str:
    """Return a signed transfer of 7 wei on the third chain."""
    given = unsigned(nonce=nonce, chain_id=chain_id, value=7, to=RECIPIENT)
    return "0x" + decode_transaction(sign_transaction(given, KEY), chain_id).raw.hex()


def call(method: str, *params: Any) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params})


async def end(application: Any) -> None:
    """Stop following the chains, which the first request began."""
    for follower in application._followers:
        await follower.stop()
    application._requests._listener.stop()


async def over_http(application: Any, path: str, method: str, *params: Any) -> Any:
    headers = {"host": "localhost", "content-type": "application/json"}
    answer: Answer = await ask(
        application, "POST", path, headers, parts=(call(method, *params).encode(),)
    )
    assert answer.status == 200, answer.body
    return json.loads(answer.body)["result"]


def send(node: Node, path_name: str, raw: str) -> Any:
    """Send a transaction through a chain's interface, in this thread."""
    answer = node.endpoints.evm[path_name].dispatcher.answer(
        call("eth_sendRawTransaction", raw).encode()
    )
    assert answer is not None
    return json.loads(answer)["result"]


def mine(node: Node, name: str) -> int:
    """Make a block of a chain, as its producer does."""
    head = json.loads(
        node.endpoints.evm[name].dispatcher.answer(call("eth_blockNumber").encode()) or b""
    )
    time = node.platform_chain.tip().timestamp + 1 + int(head["result"], 16)
    block = node.evm_runtimes[name].consensus.produce(now=time, allow_empty=True)
    assert block is not None
    return block.height


def test_chains_are_found_by_name_alias_and_id(node: Node) -> None:
    third = node.evm_chains[NAME]
    assert list(node.chains) == ["P", "X", "C", NAME]
    assert list(node.network.chains) == ["P", "X", "C", NAME]
    for text in (NAME, "dex", str(BLOCKCHAIN_ID)):
        assert node.chains.find(text) is find_evm_chain(text) is third
    assert node.chains.find("C") is evm_chain() is node.evm_chain
    assert node.chains.find("X") is node.avm_chain
    assert (third.vm_name, third.db.alias) == ("evm", "second")
    assert node.chains["P"] is platform_chain()
    assert title(NAME) == "D-Chain"
    wakeups = [other.producer for other in (node.platform_chain, *node.evm_chains.values())]
    assert (
        len({wakeup.channel for wakeup in wakeups}) == len({item.lock_key for item in wakeups}) == 3
    )


def test_chains_share_neither_names_nor_tables(node: Node) -> None:
    with pytest.raises(DuplicateChain):
        Node(node.settings, further=[FURTHER._replace(aliases=("E", "evm"))])
    with pytest.raises(DuplicateChain):
        Node(node.settings, further=[FURTHER._replace(database="default")])


def test_node_without_the_c_chain_does_not_join_it(node: Node, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P",))
    chains = ChainRegistry(node.chains.every)
    assert list(chains) == ["P", NAME]
    assert len(chains) == 2
    assert chains.find("C") is None
    with pytest.raises(KeyError):
        chains["C"]


async def test_http_endpoints_have_its_names(application: Any, node: Node) -> None:
    for path in (WAY, "/ext/bc/dex/rpc", f"/ext/{NAME}/rpc", f"/ext/bc/{BLOCKCHAIN_ID}/rpc"):
        assert await over_http(application, path, "eth_chainId") == hex(CHAIN_ID)
    for path in (CCHAIN, "/"):
        assert await over_http(application, path, "eth_chainId") == hex(43_112)

    sent = await over_http(application, WAY, "eth_sendRawTransaction", transfer())
    assert await over_http(application, WAY, "txpool_status") == {"pending": "0x1", "queued": "0x0"}
    assert await over_http(application, CCHAIN, "txpool_status") == {
        "pending": "0x0", "queued": "0x0",
    }  # fmt: skip
    assert await in_thread(mine, node, NAME) == 1

    found = await over_http(application, WAY, "eth_getTransactionReceipt", sent)
    assert found["blockNumber"] == "0x1"
    assert await over_http(application, CCHAIN, "eth_getTransactionReceipt", sent) is None
    assert await over_http(application, CCHAIN, "eth_blockNumber") == "0x0"
    await end(application)


async def test_websocket_announces_its_heads(application: Any, node: Node) -> None:
    sockets = []
    for path in (f"/ext/bc/{NAME}/ws", "/ext/bc/C/ws"):
        socket = PatientCommunicator(application, path)
        connected, _ = await socket.connect()
        assert connected
        await socket.send_to(text_data=call("eth_subscribe", "newHeads"))
        assert "result" in json.loads(await socket.receive_from())
        sockets.append(socket)

    heights = [await in_thread(mine, node, name) for name in (NAME, NAME, "C")]
    assert heights == [1, 2, 1]

    third = [json.loads(await sockets[0].receive_from()) for _ in range(2)]
    assert [item["params"]["result"]["number"] for item in third] == ["0x1", "0x2"]
    of_c = json.loads(await sockets[1].receive_from())
    assert of_c["params"]["result"]["number"] == "0x1"
    for socket in sockets:
        assert await socket.receive_nothing(timeout=0.1)
        await socket.disconnect()
    await end(application)


@pytest.mark.node_settings(mining="auto")
def test_tasks_name_the_chain(node: Node) -> None:
    send(node, NAME, transfer())
    assert tasks.produce_blocks("C") == {"blocks": 0}
    assert tasks.produce_blocks(NAME) == {"blocks": 1}
    send(node, NAME, transfer(1))
    send(node, "C", transfer(chain_id=43_112))
    assert tasks.tick() == {"blocks": 2}, "without a name all chains in turn"
    assert tasks.expire_pool(str(BLOCKCHAIN_ID)) == {"expired": 0}
    assert set(tasks.prune_history(chain=NAME)) == {"changes", "calls", "blobs", "nodes"}
    with pytest.raises(tasks.UnknownChain):
        tasks.tick("X")


@pytest.mark.sqlite_only  # in production PostgreSQL wakes the producers
def test_production_task_is_sent_with_its_name(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the P-Chain of the tests ignores requests
    sent: list[tuple[str, dict[str, str]]] = []

    class Signature:
        def __init__(self, task: str, kwargs: dict[str, str]) -> None:
            sent.append((task, kwargs))

        def apply_async(self, **_: object) -> None:
            """Send nothing."""

    monkeypatch.setattr(wakeup.task_app(), "signature", Signature)
    for chain in node.evm_chains.values():
        chain.producer.request()
    assert sent == [
        ("cchain_app.produce_blocks", {}),
        ("cchain_app.produce_blocks", {"chain": NAME}),
    ]


def test_outer_blocks_are_in_the_chains_own_database(node: Node) -> None:
    assert [mine(node, name) for name in (NAME, "C", NAME)] == [1, 1, 2]

    for alias, expected in (("default", [("C", 1)]), ("second", [(NAME, 1), (NAME, 2)])):
        rows = Database(alias).objects(OuterBlock).order_by("height")
        assert list(rows.values_list("chain", "height")) == expected
    third = node.network.chains[NAME]
    assert third.chain_id == BLOCKCHAIN_ID
    assert third.last_accepted().height == 2
    assert node.network.chains["C"].last_accepted().height == 1


def test_health_has_its_check(node: Node) -> None:
    reporter = node.observation.reporter
    reporter.run_once()
    report = reporter.health()
    assert set(report.checks) == {"C", "P", "X", NAME, "bootstrapped", "network", "router"}
    assert report.checks[NAME].error == ""
    _, tags = node.observation.check_results()
    assert str(PRIMARY_NETWORK_ID) in tags[NAME]
    assert APPLICATION in tags["bootstrapped"]

    with node.evm_chains[NAME].building.count(7):
        reporter.run_again(NAME)
    message: Any = reporter.health().checks[NAME].message
    assert message["consensus"]["outstandingBlocks"] == 1
    unharmed: Any = reporter.health().checks["C"].message
    assert unharmed["consensus"]["outstandingBlocks"] == 0


def test_metrics_have_its_label(node: Node) -> None:
    made = f'svc_block_processing_duration_seconds_count{{chain="{NAME}"}}'
    node.observation.observe_web(node.endpoints.workers)
    calls = f'svc_api_calls_total{{api="{NAME}",method="eth_sendRawTransaction"}}'
    send(node, NAME, transfer())
    mine(node, NAME)
    before = parse(node.observation.page.text()[1].decode())  # with other tests' calls and blocks
    send(node, NAME, transfer(1))
    mine(node, NAME)
    send(node, NAME, transfer(2))
    page = parse(node.observation.page.text()[1].decode())
    connections.close_all()

    for chain, height, waiting in (("C", 0, 0), (NAME, 2, 1)):
        assert page[f'svc_chain_height{{chain="{chain}"}}'] == height
        assert page[f'svc_mempool_transactions{{chain="{chain}",state="pending"}}'] == waiting
        assert page[f'svc_chain_bootstrapped{{chain="{chain}"}}'] == 1
    assert page[calls] == before[calls] + 2
    assert page["svc_cchain_gas_limit"] == page[f'svc_cchain_gas_limit{{chain="{NAME}"}}']
    assert page[made] == before[made] + 1
    assert page[f'svc_scrape_success{{part="{NAME}"}}'] == 1
    assert [
        line for line in page if line.startswith("svc_chain_info") and str(BLOCKCHAIN_ID) in line
    ]


def test_the_admin_shows_the_chosen_chain(node: Node, client: Client) -> None:
    for _ in range(2):
        mine(node, NAME)
    first = client.get("/admin/").content.decode()
    assert "C-Chain" in first
    assert f"?chain={NAME}" in first
    assert ">2</a>" not in first

    chosen = client.get("/admin/cchain_app/block/", {"chain": NAME, "show": "all"})
    assert (chosen.status_code, chosen.headers["location"]) == (
        302, "/admin/cchain_app/block/?show=all",
    )  # fmt: skip
    page = client.get("/admin/cchain_app/block/").content.decode()
    assert "D-Chain" in page
    assert "/admin/cchain_app/block/2/change/" in page
    assert client.get("/admin/cchain_app/block/2/change/").status_code == 200
    outer = client.get("/admin/network_app/outerblock/", {"show": NAME}).content.decode()
    assert "D-Chain 2" in outer

    assert client.get("/admin/", {"chain": "C"}).status_code == 302
    back = client.get("/admin/cchain_app/block/").content.decode()
    assert "/admin/cchain_app/block/2/change/" not in back


def test_the_admin_has_its_check(node: Node, client: Client) -> None:
    node.observation.reporter.run_once()
    assert "D-Chain" in client.get("/admin/").content.decode()
    assert client.get("/admin/health_app/healthchange/", {"show": NAME}).status_code == 200


def test_a_node_of_two_chains_offers_no_choice(shared_pchain: PChain) -> None:
    assert "?chain=" not in Client(headers={"host": "localhost"}).get("/admin/").content.decode()


def test_info_methods_accept_its_names(node: Node) -> None:
    def ask_info(method: str, **params: str) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = node.endpoints.info.dispatcher.answer(json.dumps(body).encode())
        return json.loads(answer or b"")

    for text in (NAME, "dex", str(BLOCKCHAIN_ID)):
        assert ask_info("info.isBootstrapped", chain=text)["result"] == {"isBootstrapped": True}
        found = ask_info("info.getBlockchainID", alias=text)["result"]
        assert found == {"blockchainID": str(BLOCKCHAIN_ID)}
    assert "error" in ask_info("info.isBootstrapped", chain="E")


def test_the_status_command_reports_it(node: Node, capsys: pytest.CaptureFixture[str]) -> None:
    mine(node, NAME)
    call_command("node_status")
    shown = capsys.readouterr().out
    assert "D-Chain head" in shown
    assert str(BLOCKCHAIN_ID)[:20] in shown


def test_openapi_and_the_reference_name_it(node: Node) -> None:
    titles = {item.title for item in node.endpoints.described()}
    assert {"C-Chain", "D-Chain", "P-Chain"} <= titles
