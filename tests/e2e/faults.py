"""A network of voters under load while nodes die, freeze, part, and have a wrong clock; all drawn by a seed.

What follows from a seed is the order of the faults, whom they hit and how long they last; the rest is the
machine's.
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

from primitives.ids import ID
from primitives.keys import DEV_KEYS
from tests.e2e.alike import differences
from tests.e2e.chain_rows import check_rows
from tests.e2e.load import Payments, Transfers, Watch, finish
from tests.e2e.network import LocalNetwork, NetworkNode, agreed, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import check_platform_rows
from tests.e2e.platform_wallet import Wallet, fund, new_keys
from tests.e2e.transactions import Sender

CHAIN_ID = 43112
SENDERS = 3
"""Accounts that send on each chain."""
COIN = 10**9
"""What each begins with on the P-Chain, in the smallest unit."""
APART = (4.0, 12.0)
"""Seconds that the network is in parts, least and most."""
DEAD = (0.0, 3.0)
"""Seconds until a node is started again."""
CLOCK = 3
"""Seconds by which one clock differs from the others."""

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Plan:
    """How much is done to a network."""

    deaths: int
    """How many nodes are killed, each once; the one with the odd clock is among them."""
    frozen: float
    """Seconds that a node does nothing."""


ALL = Plan(deaths=5, frozen=30.0)
"""What each seed of `make soak-network` meets. A peer of whom nothing is heard for 30 s is given up."""
SOME = Plan(deaths=2, frozen=8.0)
"""Each kind of fault, in a quarter of the time."""


@dataclass(frozen=True)
class Outcome:
    """What a run has come to; that nothing was wrong is asserted by the run itself."""

    heights: tuple[int, int]
    """Of P- and C-Chain in the end."""
    transactions: int
    """That were accepted on both chains."""
    seconds: float
    """That the faults and their end took."""


class Faults:
    """What is done to the nodes of a network.

    Args:
        network: The nodes, all of which run.
        random: Draws the faults.
        plan: How many there are.
    """

    def __init__(self, network: LocalNetwork, random: Random, plan: Plan) -> None:
        self._network = network
        self._random = random
        self._plan = plan
        odd = random.choice(network.nodes)
        others = [node for node in network.nodes if node is not odd]
        self._mortal = [odd, *others][: plan.deaths]
        # A clock cannot be behind the wall's by its row: then it is the only one that is not ahead.
        ahead = random.random() < 0.5  # as often as not
        self._clocks = {
            node: CLOCK if (node is odd) is ahead else 0 for node in self._network.nodes
        }
        self._thawing: dict[NetworkNode, threading.Thread] = {}

    def all(self) -> list[Callable[[], None]]:
        """Return all faults in an order that was drawn; each is over when it returns, but for a freeze."""
        nodes = self._network.nodes
        faults = [partial(self.kill, node) for node in nodes if node in self._mortal]
        faults += [self.part, partial(self.freeze, self._random.choice(nodes))]
        self._random.shuffle(faults)
        return faults

    def kill(self, node: NetworkNode) -> None:
        """Kill a node and start it again, with the clock that was drawn for it; if frozen, afterwards."""
        if node in self._thawing:
            self._thawing[node].join()
        _log.info("kill %s, its clock is to be %d s ahead", node.node_id, self._clocks[node])
        node.kill()
        time.sleep(self._random.uniform(*DEAD))
        node.set_clock_ahead(self._clocks[node])
        self._network.start([node])
        wait_for(lambda: is_ready(node), f"{node.node_id} is ready")

    def part(self) -> None:
        """Let three hear each other and two each other, and mend that."""
        nodes = self._random.sample(self._network.nodes, len(self._network.nodes))
        ips = [node.ip for node in nodes]
        _log.info("apart: %s", [node.node_id for node in nodes[:3]])
        self._network.wires.split(ips[:3], ips[3:])
        time.sleep(self._random.uniform(*APART))
        self._network.wires.heal()

    def freeze(self, node: NetworkNode) -> None:
        """Let a node do nothing for some time, while other faults go on."""
        _log.info("freeze %s", node.node_id)
        node.freeze()
        thawing = threading.Thread(target=self._thaw_in_time, args=(node,))
        thawing.start()
        self._thawing[node] = thawing

    def wait_for_end(self) -> None:
        """Return when nothing is wrong any more."""
        for thawing in self._thawing.values():
            thawing.join()
        nodes = self._network.nodes
        wait_for(lambda: all(map(is_ready, nodes)), "all are ready")

    def _thaw_in_time(self, node: NetworkNode) -> None:
        time.sleep(self._plan.frozen)
        node.thaw()


def faulty_run(network: LocalNetwork, seed: int, plan: Plan = ALL) -> Outcome:
    """Put load on both chains of a running network of five voters and do to it all kinds of faults.

    Args:
        network: The nodes; all run and are ready.
        seed: Of the faults.
        plan: How many there are, and how long they last.

    Raises:
        AssertionError: Two nodes have accepted different blocks at one height, differ in a row, or do not
            have what was sent to them; or a row is not what the transactions make.
        NotReached: Nothing was accepted any more, though nothing was wrong any more.
    """
    random, nodes, began = Random(seed), network.nodes, time.monotonic()
    faults = Faults(network, random, plan)
    with ExitStack() as clients:
        transfers = clients.enter_context(Transfers(nodes, _chance(random), _senders(nodes[0])))
        payments = clients.enter_context(Payments(nodes, _chance(random), _wallets(nodes[0])))
        watch = clients.enter_context(Watch(nodes, _chance(random)))
        _wait_for_more(transfers, payments)
        for fault in faults.all():
            fault()
        faults.wait_for_end()
        _wait_for_more(transfers, payments)
        finish(transfers, payments)
        wait_for(lambda: agreed(nodes), "all have the same heads")
    seconds = time.monotonic() - began
    heights = _judge(nodes, transfers, payments, watch)
    return Outcome(heights, len(transfers.hashes) + len(payments.tx_ids), seconds)


def is_ready(node: NetworkNode) -> bool:
    """Say whether a node has reached the network's frontier."""
    return node.get("/ext/health/readiness")[0] == HTTPStatus.OK


def _chance(random: Random) -> Random:
    """Return chance of its own for a thread: how often that asks is the machine's."""
    return Random(random.getrandbits(64))


def _senders(node: NetworkNode) -> list[Sender]:
    # Others of a test's own network begin with the first ones.
    accounts = [Account.from_key(key) for key in list(DEV_KEYS.values())[-SENDERS:]]
    return [
        Sender(one, CHAIN_ID, int(node.rpc("eth_getTransactionCount", one.address, "latest"), 16))
        for one in accounts
    ]


def _wallets(node: NetworkNode) -> list[Wallet]:
    """Return wallets on the P-Chain, each with a coin."""
    wallets = [Wallet(key) for key in new_keys(SENDERS)]
    fund(node, [(wallet.key, COIN) for wallet in wallets])
    with PlatformClient(node.port) as client:
        for wallet in wallets:
            wallet.look(client)
    return wallets


def _wait_for_more(transfers: Transfers, payments: Payments) -> None:
    """Wait until both chains have accepted more."""
    for load in (transfers, payments):
        before = load.accepted
        wait_for(lambda load=load, before=before: load.accepted >= before + SENDERS, "it goes on")


def _judge(
    nodes: Sequence[NetworkNode], transfers: Transfers, payments: Payments, watch: Watch
) -> tuple[int, int]:
    """Compare all that the nodes have, among them and with what was sent and seen; return the heights."""
    assert differences(nodes) == []
    with nodes[0].database() as ask:
        # All have the same rows, so what one has is right for all.
        check_rows(ask)
        check_platform_rows(ask, len(nodes))
        blocks = {
            ("C", number): "0x" + bytes(block_hash).hex()
            for number, block_hash in ask("SELECT number, hash FROM cchain_app_block")
        } | {
            ("P", height): "0x" + bytes(raw).hex()
            for height, raw in ask("SELECT height, raw FROM platform_app_block")
        }
        accepted = {
            "0x" + bytes(one).hex() for (one,) in ask("SELECT hash FROM cchain_app_transaction")
        } | {str(ID(bytes(one))) for (one,) in ask("SELECT tx_id FROM platform_app_tx")}
    contradicted = {place for place, block in watch.seen.items() if blocks[place] != block}
    assert not contradicted, "accepted once, and replaced"
    assert {*transfers.hashes, *payments.tx_ids} <= accepted, "taken, and lost"
    return max(at for chain, at in blocks if chain == "P"), max(
        at for chain, at in blocks if chain == "C"
    )
