"""Signed P-Chain transactions, made before any clock starts: transfers, splits, delegations.

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

PRIMARY_NETWORK = P_CHAIN = bytes(32)
BASE_TX, ADD_PERMISSIONLESS_DELEGATOR_TX = 34, 26
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


def transfer(coin: Coin, sender: Owner, payments: Iterable[tuple[bytes, int]]) -> Tx:
    """Spend a coin: pay, burn the fee, and return the rest to the sender.

    Args:
        coin: An output that the sender alone can spend.
        sender: The signer.
        payments: Addresses and amounts; together with the fee at most the value of the coin.
    """
    made = list(payments)
    if rest := coin.amount - sum(amount for _, amount in made) - FEE:
        made.append((sender.short_id, rest))
    made.sort(key=lambda payment: _output(coin.asset_id, *payment))
    outputs = [_output(coin.asset_id, *payment) for payment in made]
    return _sign(_base(BASE_TX, outputs, coin), sender, coin, made)


def split(coin: Coin, sender: Owner, payments: Sequence[tuple[bytes, int]]) -> list[Tx]:
    """Split a coin into any number of payments: each transaction spends the rest of the previous one."""
    txs: list[Tx] = []
    for start in range(0, len(payments), SPLIT):
        tx = transfer(coin, sender, payments[start : start + SPLIT])
        txs.append(tx)
        coin = largest(coins_of(tx, sender))
    return txs


def delegation(coin: Coin, delegator: Owner, node_id: bytes, start: int, end: int) -> Tx:
    """Stake a whole coin with a validator of the Primary Network, without a fee."""
    return _sign(
        b"".join(
            [
                _base(ADD_PERMISSIONLESS_DELEGATOR_TX, [], coin),
                node_id,
                struct.pack(">QQQ", start, end, coin.amount),
                PRIMARY_NETWORK,
                _listed([_output(coin.asset_id, delegator.short_id, coin.amount)]),
                struct.pack(">I", OUTPUT_OWNERS),
                _owners(delegator.short_id),
            ]
        ),
        delegator,
        coin,
    )


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


def _base(kind: int, outputs: Sequence[bytes], coin: Coin) -> bytes:
    """Return the common part of all transactions: kind, network, chain, outputs, one input, no memo."""
    spent = struct.pack(
        ">32sI32sIQII", coin.tx_id, coin.index, coin.asset_id, TRANSFER_INPUT, coin.amount, 1, 0
    )
    head = VERSION + struct.pack(">II", kind, NETWORK) + P_CHAIN
    return b"".join([head, _listed(outputs), _listed([spent]), struct.pack(">I", 0)])


def _output(asset_id: bytes, address: bytes, amount: int) -> bytes:
    return asset_id + struct.pack(">IQ", TRANSFER_OUTPUT, amount) + _owners(address)


def _owners(address: bytes) -> bytes:
    """Return output owners of which one must sign, without a lock time."""
    return struct.pack(">QII", 0, 1, 1) + address


def _listed(items: Iterable[bytes]) -> bytes:
    all_items = list(items)
    return b"".join(chain([struct.pack(">I", len(all_items))], all_items))


def _sign(unsigned: bytes, sender: Owner, coin: Coin, made: Iterable[tuple[bytes, int]] = ()) -> Tx:
    signature = sender.key.sign_recoverable(unsigned)  # hashes with SHA-256
    credential = struct.pack(">III", 1, CREDENTIAL, 1) + signature
    return Tx(unsigned + credential, coin.asset_id, tuple(made))
