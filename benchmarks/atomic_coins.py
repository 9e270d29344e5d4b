"""Signed transactions with which the C-Chain imports and exports coins.

Encoded in the reference's format (coreth, plugin/evm/atomic), as a client library does it; no code of the node is used.
"""

import struct
from dataclasses import dataclass

from benchmarks.coins import (
    NETWORK,
    VERSION,
    Coin,
    Owner,
    Tx,
    input_of,
    listed,
    output_of,
    signed,
)

IMPORT_TX, EXPORT_TX = 0, 1
BURNED = 12_000
"""Units that each transaction burns: a unit for each of its 11,230 gas, and some more."""


@dataclass(frozen=True, slots=True)
class AtomicChain:
    """The C-Chain, and the only asset that it moves."""

    chain_id: bytes
    asset_id: bytes

    def import_coin(self, coin: Coin, owner: Owner, source: bytes, account: bytes) -> Tx:
        """Import an output that another chain has exported, and credit an account."""
        credited = account + struct.pack(">Q", coin.amount - BURNED) + coin.asset_id
        return signed(
            self._head(IMPORT_TX) + source + listed([input_of(coin)]) + listed([credited]),
            owner,
            self.asset_id,
            [],
        )

    def export(
        self, amount: int, account: bytes, nonce: int, sender: Owner, destination: bytes
    ) -> Tx:
        """Export an amount of an account, whose key is the sender's, to the sender on another chain."""
        taken = account + struct.pack(">Q", amount + BURNED) + self.asset_id
        return signed(
            self._head(EXPORT_TX)
            + destination
            + listed([taken + struct.pack(">Q", nonce)])
            + listed([output_of(self.asset_id, sender.short_id, amount)]),
            sender,
            self.asset_id,
            [(sender.short_id, amount)],
        )

    def _head(self, kind: int) -> bytes:
        return VERSION + struct.pack(">II", kind, NETWORK) + self.chain_id
