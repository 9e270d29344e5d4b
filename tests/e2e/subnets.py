"""Chains of subnets for tests: their creation, and load on many of them while the node is killed."""

import http.client
import json
import random
import threading
import time
import urllib.request
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import Any

from cchain_app.txs.codec import decode_transaction
from cchain_app.txs.signing import sign_transaction
from platform_app.txs.subnets import CreateChainTx
from primitives.ids import ID
from primitives.keys import EWOQ_KEY, address_of
from tests.builders import platform
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import KEY, RECIPIENT, SENDER, unsigned
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, raw, worth
from tests.servers.client import RpcFault, RpcUnreachable
from tests.servers.node import RunningNode

PATIENCE = 180.0
"""Time limit of each wait, in seconds."""
FIRST_CHAIN_ID = 20_000
_OF_HEAD = {
    "chain_height": "number",
    "chain_last_block_timestamp_seconds": "timestamp",
    "cchain_base_fee_wei": "baseFeePerGas",
    "cchain_gas_used": "gasUsed",
    "cchain_gas_limit": "gasLimit",
    "cchain_last_block_bytes": "size",
}
"""Metrics that describe a chain's last block, and the fields of the block."""
_AT_ONCE = 200
"""Calls in a batch."""


def create_chain(  # arguments of a transaction
    client: PlatformClient,
    wallet: Wallet,
    subnet_id: str,
    name: str,
    chain_id: int,
    **of_config: Any,
) -> str:
    """Create a chain of a subnet that the wallet controls, with an account of `KEY`; return its blockchain ID.

    Args:
        client: A connection to a node.
        wallet: Pays.
        subnet_id: The subnet.
        name: The chain's name.
        chain_id: The EVM chain ID.
        of_config: Further entries of `config` in its genesis file.
    """
    wallet.look(client)
    coin = max(wallet.coins, key=worth)
    change = worth(coin) - platform.CONFIG.fees.create_blockchain
    created = platform.unsigned(
        CreateChainTx,
        inputs=platform.spend_all(coin),
        outputs=(platform.output(change, address_of(EWOQ_KEY), asset_id=coin.asset_id),),
        subnet_id=ID.parse(subnet_id),
        chain_name=name,
        vm_id=ID.of_name("subnetevm"),
        fx_ids=(),
        genesis_data=subnet_genesis(chain_id, **of_config),
    )
    return client.commit(raw(platform.signed(created, [[EWOQ_KEY]] * 2)))


@dataclass
class LoadedChain:
    """A chain, and the transactions that its node has acknowledged."""

    name: str
    blockchain_id: str
    chain_id: int
    turn: threading.Lock = field(default_factory=threading.Lock)
    """Held by the thread that sends."""
    nonce: int | None = 0
    """Of the next transaction; None: the node has to be asked."""
    acknowledged: list[str] = field(default_factory=list)
    sends: int = 0
    """Calls that were answered since the node's last start."""


class SubnetLoad:
    """Threads that send transfers on random chains of a node, and wait while it is down."""

    def __init__(self, node: RunningNode, seed: int, *, threads: int = 4) -> None:
        self.node = node
        self.chains: list[LoadedChain] = []
        self.unexpected: list[Exception] = []
        self._subnet_id = ""
        self._seed = seed
        self._is_up = threading.Event()
        self._stopping = threading.Event()
        self._threads = [
            threading.Thread(target=self._run, args=[place]) for place in range(threads)
        ]

    def create(self, count: int) -> None:
        """Create further chains of one subnet, and wait until the node serves them."""
        wallet = Wallet(EWOQ_KEY)
        with PlatformClient(self.node.port) as client:
            if not self._subnet_id:
                wallet.look(client)
                self._subnet_id = client.commit(raw(wallet.create_subnet()))
            for place in range(len(self.chains), len(self.chains) + count):
                chain_id, name = FIRST_CHAIN_ID + place, f"chain{place}"
                created = create_chain(client, wallet, self._subnet_id, name, chain_id)
                self.chains.append(LoadedChain(name, created, chain_id))
        with closing(_Connection(self.node.port)) as connection:
            until = time.monotonic() + PATIENCE
            for chain in self.chains:
                while not connection.serves(chain):
                    assert time.monotonic() < until, f"{chain.name} is not served"
                    time.sleep(0.05)

    def kill_at_random(self, kills: int) -> None:
        """Send, and kill the node at random moments under load; afterwards check all chains."""
        chance = random.Random(self._seed)
        self._is_up.set()
        for thread in self._threads:
            thread.start()
        try:
            for _ in range(kills):
                self._wait_for_more(2 * len(self.chains))
                time.sleep(chance.uniform(0, 1))
                self._is_up.clear()
                self.node.kill()
                for chain in self.chains:
                    with chain.turn:
                        chain.sends = 0
                self.node.start()
                self._is_up.set()
            self._wait_for_more(2 * len(self.chains))
            until = time.monotonic() + PATIENCE
            while not all(chain.acknowledged for chain in self.chains):
                assert time.monotonic() < until, "a chain takes no transactions"
                time.sleep(0.05)
        finally:
            self._stopping.set()
            self._is_up.set()
            for thread in self._threads:
                thread.join()
        assert self.unexpected == []

    def check(self) -> None:
        """Check that each chain has all acknowledged transactions and no coins but theirs, and right metrics."""
        with closing(_Connection(self.node.port)) as connection:
            for chain in self.chains:
                self._check_chain(connection, chain)
            page = scrape(self.node)
            for chain in self.chains:
                head = connection.call(chain, "eth_getBlockByNumber", "latest", False)
                label = f'chain="{chain.blockchain_id}"'
                for name, field_name in _OF_HEAD.items():
                    shown = page[f"svc_{name}{{{label}}}"]
                    assert shown == int(head[field_name], 16), f"{chain.name}: {name}"
                made = page.get(f"svc_block_processing_duration_seconds_count{{{label}}}", 0)
                least = 1 if chain.sends else 0
                assert least <= made <= int(head["number"], 16), chain.name
                named = [key for key in page if key.startswith("svc_chain_info{") and label in key]
                assert sum(f'alias="{chain.name}"' in key for key in named) == 1, chain.name
                waiting = f'svc_mempool_transactions{{{label},state="pending"}}'
                assert page[waiting] == 0, chain.name
                calls = (
                    f'svc_api_calls_total{{api="{chain.blockchain_id}",'
                    'method="eth_sendRawTransaction"}'
                )
                assert page.get(calls, 0) == chain.sends, chain.name

    @property
    def total(self) -> int:
        """The number of acknowledged transactions."""
        return sum(len(chain.acknowledged) for chain in self.chains)

    def _check_chain(self, connection: "_Connection", chain: LoadedChain) -> None:
        until = time.monotonic() + PATIENCE
        waiting = list(chain.acknowledged)
        while waiting:
            found = connection.receipts(chain, waiting[:_AT_ONCE])
            assert all(one is None or one["status"] == "0x1" for one in found)
            if all(found):
                del waiting[:_AT_ONCE]
                continue
            assert time.monotonic() < until, f"{chain.name} lacks acknowledged transactions"
            time.sleep(0.05)
        sender, recipient = f"0x{SENDER.hex()}", f"0x{RECIPIENT.hex()}"
        # The answer to a transaction may have been lost with the node.
        mined = int(connection.call(chain, "eth_getTransactionCount", sender, "latest"), 16)
        assert mined >= len(chain.acknowledged) == len(set(chain.acknowledged))
        assert int(connection.call(chain, "eth_getBalance", recipient, "latest"), 16) == mined

    def _wait_for_more(self, count: int) -> None:
        wanted, until = self.total + count, time.monotonic() + PATIENCE
        while self.total < wanted and not self.unexpected:
            assert time.monotonic() < until, "the node takes no transactions"
            time.sleep(0.05)

    def _run(self, place: int) -> None:
        chance = random.Random(self._seed + place)
        connection = _Connection(self.node.port)
        try:
            while not self._stopping.is_set():
                self._is_up.wait()
                chain = chance.choice(self.chains)
                if chain.turn.acquire(blocking=False):
                    try:
                        self._send(connection, chain)
                    finally:
                        chain.turn.release()
        except Exception as error:
            self.unexpected.append(error)
        finally:
            connection.close()

    def _send(self, connection: "_Connection", chain: LoadedChain) -> None:
        try:
            if chain.nonce is None:
                sender = f"0x{SENDER.hex()}"
                found = connection.call(chain, "eth_getTransactionCount", sender, "pending")
                chain.nonce = int(found, 16)
            given = unsigned(chain_id=chain.chain_id, nonce=chain.nonce, to=RECIPIENT, value=1)
            signed = decode_transaction(sign_transaction(given, KEY), chain.chain_id).raw
            sent = connection.call(chain, "eth_sendRawTransaction", f"0x{signed.hex()}")
        except RpcUnreachable:
            chain.nonce = None
            if self._is_up.is_set():
                self._stopping.wait(0.01)  # the node is being killed: do not retry in a busy loop
            return
        chain.nonce += 1
        chain.sends += 1
        chain.acknowledged.append(sent)


class _Connection:
    """Calls of chains over one connection; not thread-safe."""

    def __init__(self, port: int) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)

    def close(self) -> None:
        self._connection.close()

    def call(self, chain: LoadedChain, method: str, *params: Any) -> Any:
        """Return the result of a call. Raises `RpcFault` and `RpcUnreachable` like `RpcClient`."""
        answer = self._post(chain, {"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
        if "error" in answer:
            raise RpcFault(answer["error"])
        return answer["result"]

    def receipts(self, chain: LoadedChain, hashes: Sequence[str]) -> list[Any]:
        """Return the receipts of transactions in blocks, None for each other one."""
        calls = [
            {
                "jsonrpc": "2.0",
                "id": place,
                "method": "eth_getTransactionReceipt",
                "params": [sent],
            }
            for place, sent in enumerate(hashes)
        ]
        found = {answer["id"]: answer["result"] for answer in self._post(chain, calls)}
        return [found[place] for place in range(len(hashes))]

    def serves(self, chain: LoadedChain) -> bool:
        """Return whether the node serves a chain."""
        try:
            return bool(self.call(chain, "eth_chainId"))
        except json.JSONDecodeError:  # there is no such path yet
            return False

    def _post(self, chain: LoadedChain, body: Any) -> Any:
        path = f"/ext/bc/{chain.blockchain_id}/rpc"
        try:
            self._connection.request(
                "POST", path, json.dumps(body).encode(), {"Content-Type": "application/json"}
            )
            return json.loads(self._connection.getresponse().read())
        except (OSError, http.client.HTTPException) as error:
            self._connection.close()
            raise RpcUnreachable(repr(error)) from error


def scrape(node: RunningNode) -> dict[str, float]:
    """Return the metrics page of a node as values by name with labels."""
    url = f"http://127.0.0.1:{node.port}/ext/metrics"
    with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
        text = answer.read().decode()
    lines = (line.rpartition(" ") for line in text.splitlines() if not line.startswith("#"))
    return {name: float(value) for name, _, value in lines}
