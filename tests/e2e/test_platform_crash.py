"""The node is killed under a load of P-Chain transactions, and no acknowledged transaction is lost."""

import random
import sys
import threading
import time

import pytest

from platform_app.txs.base import Tx
from primitives.ids import ID, NodeID
from primitives.keys import EWOQ_KEY
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import MakeNode
from tests.e2e.network import wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_rows import check_platform_rows, known_txs
from tests.e2e.platform_sdk import DAY
from tests.e2e.platform_wallet import UNIT, Wallet, fund, new_keys, raw, worth
from tests.servers.client import RpcFault, RpcUnreachable

SENDERS = 3
COINS = 60
"""Number of coins of each sender; the change of a coin can be spent once its transaction is in a block."""
RICH = 30 * UNIT
"""Least amount of a coin that can be delegated with change left over."""
LONGEST = 1.5
"""Longest load before a kill, in seconds, except for the last kill."""
ASKED = 300
"""Number of transactions that the node is queried for after a kill; the rows are checked for all of them."""
LEFTOVER = 60.0
"""Seconds until a transaction that was pending when the node was killed must be in a block. No event triggers the
builder for it, so the P-Chain's tick finds it, which comes every second; the rest is a margin for a busy machine."""
NOT_THERE = ("failed to read consumed UTXO", "tx conflicts with other tx")
"""Errors for transactions that spend an output which is missing or about to be spent."""


class Load:
    """Threads that issue transactions as fast as the node answers, and record every ID that was returned."""

    def __init__(self, node: CheckedNode) -> None:
        self._node = node
        self._wallets = [Wallet(key) for key in new_keys(SENDERS)]
        self._end = int(time.time()) + 15 * DAY
        with PlatformClient(node.port) as client:
            self._validator = NodeID.parse(client.node_id())
        self.answered: list[str] = []
        self.delegated = 0
        """Number of delegations among the answered transactions."""
        self.unexpected: list[Exception] = []

    def fund(self) -> None:
        """Give every sender coins."""
        for wallet in self._wallets:
            fund(self._node, [(wallet.key, RICH + UNIT + number) for number in range(COINS)])

    def start(self) -> list[threading.Thread]:
        """Start issuing; each thread ends when the node stops answering."""
        threads = [threading.Thread(target=self._issue, args=[wallet]) for wallet in self._wallets]
        for thread in threads:
            thread.start()
        return threads

    def _issue(self, wallet: Wallet) -> None:
        try:
            with PlatformClient(self._node.port) as client:
                wallet.look(client)
                while True:
                    self._issue_one(client, wallet)
        except RpcUnreachable:
            return  # the node was killed
        except Exception as error:
            self.unexpected.append(error)

    def _issue_one(self, client: PlatformClient, wallet: Wallet) -> None:
        """Spend the oldest coin; sometimes try to spend it twice."""
        coin, *others = wallet.coins
        payment, subnet = wallet.pay([], coin), wallet.create_subnet(coin)
        tx, rival = (subnet, payment) if random.random() < 0.1 else (payment, subnet)
        delegates = worth(coin) > RICH and random.random() < 0.2
        if delegates:
            tx = wallet.delegate(self._validator, self._end, coin)
        if not self._offer(client, tx):
            wallet.coins = [*others, coin]
            return
        self.delegated += delegates
        wallet.coins = [*others, *wallet.back(tx)]
        if random.random() < 0.1:
            assert not self._offer(client, rival), "a coin was taken twice"

    def _offer(self, client: PlatformClient, tx: Tx) -> bool:
        """Issue a transaction; return False if it was rejected because of the output that it spends."""
        try:
            self.answered.append(client.issue(raw(tx)))
        except RpcFault as fault:
            if any(words in fault.message for words in NOT_THERE):
                return False
            raise
        return True


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("fresh", "rounds"), [("embedded", 3), ("production", 1)], indirect=["fresh"]
)
def test_acknowledged_transactions_survive_a_kill(fresh: CheckedNode, rounds: int) -> None:
    load = Load(fresh)
    load.fund()
    for left in reversed(range(rounds)):
        before = len(load.answered)
        threads = load.start()
        time.sleep(random.uniform(0.2, LONGEST))
        if not left:  # a slow machine may have answered little before the earlier kills
            wait_for(
                lambda: load.unexpected or (load.delegated and len(load.answered) > 5 * rounds),
                "the node is under load",
            )
        fresh.kill()
        for thread in threads:
            thread.join()
        assert load.unexpected == []
        if random.random() < 0.3:  # kill the node again while it starts
            fresh.start(wait=False)
            time.sleep(random.uniform(0, LONGEST))
            fresh.kill()
        fresh.start()
        check(fresh, load.answered, since=before)
    assert len(load.answered) > 5 * rounds, "the node was not under load"
    with PlatformClient(fresh.port) as client:
        outcomes = client.wait(load.answered[-ASKED:])
    assert set(outcomes) <= {"Committed", "Dropped"}
    check(fresh, load.answered, since=0)
    # A transaction may have been stored without being acknowledged.
    wait_for(lambda: not waiting(fresh), "the mempool is empty", LEFTOVER)
    with fresh.database() as ask:
        assert ask("SELECT tx_id FROM p_delegations WHERE phase = 'current'") != []
    fresh.manage("time_travel", "16d")
    with fresh.database() as ask:
        assert ask("SELECT tx_id FROM p_delegations WHERE phase <> 'past'") == []
        check_platform_rows(ask)


@pytest.mark.parametrize(
    ("profile", "point", "outcome"),
    [
        ("production", "inserted", "Unknown"),
        ("embedded", "committed", "Committed"),
        ("embedded", "told", "Committed"),
    ],
)
def test_stored_transaction_is_mined_after_the_restart(
    make_node: MakeNode, profile: str, point: str, outcome: str
) -> None:
    command = (sys.executable, "-m", "tests.servers.killed_at", point, "runnode")
    node = make_node(profile, command=command).start()
    rich = Wallet(EWOQ_KEY)
    with PlatformClient(node.port) as client:
        rich.look(client)
        tx = rich.pay([])
        with pytest.raises(RpcUnreachable):
            client.issue(raw(tx))
    node.kill()
    stored = "0x" + tx.tx_id.hex()
    with node.database() as ask:
        assert (stored in known_txs(ask)) == (outcome == "Committed")
    if point == "committed":  # at a later point the builder may already have put it into a block
        assert waiting(node) == [stored]

    node.start()

    wait_for(lambda: not waiting(node), "the mempool is empty", LEFTOVER)
    with PlatformClient(node.port) as client:
        assert client.status(str(tx.tx_id)) == outcome


def waiting(node: CheckedNode) -> list[str]:
    """Return the pending transactions. Each call opens a new `database()`, which shows a fixed snapshot."""
    with node.database() as ask:
        return [tx_id for (tx_id,) in ask("SELECT tx_id FROM p_mempool")]


def check(node: CheckedNode, answered: list[str], since: int) -> None:
    """Check the rows, and that the node still knows the transactions that it acknowledged last."""
    with node.database() as ask:
        missing = {"0x" + ID.parse(item).hex() for item in answered} - known_txs(ask)
        assert not missing
        check_platform_rows(ask)
    with PlatformClient(node.port) as client:
        for tx_id in answered[since:][-ASKED:]:
            found = client.call("platform.getTxStatus", txID=tx_id)
            assert found["status"] in {"Committed", "Processing", "Dropped"}
            assert (found["status"] == "Dropped") == bool(found.get("reason"))
