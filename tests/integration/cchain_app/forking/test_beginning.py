"""Fork blocks that are allowed, restarts that resume a fork, and that only anvil_reset changes it."""

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from cchain_app import models
from cchain_app.apps import evm_chain
from cchain_app.forking.errors import (
    ForkReason,
    ForkRefused,
    UpstreamAway,
    UpstreamError,
    UpstreamReason,
)
from cchain_app.forks import system_contracts
from cchain_app.services.genesis import load_genesis
from chaindb import clock
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.integration.cchain_app.forking.conftest import COUNTER, PIN, RICH
from tests.servers.upstream import RemoteChain, UpstreamServer, hash_of

pytestmark = pytest.mark.sqlite_only


def again(settings, **changes):
    """Restart with other settings."""
    settings.NODE = updated(settings.NODE, **changes)
    return load_genesis(evm_chain())


def test_fork_start_sends_few_requests(forked, remote):
    names = [method for method, _ in remote.asked]
    assert names[:3] == ["eth_getBlockByNumber", "eth_chainId", "eth_getAccountInfo"]
    funded = [who for who, one in forked.evm.own_genesis.alloc.items() if one.balance]
    funded.remove(bytes(20))  # it keeps its balance on the remote chain
    asked = [params[0] for method, params in remote.asked if method == "eth_getBalance"]
    assert len(asked) == len(set(asked))
    others = {bytes.fromhex(item[2:]) for item in asked} - set(funded)
    config = forked.evm.config
    assert others == {bytes(20), config.coinbase, *system_contracts("prague").values()}
    assert set(names[2:]) == {
        "eth_getAccountInfo", "eth_getBalance", "eth_getTransactionCount", "eth_getCode",
    }  # fmt: skip


def test_second_start_sends_no_remote_request(forked, remote):
    forked.asks_nothing()
    assert forked.restart().number == PIN
    assert remote.asked == []


def test_chain_row_names_the_forked_chain(forked, remote):
    row = models.Chain.objects.get()
    assert row.fork_url == remote.url.removesuffix("/v2/s3cr3tk3y")
    assert (row.fork_number, row.chain_id) == (PIN, 777)
    assert "0x" + row.genesis_hash.hex() == hash_of(PIN)
    assert row.fork_block == remote.chain.block(PIN)


@pytest.mark.parametrize(("number", "height"), [("", 20), ("-3", 17), ("0", 0)])
def test_fork_block_can_be_a_separate_setting(with_fork, remote, settings, number, height):
    assert again(settings, fork_url=(remote.url,), fork_block_number=number).number == height


def test_fork_can_have_another_chain_id(rpc, with_fork, settings):
    again(settings, fork_chain_id=31_337)
    assert rpc("eth_chainId") == hex(31_337)


def test_chain_id_of_a_fork_cannot_be_changed(rpc, forked):
    kept = rpc("eth_chainId")
    with pytest.raises(JsonRpcError) as refused:
        rpc("anvil_setChainId", 31_337)
    assert refused.value.code == -32000
    assert refused.value.message == (
        f"the chain ID of a fork cannot be changed, {int(kept, 16)} here; NODE_FORK_CHAIN_ID or --fork-chain-id sets that "
        "of a new fork"
    )
    assert rpc("anvil_setChainId", kept) is None
    assert rpc("eth_chainId") == kept
    forked.mine()


def test_a_chain_of_its_own_does_not_become_a_fork(
    transactional_db, node_settings, settings, remote
):
    load_genesis(evm_chain())
    with raises(
        ForkReason.NOT_A_FORK,
        kind=ForkRefused,
        match="has a chain that is not a fork: choose another data directory",
    ):
        again(settings, fork_url=(remote.url,))
    assert remote.asked == []


def test_changed_fork_settings_are_refused(forked, remote, settings):
    with raises(
        ForkReason.OTHER_FORK,
        kind=ForkRefused,
        match="fork with block 15, but the settings give 14",
    ):
        again(settings, fork_url=(f"{remote.url}@14",))
    with raises(
        ForkReason.OTHER_FORK,
        kind=ForkRefused,
        match="fork with chain ID 777, but the settings give 5",
    ):
        again(settings, fork_url=(remote.url,), fork_chain_id=5)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"development": False}, "no development methods"),
        ({"network_id": 99}, "no development methods"),
        ({"bootstrap": ("127.0.0.1:9651",)}, "no development methods"),
        ({"profile": "production"}, "NODE_PROFILE is not embedded"),
    ],
)
def test_fork_settings_on_a_chain_with_peers_are_refused(with_fork, settings, changes, words):
    with raises(ForkReason.NEEDS_OWN_CHAIN, kind=ForkRefused, match=words):
        again(settings, **changes)


def test_unreachable_upstream_starts_no_chain(with_fork, remote, settings):
    remote.stop()
    with pytest.raises(UpstreamAway, match="failed to get fork block number") as failure:
        again(settings, fork_url=(remote.url,))
    assert "s3cr3t" not in str(failure.value)
    assert not models.Chain.objects.exists()
    assert not models.Block.objects.exists()


def test_missing_fork_block_starts_no_chain(with_fork, remote, settings):
    with raises(UpstreamReason.NO_SUCH_BLOCK, kind=UpstreamError, match="does not have block 21"):
        again(settings, fork_url=(f"{remote.url}@21",))
    assert not models.Chain.objects.exists()


def test_a_fork_is_not_exported(forked, tmp_path):
    with pytest.raises(CommandError, match="This chain is a fork"):
        call_command("export_chain", str(tmp_path / "blocks"))


def test_tools_are_reported_of_the_fork(rpc, forked, remote):
    info = rpc("anvil_nodeInfo")["forkConfig"]
    shown = remote.url.removesuffix("/v2/s3cr3tk3y")
    assert info == {"forkUrl": shown, "forkBlockNumber": PIN, "forkRetryBackoff": 1000}
    told = {"chainId": 777, "forkBlockNumber": PIN, "forkBlockHash": hash_of(PIN)}
    assert rpc("anvil_metadata")["forkedNetwork"] == told
    assert rpc("hardhat_metadata")["forkedNetwork"] == told


def counter(rpc):
    return int(rpc("eth_call", {"to": COUNTER}, "latest"), 16)


@pytest.mark.parametrize("options", [(), ({},), ({"forking": {"blockNumber": PIN}},)])
def test_reset_returns_to_the_fork_block(rpc, forked, remote, options):
    rpc("anvil_setStorageAt", COUNTER, "0x0", "0x" + "11" * 32)
    forked.mine(forked.make(to=Address(bytes.fromhex(RICH[2:]))))
    forked.asks_nothing()
    assert rpc("anvil_reset", *options) is None
    assert remote.asked == []
    assert rpc("eth_blockNumber") == hex(PIN)
    assert counter(rpc) == 7
    assert int(rpc("eth_getBalance", RICH, "latest"), 16) == 10**20
    owner = "0x" + forked.make().sender.hex()
    assert int(rpc("eth_getBalance", owner, "latest"), 16) > 10**20
    assert forked.mine().number == PIN + 1


def test_reset_to_another_block_restarts(rpc, forked, remote):
    forked.mine(forked.make())
    assert counter(rpc) == 7
    remote.chain.slots[COUNTER, 0] = 30
    snapshot = rpc("evm_snapshot")
    assert rpc("hardhat_reset", {"forking": {"blockNumber": 17}}) is True
    assert rpc("eth_blockNumber") == hex(17)
    assert counter(rpc) == 30
    assert rpc("evm_revert", snapshot) is False
    block = forked.mine()
    assert (block.number, "0x" + block.header.parent_hash.hex()) == (18, hash_of(17))
    assert models.Chain.objects.get().fork_number == 17


@pytest.mark.parametrize("options", [(), ({"forking": {"blockNumber": 17}},)])
def test_reset_clears_impersonated_signatures(rpc, forked, options):
    signature = "0x" + "ff" * 64 + "1b"
    question = {"to": "0x" + "00" * 19 + "01", "data": "0x" + "00" * 63 + "1b" + "ff" * 64}
    assert rpc("anvil_impersonateSignature", [signature, RICH]) is None
    assert rpc("eth_call", question, "latest") == "0x" + "00" * 12 + RICH[2:]
    rpc("anvil_reset", *options)
    assert rpc("eth_call", question, "latest") == "0x"
    assert models.ImpersonatedSignature.objects.count() == 0


def test_reset_to_another_url_restarts(rpc, forked):
    other = RemoteChain(head=40)
    other.chain_id = 9
    with UpstreamServer(other) as server:
        rpc("anvil_reset", {"forking": {"jsonRpcUrl": server.url}})
        assert rpc("eth_blockNumber") == hex(40)
        assert rpc("eth_chainId") == "0x9"
        assert rpc("eth_getCode", COUNTER, "latest") == "0x"
        assert forked.mine().number == 41


@pytest.mark.parametrize("options", [(), ({"forking": {"blockNumber": 17}},)])
def test_a_reset_that_cannot_be_written_leaves_the_chain_where_it_is(
    rpc, forked, monkeypatch, options
):
    block = forked.mine()

    def fail(_moment, *, least):
        raise OperationalError("database or disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(clock, "show", fail)
        with pytest.raises(Exception, match="method handler crashed"):
            rpc("anvil_reset", *options)
    assert forked.evm.memory.blocks.head == block
    assert rpc("eth_blockNumber") == hex(block.number)
    assert (forked.evm.fork.number, models.Chain.objects.get().fork_number) == (PIN, PIN)
    assert forked.mine().number == block.number + 1


def test_reset_to_an_unavailable_block_changes_nothing(rpc, forked):
    block = forked.mine()
    for options in ({"jsonRpcUrl": "http://127.0.0.1:1/"}, {"blockNumber": 99}):
        with pytest.raises(Exception, match=r"fork block number|does not have block 99"):
            rpc("anvil_reset", {"forking": options})
    assert rpc("eth_getBlockByNumber", "latest", False)["hash"] == "0x" + block.hash.hex()


@pytest.mark.parametrize(
    ("forking", "words"),
    [
        (5, "forking must be an object"),
        ({"jsonRpcUrl": 5}, "a URL was expected"),
        ({"jsonRpcUrl": "sesame"}, "must be a URL"),
        ({"blockNumber": "x"}, "is not a number"),
    ],
)
def test_a_reset_that_cannot_be_read_is_refused(rpc, forked, forking, words):
    with pytest.raises(Exception, match=words) as refusal:
        rpc("anvil_reset", {"forking": forking})
    assert refusal.value.code == -32602


def test_a_chain_of_its_own_is_not_reset_to_a_fork(rpc, chain, remote):
    with pytest.raises(Exception, match="is not a fork") as refusal:
        rpc("anvil_reset", {"forking": {"jsonRpcUrl": remote.url}})
    assert refusal.value.code == -32602
    assert rpc("anvil_setRpcUrl", remote.url) is None
    assert chain.evm.upstream is None


def test_fork_url_can_be_changed(rpc, forked, remote):
    other = RemoteChain()
    other.accounts[RICH] = (3, 0, "0x")
    remote.stop()
    with UpstreamServer(other) as server:
        assert rpc("anvil_setRpcUrl", server.url) is None
        assert rpc("eth_getBalance", RICH, "latest") == "0x3"


@pytest.mark.node_settings(fork_headers=("Authorization: Bearer sesame",))
def test_another_servers_url_gets_no_headers(rpc, forked, remote):
    assert all(headers["Authorization"] == "Bearer sesame" for headers in remote.headers)
    with UpstreamServer(RemoteChain()) as server:
        rpc("anvil_setRpcUrl", server.url)
        rpc("eth_getBalance", RICH, "latest")
        for method in ("anvil_reset", "hardhat_reset"):
            rpc(method, {"forking": {"jsonRpcUrl": server.url, "blockNumber": PIN}})
        assert server.headers
        assert not any("sesame" in str(headers) for headers in server.headers)
    remote.headers.clear()
    rpc("anvil_setRpcUrl", remote.url.replace("/v2/", "/v3/"))
    rpc("eth_getBalance", RICH, "earliest")
    assert remote.headers[-1]["Authorization"] == "Bearer sesame"


def test_fork_supports_snapshots_and_rollback(rpc, forked):
    rpc("anvil_setBalance", RICH, "0x7")
    first = forked.mine(
        forked.make(to=Address(bytes.fromhex(COUNTER[2:])), data=b"\x01", gas=90_000, value=0)
    )
    snapshot = rpc("evm_snapshot")
    rpc("anvil_setBalance", RICH, "0x8")
    forked.mine(
        forked.make(to=Address(bytes.fromhex(COUNTER[2:])), data=b"\x01", gas=90_000, value=0)
    )
    forked.mine(forked.make(to=Address(bytes.fromhex(RICH[2:]))))
    assert counter(rpc) == 9
    assert rpc("evm_revert", snapshot) is True
    assert rpc("eth_getBlockByNumber", "latest", False)["hash"] == "0x" + first.hash.hex()
    assert counter(rpc) == 8
    assert rpc("eth_getBalance", RICH, "latest") == "0x7"
    assert rpc("anvil_rollback", 1) is None
    assert counter(rpc) == 7
    assert models.ForkedLeaf.objects.count() == 0
    assert models.TrieNode.objects.count() == 0
    with pytest.raises(Exception, match="Rollback depth must not exceed"):
        rpc("anvil_rollback", 1)
    forked.nonce = 0
    forked.mine()


def test_admin_names_the_forked_chain(forked, remote, admin_client):
    page = admin_client.get("/admin/").content.decode()
    assert "Fork of" in page
    assert remote.url.removesuffix("/v2/s3cr3tk3y") in page
    assert "s3cr3t" not in page
    assert "from block 15 on; state roots cover only later changes" in page
