"""Five nodes of one network whose validators vote on blocks.

They have equal stakes, so the required 13 of the 20 votes of a poll must come from four of them.
"""

import json
import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.alike import differences
from tests.e2e.conftest import SCREENSHOTS, node_script
from tests.e2e.faults import SENDERS, SOME, faulty_run, is_ready
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_wallet import address, fund, new_keys
from tests.e2e.transactions import Sender, wait_for_receipts

SNOWMAN = {"NODE_CONSENSUS": "snowman"}
KEYS = list(DEV_KEYS.values())


@pytest.fixture(scope="module")
def voters(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalNetwork]:
    with LocalNetwork(tmp_path_factory.mktemp("voting"), 5, votes=True, env=SNOWMAN) as running:
        running.start()
        wait_for(lambda: all(len(node.peers()) == 4 for node in running.nodes), "all see all")
        wait_for(lambda: all(map(is_ready, running.nodes)), "all are ready")
        yield running


@pytest.fixture
def network(voters: LocalNetwork) -> Iterator[LocalNetwork]:
    """The five nodes, all running; after a test, the nodes that it left stopped are started again."""
    yield voters
    dead = [node for node in voters.nodes if not node.started]
    voters.start(dead)
    wait_for(lambda: all(map(is_ready, dead)), "all are ready again")


def sender_of(node: NetworkNode, place: int) -> Sender:
    """Return a funded account at its next nonce, since other tests of this network may have used it."""
    account = Account.from_key(KEYS[place])
    nonce = int(node.rpc("eth_getTransactionCount", account.address, "latest"), 16)
    return Sender(account, 43112, nonce)


def transfer(sender: Sender, through: NetworkNode) -> str:
    """Send coins, and return the transaction's hash; the transaction may still be pending."""
    with through.client() as client:
        sent: str = client.call("eth_sendRawTransaction", sender.transfer(sender.address))
    return sent


def vote_on_both_chains(network: LocalNetwork) -> None:
    """Make all nodes decide on blocks of both chains."""
    sender = sender_of(network.nodes[0], 8)
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    have_receipts(network.nodes, [transfer(sender, node) for node in network.nodes[:2]])
    fund(network.nodes[1], [(new_keys(1)[0], 1_000_000)])
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


def have_receipts(nodes: Sequence[NetworkNode], hashes: Sequence[str]) -> None:
    for node in nodes:
        with node.client() as client:
            wait_for_receipts(client, list(hashes))


def test_all_accept_the_same_blocks_of_both_chains(network: LocalNetwork) -> None:
    senders = [sender_of(network.nodes[0], place) for place in range(5)]
    hashes = [
        transfer(sender, node)
        for _ in range(4)
        for sender, node in zip(senders, network.nodes, strict=True)
    ]
    (key,) = new_keys(1)
    fund(network.nodes[3], [(key, 1_000_000)])

    have_receipts(network.nodes, hashes)
    for node in network.nodes:
        wait_for(
            lambda node=node: (
                node.ask("platform.getBalance", address=address(key))["balance"] == "1000000"
            ),
            "the coin is everywhere",
        )
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


def test_all_validators_count_the_same_decisions(network: LocalNetwork) -> None:
    # A node that was killed may lack rows of decisions made in its absence, and its counters restart at zero.
    vote_on_both_chains(network)
    before = [counted(node) for node in network.nodes]
    vote_on_both_chains(network)

    after = [counted(node) for node in network.nodes]
    accepted = [decided(node, accepted=True) for node in network.nodes]
    for place in set.intersection(*(set(item) for item in accepted)):
        assert len({other[place] for other in accepted}) == 1
    for node, one, was, became in zip(network.nodes, accepted, before, after, strict=True):
        rejected = decided(node, accepted=False)
        assert not set(rejected.values()) & set(one.values())
        for chain in "PC":
            shown = snowman(node, chain)
            new = became.accepted[chain] - was.accepted[chain]
            assert new > 0
            assert became.rows[chain] - was.rows[chain] == new
            assert shown["blks_accepted_count"] == shown["block_work_seconds_count"]
            assert shown["last_accepted_height"] == max(h for c, h in one if c == chain)
            assert shown["polls_successful_total"] >= 20
            assert shown["blks_polls_accepted_sum"] >= 20 * new
            assert shown["poll_duration_sum"] > 0
            assert shown["equivocations_total"] == 0
    proposers = {
        node_id
        for node in network.nodes
        for (node_id,) in rows(node, "SELECT DISTINCT node_id FROM n_decisions")
    }
    assert proposers & {str(node.node_id) for node in network.nodes}


def test_killed_validator_rejoins(network: LocalNetwork) -> None:
    *others, killed = network.nodes
    sender = sender_of(network.nodes[0], 5)
    killed.kill()
    wait_for(
        lambda: all(len(node.peers()) == 3 for node in others), "the others see that it is gone"
    )
    hashes = [transfer(sender, others[0]) for _ in range(3)]
    have_receipts(others, hashes)

    network.start([killed])
    wait_for(lambda: is_ready(killed), "it is ready")

    have_receipts([killed], hashes)
    hashes = [transfer(sender, killed) for _ in range(3)]
    have_receipts(network.nodes, hashes)
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


def test_validator_killed_during_acceptance_has_whole_blocks_only(
    network: LocalNetwork,
) -> None:
    """The node is killed at each point of an acceptance; each start continues after the previous crash.

    Each chain writes blocks with its own code; the code before and after that is shared.
    """
    *others, killed = network.nodes
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    sender = sender_of(network.nodes[0], 9)
    killed.stop()
    for chain, step in (("C", "before"), ("P", "written"), ("C", "written"), ("P", "accepted")):
        killed.start_until(f"{chain} {step}")
        wait_for(lambda: is_ready(killed), "it is ready")
        wait_for(lambda: agreed(network.nodes), "all have the same heads")
        before = heights(killed)
        if chain == "P":
            fund(others[0], [(new_keys(1)[0], 1_000_000)])
        else:
            have_receipts(others, [transfer(sender, others[0])])
        wait_for(lambda: bool(killed.ended), f"it is killed, {chain} {step}")
        killed.kill()
        grown = {chain: before[chain] + 1} if step == "accepted" else {}
        assert heights(killed) == before | grown
    network.start([killed])
    wait_for(lambda: is_ready(killed), "it is ready")
    have_receipts(network.nodes, [transfer(sender, killed)])
    wait_for(lambda: agreed(network.nodes), "all have the same heads")
    assert differences(network.nodes) == []


def test_no_decision_without_two_validators_until_one_returns(network: LocalNetwork) -> None:
    first, second, *others = network.nodes
    vote_on_both_chains(network)
    for node in (first, second):
        node.kill()
    for node in others:
        wait_for(lambda node=node: is_mute(node), "both chains have no quorum any more")
    heads = others[0].heads()
    sender = sender_of(others[0], 6)
    sent = transfer(sender, others[1])
    # One of the three proposes a block, now or in a later slot, and all three know it.
    wait_for(lambda: all(undecided(node) >= 1 for node in others), "a block waits for its decision")
    assert {node.heads() for node in others} == {heads}
    assert all(map(is_mute, others))
    missing = {str(node.node_id) for node in (first, second)}
    say_why_nothing_is_decided(others[0], missing)

    network.start([first])
    wait_for(lambda: is_ready(first), "it is ready")

    have_receipts([first, *others], [sent])
    network.start([second])
    wait_for(lambda: is_ready(second), "it is ready")
    have_receipts(network.nodes, [sent])
    wait_for(lambda: agreed(network.nodes), "all have the same heads")


def test_non_validator_follows_the_votes(network: LocalNetwork) -> None:
    sender = sender_of(network.nodes[0], 7)
    joiner = network.joiner()
    joiner.start()
    wait_for(lambda: is_ready(joiner), "it is ready")

    sent = [transfer(sender, network.nodes[2]), transfer(sender, joiner)]

    have_receipts([joiner, *network.nodes], sent)
    wait_for(lambda: agreed([joiner, *network.nodes]), "all have the same heads")
    joiner.stop()


def test_no_fault_lets_two_nodes_accept_different_blocks(network: LocalNetwork) -> None:
    """`make soak-network` runs the same test with other seeds, more kills and longer faults."""
    outcome = faulty_run(network, seed=2, plan=SOME)
    assert outcome.transactions >= 4 * SENDERS


def test_by_interval_the_validators_make_empty_blocks(tmp_path: Path) -> None:
    env = {**SNOWMAN, "NODE_MINING": "interval", "NODE_BLOCK_INTERVAL": "2"}
    with LocalNetwork(tmp_path, 2, votes=True, env=env) as running:
        running.start()
        for node in running.nodes:
            wait_for(
                lambda node=node: int(node.rpc("eth_blockNumber"), 16) >= 3, "block 3 is there"
            )
        chains = {
            tuple(
                (block["hash"], int(block["timestamp"], 16), len(block["transactions"]))
                for block in (node.rpc("eth_getBlockByNumber", hex(n), False) for n in (1, 2, 3))
            )
            for node in running.nodes
        }
    (blocks,) = chains
    times = [time for _, time, _ in blocks]
    assert all(later - earlier >= 2 for earlier, later in pairwise(times))
    assert {count for *_, count in blocks} == {0}


def is_mute(node: NetworkNode) -> bool:
    """Return whether, by the log, both chains have too little stake connected to poll."""
    said = dict(re.findall(r"([PC])-Chain: hears (.* needs 65 %|enough)", node.log()))
    return len(said) == 2 and all("needs" in words for words in said.values())


def undecided(node: NetworkNode) -> int:
    """Return the number of C-Chain blocks that are processing; 0 if it is not known."""
    return int(node.measured("C").get("consensus", {}).get("outstandingBlocks", 0))


def say_why_nothing_is_decided(node: NetworkNode, missing: set[str]) -> None:
    """Check that a node's health, metrics and admin report which validators are missing."""
    words = "hears 60 % of the stake, needs 65 %"
    wait_for(lambda: words in node.checks()["C"].get("error", ""), "the C-Chain's check says why")
    wait_for(lambda: snowman(node, "C")["blks_processing"] >= 1, "a block is counted")
    given = {
        "base": f"http://127.0.0.1:{node.port}",
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
        "pages": {"consensus": "/admin/network_app/chainconsensus/"},
        "lists": {"decisions": "/admin/network_app/blockdecision/"},
        "screenshots": SCREENSHOTS,
    }
    found = node_script("run.mjs", "admin", "look", json.dumps(given))
    assert found["faults"] == []
    for screen in ("desk", "phone"):
        page = found["seen"][f"consensus-{screen}"]
        assert page.count(words) == 3  # P, X and C
        assert "preferred" in page
        assert "13 of 20, 20 times" in page
        assert all(page.count(f"{node_id[:12]}") >= 2 for node_id in missing)
        assert "accepted" in found["seen"][f"decisions-{screen}"]
        assert "Outer block ID" in found["seen"][f"decisions-page-{screen}"]


def rows(node: NetworkNode, statement: str) -> list[tuple[Any, ...]]:
    with node.database() as ask:
        return ask(statement)


def heights(node: NetworkNode) -> dict[str, int]:
    """Return the heights of all chains in a node's rows; outer and inner blocks must have the same heights."""
    found = {
        "P": rows(node, "SELECT MAX(height) FROM platform_app_block"),
        "C": rows(node, "SELECT MAX(number) FROM cchain_app_block"),
        "X": rows(node, "SELECT COALESCE(MAX(height), 0) FROM xchain_app_xblock"),
    }
    inner = {chain: height for chain, ((height,),) in found.items()}
    outer = rows(node, "SELECT chain, MAX(height) FROM network_app_outerblock GROUP BY chain")
    assert {"P": 0, "C": 0, "X": 0} | dict(outer) == inner
    return inner


def decided(node: NetworkNode, *, accepted: bool) -> dict[tuple[str, int], str]:
    """Return the accepted or rejected blocks in a node's rows, by chain and height."""
    found = rows(
        node, f"SELECT chain, height, block_id FROM n_decisions WHERE is_accepted = {accepted}"
    )
    return {(chain, height): block_id for chain, height, block_id in found}


class Counted(NamedTuple):
    """The number of accepted blocks by chain, in the counters since the process started and in rows."""

    accepted: dict[str, float]
    rows: dict[str, int]


def counted(node: NetworkNode) -> Counted:
    """Return a node's counts once its last decisions are saved."""
    wait_for(lambda: is_written_down(node), "the last decisions are rows")
    known = decided(node, accepted=True)
    return Counted(
        {chain: snowman(node, chain).get("blks_accepted_count", 0.0) for chain in "PC"},
        {chain: sum(place[0] == chain for place in known) for chain in "PC"},
    )


def is_written_down(node: NetworkNode) -> bool:
    """Return whether the decisions on the last blocks of both chains are in the rows.

    The X-Chain's last block may be older: a node that was killed has bootstrapped it, without a decision.
    """
    heads = rows(node, "SELECT chain, MAX(height) FROM n_block_proposers GROUP BY chain")
    known = decided(node, accepted=True)
    return all(head in known for head in heads if head[0] in {"P", "C"})


def snowman(node: NetworkNode, chain: str) -> dict[str, float]:
    """Return a chain's voting metrics that have no further labels."""
    found = re.findall(
        rf'^svc_snowman_(\w+){{chain="{chain}"}} (\S+)$', node.metrics(), re.MULTILINE
    )
    return {name: float(value) for name, value in found}
