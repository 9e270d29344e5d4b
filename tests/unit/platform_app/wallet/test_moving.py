"""Transfers, exports to other chains, and imports from them."""

from dataclasses import replace

import pytest

from platform_app.config import UNIT
from platform_app.wallet.errors import NotBuilt, WalletReason
from platform_app.wallet.moving import IMPORT_ROOM, build_export, build_import, build_transfer
from primitives import uint64
from tests.builders import platform
from tests.builders.platform_state import executed, state
from tests.builders.reasons import raises
from tests.builders.wallet import CHANGE, wallet
from utxo.components import UTXO

FEE = platform.CONFIG.fees.tx
ONE, TWO, THREE = platform.ADDRESSES[:3]
KEY_1, KEY_2, KEY_3 = platform.KEYS[:3]
C_CHAIN = platform.C_CHAIN_ID
OTHER = platform.OTHER_ASSET_ID
MEMPOOL_LIMIT = 64 * 1024


def shared(amount: int, *addresses: object, number: int = 100, **of_output: object) -> UTXO:
    return platform.utxo(amount, *addresses, number=number, **of_output)


def imported(*exported: UTXO, purse: tuple[UTXO, ...] = (), keys: tuple[bytes, ...] = (KEY_1,)):
    """Import to the third address; return the transaction after the rules have accepted it."""
    into = state(*purse)
    into.share(C_CHAIN, *exported)
    tx = build_import(wallet(*purse, keys=keys), exported, source_chain=C_CHAIN, to=THREE)
    executed(tx, into)
    return tx


def test_a_transfer_pays_amount_and_fee() -> None:
    purse = platform.utxo(10 * UNIT)

    tx = build_transfer(wallet(purse), amount=3 * UNIT, to=TWO)

    executed(tx, state(purse))
    assert set(tx.unsigned.outputs) == {
        platform.output(3 * UNIT, TWO),
        platform.output(7 * UNIT - FEE, CHANGE),
    }


def test_an_export_leaves_for_another_chain() -> None:
    purse = platform.utxo(10 * UNIT)

    tx = build_export(wallet(purse), amount=3 * UNIT, to=TWO, destination_chain=C_CHAIN)

    diff = executed(tx, state(purse))
    assert tx.unsigned.exported_outputs == (platform.output(3 * UNIT, TWO),)
    assert tx.unsigned.outputs == (platform.output(7 * UNIT - FEE, CHANGE),)
    assert [peer for peer, _ in diff.utxos.changes().exported] == [C_CHAIN]


def test_an_amount_without_its_fee_is_too_little() -> None:
    purse = platform.utxo(UNIT)

    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt) as refused:
        build_export(wallet(purse), amount=UNIT, to=TWO, destination_chain=C_CHAIN)

    assert str(refused.value).endswith(f"({UNIT}, 0) but need ({UNIT + FEE}, 0)")


def test_an_amount_of_more_than_64_bits_with_its_fee_is_refused() -> None:
    with raises(WalletReason.AMOUNT_OVERFLOW, kind=NotBuilt, match=r"^overflow$"):
        build_transfer(wallet(), amount=uint64.MAX, to=TWO)


def test_import_pays_its_fee() -> None:
    tx = imported(shared(UNIT))

    assert tx.unsigned.inputs == ()
    assert tx.unsigned.source_chain == C_CHAIN
    assert tx.unsigned.outputs == (platform.output(UNIT - FEE, THREE),)


def test_an_import_of_just_the_fee_makes_nothing() -> None:
    assert imported(shared(FEE)).unsigned.outputs == ()


def test_too_small_an_import_is_paid_for_on_this_chain() -> None:
    purse = platform.utxo(UNIT)

    tx = imported(shared(FEE - 1), purse=(purse,))

    assert [tx_input.utxo_id for tx_input in tx.unsigned.inputs] == [purse.utxo_id]
    assert tx.unsigned.outputs == (platform.output(UNIT - 1, CHANGE),)


def test_import_below_the_fee_is_refused() -> None:
    with raises(WalletReason.NOT_ENOUGH_COINS, kind=NotBuilt) as refused:
        imported(shared(FEE - 1))

    assert str(refused.value).endswith("(0, 0) but need (1, 0)")


def test_every_asset_is_imported() -> None:
    tx = imported(
        shared(5, number=101, asset_id=OTHER),
        shared(7, number=102, asset_id=OTHER),
        shared(UNIT, number=103),
    )

    assert set(tx.unsigned.outputs) == {
        platform.output(12, THREE, asset_id=OTHER),
        platform.output(UNIT - FEE, THREE),
    }


def test_a_foreign_asset_is_paid_for_on_this_chain() -> None:
    purse = platform.utxo(UNIT)

    tx = imported(shared(5, asset_id=OTHER), purse=(purse,))

    assert set(tx.unsigned.outputs) == {
        platform.output(5, THREE, asset_id=OTHER),
        platform.output(UNIT - FEE, CHANGE),
    }


def test_import_above_64_bits_is_split() -> None:
    most = shared(uint64.MAX, number=101, asset_id=OTHER)
    more = shared(1, number=102, asset_id=OTHER)

    tx = imported(most, more, shared(UNIT, number=103))

    assert more.utxo_id not in {
        imported_tx_input.utxo_id for imported_tx_input in tx.unsigned.imported_inputs
    }
    assert platform.output(uint64.MAX, THREE, asset_id=OTHER) in tx.unsigned.outputs


@pytest.mark.parametrize(
    "exported",
    [
        shared(UNIT, TWO),
        shared(UNIT, locktime=platform.NOW + 1),
        shared(UNIT, ONE, TWO, threshold=2),
        shared(UNIT, stakeable_until=platform.NOW - 1),
    ],
    ids=["anothers", "time-locked", "of too many", "locked"],
)
def test_foreign_outputs_are_not_imported(exported: UTXO) -> None:
    with raises(WalletReason.NO_IMPORTABLE_FUNDS, kind=NotBuilt) as refused:
        imported(exported, purse=(platform.utxo(UNIT),))

    assert str(refused.value) == "no spendable funds were found"


def test_owners_of_shared_outputs_sign_together() -> None:
    exported = [shared(UNIT, ONE, TWO, number=number, threshold=2) for number in range(100, 104)]

    tx = imported(*exported, keys=(KEY_1, KEY_2))

    assert [len(credential.signatures) for credential in tx.credentials] == [2] * 4


def test_import_is_limited_by_the_transaction_size() -> None:
    assets = [replace(shared(UNIT), asset_id=platform.some_id(f"asset {n}")) for n in range(300)]
    exported = [replace(one, output_index=number) for number, one in enumerate(assets)]
    exported.append(shared(UNIT, number=1_000))
    purse = platform.utxo(UNIT)

    tx = imported(*exported, purse=(purse,))

    assert len(tx.unsigned.imported_inputs) == IMPORT_ROOM // (92 + 69 + 80)
    assert len(tx.raw) < MEMPOOL_LIMIT
