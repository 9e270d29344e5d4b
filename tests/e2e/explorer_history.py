"""A chain history that fills the explorer's pages.

It has 12,000 transactions of one account, tokens, a proxy, failed transactions and stakers.
"""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import requests
from eth_account import Account

from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import DYNAMIC_FEE
from primitives.evm import Address
from primitives.hashing import keccak256
from primitives.ids import NodeID
from primitives.keys import DEV_KEYS
from tests.builders.bytecode import created, words
from tests.e2e.conftest import CHAIN_ID, CLIENTS
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import UNIT, Wallet, fund, new_keys, raw
from tests.e2e.transactions import wait_for_receipts
from tests.servers.node import RunningNode

ROUNDS: Final = 60
"""Rounds of transactions. All transactions of a round are in blocks before the next round is sent."""
VALIDATORS: Final = 12
HUTS: Final = 4 * ROUNDS
STRANGER: Final = Address(bytes.fromhex("000000000000000000000000000000000000dead"))
"""The recipient of most of the coins and tokens."""
TRADERS_KEY: Final = bytes.fromhex(list(DEV_KEYS.values())[1].removeprefix("0x"))
"""Not the first account's key, because the faucet pays from the first account."""

_COIN: Final = 10**18
_GWEI: Final = 10**9
_GAS: Final = 21_000
_CALL_GAS: Final = 400_000
_DEPLOY_GAS: Final = 8_000_000
_DAY: Final = 86_400
COMPILER: Final = "v0.8.37+commit.f401782d"
_INDEXED_WITHIN: Final = 120.0
"""Seconds within which the last transfer of a token must be indexed."""


class History(NamedTuple):
    """The accounts and transactions of the history that tests look at."""

    busy: Address
    """The account that sent all transactions."""
    coin: Address
    huts: Address
    gear: Address
    market: Address
    """The implementation contract behind the proxy."""
    proxy: Address
    sent: int
    """Number of transactions of the busy account."""
    transfers: int
    """Number of transfers of the coin, including the one that minted it."""
    bought: str
    """The hash of a transaction that moved three tokens through the proxy."""
    failed: str
    """The hash of a transaction that failed with one of the contract's custom errors."""
    stuck: str
    """The hash of a transaction that is pending because of a nonce gap."""
    validator: str
    """The ID of a node that has delegators."""
    staking: str
    """The ID of the transaction that added that validator."""
    subnet: str
    staker: str
    """The P-Chain address that owns all these stakes."""


class Trader:
    """The account that sends all transactions; it counts its nonces locally."""

    def __init__(self, key: bytes, nonce: int) -> None:
        self.address = Address(bytes.fromhex(Account.from_key(key).address[2:]))
        self.nonce = nonce
        self._key = key

    def sign(
        self,
        to: Address | None,
        data: bytes = b"",
        *,
        value: int = 0,
        gas: int = _CALL_GAS,
        ahead: int = 0,
    ) -> str:
        """Return the next transaction as 0x text, or the one `ahead` nonces after it."""
        made = UnsignedTransaction(
            type=DYNAMIC_FEE,
            chain_id=CHAIN_ID,
            nonce=self.nonce + ahead,
            gas=gas,
            to=to,
            value=value,
            max_fee_per_gas=500 * _GWEI,
            max_priority_fee_per_gas=_GWEI,
            data=data,
        )
        self.nonce += not ahead
        return "0x" + sign_transaction(made, self._key).hex()


def make_history(node: RunningNode, contracts: dict[str, Any]) -> History:
    """Create the history on a new local network's node that has a compiler; return when it is indexed."""
    trader = Trader(TRADERS_KEY, 0)
    addresses = [created(trader.address, nonce) for nonce in range(5)]
    coin, huts, gear, market, proxy = addresses
    first = _send(node, _opening(trader, contracts, addresses))
    assert [other["contractAddress"] for other in first[:5]] == [
        "0x" + address.hex() for address in addresses
    ]
    assert all(item["status"] == "0x1" for item in first)
    _verify(node, market, contracts)
    rounds = [
        _send(node, list(_round(trader, number, addresses)), only=_KEPT) for number in range(ROUNDS)
    ]
    bought, failed = rounds[-1]
    assert (bought["status"], failed["status"]) == ("0x1", "0x0")
    stuck = node.rpc("eth_sendRawTransaction", trader.sign(STRANGER, gas=_GAS, ahead=5))
    stakes = _stake(node)
    _await_indexes(node, trader.address)
    return History(
        trader.address, coin, huts, gear, market, proxy,
        sent=trader.nonce, transfers=1 + ROUNDS * (_TRANSFERS + _BUYS),
        bought=bought["transactionHash"], failed=failed["transactionHash"], stuck=stuck, **stakes,
    )  # fmt: skip


def call(signature: str, *arguments: int | bytes) -> bytes:
    """Return the call data of a function whose arguments are one word each."""
    return keccak256(signature.encode())[:4] + words(*arguments)


def _opening(trader: Trader, contracts: dict[str, Any], addresses: Sequence[Address]) -> list[str]:
    """Deploy the contracts and open the market, which gets all huts and an allowance for the trader's coins."""
    coin, huts, gear, market, proxy = addresses
    text = words(5) + b"Larch".ljust(32, b"\0") + words(3) + b"LRC".ljust(32, b"\0")
    arguments: dict[str, bytes] = {
        "Coin": words(96, 160, 10**9 * _COIN) + text,
        "Huts": words(proxy, HUTS),
        "Gear": b"",
        "Market": b"",
        "Proxy": words(market),
    }
    code = {name: bytes.fromhex(contracts[name]["bytecode"][2:]) for name in arguments}
    creations = [
        trader.sign(None, code[name] + given, gas=_DEPLOY_GAS) for name, given in arguments.items()
    ]
    batch = words(96, 256, 4, 0, 1, 2, 3, 4, 10, 20, 30, 40)
    calls = [
        (proxy, call("open(address,address,address)", coin, huts, gear)),
        (coin, call("approve(address,uint256)", proxy, 2**255)),
        (gear, call("mintBatch(address,uint256[],uint256[])", STRANGER) + batch),
    ]
    return [*creations, *(trader.sign(to, data) for to, data in calls)]


_BUYS: Final = 3
_FAILURES: Final = 4
_TRANSFERS: Final = 24


def of_round(number: int) -> int:
    """Return the number of transactions of a round, which varies from 145 to 265 to give charts some shape."""
    return 145 + number * 37 % 121


def _round(trader: Trader, number: int, addresses: Sequence[Address]) -> Iterator[str]:
    """Sign a round: transfers mixed evenly with contract calls. The last but one fails, the last one buys."""
    coin, _, gear, _, proxy = addresses
    hut = 1 + number * _BUYS
    buy = "buy(uint256)"
    moved = ((coin, call("transfer(address,uint256)", STRANGER, _COIN + at)) for at in range(_TRANSFERS))  # fmt: skip
    bought = ((proxy, call(buy, hut + at)) for at in range(_BUYS - 1))
    minted = (gear, call("mint(address,uint256,uint256)", trader.address, number % 7, 5))
    too_much = (coin, call("transfer(address,uint256)", STRANGER, 10**40))
    calls = [*moved, *bought, minted, *[too_much] * (_FAILURES - 1)]
    calls = [calls[at * _APART % len(calls)] for at in range(len(calls))]
    size = of_round(number) - 2
    for at in range(size):
        if at * len(calls) // size < (at + 1) * len(calls) // size:
            yield trader.sign(*calls[at * len(calls) // size])
        else:
            yield trader.sign(STRANGER, value=(at + 1) * _COIN // 1_000, gas=_GAS)
    yield trader.sign(proxy, call(buy, 1 if number else HUTS + 1))
    yield trader.sign(proxy, call(buy, hut + _BUYS - 1), value=_COIN // 4)


_APART: Final = 7
"""Distance between a round's calls of one kind; it shares no factor with the number of calls."""
_KEPT: Final = (-1, -2)
"""Positions in a round of the transactions whose receipts are checked."""


def _send(
    node: RunningNode, raws: Sequence[str], only: Sequence[int] | None = None
) -> list[dict[str, Any]]:
    """Send transactions together; return the receipts of all or some of them once they are in blocks."""
    with node.client() as client:
        hashes = client.batch([("eth_sendRawTransaction", item) for item in raws])
        wanted = hashes if only is None else [hashes[at] for at in only]
        return wait_for_receipts(client, wanted)


def _verify(node: RunningNode, market: Address, contracts: dict[str, Any]) -> None:
    """Verify the market, which also gives the proxy's calls their function names."""
    source = (CLIENTS / "contracts/Market.sol").read_text()
    given = {
        "language": "Solidity",
        "sources": {"Market.sol": {"content": source}},
        "settings": contracts["Market"]["settings"],
    }
    form = {
        "module": "contract",
        "action": "verifysourcecode",
        "contractaddress": "0x" + market.hex(),
        "sourceCode": json.dumps(given),
        "codeformat": "solidity-standard-json-input",
        "contractname": "Market.sol:Market",
        "compilerversion": COMPILER,
    }
    status = _ask(node, form)
    form = {"module": "contract", "action": "checkverifystatus", "guid": status}
    while (status := _ask(node, form)) == "Pending in queue":
        pass  # each request waits for the job, up to ten seconds
    assert status == "Pass - Verified", status


def _ask(node: RunningNode, form: dict[str, str]) -> str:
    answer = requests.post(f"http://127.0.0.1:{node.port}/api", form, timeout=60)
    return str(answer.json()["result"])


def _stake(node: RunningNode) -> dict[str, str]:
    """Create validators with delegators and a subnet, all paid by one key."""
    (key,) = new_keys(1)
    fund(node, [(key, 2_000_000 * UNIT)])
    wallet = Wallet(key)
    now = int(time.time())
    node_ids = [NodeID(keccak256(b"hut %d" % at)[:20]) for at in range(VALIDATORS)]
    with PlatformClient(node.port) as client:
        wallet.look(client)

        def commit(tx: Any) -> str:
            issued = client.commit(raw(tx))
            wallet.coins = wallet.back(tx)
            return issued

        added = [
            commit(wallet.add_validator(one, now + (20 + 25 * at) * _DAY, weight=(2_000 + 7_300 * at) * UNIT))
            for at, one in enumerate(node_ids)
        ]  # fmt: skip
        for at, one in enumerate(node_ids[2:]):
            for share in range(1 + at % 3):
                end = now + (15 + 20 * at + share) * _DAY
                commit(wallet.delegate(one, end, weight=(100 + 900 * share) * UNIT))
        subnet = commit(wallet.create_subnet())
    return {
        "validator": str(node_ids[4]),
        "staking": added[4],
        "subnet": subnet,
        "staker": wallet.address,
    }


def _await_indexes(node: RunningNode, somebody: Address) -> None:
    """Wait until token transfers and calls are indexed up to the head, so that pages are complete."""
    head = int(node.rpc("eth_blockNumber"), 16)
    complete = f"rows up to block {head:,} of {head:,}"
    deadline = time.monotonic() + _INDEXED_WITHIN
    for path in ("tokens", f"address/0x{somebody.hex()}?tab=inner"):
        while complete not in (text := page(node, path)):
            assert time.monotonic() < deadline, text
            time.sleep(0.1)


def page(node: RunningNode, path: str) -> str:
    """Return a page of the explorer."""
    answer = requests.get(f"http://127.0.0.1:{node.port}/{path}", timeout=60)
    assert answer.ok, f"{answer.status_code} {path}"
    return answer.text
