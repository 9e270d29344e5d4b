"""Keys in memory, and selection of the coins that they can spend."""

from typing import Any

import pytest

from primitives.hashing import sha256
from primitives.secp256k1 import InvalidPrivateKey, recover_address, sign_sha256
from tests.builders import utxos
from tests.builders.utxos import (
    ADDRESSES,
    COIN,
    KEYS,
    NOW,
    OTHER_COIN,
    CollectibleOutput,
    MintOutput,
    coin,
    owners,
    spending,
    utxo,
)
from utxo.coins import (
    Keychain,
    OwnInput,
    SelectedCoin,
    Selection,
    SigningOwners,
    Wallet,
    payment,
    sort_inputs,
)
from utxo.components import UTXO, OutputOwners, TransferableOutput, TransferOutput

ONE, TWO, THREE = utxos.ADDRESSES
KEY_1, KEY_2, KEY_3 = utxos.KEYS


def test_first_owners_sign_in_any_order_of_keys() -> None:
    owners = utxos.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3, KEY_2, KEY_1]).signers_for(owners, 0) == SigningOwners(
        (0, 1), (ONE, TWO)
    )
    assert Keychain.of([KEY_3, KEY_2]).signers_for(owners, 0) == SigningOwners((1, 2), (TWO, THREE))


def test_too_few_keys_sign_nothing() -> None:
    owners = utxos.owners(ONE, TWO, THREE, threshold=2)

    assert Keychain.of([KEY_3]).signers_for(owners, 0) is None


def test_owners_sign_from_their_locktime_on() -> None:
    owners = utxos.owners(locktime=utxos.NOW)

    assert Keychain.of([KEY_1]).signers_for(owners, utxos.NOW - 1) is None
    assert Keychain.of([KEY_1]).signers_for(owners, utxos.NOW) == SigningOwners((0,), (ONE,))


def test_owner_with_threshold_zero_needs_no_signer() -> None:
    nobody = OutputOwners(0, 0, ())

    assert Keychain.of([KEY_1]).signers_for(nobody, 0) == SigningOwners((), ())


def test_keys_are_known_by_their_addresses_in_the_given_order() -> None:
    assert Keychain.of([KEY_3, KEY_1, KEY_3]).addresses == (THREE, ONE)


def test_signature_recovers_the_address_of_the_key() -> None:
    digest = sha256(b"something")

    assert recover_address(digest, Keychain.of([KEY_1]).sign(digest, ONE)) == ONE


def test_each_address_signs_only_once(monkeypatch: pytest.MonkeyPatch) -> None:
    digest, signed = sha256(b"something"), []

    def counting(digest: bytes, key: bytes) -> bytes:
        signed.append(key)
        return sign_sha256(digest, key)

    monkeypatch.setattr("utxo.coins.sign_sha256", counting)
    keys = Keychain.of([KEY_1, KEY_2])

    signatures = list(keys.sign_inputs(digest, [(ONE,), (), (ONE, TWO)]))

    first, second = sign_sha256(digest, KEY_1), sign_sha256(digest, KEY_2)
    assert signatures == [(first,), (), (first, second)]
    assert signed == [KEY_1, KEY_2]


def test_invalid_private_key_is_refused() -> None:
    with pytest.raises(InvalidPrivateKey, match=r"^invalid private key$"):
        Keychain.of([bytes(32)])


def test_keys_do_not_show() -> None:
    shown = repr(Keychain.of([KEY_1]))

    assert shown == "Keychain()"


FIRST, SECOND, THIRD = ADDRESSES


def wallet(*utxos: UTXO, keys: tuple[bytes, ...] = KEYS[:1], **changes: Any) -> Wallet:
    fields: dict[str, Any] = {
        "keychain": Keychain.of(keys),
        "utxos": utxos,
        "change_address": SECOND,
        "now": NOW,
    }
    return Wallet(**{**fields, **changes})


def numbers(selection: Selection) -> list[int]:
    return [selected.own.input.output_index for selected in selection.coins]


def test_coins_are_taken_in_order_until_the_amount_is_covered() -> None:
    held = [utxo(coin(10), number) for number in range(3)]

    selection = wallet(*held).select({COIN: 15})

    assert selection == Selection(
        tuple(
            SelectedCoin(OwnInput(spending(10, 0, number=number), (FIRST,)), 10)
            for number in (0, 1)
        ),
        change={COIN: 5},
        missing={},
    )


def test_an_exact_amount_leaves_no_change() -> None:
    assert wallet(utxo(coin(10))).select({COIN: 10}).change == {}


def test_nothing_is_taken_for_nothing() -> None:
    assert wallet(utxo(coin(10))).select({COIN: 0}) == Selection((), {}, {})


def test_several_assets_are_covered_in_one_pass() -> None:
    held = (
        utxo(MintOutput(owners()), 0, OTHER_COIN),
        utxo(coin(10), 1, OTHER_COIN),
        utxo(CollectibleOutput(1, b"picture", owners()), 2),
        utxo(coin(3), 3, OTHER_COIN),
        utxo(coin(4), 4),
    )

    selection = wallet(*held).select({COIN: 4, OTHER_COIN: 1})

    assert numbers(selection) == [1, 4]
    assert (selection.change, selection.missing) == ({OTHER_COIN: 9}, {})


def test_missing_amounts_are_reported_by_asset() -> None:
    selection = wallet(utxo(coin(3))).select({COIN: 5, OTHER_COIN: 1})

    assert numbers(selection) == [0]
    assert selection.missing == {COIN: 2, OTHER_COIN: 1}


def test_coins_that_the_keys_cannot_spend_are_passed_over() -> None:
    def of(*addresses: Any, **fields: int) -> TransferOutput:
        return coin(10, owners(*addresses, **fields))

    contents = [of(SECOND), of(FIRST, SECOND, threshold=2), of(FIRST, locktime=NOW + 1), of(FIRST)]
    held = [utxo(content, number) for number, content in enumerate(contents)]

    assert numbers(wallet(*held).select({COIN: 1})) == [3]


def test_avoided_coins_are_not_spent() -> None:
    held = [utxo(coin(10), number) for number in range(2)]

    chosen = wallet(*held, avoided=frozenset({held[0].utxo_id})).select({COIN: 20})

    assert (numbers(chosen), chosen.missing) == ([1], {COIN: 10})


def test_the_first_owners_with_keys_sign() -> None:
    shared = utxo(coin(10, owners(*ADDRESSES, threshold=2)))

    own = wallet(shared, keys=KEYS[1:]).input_for(shared)

    assert own == OwnInput(spending(10, 1, 2), (SECOND, THIRD))


def test_an_output_without_an_amount_cannot_be_opened() -> None:
    assert wallet().input_for(utxo(MintOutput(owners()))) is None


def test_change_and_payments_have_a_single_owner() -> None:
    single = OutputOwners(0, 1, (SECOND,))

    assert wallet().change_output(OTHER_COIN, 7) == payment(OTHER_COIN, 7, SECOND)
    assert payment(COIN, 7, SECOND) == TransferableOutput(COIN, TransferOutput(7, single))


def test_inputs_are_sorted_as_they_are_serialised() -> None:
    inputs = [OwnInput(spending(1, 0, number=number), (FIRST,)) for number in (2, 0, 1)]

    assert [own.input.output_index for own in sort_inputs(inputs)] == [0, 1, 2]


def test_a_wallet_does_not_show_its_keys() -> None:
    assert KEYS[0].hex() not in repr(wallet())
