"""Transactions and UTXOs: bytes, IDs, signers and JSON of the reference implementation."""

from contextlib import nullcontext
from typing import Annotated, Any

import pytest

from platform_app.config import reference_config
from platform_app.txs.base import UnsignedTx
from platform_app.txs.codec import CODEC, build, parse, sign_bytes
from platform_app.txs.errors import TxSyntaxReason
from platform_app.txs.render import render, render_tx
from platform_app.txs.syntax import verify_syntax
from primitives import checksummed
from primitives.addresses import format_address
from primitives.codec import INTERFACE
from primitives.codec_errors import CodecError
from primitives.hashing import sha256
from primitives.ids import ID
from primitives.secp256k1 import recover_address
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases
from tests.conformance.platform_app.views import view
from utxo.components import UTXO, SignatureCredential
from utxo.errors import InvalidTx

UNSIGNED = Annotated[UnsignedTx, INTERFACE]
ASSETS = {
    1: "FvwEAhmxKfeiG8SnEvq42hc6whRyY3EFYAvebMqDNDGCgxN5Z",
    5: "U8iRqJoiJm8xZHAacmvYyZVwqQx6uDNtQeP3CQ6fcgQk3JqnK",
    12345: "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe",
}
"""The staking asset of each network."""
CHAINS_OF_GENESIS = dict.fromkeys(
    ("txs_signed/031", "txs_signed/032"), TxSyntaxReason.CHAIN_ON_PRIMARY_NETWORK
)
"""Transactions that are valid only in a genesis."""
EMPTY_CONVERSION = {"txs_unsigned/012": TxSyntaxReason.NO_L1_VALIDATORS}
"""A transaction that the reference's own rules reject."""
HRPS = {1: "avax", 10: "testing", 12345: "local"}


@pytest.mark.parametrize("case", cases("txs_unsigned"))
def test_unsigned_transactions_are_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["unsignedBytes"])

    unsigned = CODEC.unmarshal(UNSIGNED, raw)

    assert view(unsigned, is_interface=True) == case["fields"]
    assert sign_bytes(unsigned) == raw
    assert sha256(raw).hex() == case["unsignedSha256"]
    assert CODEC.type_id(type(unsigned)) == case["typeID"]


@pytest.mark.parametrize("case", cases("txs_unsigned", apiJSON=...))
def test_unsigned_transactions_are_shown_as_json(case: dict[str, Any]) -> None:
    unsigned = CODEC.unmarshal(UNSIGNED, bytes.fromhex(case["unsignedBytes"]))
    hrp = HRPS[unsigned.network_id]

    shown = render(unsigned, lambda address: format_address("P", hrp, address))

    assert shown == case["apiJSON"]
    assert list(shown) == list(case["apiJSON"])


@pytest.mark.parametrize("case", cases("txs_signed"))
def test_signed_transactions_are_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["signedBytes"])

    tx = parse(raw)

    assert view(tx.unsigned, is_interface=True) == case["fields"]["unsignedTx"]
    assert view(tx.credentials, is_interface=True) == case["fields"]["credentials"]
    assert str(tx.tx_id) == case["txID"]
    assert tx.tx_id.hex() == case["txIDHex"]
    assert raw[: tx.unsigned_size].hex() == case["unsignedBytes"]
    assert build(tx.unsigned, tx.credentials) == tx


@pytest.mark.parametrize("case", cases("txs_signed"))
def test_signatures_name_their_signers(case: dict[str, Any]) -> None:
    tx = parse(bytes.fromhex(case["signedBytes"]))

    signers = [
        [recover_address(tx.digest, signature).hex() for signature in credential.signatures]
        for credential in tx.credentials
        if isinstance(credential, SignatureCredential)
    ]

    assert signers == case["signers"]


@pytest.mark.parametrize("case", cases("txs_signed"))
def test_inputs_name_the_utxos_that_they_spend(case: dict[str, Any]) -> None:
    unsigned = parse(bytes.fromhex(case["signedBytes"])).unsigned
    inputs = (*getattr(unsigned, "inputs", ()), *getattr(unsigned, "imported_inputs", ()))

    assert [str(spent.utxo_id) for spent in inputs] == case["inputIDs"]


@pytest.mark.parametrize("case", cases("txs_signed"))
def test_signed_transactions_are_shown_with_id_and_signatures(case: dict[str, Any]) -> None:
    shown = render_tx(parse(bytes.fromhex(case["signedBytes"])), str)

    assert shown["id"] == case["txID"]
    assert shown["credentials"] == [
        {"signatures": credential["signatures"]} for credential in case["fields"]["credentials"]
    ]
    assert set(shown["unsignedTx"]) == set(case["fields"]["unsignedTx"]) - {"_typeID", "_type"}


@pytest.mark.parametrize("case", cases("txs_signed"))
def test_signed_transactions_are_well_formed(case: dict[str, Any]) -> None:
    tx = parse(bytes.fromhex(case["signedBytes"]))
    network_id = getattr(tx.unsigned, "network_id", 12345)
    refusal = CHAINS_OF_GENESIS.get(case["id"])

    with raises(refusal, kind=InvalidTx) if refusal else nullcontext():
        verify_syntax(tx, reference_config(network_id), ID.parse(ASSETS[network_id]))


@pytest.mark.parametrize("case", cases("txs_unsigned"))
def test_unsigned_transactions_are_well_formed(case: dict[str, Any]) -> None:
    unsigned = CODEC.unmarshal(UNSIGNED, bytes.fromhex(case["unsignedBytes"]))
    refusal = EMPTY_CONVERSION.get(case["id"])

    with raises(refusal, kind=InvalidTx) if refusal else nullcontext():
        verify_syntax(
            build(unsigned, ()), reference_config(unsigned.network_id), ID.parse(ASSETS[1])
        )


@pytest.mark.parametrize("case", cases("tx_parse_errors"))
def test_malformed_transaction_is_refused(case: dict[str, Any]) -> None:
    with pytest.raises(CodecError) as refused:
        parse(bytes.fromhex(case["bytes"]))

    assert case["error"] in str(refused.value)


@pytest.mark.parametrize("case", cases("utxo_codec", fields=...))
def test_utxos_are_read_and_written(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bytes"])

    utxo = CODEC.unmarshal(UTXO, raw)

    assert view(utxo) == case["fields"]
    assert CODEC.marshal(utxo) == raw
    assert str(utxo.utxo_id) == case["utxoID"]
    assert checksummed.encode(raw) == case["hexString"]


@pytest.mark.parametrize("case", cases("utxo_codec", fields=None))
def test_utxos_of_the_tests_own_codec_have_the_same_layout(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bytes"])
    transfer_type = (7).to_bytes(4, "big")

    utxo = CODEC.unmarshal(UTXO, raw[:70] + transfer_type + raw[74:])

    assert view(utxo)["output"] == {
        "_typeID": 7,
        "_type": "TransferOutput",
        "amount": 12345,
        "locktime": 54321,
        "threshold": 1,
        "addresses": [bytes(range(20)).hex(), bytes(range(20, 40)).hex()],
    }
