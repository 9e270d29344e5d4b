"""The inputs for building a transaction, and selection of coins: locked coins are staked first (pchain.md 8.3)."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from typing_extensions import override

from platform_app.config import PlatformConfig
from platform_app.txs.base import LockIn, LockOut, inner_output
from platform_app.txs.codec import CODEC
from platform_app.wallet.errors import NotBuilt, WalletReason
from primitives.ids import ID
from utxo.coins import OwnInput, Wallet, sort_inputs
from utxo.components import UTXO, TransferableOutput, TransferOutput
from utxo.well_formed import sort_outputs


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

    def stake_input_for(self, utxo: UTXO) -> OwnInput | None:
        """Return the input that stakes a locked UTXO.

        None if it is not locked, the keys cannot spend it now, or it is in `avoided`.
        """
        output = utxo.output
        if not isinstance(output, LockOut) or not self.is_locked(utxo):
            return None
        own = self.input_for_output(utxo, inner_output(output))
        if own is None:
            return None
        spent = replace(own.input, input=LockIn(output.locktime, own.input.input))
        return own._replace(input=spent)


class Spend(NamedTuple):
    """Spent inputs, and the outputs that they pay for besides the fee; each list in serialisation order."""

    inputs: tuple[OwnInput, ...]
    change: tuple[TransferableOutput, ...]
    stake: tuple[TransferableOutput, ...]


def choose(wallet: PlatformWallet, *, fee: int, stake: int = 0) -> Spend:
    """Choose coins of the staking asset for a fee, and for a stake.

    Coins are taken in the wallet's order until both are covered. Locked coins are only staked; the remainder
    of a locked coin returns to its owner with the same lock. From an unlocked coin, first the fee is
    burned, then the stake is taken.

    Raises:
        NotBuilt: The coins that these keys can spend are not enough.
    """
    selection = _CoinSelection(wallet, fee, stake)
    selection.take_locked()
    selection.take_unlocked()
    return selection.spend()


class _CoinSelection:
    """The coins selected so far."""

    def __init__(self, wallet: PlatformWallet, fee: int, stake: int) -> None:
        self._wallet = wallet
        self._fee, self._stake = fee, stake
        self._to_burn, self._to_stake = fee, stake
        self._inputs: list[OwnInput] = []
        self._change: list[TransferableOutput] = []
        self._staked: list[TransferableOutput] = []

    def take_locked(self) -> None:
        """Stake coins that are still locked and cannot be used otherwise."""
        wallet = self._wallet
        for utxo in wallet.utxos:
            if not self._to_stake:
                return
            if utxo.asset_id == wallet.asset_id and (own := wallet.stake_input_for(utxo)):
                self._inputs.append(own)
                self._divide_locked(utxo)

    def take_unlocked(self) -> None:
        """Burn and stake coins that can be used for anything."""
        wallet, asset_id = self._wallet, self._wallet.asset_id
        selection = wallet.select({asset_id: self._to_burn + self._to_stake})
        for coin in selection.coins:
            self._inputs.append(coin.own)
            burned = min(self._to_burn, coin.amount)
            self._to_burn -= burned
            if staked := self._take_stake(coin.amount - burned):
                self._staked.append(wallet.change_output(asset_id, staked))
        if rest := selection.change.get(asset_id):
            self._change.append(wallet.change_output(asset_id, rest))

    def spend(self) -> Spend:
        """Return the selected coins.

        Raises:
            NotBuilt: They are not enough.
        """
        if self._to_burn or self._to_stake:
            raise NotBuilt(
                WalletReason.NOT_ENOUGH_COINS,
                burned=self._fee - self._to_burn,
                staked=self._stake - self._to_stake,
                fee=self._fee,
                stake=self._stake,
            )
        return Spend(
            sort_inputs(self._inputs),
            sort_outputs(self._change, CODEC),
            sort_outputs(self._staked, CODEC),
        )

    def _divide_locked(self, utxo: UTXO) -> None:
        assert isinstance(utxo.output, LockOut)
        amount = inner_output(utxo.output).amount
        staked = self._take_stake(amount)
        self._staked.append(self._part_of(utxo.output, staked))
        if amount > staked:
            self._change.append(self._part_of(utxo.output, amount - staked))

    def _take_stake(self, amount: int) -> int:
        staked = min(self._to_stake, amount)
        self._to_stake -= staked
        return staked

    def _part_of(self, output: LockOut, amount: int) -> TransferableOutput:
        owners = inner_output(output).owners
        part = LockOut(output.locktime, TransferOutput(amount, owners))
        return TransferableOutput(self._wallet.asset_id, part)
