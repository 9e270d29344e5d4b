"""A voting network under load with faults: killed nodes, frozen nodes, partitions and a wrong clock.

The seed determines the order of the faults, the affected nodes and the durations. Everything else depends on
the machine.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from random import Random

from eth_account import Account

from primitives.keys import DEV_KEYS
from tests.e2e.alike import differences
from tests.e2e.chain_rows import check_coins, check_rows
from tests.e2e.crossings import Crossings
from tests.e2e.load import Payments, Transfers, Watch, finish, wait_for_more
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import accepted_ids, check_platform_rows
from tests.e2e.platform_wallet import Wallet, fund, new_keys
from tests.e2e.transactions import Sender

CHAIN_ID = 43112
SENDERS = 3
"""Accounts that send transactions on the P-Chain, and as many on the C-Chain."""
PURSES = 2
"""Keys whose coins move among the three chains."""
COIN = 10**9
"""Initial balance of each sender on the P-Chain, in the smallest unit."""
APART = (4.0, 12.0)
"""Duration of a partition in seconds, least and most."""
DEAD = (0.0, 3.0)
"""Seconds until a killed node is started again, least and most."""
CLOCK = 3
"""Seconds by which one clock differs from the others."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """The number and the duration of the faults."""

    deaths: int
    """Number of nodes that are killed, each once; the node with the different clock is one of them."""
    frozen: float
    """Seconds for which a node is frozen."""


ALL = Plan(deaths=5, frozen=30.0)
"""The faults for each seed of `make soak-network`. A peer that is silent for 30 s is disconnected."""
SOME = Plan(deaths=2, frozen=8.0)
"""Each kind of fault, in a quarter of the time."""


@dataclass(frozen=True)
class Outcome:
    """The result of a run. The run itself asserts that nothing was wrong."""

    heights: tuple[int, int, int]
    """Final heights of the P-Chain, the X-Chain and the C-Chain."""
    transactions: int
    """Number of transactions accepted on all chains together."""
    seconds: float
    """Duration of the faults and of the recovery after them."""


class Faults:
    """The faults that hit the nodes of a network.

    Args:
        network: The nodes, all of which are running.
        random: Draws the faults.
        plan: The number and the duration of the faults.
    """

    def __init__(self, network: LocalNetwork, random: Random, plan: Plan) -> None:
        self._network = network
        self._random = random
        self._plan = plan
        odd = random.choice(network.nodes)
        others = [node for node in network.nodes if node is not odd]
        self._mortal = [odd, *others][: plan.deaths]
        # The clock's row cannot set it back. For a node that is behind, the clocks of all others are set ahead.
        ahead = random.random() < 0.5
        self._clocks = {
            node: CLOCK if (node is odd) is ahead else 0 for node in self._network.nodes
        }
        self._thawing: dict[NetworkNode, threading.Thread] = {}

    def all(self) -> list[Callable[[], None]]:
        """Return all faults in a random order. Each is over when its function returns, except for a freeze."""
        nodes = self._network.nodes
        faults = [partial(self.kill, node) for node in nodes if node in self._mortal]
        faults += [self.part, partial(self.freeze, self._random.choice(nodes))]
        self._random.shuffle(faults)
        return faults

    def kill(self, node: NetworkNode) -> None:
        """Kill a node and start it again with its drawn clock; wait for the end of a freeze first."""
        if node in self._thawing:
            self._thawing[node].join()
        _log.info("kill %s, its clock is to be %d s ahead", node.node_id, self._clocks[node])
        node.kill()
        time.sleep(self._random.uniform(*DEAD))
        node.set_clock_ahead(self._clocks[node])
        self._network.start([node])
        wait_for(lambda: is_ready(node), f"{node.node_id} is ready")

    def part(self) -> None:
        """Partition the network into three and two nodes, and end the partition."""
        nodes = self._random.sample(self._network.nodes, len(self._network.nodes))
        ips = [node.ip for node in nodes]
        _log.info("apart: %s", [node.node_id for node in nodes[:3]])
        self._network.wires.split(ips[:3], ips[3:])
        time.sleep(self._random.uniform(*APART))
        self._network.wires.heal()

    def freeze(self, node: NetworkNode) -> None:
        """Freeze a node for some time while other faults continue."""
        _log.info("freeze %s", node.node_id)
        node.freeze()
        thawing = threading.Thread(target=self._thaw_in_time, args=(node,))
        thawing.start()
        self._thawing[node] = thawing

    def wait_for_end(self) -> None:
        """Wait until all faults are over and all nodes are ready."""
        for thawing in self._thawing.values():
            thawing.join()
        nodes = self._network.nodes
        wait_for(lambda: all(map(is_ready, nodes)), "all are ready")

    def _thaw_in_time(self, node: NetworkNode) -> None:
        time.sleep(self._plan.frozen)
        node.thaw()


def faulty_run(network: LocalNetwork, seed: int, plan: Plan = ALL) -> Outcome:
    """Put load on all chains of a running network of five voting nodes and inject all kinds of faults.

    Args:
        network: The nodes, all running and ready.
        seed: Seed of the faults.
        plan: The number and the duration of the faults.

    Raises:
        AssertionError: Two nodes accepted different blocks at one height, differ in a row, or lost a transaction
            that was sent to them; a row is not the result of the transactions; or a coin is on two chains or on none.
        NotReached: The chains accepted nothing after the faults were over.
    """
    random, nodes, began = Random(seed), network.nodes, time.monotonic()
    faults = Faults(network, random, plan)
    with ExitStack() as clients:
        transfers = clients.enter_context(Transfers(nodes, _chance(random), _senders(nodes[0])))
        wallets = _wallets(nodes[0], SENDERS + PURSES)
        payments = clients.enter_context(Payments(nodes, _chance(random), wallets[:SENDERS]))
        crossings = clients.enter_context(Crossings(nodes, _chance(random), wallets[SENDERS:]))
        watch = clients.enter_context(Watch(nodes, _chance(random)))
        wait_for_more(transfers, payments, crossings)
        for fault in faults.all():
            fault()
        faults.wait_for_end()
        wait_for_more(transfers, payments, crossings)
        finish(transfers, payments, crossings)
        wait_for(lambda: agreed(nodes), "all have the same heads")
    seconds = time.monotonic() - began
    for node in nodes:
        assert "All coins are accounted for." in node.manage("check_supply")
    sent = [*transfers.hashes, *payments.tx_ids, *crossings.tx_ids]
    return Outcome(_judge(nodes, sent, watch), len(sent), seconds)


def is_ready(node: NetworkNode) -> bool:
    """Return whether a node has reached the network's frontier."""
    return node.get("/ext/health/readiness")[0] == HTTPStatus.OK


def _chance(random: Random) -> Random:
    """Return a random generator for one thread, whose number of draws depends on the machine."""
    return Random(random.getrandbits(64))


def _senders(node: NetworkNode) -> list[Sender]:
    # Other senders on the network of a test use the first accounts.
    accounts = [Account.from_key(key) for key in list(DEV_KEYS.values())[-SENDERS:]]
    return [
        Sender(
            account,
            CHAIN_ID,
            int(node.rpc("eth_getTransactionCount", account.address, "latest"), 16),
        )
        for account in accounts
    ]


def _wallets(node: NetworkNode, count: int) -> list[Wallet]:
    """Return wallets on the P-Chain, each with a coin."""
    wallets = [Wallet(key) for key in new_keys(count)]
    fund(node, [(wallet.key, COIN) for wallet in wallets])
    with PlatformClient(node.port) as client:
        for wallet in wallets:
            wallet.look(client)
    return wallets


def _judge(nodes: Sequence[NetworkNode], sent: Sequence[str], watch: Watch) -> tuple[int, int, int]:
    """Compare the data of all nodes with each other and with the sent transactions; return the heights."""
    assert differences(nodes) == []
    with nodes[0].database() as ask:
        # All nodes have the same rows, so checking one node is enough.
        check_rows(ask)
        check_platform_rows(ask, len(nodes))
        check_coins(ask)
        blocks = (
            {
                ("C", number): "0x" + bytes(block_hash).hex()
                for number, block_hash in ask("SELECT number, hash FROM cchain_app_block")
            }
            | {
                ("P", height): "0x" + bytes(raw).hex()
                for height, raw in ask("SELECT height, raw FROM platform_app_block")
            }
            | {
                ("X", height): "0x" + bytes(raw).hex()
                for height, raw in ask("SELECT height, raw FROM xchain_app_xblock")
            }
        )
        accepted = {
            "0x" + bytes(one).hex() for (one,) in ask("SELECT hash FROM cchain_app_transaction")
        } | accepted_ids(ask)
    contradicted = {place for place, block in watch.seen.items() if blocks[place] != block}
    assert not contradicted, "accepted once, and replaced"
    assert set(sent) <= accepted, "taken, and lost"
    on_p, on_x, on_c = (max(at for chain, at in blocks if chain == name) for name in "PXC")
    return on_p, on_x, on_c
