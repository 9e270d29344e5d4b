"""Requests for chains of subnets that do not run on this node: every path says why, whatever it names."""

import json
from typing import Any

import pytest

from chaindb.connections import in_thread
from nodeproject.startup.absent_chains import MOST_CHAINS, MOST_REASON, AbsentChains
from primitives.ids import ID
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import subnet_genesis
from tests.integration.nodeproject.test_subnet_chains import CHAIN_ID, World, node, started, world
from tests.integration.nodeproject.test_third_chain import application, call, client, end
from tests.unit.jsonrpc.test_endpoints import Answer, ask

__all__ = ["application", "client", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
    pytest.mark.sqlite_only,
]

WAYS = ("rpc", "rpc/", "ws", "validators", "proposervm")
METHODS = ("POST", "GET", "PUT")


async def answer(application: Any, path: str, method: str = "POST") -> Answer:
    """Send a call to a path of the application."""
    headers = {"host": "localhost", "content-type": "application/json"}
    body = call("eth_blockNumber").encode() if method == "POST" else b""
    return await ask(application, method, path, headers, parts=(body,))


async def test_each_path_of_a_refused_chain_says_why(application: Any, world: World) -> None:
    broken = await in_thread(world.create, b"{", "broken")
    reason = f"chain {broken} does not run on this node: parsing genesis: Expecting property name"
    for name in (str(broken), "broken"):
        for way in WAYS:
            for method in METHODS:
                found = await answer(application, f"/ext/bc/{name}/{way}", method)
                assert found.status == 404
                assert reason in found.body.decode()
    await end(application)


async def test_a_chain_that_runs_after_all_answers_itself(application: Any, world: World) -> None:
    dex = await in_thread(world.create)
    await in_thread(world.create, b"{", "dex")
    found = await answer(application, "/ext/bc/dex/rpc")
    assert found.status == 200, "a later chain of the same name hides no other"
    world.node.absent_chains.note(dex, ("dex",), "it could not begin")
    world.node.absent_chains.forget(dex)
    assert not [path for path in world.node.absent_chains if str(dex) in path]
    assert (await answer(application, f"/ext/bc/{dex}/validators")).status == 200
    await end(application)


@pytest.mark.parametrize(
    "path",
    [
        "/ext/bc/{chain}",
        "/ext/bc/{chain}/",
        "/ext/bc/{chain}/rpc/rpc",
        "/ext/bc/{chain}/admin",
        "/ext/bc/{chain}\x00/rpc",
        "/ext/bc/%2e%2e/rpc",
        "/ext/bc//rpc",
        "/ext/bc/nothing/ws",
        "/ext/bc/" + 70_000 * "a" + "/rpc",
        "/ext/bc/" + "dex/" * 10_000 + "rpc",
        "/ext/bc/ünï/validators",
        "/ext/bc/11111111111111111111111111111111LpoYY/validators",
    ],
)
async def test_other_paths_are_not_found(application: Any, world: World, path: str) -> None:
    chain = await in_thread(world.create)
    found = await answer(application, path.format(chain=chain))
    assert (found.status, found.body.decode().strip()) in {
        (404, "404 page not found"),
        (404, json.dumps({"error": "404 page not found"})),
    }
    await end(application)


async def test_a_chain_that_is_not_tracked_says_so(world: World) -> None:
    other = await in_thread(world.subnet)
    named = updated(world.node.settings, track_subnets=(str(other),))
    world.node = await in_thread(started, named)
    untracked = await in_thread(world.create, subnet_genesis(CHAIN_ID), "far away")
    for name in (str(untracked), "far away"):
        assert world.node.absent_chains[f"/ext/bc/{name}/rpc"] == (
            f"chain {untracked} does not run on this node: subnet {world.subnet_id} is not tracked (NODE_TRACK_SUBNETS)"
        )


def test_reasons_are_bounded() -> None:
    chains = AbsentChains()
    ids = [ID(number.to_bytes(32)) for number in range(MOST_CHAINS + 5)]
    for blockchain_id in ids:
        chains.note(blockchain_id, ("",), 1_000 * "x")
    assert f"/ext/bc/{ids[0]}/rpc" not in chains
    assert chains[f"/ext/bc/{ids[-1]}/ws"].endswith(f": {MOST_REASON * 'x'}")
    assert len(chains) == 4 * MOST_CHAINS
    chains.clear()
    assert not chains
