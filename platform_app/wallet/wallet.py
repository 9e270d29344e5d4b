"""What a transaction is built from: keys, what they can open, and where the change goes."""

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
    """Keys, which do not show, and what they may spend."""

    config: PlatformConfig
    asset_id: ID
    """The staking asset."""
    keychain: Keychain
    utxos: Sequence[UTXO]
    """Chosen from in this order."""
    change_address: ShortID
    """Gets what is left over, and owns what is staked of unlocked coins."""
    now: int
    """Unix seconds: locks are judged by it."""
    avoided: frozenset[ID] = frozenset()
    """Outputs that are not spent, since somebody else does it."""

    def is_locked(self, utxo: UTXO) -> bool:
        """Say whether an output can only be staked still."""
        return isinstance(utxo.output, LockOut) and utxo.output.locktime > self.now

    def open(self, utxo: UTXO) -> OwnInput | None:
        """Return how an output is spent, or None when these keys cannot or it is to be avoided.

        One whose stakeable lock has opened is spent as if it had never been there.
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
    """Return an output that one address can spend at once."""
    return TransferableOutput(asset_id, TransferOutput(amount, owner(address)))


def owner(address: ShortID) -> OutputOwners:
    """Return one address as owner, from now on."""
    return OutputOwners(locktime=0, threshold=1, addresses=(address,))
