"""Owners of a seeded chain's outputs and accounts, and signed transactions of the P-Chain that spend one output each.

The owners' keys are those that anyone can derive, and those of every local network. The transactions are transfers, splits
and delegations.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Final

from platform_app.config import UNIT, specification_config
from platform_app.txs.base import BaseTx, StakingPeriod, Tx, UnsignedTx, inner_output
from platform_app.txs.codec import CODEC, build, sign_bytes
from platform_app.txs.staking import AddPermissionlessDelegatorTx
from primitives.evm import Address
from primitives.hashing import sha256
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID, ShortID
from primitives.keys import DEV_KEYS, EWOQ_KEY, address_of
from primitives.networks import LOCAL
from primitives.secp256k1 import address_of_private_key, sign_sha256
from utxo.components import (
    UTXO,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
)
from utxo.well_formed import sort_outputs


@dataclass(frozen=True, slots=True)
class SeededOwner:
    """A key, and its addresses on the P-Chain and on the C-Chain."""

    key: bytes = field(repr=False)
    short_id: ShortID
    address: Address


def owner(purpose: str, number: int = 0) -> SeededOwner:
    """Return the owner for a purpose, always the same: its key is the hash of purpose and number."""
    return owner_of(sha256(f"{purpose} {number}".encode()))


def owner_of(key: bytes) -> SeededOwner:
    """Return the owner of a private key of 32 bytes."""
    return SeededOwner(key, address_of(key), address_of_private_key(key))


def node_id(number: int) -> NodeID:
    """Return the ID of a validator without a running node."""
    return NodeID(sha256(f"node {number}".encode())[: NodeID.SIZE])


RICH: Final = owner_of(EWOQ_KEY)
"""The owner that every local network funds on the P-Chain."""

FUNDER: Final = owner_of(bytes.fromhex(list(DEV_KEYS.values())[2][2:]))
"""An owner that it funds on the C-Chain: account 1 of the well-known mnemonic. Clients of a seeded chain use account 0."""


FEE: Final = specification_config(LOCAL).fees.tx
COIN: Final = UNIT
SPLIT: Final = 600
"""Outputs of one transaction: about 48 KiB of the 64 KiB that the mempool accepts."""


def transfer(coin: UTXO, sender: SeededOwner, payments: Iterable[tuple[ShortID, int]]) -> Tx:
    """Spend an output: make payments, burn the fee, and return the change to the sender.

    Args:
        coin: An output that the sender alone can spend.
        sender: The signer.
        payments: Addresses and amounts; together with the fee at most the amount of the output.
    """
    made = [_output(coin.asset_id, address, amount) for address, amount in payments]
    paid = sum(inner_output(item.output).amount for item in made)
    if rest := inner_output(coin.output).amount - paid - FEE:
        made.append(_output(coin.asset_id, sender.short_id, rest))
    unsigned = BaseTx(LOCAL, PRIMARY_NETWORK_ID, sort_outputs(made, CODEC), _spent(coin), b"")
    return _sign(unsigned, sender)


def split(coin: UTXO, sender: SeededOwner, payments: Sequence[tuple[ShortID, int]]) -> list[Tx]:
    """Split one output into any number of payments: each transaction spends the change of the one before."""
    txs: list[Tx] = []
    for start in range(0, len(payments), SPLIT):
        tx = transfer(coin, sender, payments[start : start + SPLIT])
        txs.append(tx)
        coin = largest(coins_of(tx, sender))
    return txs


def delegation(coin: UTXO, delegator: SeededOwner, node_id: NodeID, start: int, end: int) -> Tx:
    """Stake a whole output with a validator of the Primary Network, which costs no fee."""
    amount = inner_output(coin.output).amount
    unsigned = AddPermissionlessDelegatorTx(
        LOCAL,
        PRIMARY_NETWORK_ID,
        (),
        _spent(coin),
        b"",
        validator=StakingPeriod(node_id, start, end, amount),
        subnet_id=PRIMARY_NETWORK_ID,
        stake=(_output(coin.asset_id, delegator.short_id, amount),),
        rewards_owner=OutputOwners(0, 1, (delegator.short_id,)),
    )
    return _sign(unsigned, delegator)


def coins_of(tx: Tx, holder: SeededOwner) -> list[UTXO]:
    """Return the outputs of a transaction that a holder can spend."""
    assert isinstance(tx.unsigned, BaseTx)
    return [
        UTXO(tx.tx_id, index, made.asset_id, made.output)
        for index, made in enumerate(tx.unsigned.outputs)
        if inner_output(made.output).owners.addresses == (holder.short_id,)
    ]


def largest(coins: Iterable[UTXO]) -> UTXO:
    """Return the output with the largest amount."""
    return max(coins, key=lambda coin: inner_output(coin.output).amount)


def _output(asset_id: ID, address: ShortID, amount: int) -> TransferableOutput:
    return TransferableOutput(asset_id, TransferOutput(amount, OutputOwners(0, 1, (address,))))


def _spent(coin: UTXO) -> tuple[TransferableInput, ...]:
    amount = inner_output(coin.output).amount
    named = TransferInput(amount, (0,))
    return (TransferableInput(coin.tx_id, coin.output_index, coin.asset_id, named),)


def _sign(unsigned: UnsignedTx, sender: SeededOwner) -> Tx:
    signature = sign_sha256(sha256(sign_bytes(unsigned)), sender.key)
    return build(unsigned, (SignatureCredential((signature,)),))
