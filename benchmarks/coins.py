"""Signed transactions of the P-Chain and the X-Chain, made before any clock starts: transfers, splits, delegations.

Encoded in the reference's format (avalanchego, vms/platformvm/txs and vms/secp256k1fx), as a client
library does it; no code of the node is used.
"""

import struct
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain

from coincurve import PrivateKey
from Crypto.Hash import RIPEMD160

from benchmarks import texts

NETWORK = 12345
HRP = "local"
FEE = 1_000
"""Fee of any transaction that stakes nothing, in the smallest unit, as in `info.getTxFee`."""
COIN = 1_000_000
DAY = 86_400
SPLIT = 600
"""Outputs of one transaction: about 48 of the 64 KiB that the mempool accepts."""

PRIMARY_NETWORK = bytes(32)
ADD_PERMISSIONLESS_DELEGATOR_TX = 26
TRANSFER_INPUT, TRANSFER_OUTPUT, CREDENTIAL, OUTPUT_OWNERS = 5, 7, 9, 11
"""Type IDs of the codec's version 0."""
VERSION = struct.pack(">H", 0)

EWOQ_KEY = bytes.fromhex("56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027")
"""The well-known key of every local network."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A key and its address."""

    key: PrivateKey
    short_id: bytes

    @property
    def text(self) -> str:
        """The address in text form."""
        return texts.address(HRP, self.short_id)


@dataclass(frozen=True, slots=True)
class Coin:
    """An output that a single owner can spend."""

    tx_id: bytes
    index: int
    asset_id: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class UtxoChain:
    """A chain of unspent outputs: its ID, and the type IDs of its transactions."""

    chain_id: bytes
    base_tx: int
    import_tx: int
    export_tx: int


PLATFORM = UtxoChain(bytes(32), base_tx=34, import_tx=17, export_tx=18)


@dataclass(frozen=True, slots=True)
class Tx:
    """A signed transaction, and the payments of its outputs in order."""

    raw: bytes
    asset_id: bytes
    outputs: tuple[tuple[bytes, int], ...] = ()
    """Addresses and amounts."""

    @property
    def tx_id(self) -> bytes:
        """The hash of all bytes."""
        return sha256(self.raw).digest()


@cache
def owner(purpose: str, index: int = 0) -> Owner:
    """Return the owner that a workload uses for a purpose; the result is always the same."""
    return _owner_of(sha256(f"{purpose} {index}".encode()).digest())


def _owner_of(secret: bytes) -> Owner:
    key = PrivateKey(secret)
    hashed = sha256(key.public_key.format()).digest()
    return Owner(key, RIPEMD160.new(hashed).digest())


RICH = _owner_of(EWOQ_KEY)
"""The owner that every local network funds."""


def transfer(
    coin: Coin, sender: Owner, payments: Iterable[tuple[bytes, int]], chain_of: UtxoChain = PLATFORM
) -> Tx:
    """Spend a coin: pay, burn the fee, and return the rest to the sender.

    Args:
        coin: An output that the sender alone can spend.
        sender: The signer.
        payments: Addresses and amounts; together with the fee at most the value of the coin.
        chain_of: The chain of the coin.
    """
    made = list(payments)
    if rest := coin.amount - sum(amount for _, amount in made) - FEE:
        made.append((sender.short_id, rest))
    made.sort(key=lambda payment: output_of(coin.asset_id, *payment))
    outputs = [output_of(coin.asset_id, *payment) for payment in made]
    base = _base(chain_of.base_tx, outputs, [coin], chain_of)
    return _sign(base, sender, coin, made)


def split(
    coin: Coin, sender: Owner, payments: Sequence[tuple[bytes, int]], chain_of: UtxoChain = PLATFORM
) -> list[Tx]:
    """Split a coin into any number of payments: each transaction spends the rest of the previous one."""
    txs: list[Tx] = []
    for start in range(0, len(payments), SPLIT):
        tx = transfer(coin, sender, payments[start : start + SPLIT], chain_of)
        txs.append(tx)
        coin = largest(coins_of(tx, sender))
    return txs


def delegation(coin: Coin, delegator: Owner, node_id: bytes, start: int, end: int) -> Tx:
    """Stake a whole coin with a validator of the Primary Network, without a fee."""
    return _sign(
        b"".join(
            [
                _base(ADD_PERMISSIONLESS_DELEGATOR_TX, [], [coin]),
                node_id,
                struct.pack(">QQQ", start, end, coin.amount),
                PRIMARY_NETWORK,
                listed([output_of(coin.asset_id, delegator.short_id, coin.amount)]),
                struct.pack(">I", OUTPUT_OWNERS),
                _owners(delegator.short_id),
            ]
        ),
        delegator,
        coin,
    )


def export(coin: Coin, sender: Owner, chain_of: UtxoChain, destination: bytes) -> Tx:
    """Export a whole coin, less the fee, to the same owner on another chain."""
    payment = (sender.short_id, coin.amount - FEE)
    base = _base(chain_of.export_tx, [], [coin], chain_of)
    exported = listed([output_of(coin.asset_id, *payment)])
    return _sign(base + destination + exported, sender, coin, [payment])


def import_coin(coin: Coin, owner_of: Owner, chain_of: UtxoChain, source: bytes) -> Tx:
    """Import an output that another chain has exported, less the fee."""
    payment = (owner_of.short_id, coin.amount - FEE)
    base = _base(chain_of.import_tx, [output_of(coin.asset_id, *payment)], [], chain_of)
    return _sign(base + source + listed([input_of(coin)]), owner_of, coin, [payment])


def coins_of(tx: Tx, holder: Owner) -> list[Coin]:
    """Return the outputs of a transaction that a holder can spend."""
    return [
        Coin(tx.tx_id, index, tx.asset_id, amount)
        for index, (address, amount) in enumerate(tx.outputs)
        if address == holder.short_id
    ]


def read_coin(utxo: bytes) -> Coin | None:
    """Parse an output of `platform.getUTXOs`; None if it is locked."""
    tx_id, index, asset_id, kind, amount, locktime = struct.unpack_from(">2x32sI32sIQQ", utxo)
    return None if kind != TRANSFER_OUTPUT or locktime else Coin(tx_id, index, asset_id, amount)


def largest(coins: Iterable[Coin]) -> Coin:
    """Return the output with the largest amount."""
    return max(coins, key=lambda coin: coin.amount)


def _base(
    kind: int, outputs: Sequence[bytes], coins: Sequence[Coin], chain_of: UtxoChain = PLATFORM
) -> bytes:
    """Return the common part of all transactions: kind, network, chain, outputs, inputs, no memo."""
    head = VERSION + struct.pack(">II", kind, NETWORK) + chain_of.chain_id
    return b"".join([head, listed(outputs), listed(map(input_of, coins)), struct.pack(">I", 0)])


def input_of(coin: Coin) -> bytes:
    """Return the input that spends a coin with the first signature."""
    return struct.pack(
        ">32sI32sIQII", coin.tx_id, coin.index, coin.asset_id, TRANSFER_INPUT, coin.amount, 1, 0
    )


def output_of(asset_id: bytes, address: bytes, amount: int) -> bytes:
    """Return an output with one owner."""
    return asset_id + struct.pack(">IQ", TRANSFER_OUTPUT, amount) + _owners(address)


def _owners(address: bytes) -> bytes:
    """Return output owners of which one must sign, without a lock time."""
    return struct.pack(">QII", 0, 1, 1) + address


def listed(items: Iterable[bytes]) -> bytes:
    """Return items after their number."""
    all_items = list(items)
    return b"".join(chain([struct.pack(">I", len(all_items))], all_items))


def signed(
    unsigned: bytes, sender: Owner, asset_id: bytes, made: Iterable[tuple[bytes, int]]
) -> Tx:
    """Sign a transaction with one credential; `made` are the payments of its outputs."""
    signature = sender.key.sign_recoverable(unsigned)  # hashes with SHA-256
    credential = struct.pack(">III", 1, CREDENTIAL, 1) + signature
    return Tx(unsigned + credential, asset_id, tuple(made))


def _sign(unsigned: bytes, sender: Owner, coin: Coin, made: Iterable[tuple[bytes, int]] = ()) -> Tx:
    return signed(unsigned, sender, coin.asset_id, made)
