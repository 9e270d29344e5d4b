"""Load on the chains of a network whose nodes stop and start, and a watch on the blocks that they accept.

Clients keep going: a transaction that a node received and lost when its process died is sent to another node.
At the end every node must have all transactions.
"""

import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import AbstractContextManager
from random import Random
from typing import Protocol, Self

from ethereum.crypto.hash import keccak256
from typing_extensions import override

from platform_app.txs.base import Tx
from tests.e2e.network import NetworkNode, wait_for
from tests.e2e.platform_client import PlatformClient
from tests.e2e.platform_wallet import Wallet, raw
from tests.e2e.transactions import Sender
from tests.servers.client import RpcClient, RpcFault, RpcUnreachable

PATIENCE = 3.0
"""Seconds until a client treats a node as dead, and until it resends transactions that were not accepted."""
PAUSE = 0.05
"""Seconds between two steps of a client."""
IN_FLIGHT = 16
"""Most transactions of one sender that are not in a block yet."""


class Client(AbstractContextManager["Client"], ABC):
    """A client that performs steps in a thread, each with a random node; some nodes may not answer."""

    def __init__(self, nodes: Sequence[NetworkNode], random: Random) -> None:
        self._nodes = nodes
        self._random = random
        self._end = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Stop the client.

        Raises:
            BaseException: An error had already ended the client.
        """
        self._end.set()
        self._thread.join()
        if self._failure is not None:
            raise self._failure

    @abstractmethod
    def step(self, node: NetworkNode) -> None:
        """Perform one step with a node. Raises RpcUnreachable if the node does not answer."""

    def _run(self) -> None:
        try:
            while not self._end.wait(PAUSE):
                try:
                    self.step(self._random.choice(self._nodes))
                except RpcUnreachable:
                    continue
        except BaseException as error:  # `stop` raises it
            self._failure = error


class Transfers(Client):
    """Transfers on the C-Chain, each sent to a random node and resent to others until it is in a block."""

    def __init__(
        self, nodes: Sequence[NetworkNode], random: Random, senders: Sequence[Sender]
    ) -> None:
        super().__init__(nodes, random)
        self._senders = senders
        self._accepted = {sender.address: sender.nonce for sender in senders}
        self._raws: dict[str, dict[int, str]] = {sender.address: {} for sender in senders}
        self._again_at = dict.fromkeys(self._raws, 0.0)
        self.ending = False
        """Whether to create no further transfers."""

    @property
    def hashes(self) -> list[str]:
        """The hashes of all transfers created so far."""
        return [
            "0x" + keccak256(bytes.fromhex(text.removeprefix("0x"))).hex()
            for raws in self._raws.values()
            for text in raws.values()
        ]

    @property
    def accepted(self) -> int:
        """Number of transfers in blocks."""
        return sum(self._accepted[sender.address] for sender in self._senders)

    @property
    def are_done(self) -> bool:
        """Whether all created transfers are in blocks."""
        return all(self._accepted[sender.address] == sender.nonce for sender in self._senders)

    @override
    def step(self, node: NetworkNode) -> None:
        sender = self._random.choice(self._senders)
        address, raws = sender.address, self._raws[sender.address]
        with RpcClient(node.port, timeout=PATIENCE) as client:
            nonce = int(client.call("eth_getTransactionCount", address, "latest"), 16)
            if nonce > self._accepted[address]:
                self._accepted[address] = nonce
                self._again_at[address] = time.monotonic() + PATIENCE
            first = self._accepted[address]
            if not self.ending and sender.nonce < first + IN_FLIGHT:
                number = sender.nonce
                raws[number] = sender.transfer(address)
                _send(client, raws[number])
            if first < sender.nonce and time.monotonic() > self._again_at[address]:
                self._again_at[address] = time.monotonic() + PATIENCE
                for number in range(first, sender.nonce):
                    _send(client, raws[number])


class Payments(Client):
    """Base transactions on the P-Chain; each spends the change of the one before it."""

    def __init__(
        self, nodes: Sequence[NetworkNode], random: Random, wallets: Sequence[Wallet]
    ) -> None:
        super().__init__(nodes, random)
        self._wallets = wallets
        self._txs: dict[str, list[Tx]] = {wallet.address: [] for wallet in wallets}
        self._waiting: dict[str, Tx] = {}
        self._again_at = dict.fromkeys(self._txs, 0.0)
        self.ending = False
        """Whether to create no further payments."""

    @property
    def tx_ids(self) -> list[str]:
        """The IDs of all payments created so far."""
        return [str(tx.tx_id) for txs in self._txs.values() for tx in txs]

    @property
    def accepted(self) -> int:
        """Number of payments in blocks."""
        return len(self.tx_ids) - len(self._waiting)

    @property
    def are_done(self) -> bool:
        """Whether all created payments are in blocks."""
        return not self._waiting

    @override
    def step(self, node: NetworkNode) -> None:
        wallet = self._random.choice(self._wallets)
        with PlatformClient(node.port, timeout=PATIENCE) as client:
            waiting = self._waiting.get(wallet.address)
            if waiting is None and not self.ending:
                waiting = self._waiting[wallet.address] = wallet.pay([])
                self._txs[wallet.address].append(waiting)
                self._again_at[wallet.address] = 0.0
            elif waiting is not None and client.status(str(waiting.tx_id)) == "Committed":
                wallet.coins = wallet.back(waiting)
                del self._waiting[wallet.address]
                return
            if waiting is not None and time.monotonic() > self._again_at[wallet.address]:
                self._again_at[wallet.address] = time.monotonic() + PATIENCE
                _issue(client, waiting)


class Watch(Client):
    """A client that reads the accepted blocks of the nodes, block by block."""

    def __init__(self, nodes: Sequence[NetworkNode], random: Random) -> None:
        super().__init__(nodes, random)
        self.seen: dict[tuple[str, int], str] = {}
        """The accepted blocks by chain and height, as reported by the first node that had them."""
        self._heights: dict[tuple[str, NetworkNode], int] = {}

    @override
    def step(self, node: NetworkNode) -> None:
        """Read the blocks that a node has accepted since the last read; they must match the other nodes' blocks."""
        try:
            with RpcClient(node.port, timeout=PATIENCE) as client:
                top = int(client.call("eth_blockNumber"), 16)
                for height in self._new("C", node, top):
                    block = client.call("eth_getBlockByNumber", hex(height), False)
                    self._note("C", node, height, block["hash"])
            with PlatformClient(node.port, timeout=PATIENCE) as client:
                for chain, service in (("P", "platform"), ("X", "avm")):
                    top = int(client.call(f"{service}.getHeight")["height"])
                    for height in self._new(chain, node, top):
                        found = client.call(
                            f"{service}.getBlockByHeight", height=height, encoding="hexnc"
                        )
                        self._note(chain, node, height, found["block"])
        except RpcFault as fault:
            # A node that has just started rejects requests that it cannot answer yet, but it has its accepted blocks.
            raise RpcUnreachable(str(fault)) from fault

    def _new(self, chain: str, node: NetworkNode, top: int) -> range:
        """Return the heights to read from a node: the last one that was read, and all new ones."""
        return range(self._heights.get((chain, node), top), top + 1)

    def _note(self, chain: str, node: NetworkNode, height: int, block: str) -> None:
        before = self.seen.setdefault((chain, height), block)
        assert before == block, (
            f"{node.node_id}: two blocks at {height} of {chain}: {before} {block}"
        )
        self._heights[chain, node] = height


class TransactionLoad(Protocol):
    """A client that creates transactions."""

    ending: bool

    @property
    def accepted(self) -> int:
        """Number of transactions in blocks."""

    @property
    def are_done(self) -> bool:
        """Whether all created transactions are in blocks."""


def wait_for_more(*loads: TransactionLoad, count: int = 3) -> None:
    """Wait until more transactions of each load are accepted."""
    for load in loads:
        before = load.accepted
        wait_for(lambda load=load, before=before: load.accepted >= before + count, "it goes on")


def finish(*loads: TransactionLoad) -> None:
    """Stop creating transactions, and wait until all created ones are in blocks."""
    for load in loads:
        load.ending = True
    for load in loads:
        wait_for(lambda load=load: load.are_done, f"all of {type(load).__name__} are accepted")


def _send(client: RpcClient, text: str) -> None:
    """Send a transaction. Ignore a rejection: the node may already have it, and others are tried later."""
    try:
        client.call("eth_sendRawTransaction", text)
    except RpcFault:
        return


def _issue(client: PlatformClient, tx: Tx) -> None:
    try:
        client.issue(raw(tx))
    except RpcFault:
        return
