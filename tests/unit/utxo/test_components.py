"""The layout of the common parts, with the type IDs of different chains."""

from typing import Annotated

import pytest

from platform_app.txs.codec import CODEC as P_CODEC
from primitives.codec import INTERFACE
from primitives.codec_errors import CodecError, CodecReason
from tests.builders.reasons import raises
from tests.builders.utxos import (
    CODEC,
    COIN,
    CollectibleOutput,
    MintOutput,
    owners,
    spending,
    transferable,
    utxo,
)
from utxo.components import UTXO, TransferableOutput, UtxoContent, utxos_of

COLLECTIBLE = CollectibleOutput(1, b"picture", owners())


@pytest.mark.parametrize("content", [MintOutput(owners()), COLLECTIBLE])
def test_a_utxo_may_hold_an_output_without_an_amount(content: UtxoContent) -> None:
    made = utxo(content)

    assert CODEC.unmarshal(UTXO, CODEC.marshal(made)) == made


def test_output_without_amount_is_refused_in_a_transfer() -> None:
    content = CODEC.pack(MintOutput(owners()), Annotated[UtxoContent, INTERFACE])

    with raises(
        CodecReason.WRONG_INTERFACE,
        kind=CodecError,
        match=r"MintOutput does not implement interface avax\.TransferableOut",
    ):
        CODEC.unmarshal(TransferableOutput, b"\0\0" + COIN + content)


def test_coins_have_the_same_bytes_on_all_chains() -> None:
    assert CODEC.marshal(transferable(5)) == P_CODEC.marshal(transferable(5))
    assert CODEC.marshal(spending(5, 0)) == P_CODEC.marshal(spending(5, 0))


def test_utxos_are_numbered_from_an_index() -> None:
    tx_id = utxo(COLLECTIBLE).tx_id
    outputs = (transferable(5), transferable(6))

    assert list(utxos_of(tx_id, 2, outputs)) == [
        UTXO(tx_id, 2, COIN, outputs[0].output),
        UTXO(tx_id, 3, COIN, outputs[1].output),
    ]


def test_an_input_names_the_utxo_that_it_spends() -> None:
    assert spending(5, 0, number=3).utxo_id == utxo(COLLECTIBLE, 3).utxo_id
