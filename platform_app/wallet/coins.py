"""Selection of the coins for a transaction: locked ones first for the stake, then unlocked ones (pchain.md 8.3)."""

from collections.abc import Iterable
from typing import NamedTuple

from platform_app.txs.components import (
    UTXO,
    LockOut,
    TransferableOutput,
    TransferOutput,
    inner_output,
)
from platform_app.txs.well_formed import sort_key
from platform_app.wallet.errors import NotEnoughCoins
from platform_app.wallet.wallet import OwnInput, Wallet


class Spend(NamedTuple):
    """Spent inputs, and the outputs they become besides the fee; each list in serialisation order."""

    inputs: tuple[OwnInput, ...]
    change: tuple[TransferableOutput, ...]
    stake: tuple[TransferableOutput, ...]


def choose(wallet: Wallet, *, fee: int, stake: int = 0) -> Spend:
    """Choose coins of the staking asset for a fee, and for a stake.

    Coins are taken in the wallet's order until both are covered. Locked coins are only staked; the remainder
    of a locked coin returns to its owner with the same lock. From an unlocked coin, first the fee is
    burned, then the stake is taken.

    Raises:
        NotEnoughCoins: The coins that these keys can spend are not enough.
    """
    selection = _Selection(wallet, fee, stake)
    selection.take_locked()
    selection.take_unlocked()
    return selection.spend()


def in_order(inputs: Iterable[OwnInput]) -> tuple[OwnInput, ...]:
    """Return inputs in serialisation order."""
    return tuple(sorted(inputs, key=lambda own: (own.input.tx_id, own.input.output_index)))


class _Selection:
    """The coins selected so far."""

    def __init__(self, wallet: Wallet, fee: int, stake: int) -> None:
        self._wallet = wallet
        self._fee, self._stake = fee, stake
        self._to_burn, self._to_stake = fee, stake
        self._inputs: list[OwnInput] = []
        self._change: list[TransferableOutput] = []
        self._staked: list[TransferableOutput] = []

    def take_locked(self) -> None:
        """Stake coins that are still locked and cannot be used otherwise."""
        for utxo in self._coins(locked=True):
            if not self._to_stake:
                return
            if own := self._wallet.open(utxo):
                self._inputs.append(own)
                self._divide_locked(utxo)

    def take_unlocked(self) -> None:
        """Burn and stake coins that can be used for anything."""
        for utxo in self._coins(locked=False):
            if not self._to_burn and not self._to_stake:
                return
            if own := self._wallet.open(utxo):
                self._inputs.append(own)
                self._divide_unlocked(inner_output(utxo.output).amount)

    def spend(self) -> Spend:
        """Return the selected coins.

        Raises:
            NotEnoughCoins: They are not enough.
        """
        if self._to_burn or self._to_stake:
            raise NotEnoughCoins(
                burned=self._fee - self._to_burn,
                staked=self._stake - self._to_stake,
                fee=self._fee,
                stake=self._stake,
            )
        return Spend(
            in_order(self._inputs),
            tuple(sorted(self._change, key=sort_key)),
            tuple(sorted(self._staked, key=sort_key)),
        )

    def _coins(self, *, locked: bool) -> Iterable[UTXO]:
        wallet = self._wallet
        ours = (utxo for utxo in wallet.utxos if utxo.asset_id == wallet.asset_id)
        return (utxo for utxo in ours if wallet.is_locked(utxo) == locked)

    def _divide_locked(self, utxo: UTXO) -> None:
        assert isinstance(utxo.output, LockOut)
        amount = inner_output(utxo.output).amount
        staked = self._take_stake(amount)
        self._staked.append(self._part_of(utxo.output, staked))
        if amount > staked:
            self._change.append(self._part_of(utxo.output, amount - staked))

    def _divide_unlocked(self, amount: int) -> None:
        burned = min(self._to_burn, amount)
        self._to_burn -= burned
        staked = self._take_stake(amount - burned)
        if staked:
            self._staked.append(self._wallet.to_change(staked))
        if rest := amount - burned - staked:
            self._change.append(self._wallet.to_change(rest))

    def _take_stake(self, amount: int) -> int:
        staked = min(self._to_stake, amount)
        self._to_stake -= staked
        return staked

    def _part_of(self, output: LockOut, amount: int) -> TransferableOutput:
        owners = inner_output(output).owners
        part = LockOut(output.locktime, TransferOutput(amount, owners))
        return TransferableOutput(self._wallet.asset_id, part)
