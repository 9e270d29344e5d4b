"""The node is killed with SIGKILL at random moments under load, and no acknowledged transaction is lost."""

import random
import threading
import time
from typing import Any

import pytest
from eth_account import Account
from web3 import Web3

from tests.e2e.chain_rows import known_transactions
from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID, RICH_KEY
from tests.e2e.network import wait_for
from tests.e2e.transactions import Sender, wait_for_receipts
from tests.servers.client import RpcClient, RpcUnreachable

STRANGER = "0x000000000000000000000000000000000000dEaD"
LONGEST = 1.0
"""Longest load before a kill, in seconds, except for the last kill."""


class Load:
    """Threads that send transactions as fast as the node answers, and record every hash that was returned."""

    def __init__(self, node: CheckedNode, contract: Any, count: int = 4) -> None:
        self._node = node
        self._contract = contract
        self._senders = [
            Sender(Account.from_key((1000 + number).to_bytes(32, "big")), CHAIN_ID)
            for number in range(count)
        ]
        self.answered: list[str] = []
        self.unexpected: list[Exception] = []

    def fund(self) -> None:
        """Give every sender coins."""
        rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID, 1)
        with self._node.client() as client:
            raws = [rich.transfer(sender.address, 10**21) for sender in self._senders]
            self.answered += client.batch([("eth_sendRawTransaction", raw) for raw in raws])
            wait_for_receipts(client, self.answered)

    def start(self) -> list[threading.Thread]:
        """Start sending; each thread ends when the node stops answering."""
        threads = [threading.Thread(target=self._send, args=[sender]) for sender in self._senders]
        for thread in threads:
            thread.start()
        return threads

    def _send(self, sender: Sender) -> None:
        with self._node.client() as client:
            try:
                nonce = client.call("eth_getTransactionCount", sender.address, "pending")
                sender.nonce = int(nonce, 16)
                while True:
                    self._send_some(client, sender)
            except RpcUnreachable:
                return  # the node was killed
            except Exception as error:
                self.unexpected.append(error)

    def _send_some(self, client: RpcClient, sender: Sender) -> None:
        """Send one transaction, or several in one batch."""
        raws = [self._next(sender) for _ in range(random.choice((1, 1, 1, 8)))]
        if len(raws) == 1:
            self.answered.append(client.call("eth_sendRawTransaction", raws[0]))
            return
        for answer in client.batch([("eth_sendRawTransaction", raw) for raw in raws]):
            if isinstance(answer, Exception):
                raise answer
            self.answered.append(answer)

    def _next(self, sender: Sender) -> str:
        if random.random() < 0.5:
            return sender.transfer(STRANGER)
        key = random.randrange(200)
        data = self._contract.encode_abi("store", [key, random.choice((0, sender.nonce))])
        return sender.sign({"to": self._contract.address, "data": data, "gas": 120_000})


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(
    ("fresh", "rounds"), [("embedded", 5), ("production", 2)], indirect=["fresh"]
)
def test_acknowledged_transactions_survive_a_kill(
    fresh: CheckedNode, contracts: dict[str, Any], rounds: int
) -> None:
    load = Load(fresh, deployed(fresh, contracts["Ledger"]))
    load.fund()
    for left in reversed(range(rounds)):
        before = len(load.answered)
        threads = load.start()
        time.sleep(random.uniform(0, LONGEST))
        if not left:  # a slow machine may have answered little before the earlier kills
            wait_for(
                lambda: load.unexpected or len(load.answered) > 20 * rounds,
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
        check(fresh, load, since=before)
    assert len(load.answered) > 20 * rounds, "the node was not under load"
    with fresh.client() as client:
        wait_for_receipts(client, load.answered[-500:])
    check(fresh, load, since=len(load.answered) - 500)


def check(node: CheckedNode, load: Load, since: int) -> None:
    """Check the rows, and that the node still knows the transactions that it acknowledged last."""
    with node.database() as ask:
        missing = set(load.answered) - known_transactions(ask)
    assert not missing
    node.check_chain()
    with node.client() as client:
        asked = load.answered[max(since, 0) :][-500:]
        found = (
            client.batch([("eth_getTransactionByHash", other) for other in asked]) if asked else []
        )
    assert [item["hash"] for item in found] == asked


def deployed(node: CheckedNode, compiled: dict[str, Any]) -> Any:
    """Return a contract whose storage the load can change."""
    rich = Sender(Account.from_key(RICH_KEY), CHAIN_ID)
    contract = Web3().eth.contract(abi=compiled["abi"], bytecode=compiled["bytecode"])
    data = contract.constructor("Load").data_in_transaction
    with node.client() as client:
        sent = client.call("eth_sendRawTransaction", rich.sign({"data": data, "gas": 3_000_000}))
        (receipt,) = wait_for_receipts(client, [sent])
    address = Web3.to_checksum_address(receipt["contractAddress"])
    return Web3().eth.contract(address, abi=compiled["abi"])
