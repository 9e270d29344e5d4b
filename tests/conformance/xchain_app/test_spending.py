"""The wallet's choice of inputs and operations, as the keystore methods of the reference made it."""

from typing import Any

import pytest

from primitives.ids import ID, ShortID
from tests.conformance.xchain_vectors import cases, document, raw_bytes, world
from utxo.coins import Keychain, Wallet, sort_inputs
from utxo.components import UTXO
from xchain_app.txs.codec import CODEC
from xchain_app.wallet.errors import AvmWalletError
from xchain_app.wallet.spending import (
    OwnOperation,
    mint_coins,
    mint_collectible,
    move_collectible,
    select,
    select_all,
)

WORLD = document("spending")["world"]
UTXOS = {one["name"]: one for one in (*WORLD["utxos"], *WORLD["sharedMemory"])}
KEYS = {key["index"]: raw_bytes(key["privateKey"]) for key in WORLD["keys"]}


def wallet_of(case: dict[str, Any]) -> Wallet:
    return Wallet(
        keychain=Keychain.of(KEYS[index] for index in case["keys"]),
        utxos=[CODEC.unmarshal(UTXO, raw_bytes(UTXOS[name]["bytes"])) for name in case["utxos"]],
        change_address=ShortID(bytes(20)),
        now=world().clock,
    )


def operation_of(case: dict[str, Any]) -> OwnOperation:
    wallet, given = wallet_of(case), case["arguments"]
    asset_id, to = ID.parse(given["assetID"]), ShortID.parse(given["to"])
    if case["function"] == "mint":
        return mint_coins(wallet, asset_id, given["amount"], to)
    if case["function"] == "mintNFT":
        return mint_collectible(wallet, asset_id, raw_bytes(given["payload"]), to)
    return move_collectible(wallet, asset_id, given["groupID"], to)


SPENDING = [case for case in cases("spending") if case.values[0]["function"].startswith("spend")]
OPERATING = [case for case in cases("spending") if case not in SPENDING]


@pytest.mark.parametrize("case", SPENDING)
def test_coins_are_chosen_in_the_order_given(case: dict[str, Any]) -> None:
    wallet = wallet_of(case)
    amounts = {
        ID.parse(one["assetID"]): one["amount"] for one in case["arguments"].get("amounts", ())
    }
    if case["error"]:
        with pytest.raises(AvmWalletError) as refused:
            select(wallet, amounts)
        assert str(refused.value) == case["error"]
        return
    if case["function"] == "spend":
        own = tuple(coin.own for coin in select(wallet, amounts).coins)
    else:
        own = select_all(wallet).inputs
    ordered = sort_inputs(own)
    spent: dict[str, int] = {}
    for item in ordered:
        name = str(item.input.asset_id)
        spent[name] = spent.get(name, 0) + item.input.input.amount  # type: ignore[attr-defined]
    assert [CODEC.marshal(item.input) for item in ordered] == [
        raw_bytes(one) for one in case["inputs"]
    ]
    assert [[str(signer) for signer in item.signers] for item in ordered] == case["signers"]
    assert spent == {one["assetID"]: one["amount"] for one in case["spent"]}


@pytest.mark.parametrize("case", OPERATING)
def test_the_first_right_or_piece_is_used(case: dict[str, Any]) -> None:
    if case["error"]:
        with pytest.raises(AvmWalletError) as refused:
            operation_of(case)
        assert str(refused.value) == case["error"]
        return
    own = operation_of(case)
    assert [CODEC.marshal(own.operation)] == [raw_bytes(one) for one in case["operations"]]
    assert [[str(signer) for signer in own.signers]] == case["signers"]
