"""The inputs for building a transaction: keys, the coins that they can spend, and the change address."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from platform_app.config import PlatformConfig
from platform_app.txs.components import (
    UTXO,
    Input,
    LockIn,
    LockOut,
    OutputOwners,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
    inner_output,
)
from platform_app.wallet.keychain import Keychain
from primitives.ids import ID, ShortID


class OwnInput(NamedTuple):
    """An input, and the owners who sign for it, in the order of its indices."""

    input: TransferableInput
    signers: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True)
class Wallet:
    """Keys, hidden in the repr, and the coins that they may spend."""

    config: PlatformConfig
    asset_id: ID
    """The staking asset."""
    keychain: Keychain
    utxos: Sequence[UTXO]
    """The coins, in the order in which they are selected."""
    change_address: ShortID
    """Receives the change, and owns the stake from unlocked coins."""
    now: int
    """The time in Unix seconds that locks are compared with."""
    avoided: frozenset[ID] = frozenset()
    """Outputs that must not be spent, because another transaction spends them."""

    def is_locked(self, utxo: UTXO) -> bool:
        """Return whether an output is still locked for staking only."""
        return isinstance(utxo.output, LockOut) and utxo.output.locktime > self.now

    def open(self, utxo: UTXO) -> OwnInput | None:
        """Return the input that spends an output; None if these keys cannot spend it or it is to be avoided.

        An output whose stakeable lock has expired is spent as if it had no lock.
        """
        if utxo.utxo_id in self.avoided:
            return None
        output = inner_output(utxo.output)
        signers = self.keychain.signers_for(output.owners, self.now)
        if signers is None:
            return None
        spent: Input = TransferInput(output.amount, signers.indices)
        if isinstance(utxo.output, LockOut) and self.is_locked(utxo):
            spent = LockIn(utxo.output.locktime, spent)
        named = TransferableInput(utxo.tx_id, utxo.output_index, utxo.asset_id, spent)
        return OwnInput(named, signers.addresses)

    def to_change(self, amount: int) -> TransferableOutput:
        """Return an output of the staking asset for the change address."""
        return paid(self.asset_id, amount, self.change_address)


def paid(asset_id: ID, amount: int, address: ShortID) -> TransferableOutput:
    """Return an output that one address can spend immediately."""
    return TransferableOutput(asset_id, TransferOutput(amount, owner(address)))


def owner(address: ShortID) -> OutputOwners:
    """Return an owner with a single address and no locktime."""
    return OutputOwners(locktime=0, threshold=1, addresses=(address,))
