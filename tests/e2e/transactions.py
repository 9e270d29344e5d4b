"""Signed transactions for load, and waiting for their receipts."""

import time
from collections.abc import Sequence
from typing import Any

from eth_account.signers.local import LocalAccount

from tests.servers.client import RpcClient

GWEI = 10**9
MANY = 100
"""Receipts per batch. Transactions are mostly mined in order, so receipts after a missing one are rarely there."""


class Sender:
    """An account that counts its nonces locally, like wallets with several pending transactions."""

    def __init__(self, account: LocalAccount, chain_id: int, nonce: int = 0) -> None:
        self.account = account
        self.address = account.address
        self.nonce = nonce
        self._chain_id = chain_id

    def transfer(self, to: str, value: int = 1) -> str:
        """Return the next transfer as 0x text."""
        return self.sign({"to": to, "value": value, "gas": 21_000})

    def sign(self, fields: dict[str, Any]) -> str:
        """Return the next transaction, of type 2, with these fields, as 0x text."""
        transaction = {
            "type": 2,
            "chainId": self._chain_id,
            "nonce": self.nonce,
            "maxFeePerGas": 50 * GWEI,
            "maxPriorityFeePerGas": GWEI,
            **fields,
        }
        signed = self.account.sign_transaction(transaction)
        self.nonce += 1
        return str(signed.raw_transaction.to_0x_hex())


def wait_for_receipts(
    client: RpcClient, hashes: Sequence[str], seconds: float = 120.0
) -> list[dict[str, Any]]:
    """Wait until all transactions are in blocks, and return their receipts."""
    if not hashes:
        return []
    deadline = time.monotonic() + seconds
    found: dict[str, Any] = {}
    while True:
        missing = [item for item in hashes if not found.get(item)]
        if not missing:
            return [found[block_hash] for block_hash in hashes]
        assert time.monotonic() < deadline, f"{len(missing)} are not in a block: {missing[:3]}"
        if found:
            time.sleep(0.02)
        asked = missing[:MANY]
        answers = client.batch([("eth_getTransactionReceipt", other) for other in asked])
        found |= dict(zip(asked, answers, strict=True))
