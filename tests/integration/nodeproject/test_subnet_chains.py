"""EVM chains of subnets: begun at acceptance and at the start, refused with a reason, without harm for the others."""

import json
from collections.abc import Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.core.management import call_command
from django.db import (
    DEFAULT_DB_ALIAS,
    OperationalError,
    connections,
)
from django.db.backends.base.base import BaseDatabaseWrapper
from django.test import Client
from django.test.utils import override_script_prefix

from cchain_app import tasks
from cchain_app.apps import evm_chains, find_evm_chain
from cchain_app.chain import EvmChain
from cchain_app.precompiles.addresses import NATIVE_MINTER, WARP
from cchain_app.selectors import blocks
from cchain_app.services.genesis import load_genesis
from cchain_app.store import subnet_chains as rows
from cchain_app.store.subnet_chains import SubnetChainRow
from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from chaindb.connections import in_thread
from chaindb.database import Database
from nodeproject.apps import this_node, use
from nodeproject.management.banner import banner_of
from nodeproject.node import Node
from nodeproject.settings.node import NodeSettings
from nodeproject.startup import subnet_chains
from nodeproject.startup.chain_databases import alias_of, file_of
from nodeproject.startup.subnet_chains import SUBNET_EVM_ID
from nodeproject.web.openrpc.reference import Reference
from platform_app.txs.subnets import CreateChainTx, CreateSubnetTx
from primitives.evm import Address
from primitives.hashing import sha256
from primitives.ids import ID
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import BALANCE, subnet_genesis
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.integration.nodeproject.test_third_chain import (
    application,
    client,
    end,
    mine,
    over_http,
    send,
    transfer,
)
from tests.integration.patience import PatientCommunicator
from tests.integration.platform_app.conftest import EWOQ, PChain

CHAIN_ID = 9_001

__all__ = ["application", "client"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
]


class World:
    """A node whose P-Chain is at hand."""

    def __init__(self, node: Node, pchain: PChain) -> None:
        self.node = node
        self.pchain = pchain
        self.subnet_id = self.subnet()

    def subnet(self) -> ID:
        """Create a subnet."""
        made = self.pchain.make(CreateSubnetTx, owner=platform.owners(EWOQ))
        return self.pchain.do(made).tx_id

    def create(
        self,
        genesis: bytes | None = None,
        name: str = "dex",
        *,
        vm_id: ID = SUBNET_EVM_ID,
        fx_ids: tuple[ID, ...] = (),
        subnet_id: ID | None = None,
    ) -> ID:
        """Create a blockchain, and let the node look at it."""
        made = self.pchain.make(
            CreateChainTx,
            subnet_id=subnet_id or self.subnet_id,
            chain_name=name,
            vm_id=vm_id,
            fx_ids=fx_ids,
            genesis_data=subnet_genesis(CHAIN_ID) if genesis is None else genesis,
        )
        blockchain_id = self.pchain.do(made).tx_id
        self.node.subnet_chains.look()
        return blockchain_id

    def row(self, blockchain_id: ID) -> SubnetChainRow:
        """Return what the node's row of a blockchain says."""
        found = rows.rows(self.node.database)
        return next(row for row in found if row.blockchain_id == blockchain_id)

    def chain(self, blockchain_id: ID) -> EvmChain:
        return self.node.evm_chains[str(blockchain_id)]

    def ask(self, method: str, **params: Any) -> Any:
        """Call a method of `info` or `platform`."""
        endpoints = self.node.endpoints
        endpoint = endpoints.platform if method.startswith("platform") else endpoints.info
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = endpoint.dispatcher.answer(json.dumps(body).encode())
        return json.loads(answer or b"")["result"]


def started(settings: NodeSettings) -> Node:
    """Return a node on the data directory and database of the settings."""
    node = Node(settings)
    use(node)
    node.network.connect_consensus()
    load_genesis(node.evm_chain)
    return node


def forget(node: Node) -> None:
    """Close what a node has opened for chains of subnets, as its end would."""
    for chain in node.evm_chains.values():
        if chain.db.alias != DEFAULT_DB_ALIAS:
            connections[chain.db.alias].close()


@pytest.fixture
def world(shared_pchain: PChain) -> Iterator[World]:
    """A started node; the tests make its blocks."""
    before = this_node()
    known = set(connections.settings)
    made = World(started(before.settings), shared_pchain)
    guarded = BaseDatabaseWrapper.ensure_connection

    def ensure(self: BaseDatabaseWrapper) -> None:
        """Open new databases, too, unlike Django's guard of tests."""
        if self.alias in known:
            guarded(self)
        elif self.connection is None:
            with self.wrap_database_errors:
                self.connect()

    with patch.object(BaseDatabaseWrapper, "ensure_connection", ensure):
        yield made
    use(before)
    made.node.endpoints.workers.close()
    made.node.end_transaction_logs()
    for alias in set(connections.settings) - known:
        if connections[alias].vendor == "postgresql":
            with connections[DEFAULT_DB_ALIAS].cursor() as cursor:
                cursor.execute(f'DROP SCHEMA IF EXISTS "{alias}" CASCADE')
        connections[alias].close()
        del connections[alias], connections.settings[alias]


@pytest.fixture
def node(world: World) -> Node:
    return world.node


def test_an_accepted_chain_runs(world: World) -> None:
    blockchain_id = world.create()
    chain = world.chain(blockchain_id)

    row = world.row(blockchain_id)
    assert row == SubnetChainRow(
        blockchain_id, world.subnet_id, "dex", SUBNET_EVM_ID, rows.RUNNING,
        rules="subnet-evm", database=alias_of(blockchain_id), chain_id=CHAIN_ID,
    )  # fmt: skip
    assert chain.aliases == (str(blockchain_id), "dex")
    for text in ("dex", str(blockchain_id)):
        assert world.node.chains.find(text) is find_evm_chain(text) is chain
    assert evm_chains() == (world.node.evm_chain, chain)
    assert chain.title == "dex"
    if chain.db.connection.vendor == "sqlite":
        assert file_of(blockchain_id, world.node.settings).exists()

    send(world.node, chain.name, transfer(chain_id=CHAIN_ID))
    assert mine(world.node, chain.name) == 1
    assert chain.db.row("SELECT count(*) FROM cchain_app_transaction") == (1,)
    assert world.node.database.row("SELECT count(*) FROM cchain_app_transaction") == (0,)


async def test_it_is_asked_over_http_and_websocket(application: Any, world: World) -> None:
    blockchain_id = await in_thread(world.create)
    way = f"/ext/bc/{blockchain_id}/rpc"
    for path in (way, "/ext/bc/dex/rpc"):
        assert await over_http(application, path, "eth_chainId") == hex(CHAIN_ID)
    sender = f"0x{SENDER.hex()}"
    assert await over_http(application, way, "eth_getBalance", sender, "latest") == hex(BALANCE)

    socket = PatientCommunicator(application, f"/ext/bc/{blockchain_id}/ws")
    connected, _ = await socket.connect()
    assert connected
    subscribe = {"jsonrpc": "2.0", "id": 1, "method": "eth_subscribe", "params": ["newHeads"]}
    await socket.send_to(text_data=json.dumps(subscribe))
    assert "result" in json.loads(await socket.receive_from())

    # A contract whose code returns 42.
    init = bytes.fromhex("600a600c600039600a6000f3602a60005260206000f3")
    given = unsigned(chain_id=CHAIN_ID, to=None, data=init, value=0, gas=200_000)
    raw = decode_transaction(sign_transaction(given, KEY), CHAIN_ID).raw
    sent = await over_http(application, way, "eth_sendRawTransaction", f"0x{raw.hex()}")
    assert await in_thread(mine, world.node, str(blockchain_id)) == 1
    receipt = await over_http(application, way, "eth_getTransactionReceipt", sent)
    call = {"to": receipt["contractAddress"]}
    assert int(await over_http(application, way, "eth_call", call, "latest"), 16) == 42
    head = json.loads(await socket.receive_from())["params"]["result"]
    assert (head["number"], head["minDelayExcess"]) == ("0x1", "0x799d4c")
    block = await over_http(application, way, "eth_getBlockByNumber", "0x1", False)
    assert block["blockGasCost"] == "0x0"
    assert block["gasLimit"] == hex(12_000_000)
    assert await over_http(application, "/ext/bc/C/rpc", "eth_blockNumber") == "0x0"
    validators = f"/ext/bc/{blockchain_id}/validators"
    found = await over_http(application, validators, "validators.getCurrentValidators")
    assert found == {"validators": []}
    await socket.disconnect()
    await end(application)


@pytest.mark.sqlite_only  # it is the same on PostgreSQL, where each schema takes a while
def test_info_and_platform_know_it(world: World) -> None:
    blockchain_id = world.create()
    described = world.node.endpoints.described()
    (dex,) = (one for one in described if "eth_feeConfig" in one.registry.methods)
    names = {entry.name for entry in dex.entries}
    assert {"eth_chainId", "eth_feeConfig"} <= names
    reference = Reference(lambda: "", world.node.endpoints.described)
    assert b"eth_feeConfig" in reference.document("").body
    assert b"eth_feeConfig" in reference.html("").body
    shown = str(blockchain_id)
    assert world.ask("info.getBlockchainID", alias="dex") == {"blockchainID": shown}
    assert world.ask("info.isBootstrapped", chain=shown) == {"isBootstrapped": True}
    status = world.ask("platform.getBlockchainStatus", blockchainID=shown)
    assert status == {"status": "Syncing"}, "it runs, and this node does not validate the subnet"
    assert world.ask("platform.validates", subnetID=str(world.subnet_id)) == {
        "blockchainIDs": [shown]
    }
    vms = world.ask("info.getVMs")["vms"]
    assert vms[str(SUBNET_EVM_ID)] == ["subnetevm"]


@pytest.mark.sqlite_only  # likewise
def test_health_and_metrics_have_it(world: World) -> None:
    world.node = started(updated(world.node.settings, track_subnets=(str(world.subnet_id),)))
    reporter = world.node.observation.reporter
    running = str(world.create())
    broken = str(world.create(b"{", "broken"))
    reporter.run_once()
    checks = reporter.health().checks
    assert checks[running].error == ""
    assert checks[broken].error == "parsing genesis: Expecting property name enclosed in " + (
        "double quotes: line 1 column 2 (char 1)"
    )
    assert checks["C"].error == ""
    page = world.node.observation.page.text()[1].decode()
    assert f'svc_chain_height{{chain="{running}"}} 0' in page

    known = reporter._checks
    for reason in (checks[broken].error, "another reason"):
        world.node.observation.add_refused(ID.parse(broken), world.subnet_id, reason)
        assert (reporter._checks is known) is (reason == checks[broken].error)


@pytest.mark.sqlite_only  # likewise
def test_the_admin_shows_the_chains_and_the_chosen_ones_rows(world: World, client: Client) -> None:
    running, broken = world.create(), world.create(b"{", "broken")
    mine(world.node, str(running))
    text = client.get("/admin/cchain_app/subnetchain/").content.decode()
    assert "dex" in text
    assert "parsing genesis: Expecting property name" in text
    for found in (running, broken):
        page = client.get(f"/admin/cchain_app/subnetchain/?q={found}", follow=True)
        assert page.status_code == 200
        assert str(found) in page.content.decode()

    with override_script_prefix("/node/"):
        below = client.get("/admin/cchain_app/subnetchain/").content.decode()
    assert f'href="/node/admin/cchain_app/block/?chain={running}"' in below
    chosen = client.get(f"/admin/cchain_app/block/?chain={running}", follow=True).content.decode()
    assert "/admin/cchain_app/block/1/change/" in chosen
    assert "dex" in client.get("/admin/").content.decode()

    unknown = client.get("/admin/cchain_app/block/?chain=" + 5_000 * "<b>", follow=True)
    assert "No running EVM chain has the name or blockchain ID “&lt;b&gt;" in (
        unknown.content.decode()
    )
    assert "/admin/cchain_app/block/1/change/" in unknown.content.decode(), "dex is still chosen"
    world.node._end_chain(world.chain(running))
    use(world.node)
    page = client.get("/admin/cchain_app/block/").content.decode()
    assert f"ID “{running}”. These pages show the C-Chain." in page
    assert "These pages show" not in client.get("/admin/cchain_app/block/").content.decode()


@pytest.mark.sqlite_only  # likewise
def test_the_status_and_the_banner_name_it(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    blockchain_id = world.create()
    call_command("node_status")
    shown = capsys.readouterr().out
    assert f"chain dex ({str(blockchain_id)[:8]}…) head" in shown
    assert str(blockchain_id)[:20] in shown
    banner_of(world.node)("http://127.0.0.1:9650")
    assert f"http://127.0.0.1:9650/ext/bc/{blockchain_id}/rpc" in capsys.readouterr().out


@pytest.mark.sqlite_only  # likewise
def test_chains_with_the_name_of_another_line_have_their_own_lines(
    world: World, capsys: pytest.CaptureFixture[str]
) -> None:
    names = ("dex", "dex", "RPC", "Health", "a name", "")
    found = [world.create(subnet_genesis(7 + at), name) for at, name in enumerate(names)]
    base = "http://127.0.0.1:9650"
    banner_of(world.node)(base)
    shown = capsys.readouterr().out
    assert f"{base} (also {base}/ext/bc/C/rpc)" in shown
    for blockchain_id in found:
        assert f"{base}/ext/bc/{blockchain_id}/rpc" in shown
    call_command("node_status")
    shown = capsys.readouterr().out
    for blockchain_id in found:
        assert str(blockchain_id) in shown
    assert f"chain {str(found[-1])[:8]}… head" in shown
    titles = [interface.title for interface in world.node.endpoints.described()]
    assert len({*titles}) == len(titles)


def test_a_restarted_node_runs_it_again(world: World) -> None:
    name = str(world.create())
    send(world.node, name, transfer(chain_id=CHAIN_ID))
    mine(world.node, name)
    send(world.node, name, transfer(1, chain_id=CHAIN_ID))
    forget(world.node)

    again = started(world.node.settings)
    again.subnet_chains.look()
    chain = again.evm_chains[name]
    assert blocks.head(chain).number == 1
    assert mine(again, name) == 2, "the second transaction waited in the pool"
    assert chain.db.row("SELECT count(*) FROM cchain_app_transaction") == (2,)
    again.endpoints.workers.close()


@pytest.mark.sqlite_only  # likewise
def test_a_task_finds_a_chain_that_another_process_has_begun(world: World) -> None:
    name = str(world.create())
    forget(world.node)
    again = started(world.node.settings)
    send(world.node, name, transfer(chain_id=CHAIN_ID))
    assert tasks.expire_pool(name) == {"expired": 0}
    assert name in again.evm_chains


@pytest.mark.sqlite_only  # likewise
def test_only_chains_of_tracked_subnets_run(world: World) -> None:
    tracked = world.subnet()
    settings = updated(world.node.settings, track_subnets=(str(tracked),))
    world.node = started(settings)
    other = world.create()
    row = world.row(other)
    assert (row.state, row.reason) == (
        rows.UNTRACKED, f"subnet {world.subnet_id} is not tracked (NODE_TRACK_SUBNETS)",
    )  # fmt: skip
    own = world.create(subnet_id=tracked)
    assert world.row(own).state == rows.RUNNING
    assert world.ask("platform.getBlockchainStatus", blockchainID=str(other)) == {
        "status": "Created"
    }


def test_a_chain_whose_database_could_not_be_made_begins_later(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> Database:
        raise OperationalError("no space\nleft")

    with monkeypatch.context() as patched:
        patched.setattr(subnet_chains, "make_database", fail)
        refused = world.create()
    assert world.row(refused).reason == "no space left"
    later = world.create(subnet_genesis(8), "later")
    assert world.row(later).state == rows.RUNNING
    assert world.row(refused).state == rows.REFUSED, "it is not tried again at once"

    monkeypatch.setattr(subnet_chains, "RETRY_SECONDS", 0)
    world.node.subnet_chains._again_at = 0
    world.node.subnet_chains.look()
    assert world.row(refused).state == rows.RUNNING
    assert not world.node.refused_chains


@pytest.mark.sqlite_only  # likewise
async def test_its_precompiles_are_in_force(application: Any, world: World) -> None:
    roles = {"blockTimestamp": 1_700_000_000, "adminAddresses": [f"0x{SENDER.hex()}"]}
    genesis = subnet_genesis(
        CHAIN_ID,
        contractNativeMinterConfig=roles,
        txAllowListConfig=roles,
        warpConfig={"blockTimestamp": 1_700_000_000, "quorumNumerator": 67},
    )
    blockchain_id = await in_thread(world.create, genesis)
    way = f"/ext/bc/{blockchain_id}/rpc"

    async def do(to: bytes, data: str) -> Any:
        nonce = await over_http(application, way, "eth_getTransactionCount", sender, "latest")
        given = unsigned(
            chain_id=CHAIN_ID, nonce=int(nonce, 16), to=Address(to), value=0, gas=200_000,
            data=bytes.fromhex(data),
        )  # fmt: skip
        raw = decode_transaction(sign_transaction(given, KEY), CHAIN_ID).raw
        sent = await over_http(application, way, "eth_sendRawTransaction", f"0x{raw.hex()}")
        await in_thread(mine, world.node, str(blockchain_id))
        return await over_http(application, way, "eth_getTransactionReceipt", sent)

    sender = f"0x{SENDER.hex()}"
    found = await over_http(
        application, way, "eth_call", {"to": f"0x{WARP.hex()}", "data": "0x4213cf78"}, "latest"
    )
    assert found == f"0x{bytes(blockchain_id).hex()}", "getBlockchainID()"

    minted = await do(NATIVE_MINTER, f"4f5aaaba{RECIPIENT.hex():0>64}{7:064x}")
    assert minted["status"] == "0x1"
    balance = await over_http(application, way, "eth_getBalance", f"0x{RECIPIENT.hex()}", "latest")
    assert balance == "0x7"

    sent = await do(WARP, f"ee5b48eb{32:064x}{2:064x}{'abcd':0<64}")
    assert sent["status"] == "0x1"
    message_id = ID(bytes.fromhex(sent["logs"][0]["topics"][2][2:]))
    message = await over_http(application, way, "warp_getMessage", str(message_id))
    assert bytes.fromhex(message[2:])[6:38] == bytes(blockchain_id)

    stranger = sign_transaction(unsigned(chain_id=CHAIN_ID), sha256(b"a stranger"))
    raw = decode_transaction(stranger, CHAIN_ID).raw
    body = {"jsonrpc": "2.0", "id": 1, "method": "eth_sendRawTransaction"}
    call = json.dumps(body | {"params": [f"0x{raw.hex()}"]}).encode()
    endpoint = world.node.endpoints.evm[str(blockchain_id)]
    answer = await in_thread(endpoint.dispatcher.answer, call)
    assert b"cannot issue transaction from non-allow listed address" in (answer or b"")
    await end(application)
