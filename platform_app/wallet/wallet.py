"""The inputs for building a transaction: keys, the coins that they can spend, and the change address."""

from dataclasses import dataclass, replace

from typing_extensions import override

from platform_app.config import PlatformConfig
from platform_app.txs.components import LockIn, LockOut, inner_output
from primitives.ids import ID
from utxo.coins import OwnInput, Wallet
from utxo.components import UTXO, TransferOutput


@dataclass(frozen=True, slots=True, kw_only=True)
class PlatformWallet(Wallet):
    """A wallet of the P-Chain, which also has coins that are locked for staking."""

    config: PlatformConfig
    asset_id: ID
    """The staking asset."""

    def is_locked(self, utxo: UTXO) -> bool:
        """Return whether an output is still locked for staking only."""
        return isinstance(utxo.output, LockOut) and utxo.output.locktime > self.now

    @override
    def transfer_output(self, utxo: UTXO) -> TransferOutput | None:
        """Return the output that a UTXO's owners can transfer now; None if it is still locked.

        An output whose stakeable lock has expired is spent as if it had no lock.
        """
        return None if self.is_locked(utxo) else inner_output(utxo.output)

    def open_locked(self, utxo: UTXO) -> OwnInput | None:
        """Return the input that stakes a locked UTXO. None if it is not locked, or as for `open`."""
        output = utxo.output
        if not isinstance(output, LockOut) or not self.is_locked(utxo):
            return None
        own = self.open_output(utxo, inner_output(output))
        if own is None:
            return None
        spent = replace(own.input, input=LockIn(output.locktime, own.input.input))
        return own._replace(input=spent)
