"""Transactions of the P-Chain and of EVM chains through the node's interfaces, and the epochs in which messages count."""

import secrets
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from cchain_app.precompiles import predicates
from cchain_app.precompiles.addresses import WARP
from cchain_app.txs.signing import UnsignedTransaction, sign_transaction
from cchain_app.txs.transaction import DYNAMIC_FEE
from explorer_app.managers.ports import CallRefused, NodeCall, NodeStopped
from primitives import secp256k1
from primitives.evm import Address, Slot
from primitives.hexadecimal import decode_data, encode_data
from primitives.keys import format_private_key

P_PATH: Final = "/ext/bc/P"
WAIT_SECONDS: Final = 60.0
"""How long a transaction may take to get into a block."""
EPOCH_SECONDS: Final = 180.0
"""How long a chain may take to reach an epoch; two of the local network's last a minute."""
LAG: Final = 31
"""Seconds after which blocks name the P-Chain's present height."""

_RUNNING: Final = frozenset({"Validating", "Syncing"})
"""Statuses of a blockchain that the node runs."""
_PAUSE: Final = 0.1
_TIP: Final = 10**9
_GAS_WITH_MESSAGE: Final = 2_000_000
"""More than any call of the manager with a message needs. Estimates count the message as one that does not hold yet."""


class NotCreated(Exception):
    """A failure to create or change an L1. The transactions that were accepted before it stay."""


class KeystoreSteps:
    """P-Chain transactions with one key, by a user of the node's keystore that exists meanwhile.

    Args:
        call: Calls the node.
        user: Name and password.
    """

    def __init__(self, call: NodeCall, user: Mapping[str, str]) -> None:
        self._call = call
        self._user = user

    @classmethod
    @contextmanager
    def with_key(cls, call: NodeCall, key: bytes) -> Iterator["KeystoreSteps"]:
        """Create a user with a key, and delete it at the end.

        Raises:
            CallRefused: The node does not take it.
        """
        user = {"username": f"l1-{secrets.token_hex(8)}", "password": secrets.token_urlsafe(24)}
        call("/ext/keystore", "keystore.createUser", user)
        try:
            call(P_PATH, "platform.importKey", {**user, "privateKey": format_private_key(key)})
            yield cls(call, user)
        finally:
            call("/ext/keystore", "keystore.deleteUser", user)

    def address(self) -> str:
        """Return the key's address on the P-Chain."""
        found: list[str] = self._call(P_PATH, "platform.listAddresses", {**self._user})["addresses"]
        return found[0]

    def issue(self, method: str, **given: Any) -> str:
        """Issue a transaction by a method of `platform`; return its ID once it is accepted.

        Raises:
            CallRefused: The node refuses it.
            NotCreated: No block contains it.
        """
        issued = self._call(P_PATH, f"platform.{method}", {**self._user, **given})
        tx_id: str = issued["txID"]
        until = time.monotonic() + WAIT_SECONDS
        while True:
            status = self._call(P_PATH, "platform.getTxStatus", {"txID": tx_id})
            if status["status"] == "Committed":
                return tx_id
            if status["status"] == "Dropped" or time.monotonic() > until:
                reason = status.get("reason") or "no block contains it"
                raise NotCreated(f"platform.{method}: transaction {tx_id}: {reason}")
            time.sleep(_PAUSE)


class ChainAccount:
    """Transactions of an account on an EVM chain.

    Args:
        call: Calls the node.
        path: The path of the chain, such as `/ext/bc/Mine`.
        key: The account's private key, 32 bytes.
    """

    def __init__(self, call: NodeCall, path: str, key: bytes) -> None:
        self._call = call
        self.path = path
        self._key = key
        self.address = secp256k1.address_of_private_key(key)

    def ask(self, method: str, *params: object) -> Any:
        """Call a method of the chain."""
        return self._call(f"{self.path}/rpc", method, *params)

    def read(self, to: Address, data: bytes) -> bytes:
        """Return the output of a call of a contract in the last block."""
        given = {"to": encode_data(to), "data": encode_data(data)}
        return decode_data(self.ask("eth_call", given, "latest"))

    def send(
        self, to: Address, data: bytes = b"", *, value: int = 0, message: bytes = b""
    ) -> dict[str, Any]:
        """Send a transaction, perhaps with a signed warp message; return its receipt, which may be that of a failed one.

        Raises:
            CallRefused: The node refuses it; without a message also if it would fail, with the contract's words.
            NotCreated: No block contains it.
        """
        own, fields = encode_data(self.address), {"to": encode_data(to), "data": encode_data(data)}
        gas = _GAS_WITH_MESSAGE
        if not message:
            asked = {"from": own, **fields, "value": hex(value)}
            gas = int(self.ask("eth_estimateGas", asked), 16) * 6 // 5
        head = self.ask("eth_getBlockByNumber", "latest", False)  # as JSON-RPC has it
        keys = tuple(map(Slot, predicates.pack(message)))
        sent = UnsignedTransaction(
            type=DYNAMIC_FEE,
            chain_id=int(self.ask("eth_chainId"), 16),
            nonce=int(self.ask("eth_getTransactionCount", own, "pending"), 16),
            gas=gas,
            to=to,
            value=value,
            max_fee_per_gas=2 * int(head["baseFeePerGas"], 16) + _TIP,
            max_priority_fee_per_gas=_TIP,
            data=data,
            access_list=((WARP, keys),) if message else (),
        )
        raw = sign_transaction(sent, self._key)
        return self._receipt(self.ask("eth_sendRawTransaction", encode_data(raw)))

    def _receipt(self, tx_hash: str) -> dict[str, Any]:
        until = time.monotonic() + WAIT_SECONDS
        while True:
            receipt: dict[str, Any] | None = self.ask("eth_getTransactionReceipt", tx_hash)
            if receipt is not None:
                return receipt
            if time.monotonic() > until:
                raise NotCreated(f"{self.path}: no block contains transaction {tx_hash}")
            time.sleep(_PAUSE)


def reach_epoch(
    call: NodeCall,
    path: str,
    height: int,
    make_block: Callable[[], object],
    *,
    travel: Callable[[int], object] | None = None,
) -> int:
    """Return the P-Chain height of a chain's epoch as soon as it is at least `height`.

    An epoch's validators are those at the height that the last block of the epoch before names, and blocks name heights that
    are half a minute old (p2p.md 11.4, 11.5).

    Args:
        call: Calls the node.
        path: The path of the chain.
        height: The height.
        make_block: Lets the chain make a block.
        travel: Moves the node's clock by some seconds, in place of waiting; None: the caller has time.

    Raises:
        CallRefused: The node does not answer.
        NotCreated: The chain does not get there.
    """
    until = time.monotonic() + EPOCH_SECONDS
    while True:
        epoch = call(f"{path}/proposervm", "proposervm.getCurrentEpoch")
        if int(epoch["pChainHeight"]) >= height:
            return int(epoch["pChainHeight"])
        if time.monotonic() > until:
            raise NotCreated(
                f"{path}: the epoch counts the validators at height {epoch['pChainHeight']} of the P-Chain, "
                f"not yet those at {height}"
            )
        proposed = call(f"{path}/proposervm", "proposervm.getProposedHeight")
        if int(proposed["height"]) >= height:
            make_block()
            if travel is None:
                time.sleep(1)  # an epoch ends with time: a block each second
            else:
                travel(LAG)
        elif travel is None:
            time.sleep(_PAUSE * 5)
        else:
            travel(LAG)


def has_ended(call: NodeCall, blockchain_id: object) -> bool:
    """Return whether the node runs a chain no longer, or does not run itself.

    A node that does not answer, or answers with an error, may still run the chain.
    """
    given = {"blockchainID": str(blockchain_id)}
    try:
        status = call(P_PATH, "platform.getBlockchainStatus", given)["status"]
    except NodeStopped:
        return True
    except CallRefused:
        return False
    return status not in _RUNNING


def is_served(call: NodeCall, blockchain_id: object) -> bool:
    """Return whether the node runs a chain."""
    try:
        call(f"/ext/bc/{blockchain_id}/rpc", "eth_chainId")
    except CallRefused:
        return False
    return True
