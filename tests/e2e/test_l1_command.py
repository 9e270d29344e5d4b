"""`l1 create` beside a running node: subnet, chain and conversion; the node validates the L1."""

import json
from pathlib import Path

from nodeproject.management.commands.l1 import OWNER
from nunatak.rpc import call
from tests.e2e.platform_client import PlatformClient
from tests.servers.node import RunningNode


def test_create_makes_an_l1_that_the_node_validates(tmp_path: Path) -> None:
    with RunningNode(tmp_path / "node") as node:
        node.start()
        created = json.loads(node.manage("l1", "create", "Mine", "--chain-id=9009", "--json"))
        shown = json.loads(node.manage("l1", "show", "Mine", "--json"))

        assert shown["subnetID"] == created["l1"]
        assert shown["blockchains"] == [{"name": "Mine", "blockchainID": created["blockchain"]}]
        (validator,) = shown["validators"]
        assert (validator["validationID"], validator["state"]) == (created["validation"], "active")
        with PlatformClient(node.port) as client:
            assert client.call("keystore.listUsers") == {"users": []}
            chain = created["blockchain"]
            status = client.call("platform.getBlockchainStatus", blockchainID=chain)
            assert status == {"status": "Validating"}
        assert call(created["rpc"], "eth_chainId") == hex(9009)
        rich = call(created["rpc"], "eth_getBalance", OWNER, "latest")
        assert int(rich, 16) == 10**24
        outer = created["rpc"].removesuffix("rpc") + "proposervm"
        epoch = call(outer, "proposervm.getCurrentEpoch")
        assert epoch["number"] == "0", "the chain has no block yet"
