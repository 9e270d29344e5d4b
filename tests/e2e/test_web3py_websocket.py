"""web3.py 8 over WebSocket against the running node receives the notifications of its subscriptions."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from typing import Any

import pytest
from eth_account.signers.local import LocalAccount
from web3 import AsyncWeb3, WebSocketProvider

from tests.e2e.checked import CheckedNode
from tests.e2e.conftest import CHAIN_ID
from tests.e2e.transactions import Sender

EVERYWHERE = pytest.mark.parametrize("node", ["embedded", "daphne", "production"], indirect=True)
STRANGER = "0x000000000000000000000000000000000000dEaD"


@pytest.fixture
async def w3(node: CheckedNode) -> AsyncIterator[Any]:
    """A connected client."""
    async with AsyncWeb3(WebSocketProvider(node.ws_url)) as client:
        yield client


@pytest.fixture
def sender(account: LocalAccount) -> Sender:
    """A sender with the test's account that counts its nonces locally."""
    return Sender(account, CHAIN_ID)


async def notifications(w3: Any, count: int) -> list[dict[str, Any]]:
    """Return the next notifications, each with its subscription and result."""
    return await notifications_until(w3, lambda found: len(found) == count)


async def pending_of(w3: Any, hashes: Collection[bytes], count: int) -> list[dict[str, Any]]:
    """Return the next notifications of these transactions, like `notifications`.

    Skip others: this process may only now learn of earlier transactions, such as the one that funded the account.
    """

    def of_these(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
        return [item for item in found if _hash_of(item["result"]) in hashes]

    return of_these(await notifications_until(w3, lambda found: len(of_these(found)) == count))


def _hash_of(told: Any) -> bytes:
    """Return the hash in a notification, which has only the hash or the full transaction."""
    return bytes(told["hash"] if isinstance(told, Mapping) else told)


async def notifications_until(
    w3: Any, enough: Callable[[list[dict[str, Any]]], bool], seconds: float = 120.0
) -> list[dict[str, Any]]:
    """Return the next notifications, until there are enough of them."""
    found: list[dict[str, Any]] = []
    async with asyncio.timeout(seconds):
        async for message in w3.socket.process_subscriptions():
            found.append(message)
            if enough(found):
                return found
    raise AssertionError("the connection ended")


@EVERYWHERE
async def test_blocks_are_announced_once_and_in_order(w3: Any, sender: Sender) -> None:
    subscription = await w3.eth.subscribe("newHeads")
    numbers = []
    for _ in range(5):
        sent = await w3.eth.send_raw_transaction(sender.transfer(STRANGER))
        receipt = await w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
        numbers.append(receipt["blockNumber"])
    told = await notifications_until(w3, lambda found: found[-1]["result"]["number"] >= numbers[-1])
    heads = [item["result"] for item in told]
    # This process may learn only now of the block before the first one, and then reports it too.
    assert heads[0]["number"] <= numbers[0]
    for parent, head in itertools.pairwise(heads):
        assert head["number"] == parent["number"] + 1
        assert head["parentHash"] == parent["hash"]
    block = await w3.eth.get_block(heads[0]["number"])
    assert {name: block[name] for name in heads[0]} == dict(heads[0])
    assert await w3.eth.unsubscribe(subscription)


@EVERYWHERE
async def test_logs_are_announced_by_address_and_topic(
    w3: Any, sender: Sender, contracts: dict[str, Any]
) -> None:
    compiled = contracts["Ledger"]
    factory = w3.eth.contract(abi=compiled["abi"], bytecode=compiled["bytecode"])
    creation = await factory.constructor("Main").build_transaction({"gas": 3_000_000, "nonce": 0})
    sent = await w3.eth.send_raw_transaction(
        sender.sign({"data": creation["data"], "gas": 3_000_000})
    )
    receipt = await w3.eth.wait_for_transaction_receipt(sent, poll_latency=0.02)
    ledger = w3.eth.contract(receipt["contractAddress"], abi=compiled["abi"])
    topic = w3.keccak(text="Stored(uint256,uint256)")
    wanted = {"address": ledger.address, "topics": [topic, "0x" + "00" * 31 + "06"]}
    await w3.eth.subscribe("logs", wanted)
    call = {"to": ledger.address, "gas": 500_000}
    await w3.eth.send_raw_transaction(
        sender.sign({**call, "data": ledger.encode_abi("storeMany", [5, 3])})
    )
    (told,) = await notifications(w3, 1)
    event = ledger.events.Stored().process_log(told["result"])
    assert dict(event["args"]) == {"key": 6, "value": 7}
    assert event["logIndex"] == 1


@EVERYWHERE
async def test_pending_transactions_are_announced_as_hash_or_in_full(
    w3: Any, sender: Sender
) -> None:
    hashes = await w3.eth.subscribe("newPendingTransactions")
    full = await w3.eth.subscribe("newPendingTransactions", True)
    sent = await w3.eth.send_raw_transaction(sender.transfer(STRANGER, 77))
    told = {item["subscription"]: item["result"] for item in await pending_of(w3, [sent], 2)}
    assert told[hashes] == sent
    assert told[full]["hash"] == sent
    assert told[full]["value"] == 77
    assert told[full]["blockHash"] is None


async def test_transaction_behind_a_nonce_gap_is_announced_when_filled(
    w3: Any, sender: Sender
) -> None:
    await w3.eth.subscribe("newPendingTransactions")
    sender.nonce = 1
    second = await w3.eth.send_raw_transaction(sender.transfer(STRANGER))
    sender.nonce = 0
    first = await w3.eth.send_raw_transaction(sender.transfer(STRANGER))
    told = await pending_of(w3, [first, second], 2)
    assert [item["result"] for item in told] == [first, second]
