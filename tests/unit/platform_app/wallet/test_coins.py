"""The chosen coins, their order, and the resulting outputs (pchain.md 8.3)."""

import pytest

from platform_app.config import UNIT
from platform_app.txs.base import LockIn, LockOut, inner_output
from platform_app.wallet.errors import NotBuilt, WalletReason
from platform_app.wallet.wallet import Spend, choose
from tests.builders import platform
from tests.builders.reasons import raises
from tests.builders.wallet import CHANGE, wallet
from utxo.components import TransferInput

LATER = platform.NOW + 1
ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]


def spent(spend: Spend) -> list[int]:
    """Return the numbers of the spent outputs."""
    return sorted(own.input.output_index for own in spend.inputs)


def test_coins_are_taken_in_order_until_there_are_enough() -> None:
    held = [platform.utxo(10, number=number) for number in range(4)]

    spend = choose(wallet(*held), fee=15)

    assert spent(spend) == [0, 1]
    assert spend.change == (platform.output(5, CHANGE),)
    assert spend.stake == ()


def test_coins_that_are_to_be_avoided_are_not_spent() -> None:
    held = [platform.utxo(10, number=number) for number in range(3)]
    avoided = frozenset({held[0].utxo_id, held[2].utxo_id})

    assert spent(choose(wallet(*held, avoided=avoided), fee=10)) == [1]
    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt) as refused:
        choose(wallet(*held, avoided=avoided), fee=11)
    assert (refused.value.values["burned"], refused.value.values["fee"]) == (10, 11)


def test_nothing_is_spent_for_nothing() -> None:
    assert choose(wallet(platform.utxo()), fee=0) == Spend((), (), ())


def test_fee_is_burned_from_unlocked_coins_first() -> None:
    held = [platform.utxo(10, number=0), platform.utxo(10, number=1)]

    spend = choose(wallet(*held), fee=4, stake=12)

    assert spend.stake == (platform.output(6, CHANGE),) * 2
    assert spend.change == (platform.output(4, CHANGE),)


def test_locked_coins_are_staked_first_and_keep_lock_and_owner() -> None:
    locked = platform.utxo(10, TWO, number=0, stakeable_until=LATER)
    unlocked = platform.utxo(10, ONE, number=1)

    spend = choose(wallet(unlocked, locked, keys=(KEY_1, KEY_2)), fee=1, stake=7)

    assert spent(spend) == [0, 1]
    assert spend.stake == (platform.output(7, TWO, stakeable_until=LATER),)
    assert set(spend.change) == {
        platform.output(3, TWO, stakeable_until=LATER),
        platform.output(9, CHANGE),
    }
    by_number = {own.input.output_index: own for own in spend.inputs}
    assert by_number[0].input.input == LockIn(LATER, TransferInput(10, (0,)))
    assert by_number[0].signers == (TWO,)
    assert by_number[1].input.input == TransferInput(10, (0,))


def test_locked_coins_are_not_used_without_staking() -> None:
    locked = platform.utxo(10, number=0, stakeable_until=LATER)

    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt) as refused:
        choose(wallet(locked), fee=1)

    assert (refused.value.values["burned"], refused.value.values["staked"]) == (0, 0)


def test_a_locked_coin_opens_for_staking_only_until_its_locktime() -> None:
    locked = platform.utxo(10, stakeable_until=LATER)
    opened = platform.utxo(10, number=1, stakeable_until=platform.NOW)
    holder = wallet(locked, opened)

    assert holder.input_for(locked) is None
    staked = holder.stake_input_for(locked)
    assert staked is not None
    assert staked.input.input == LockIn(LATER, TransferInput(10, (0,)))
    assert holder.stake_input_for(opened) is None
    spendable = holder.input_for(opened)
    assert spendable is not None
    assert spendable.input.input == TransferInput(10, (0,))


def test_no_more_locked_coins_are_taken_than_the_stake_needs() -> None:
    held = [platform.utxo(10, number=number, stakeable_until=LATER) for number in range(3)]

    assert spent(choose(wallet(*held), fee=0, stake=20)) == [0, 1]


def test_unlocked_coins_cover_the_rest_of_the_stake() -> None:
    locked = platform.utxo(10, number=0, stakeable_until=LATER)
    unlocked = platform.utxo(10, number=1)

    spend = choose(wallet(locked, unlocked), fee=2, stake=15)

    assert set(spend.stake) == {
        platform.output(10, ONE, stakeable_until=LATER),
        platform.output(5, CHANGE),
    }
    assert spend.change == (platform.output(3, CHANGE),)


def test_expired_lock_is_ignored() -> None:
    opened = platform.utxo(10, number=0, stakeable_until=platform.NOW)

    spend = choose(wallet(opened), fee=4)

    assert spend.inputs[0].input.input == TransferInput(10, (0,))
    assert spend.change == (platform.output(6, CHANGE),)


@pytest.mark.parametrize(
    "other",
    [
        platform.utxo(10, TWO),
        platform.utxo(10, ONE, TWO, threshold=2),
        platform.utxo(10, locktime=LATER),
        platform.utxo(10, asset_id=platform.OTHER_ASSET_ID),
        platform.utxo(10, TWO, stakeable_until=LATER),
        platform.utxo(10, stakeable_until=LATER, asset_id=platform.OTHER_ASSET_ID),
    ],
    ids=["anothers", "of too many", "time-locked", "asset", "locked anothers", "locked asset"],
)
def test_foreign_coins_are_not_selected(other: platform.UTXO) -> None:
    own = platform.utxo(10, number=1)

    assert spent(choose(wallet(other, own), fee=1, stake=1)) == [1]


def test_first_of_several_owners_sign() -> None:
    shared = platform.utxo(10, ONE, TWO, THREE, threshold=2)

    (own,) = choose(wallet(shared, keys=(KEY_3, KEY_2)), fee=1).inputs

    assert own.input.input == TransferInput(10, (1, 2))
    assert own.signers == (TWO, THREE)


def test_inputs_and_outputs_are_sorted() -> None:
    locks = [platform.NOW + 9, platform.NOW + 3, platform.NOW + 6]
    held = [
        platform.utxo(10, number=number, stakeable_until=lock) for number, lock in enumerate(locks)
    ]

    spend = choose(wallet(*held, platform.utxo(9, number=8)), fee=1, stake=30)

    names = [(own.input.tx_id, own.input.output_index) for own in spend.inputs]
    assert names == sorted(names)
    times = [item.output.locktime for item in spend.stake if isinstance(item.output, LockOut)]
    assert times == sorted(locks)


def test_insufficient_funds_are_refused_with_avalanchegos_message() -> None:
    held = [platform.utxo(10, number=0, stakeable_until=LATER), platform.utxo(3, number=1)]

    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt) as refused:
        choose(wallet(*held), fee=2, stake=UNIT)

    assert str(refused.value) == (
        "couldn't generate tx inputs/outputs: provided keys have balance (unlocked, locked) "
        f"(2, 11) but need (2, {UNIT})"
    )


def test_change_is_the_surplus() -> None:
    spend = choose(wallet(platform.utxo(10)), fee=10)

    assert spend.change == ()
    assert sum(inner_output(item.output).amount for item in spend.stake) == 0
