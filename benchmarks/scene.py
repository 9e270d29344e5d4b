"""The set-up of a fresh server for workloads: contracts, funded accounts, prepared blocks."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

from benchmarks import contracts
from benchmarks.rpc import Client, WrongAnswer
from benchmarks.scale import Scale
from benchmarks.server import Server
from benchmarks.signing import Account, account_of, contract_address, hash_of, sign
from benchmarks.wire import Http, WebSocket

CONTRACTS = ("Token", "Burner", "Emitter", "Disperser", "Slots", "Loops")
FUNDER = account_of(
    bytes.fromhex("ac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80")
)
"""Account 0 of the mnemonic that every server funds."""

ALLOWANCE = 40 * 10**18
"""Wei that each account of a workload gets."""

SETUP_GAS = 16_000_000
"""Gas limit below Osaka's maximum for one transaction (EIP-7825)."""

PAID_AT_ONCE = 300
"""Accounts that one transaction can fund, at about 37,000 gas each."""


@dataclass(slots=True)
class Scene:
    """A server and its set-up, shared by the workloads of a group."""

    server: Server
    scale: Scale
    ending: ExitStack = field(default_factory=ExitStack)
    """Clean-up at the end of the group, for example of other servers that its preparation started."""
    http: Http = field(init=False)
    ws: WebSocket = field(init=False)
    client: Client = field(init=False)
    facts: dict[str, Any] = field(default_factory=dict)
    """Data from a group's preparation for its workloads."""
    _nonce: int = 0

    def __post_init__(self) -> None:
        self.http = Http(self.server.endpoint)
        self.ws = WebSocket(self.server.endpoint)
        self.client = Client(self.http)

    def deploy(self) -> None:
        """Deploy the contracts."""
        for name in CONTRACTS:
            self.from_funder(None, data=contracts.creation_code(name))

    @staticmethod
    def contract(name: str) -> bytes:
        """Return the address of a contract: the funder's first transactions create them."""
        return contract_address(FUNDER.address, CONTRACTS.index(name))

    def from_funder(self, to: bytes | None, *, value: int = 0, data: bytes = b"") -> Any:
        """Send a transaction of the funder and return its receipt.

        Raises:
            WrongAnswer: The transaction failed.
            NotMined: It got no receipt.
        """
        raw = sign(FUNDER, self._nonce, to, value=value, data=data, gas=SETUP_GAS)
        self._nonce += 1
        return self.client.mine(raw)

    def fund(self, accounts: Sequence[Account]) -> None:
        """Give each account the allowance."""
        for start in range(0, len(accounts), PAID_AT_ONCE):
            part = [account.address for account in accounts[start : start + PAID_AT_ONCE]]
            self.from_funder(
                self.contract("Disperser"), value=ALLOWANCE * len(part), data=contracts.pay(part)
            )

    def mine_all(self, raws: Sequence[str]) -> list[Any]:
        """Send signed transactions in one batch and return their receipts.

        Raises:
            WrongAnswer: One of them failed.
        """
        self.client.call_many("eth_sendRawTransaction", [[raw] for raw in raws])
        receipts = [self.client.receipt(hash_of(raw)) for raw in raws]
        if any(receipt["status"] != "0x1" for receipt in receipts):
            raise WrongAnswer("a prepared transaction failed")
        return receipts

    def mine_in_one_block(self, sender: Account, raws: Sequence[str]) -> int:
        """Get a sender's transactions, nonces 0 and up, into one block; return its number.

        If the server can pause block production, it does. Otherwise the first nonce is sent last, so
        that all become executable at the same time.

        Raises:
            WrongAnswer: They are in more than one block.
        """
        client = self.client
        if client.supports("evm_setAutomine", False):
            self._send(raws)
            client.call("evm_mine")
            client.call("evm_setAutomine", True)
        elif client.supports("miner_stop"):
            self._send(raws)
            client.call("evm_mine")
            client.call("miner_start")
        else:
            self._send([*raws[1:], raws[0]])
        numbers = {client.receipt(hash_of(raw))["blockNumber"] for raw in raws}
        if len(numbers) != 1:
            raise WrongAnswer(f"{len(raws)} transactions of {sender.text} are in {numbers}")
        return int(numbers.pop(), 16)

    def _send(self, raws: Sequence[str]) -> None:
        self.client.call_many("eth_sendRawTransaction", [[raw] for raw in raws])
