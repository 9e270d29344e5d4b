"""Signed transactions of the P-Chain, made before any clock starts: transfers, splits, delegations.

Written out by the reference's format (avalanchego, vms/platformvm/txs and vms/secp256k1fx), as a
client's library does it; nothing here is the node's.
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
"""Of any transaction that stakes nothing, in the smallest units; `info.getTxFee` says it."""
COIN = 1_000_000
DAY = 86_400
SPLIT = 600
"""Outputs of one transaction: about 48 of the 64 KiB that the mempool takes."""

PRIMARY_NETWORK = P_CHAIN = bytes(32)
BASE_TX, ADD_PERMISSIONLESS_DELEGATOR_TX = 34, 26
TRANSFER_INPUT, TRANSFER_OUTPUT, CREDENTIAL, OUTPUT_OWNERS = 5, 7, 9, 11
"""Type IDs of the codec's version 0."""
VERSION = struct.pack(">H", 0)

EWOQ_KEY = bytes.fromhex("56289e99c94b6912bfc12adc093c9b51124f0dc54ac7a766b2bc5ccf558d8027")
"""The well-known key of every local network."""


@dataclass(frozen=True, slots=True)
class Owner:
    """A key and the address that it opens."""

    key: PrivateKey
    short_id: bytes

    @property
    def text(self) -> str:
        """The address as clients write it."""
        return texts.address(HRP, self.short_id)


@dataclass(frozen=True, slots=True)
class Coin:
    """An output that one owner alone can spend."""

    tx_id: bytes
    index: int
    asset_id: bytes
    amount: int


@dataclass(frozen=True, slots=True)
class Tx:
    """A signed transaction, and what it pays in the order of its outputs."""

    raw: bytes
    asset_id: bytes
    outputs: tuple[tuple[bytes, int], ...] = ()
    """Addresses and amounts."""

    @property
    def tx_id(self) -> bytes:
        """The hash of the whole."""
        return sha256(self.raw).digest()


@cache
def owner(purpose: str, index: int = 0) -> Owner:
    """Return the owner that a workload uses for a purpose, always the same one."""
    return _owner_of(sha256(f"{purpose} {index}".encode()).digest())


def _owner_of(secret: bytes) -> Owner:
    key = PrivateKey(secret)
    hashed = sha256(key.public_key.format()).digest()
    return Owner(key, RIPEMD160.new(hashed).digest())


RICH = _owner_of(EWOQ_KEY)
"""Whom every local network funds."""


def transfer(coin: Coin, sender: Owner, payments: Iterable[tuple[bytes, int]]) -> Tx:
    """Spend a coin: pay, burn the fee, and give the rest back to the sender.

    Args:
        coin: An output that the sender alone can spend.
        sender: Who signs.
        payments: Addresses and amounts; together with the fee less than the coin, or equal to it.
    """
    made = list(payments)
    if rest := coin.amount - sum(amount for _, amount in made) - FEE:
        made.append((sender.short_id, rest))
    made.sort(key=lambda payment: _output(coin.asset_id, *payment))
    outputs = [_output(coin.asset_id, *payment) for payment in made]
    return _sign(_base(BASE_TX, outputs, coin), sender, coin, made)


def split(coin: Coin, sender: Owner, payments: Sequence[tuple[bytes, int]]) -> list[Tx]:
    """Make any number of payments of one coin: transactions, each of which spends the last one's rest."""
    txs: list[Tx] = []
    for start in range(0, len(payments), SPLIT):
        tx = transfer(coin, sender, payments[start : start + SPLIT])
        txs.append(tx)
        coin = largest(coins_of(tx, sender))
    return txs


def delegation(coin: Coin, delegator: Owner, node_id: bytes, start: int, end: int) -> Tx:
    """Stake a whole coin with a validator of the Primary Network, which costs no fee."""
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
    """Read an output as `platform.getUTXOs` gives it; None: one that is locked."""
    tx_id, index, asset_id, kind, amount, locktime = struct.unpack_from(">2x32sI32sIQQ", utxo)
    return None if kind != TRANSFER_OUTPUT or locktime else Coin(tx_id, index, asset_id, amount)


def largest(coins: Iterable[Coin]) -> Coin:
    """Return the output that is worth most."""
    return max(coins, key=lambda coin: coin.amount)


def _base(kind: int, outputs: Sequence[bytes], coin: Coin) -> bytes:
    """Return what all transactions begin with: kind, network, chain, outputs, one input, no memo."""
    spent = struct.pack(
        ">32sI32sIQII", coin.tx_id, coin.index, coin.asset_id, TRANSFER_INPUT, coin.amount, 1, 0
    )
    head = VERSION + struct.pack(">II", kind, NETWORK) + P_CHAIN
    return b"".join([head, _listed(outputs), _listed([spent]), struct.pack(">I", 0)])


def _output(asset_id: bytes, address: bytes, amount: int) -> bytes:
    return asset_id + struct.pack(">IQ", TRANSFER_OUTPUT, amount) + _owners(address)


def _owners(address: bytes) -> bytes:
    """Return owners of which one signs, from now on."""
    return struct.pack(">QII", 0, 1, 1) + address


def _listed(items: Iterable[bytes]) -> bytes:
    all_items = list(items)
    return b"".join(chain([struct.pack(">I", len(all_items))], all_items))


def _sign(unsigned: bytes, sender: Owner, coin: Coin, made: Iterable[tuple[bytes, int]] = ()) -> Tx:
    signature = sender.key.sign_recoverable(unsigned)  # which hashes with SHA-256
    credential = struct.pack(">III", 1, CREDENTIAL, 1) + signature
    return Tx(unsigned + credential, coin.asset_id, tuple(made))
