"""Clients of a soak, each in a thread: senders on both chains, readers of methods and of the explorer's pages."""

import http.client
import itertools
import threading
import time
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from typing import Any

from typing_extensions import override

from benchmarks import contracts, texts
from benchmarks.coins import FEE, RICH, Coin, Tx, coins_of, largest, owner, read_coin, transfer
from benchmarks.platform_rpc import await_committed, balance
from benchmarks.rpc import NotMined, WrongAnswer
from benchmarks.scale import FULL
from benchmarks.scene import Scene
from benchmarks.server import Server
from benchmarks.signing import account, hash_of, sign
from benchmarks.texts import cb58

PATIENCE = 20.0
"""Maximum seconds until a transaction is in a block, and until a page or answer is complete."""
OFTEN = 0.002
"""Seconds between two requests for receipts."""
TRANSFERS, TOKEN_TRANSFERS = 4, 2
"""Number of each in one batch."""
WARMING, WARMING_TRANSFERS = 300, 30
"""Batches of each sender before the soak. A node caches 256 blocks, 8,192 admitted transactions, and
32 MiB of answers with their blocks, which some 14,000 of such transactions fill."""
RECIPIENTS = 16


@dataclass
class SoakTally:
    """Observations of the clients. Each client writes only its own fields; a lock protects errors."""

    errors: Counter[str] = field(default_factory=Counter)
    hashes: list[str] = field(default_factory=list)
    """Hashes of transactions that the C-Chain's pool admitted."""
    sent_at: dict[int, float] = field(default_factory=dict)
    """When the first transaction of a block was sent, by the block's number (perf_counter)."""
    issued: list[Tx] = field(default_factory=list)
    """Transactions that the P-Chain's mempool admitted."""
    reads: list[float] = field(default_factory=list)
    """Seconds of each call."""
    pages: list[float] = field(default_factory=list)
    """Seconds of each page."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    @contextmanager
    def mishaps(self, of: object) -> Iterator[None]:
        """Run the body. Count its exception as an error of an object instead of raising it."""
        try:
            yield
        except Exception as error:  # every error appears in the table
            words = str(error).partition("\n")[0][:100]
            with self.lock:
                self.errors[f"{type(of).__name__}: {type(error).__name__} {words}"] += 1


class SoakClient(ABC, threading.Thread):
    """Runs one step after another, at a fixed pace, until it is stopped."""

    pace = 0.25
    """Seconds from the start of a step to the next, unless the step takes longer."""

    def __init__(self, server: Server, tally: SoakTally) -> None:
        super().__init__(daemon=True)
        self.scene = Scene(server, FULL)
        self.tally = tally
        self._over = threading.Event()

    def stop(self) -> None:
        """Start no further step, and return when the current one is done."""
        self._over.set()
        self.join()

    @abstractmethod
    def step(self) -> None:
        """Run the next step."""

    @override
    def run(self) -> None:
        due = time.perf_counter()
        while not self._over.wait(max(0.0, due - time.perf_counter())):
            due = max(due + self.pace, time.perf_counter())
            self.attempt()

    def attempt(self) -> None:
        """Run the next step, and count its error if it has one."""
        with self.tally.mishaps(self):
            self.step()


class SoakSender(SoakClient):
    """Transfers and token transfers on the C-Chain, in batches; each batch is mined before the next one."""

    def __init__(self, server: Server, tally: SoakTally, place: int, token: bytes) -> None:
        super().__init__(server, tally)
        self.account = account("soak", place)
        self._token = token
        self._nonce = 0

    def prepare(self) -> None:
        """Mint tokens, and send enough transactions to fill the node's caches of blocks and transactions."""
        data = contracts.call_data("mint(uint256)", 10**12)
        self.scene.client.mine(self._sign(self._token, data, gas=100_000))
        for _ in range(WARMING):
            raws = [self._transfer() for _ in range(WARMING_TRANSFERS)]
            self.scene.client.call_many("eth_sendRawTransaction", [[raw] for raw in raws])
            self._receipts([hash_of(raw) for raw in raws])

    @override
    def step(self) -> None:
        raws = [self._transfer() for _ in range(TRANSFERS)]
        raws += [self._token_transfer() for _ in range(TOKEN_TRANSFERS)]
        began = time.perf_counter()
        self.scene.client.call_many("eth_sendRawTransaction", [[raw] for raw in raws])
        hashes = [hash_of(raw) for raw in raws]
        self.tally.hashes += hashes
        for receipt in self._receipts(hashes):
            if receipt["status"] != "0x1":
                raise WrongAnswer("a transaction failed")
            number = int(receipt["blockNumber"], 16)
            with self.tally.lock:
                self.tally.sent_at[number] = min(began, self.tally.sent_at.get(number, began))

    def _receipts(self, hashes: Sequence[str]) -> list[Any]:
        deadline = time.perf_counter() + PATIENCE
        while time.perf_counter() < deadline:
            found = self.scene.client.call_many("eth_getTransactionReceipt", [[block_hash] for block_hash in hashes])  # fmt: skip
            if all(found):
                return found
            time.sleep(OFTEN)
        raise NotMined(f"not in a block after {PATIENCE:.0f} s")

    def recipient(self, nonce: int) -> bytes:
        """Return the address that the transaction with a nonce pays."""
        return account("soaked", nonce % RECIPIENTS).address

    def _transfer(self) -> str:
        return self._sign(self.recipient(self._nonce), value=1)

    def _token_transfer(self) -> str:
        data = contracts.transfer(self.recipient(self._nonce), 1)
        return self._sign(self._token, data, gas=80_000)

    def _sign(self, to: bytes, data: bytes = b"", *, value: int = 0, gas: int = 21_000) -> str:
        raw = sign(self.account, self._nonce, to, value=value, data=data, gas=gas)
        self._nonce += 1
        return raw


class SoakPayer(SoakClient):
    """Transfers on the P-Chain, each from the previous change, and Committed before the next one."""

    AMOUNT = FEE

    def __init__(self, server: Server, tally: SoakTally) -> None:
        endpoint = replace(server.endpoint, http_path="/ext/bc/P")
        super().__init__(replace(server, endpoint=endpoint), tally)
        self._coin: Coin | None = None
        self._places = itertools.count()
        self.owners = [owner("soaked", place) for place in range(RECIPIENTS)]

    @override
    def step(self) -> None:
        coin = self._coin or self._first()
        to = self.owners[next(self._places) % RECIPIENTS]
        tx = transfer(coin, RICH, [(to.short_id, self.AMOUNT)])
        self.scene.client.call_named("platform.issueTx", tx=texts.hexed(tx.raw), encoding="hex")
        self._coin = largest(coins_of(tx, RICH))
        self.tally.issued.append(tx)
        await_committed(self.scene, tx)

    def committed(self) -> int:
        """Return how many of the issued transactions are Committed."""
        client = self.scene.client
        asked = (cb58(tx.tx_id) for tx in self.tally.issued)
        return sum(client.call_named("platform.getTxStatus", txID=item)["status"] == "Committed" for item in asked)  # fmt: skip

    def paid(self) -> int:
        """Return how many payments the recipients have received."""
        return balance(self.scene, self.owners) // self.AMOUNT

    def _first(self) -> Coin:
        found = self.scene.client.call_named("platform.getUTXOs", addresses=[RICH.text])
        return largest(filter(None, (read_coin(texts.unhexed(text)) for text in found["utxos"])))


class Reader(SoakClient):
    """Read-only methods of the C-Chain, one after the other."""

    pace = 0.05

    def __init__(self, server: Server, tally: SoakTally, sender: SoakSender, token: bytes) -> None:
        super().__init__(server, tally)
        holder = account("soaked").address
        call = {"to": "0x" + token.hex(), "data": "0x" + contracts.call_data("balanceOf(address)", holder).hex()}  # fmt: skip
        self._sender = sender.account.text
        self._token = "0x" + token.hex()
        self._calls = itertools.cycle(
            [
                ("eth_blockNumber",),
                ("eth_getBalance", self._sender, "latest"),
                ("eth_getTransactionCount", self._sender, "latest"),
                ("eth_call", call, "latest"),
                ("eth_getBlockByNumber", "latest", True),
                ("eth_estimateGas", {**call, "from": self._sender}),
                ("eth_feeHistory", "0xa", "latest", [50]),
                ("eth_getLogs", {"address": self._token, "fromBlock": "latest"}),
            ]
        )

    @override
    def step(self) -> None:
        began = time.perf_counter()
        self.scene.client.call(*next(self._calls))
        self.tally.reads.append(time.perf_counter() - began)


class Visitor(SoakClient):
    """The explorer's pages in turn, each over its own connection."""

    def __init__(self, server: Server, tally: SoakTally, sender: SoakSender, token: bytes) -> None:
        super().__init__(server, tally)
        self._kinds = itertools.cycle(
            [
                "/", "/blocks", "/block/{head}", "/txs", "/tx/{tx}", "/tx/{tx}?tab=calls", "/tx/{tx}?tab=state",
                f"/address/{sender.account.text}", f"/address/{sender.account.text}?tab=tokens", "/tokens",
                f"/token/0x{token.hex()}", f"/token/0x{token.hex()}?tab=holders", "/pool", "/p/blocks", "/p/txs",
                f"/p/address/{RICH.text}", "/p/validators", "/p/calendar", "/p/supply", "/search?q={head}",
            ]
        )  # fmt: skip

    @override
    def step(self) -> None:
        if not self.tally.sent_at:
            return  # no block has a transaction yet
        path = next(self._kinds).format(
            head=max(list(self.tally.sent_at)), tx=self.tally.hashes[len(self.tally.hashes) // 2]
        )
        endpoint = self.scene.server.endpoint
        connection = http.client.HTTPConnection(endpoint.host, endpoint.port, timeout=PATIENCE)
        with closing(connection):
            began = time.perf_counter()
            connection.request("GET", path)
            answer = connection.getresponse()
            text = answer.read()
            self.tally.pages.append(time.perf_counter() - began)
        if answer.status not in {200, 302} or (answer.status == 200 and b"</html>" not in text):
            raise WrongAnswer(f"{answer.status} {path.partition('?')[0][:12]}")
