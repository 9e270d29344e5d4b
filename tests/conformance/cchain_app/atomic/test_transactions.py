"""Atomic transactions: bytes, IDs, gas, conflicts, shared memory, payloads and syntax (atomic.md 4, 5, 6, 9)."""

from typing import Any

import pytest

from cchain_app.atomic.fees import burned, effective_price, fee_of, gas_used
from cchain_app.atomic.render import render_unsigned
from cchain_app.atomic.rules import verify_syntax
from cchain_app.atomic.transactions import (
    CODEC,
    AtomicTx,
    SignedAtomicBody,
    join_payload,
    parse,
    requests_of,
    sign_bytes,
    split_payload,
)
from platform_app.txs.codec import parse as parse_platform_tx
from primitives.codec_errors import CodecError
from primitives.hashing import keccak256, sha256
from primitives.hexadecimal import checksum_address
from primitives.ids import ID
from primitives.keys import address_of
from primitives.rlp import encode_bytes
from primitives.secp256k1 import address_of_private_key, recover_address, recover_evm_address
from tests.conformance.atomic_vectors import cases
from tests.conformance.cchain_app.atomic.network import PARAMETERS, unsigned_of
from utxo.components import UTXO, SignatureCredential, TransferOutput
from utxo.errors import InvalidTx

LATEST = "Granite"
"""Cases of earlier upgrades are left out: the rules of this node are those of Banff from the first block on."""

BATCHES = [param for param in cases("batch") if param.values[0].get("txIDs")]
"""The payloads with transactions."""


@pytest.mark.parametrize("case", cases("transactions"))
def test_transactions_are_read_and_written(case: dict[str, Any]) -> None:
    wanted = case["tx"]
    raw = bytes.fromhex(wanted["signedBytes"])
    tx = parse(raw)

    assert str(tx.tx_id) == wanted["txID"]
    assert raw[: tx.unsigned_size].hex() == wanted["unsignedBytes"] == sign_bytes(tx.unsigned).hex()
    assert CODEC.marshal(SignedAtomicBody(tx.unsigned, tx.credentials)) == raw
    assert _signers(tx) == wanted["credentials"]
    assert render_unsigned(tx.unsigned) == wanted["unsignedJSON"]
    verify_syntax(tx.unsigned, PARAMETERS)


def _signers(tx: AtomicTx) -> list[list[dict[str, str]]]:
    return [
        [
            {
                "address": recover_address(tx.digest, signature).hex(),
                "evmAddress": checksum_address(recover_evm_address(tx.digest, signature)),
                "signature": signature.hex(),
            }
            for signature in credential.signatures
        ]
        for credential in tx.credentials
        if isinstance(credential, SignatureCredential)
    ]


@pytest.mark.parametrize("case", cases("transactions"))
def test_gas_price_conflicts_and_shared_memory_follow_from_the_transaction(
    case: dict[str, Any],
) -> None:
    wanted = case["tx"]
    tx = parse(bytes.fromhex(wanted["signedBytes"]))

    assert gas_used(tx) == wanted["gasUsed"]
    assert burned(tx, PARAMETERS.asset_id) == wanted["burned"]
    assert effective_price(tx, PARAMETERS) == int(wanted["effectiveGasPriceWei"])
    assert sorted(key.hex() for key in tx.conflict_keys) == wanted["conflictKeys"]
    memory = wanted["sharedMemory"]
    assert str(tx.requests.peer) == memory["peer"]
    assert [utxo_id.hex() for utxo_id in tx.requests.remove] == (memory["remove"] or [])
    assert [_put(utxo) for utxo in tx.requests.put] == (memory["put"] or [])


def _put(utxo: UTXO) -> dict[str, Any]:
    assert isinstance(utxo.output, TransferOutput)
    return {
        "key": utxo.utxo_id.hex(),
        "value": CODEC.marshal(utxo).hex(),
        "traits": [address.hex() for address in utxo.output.owners.addresses],
    }


@pytest.mark.parametrize("case", cases("verify", phase=LATEST))
def test_malformed_transaction_is_refused_with_coreths_message(
    case: dict[str, Any],
) -> None:
    unsigned = unsigned_of(bytes.fromhex(case["unsignedBytes"]))
    if "error" not in case:
        verify_syntax(unsigned, PARAMETERS)
        return
    with pytest.raises(InvalidTx) as refused:
        verify_syntax(unsigned, PARAMETERS)
    assert str(refused.value) == case["error"]


@pytest.mark.parametrize("case", cases("parse"))
def test_malformed_bytes_are_refused(case: dict[str, Any]) -> None:
    raw = bytes.fromhex(case["bytes"])
    if "error" not in case:
        assert str(parse(raw).tx_id) == case["txID"]
        return
    with pytest.raises(CodecError) as refused:
        parse(raw)
    assert _without_package(str(refused.value)) == _without_package(case["error"])


def _without_package(words: str) -> str:
    """Return an error without the names of Go's packages and interfaces, and of the field that is too short."""
    words = words.replace("*secp256k1fx.", "").replace("atomic.", "")
    return words.removeprefix("couldn't unmarshal slice: ")


@pytest.mark.parametrize("case", cases("fees"))
def test_fees_round_up(case: dict[str, Any]) -> None:
    values = int(case["gas"]), int(case["baseFee"]), int(case["weiPerUnit"])
    if "error" not in case:
        assert fee_of(*values) == int(case["fee"])
        return
    with pytest.raises(InvalidTx) as refused:
        fee_of(*values)
    assert str(refused.value) == case["error"]


@pytest.mark.parametrize("case", cases("keys"))
def test_a_key_has_an_address_on_each_chain(case: dict[str, Any]) -> None:
    key = bytes.fromhex(case["privateKey"])

    assert address_of(key).hex() == case["address"]
    assert checksum_address(address_of_private_key(key)) == case["evmAddress"]


@pytest.mark.parametrize("case", BATCHES)
def test_a_payload_is_a_list_of_transactions(case: dict[str, Any]) -> None:
    payload = bytes.fromhex(case["extData"])
    txs = split_payload(payload)

    assert [str(tx.tx_id) for tx in txs] == case["txIDs"]
    assert join_payload(txs) == payload
    assert sum(map(gas_used, txs)) == case["extDataGasUsed"]
    assert "0x" + keccak256(encode_bytes(payload)).hex() == case["extDataHash"]
    assert [parse(tx.raw) for tx in txs] == list(txs)
    assert {request.peer for request in requests_of(txs)} == {tx.requests.peer for tx in txs}


def test_a_payload_without_transactions_is_refused() -> None:
    (case,) = (one for (one,) in (param.values for param in cases("batch")) if "error" in one)
    with pytest.raises(InvalidTx) as refused:
        split_payload(bytes.fromhex(case["extData"]))
    assert str(refused.value) == case["error"]


@pytest.mark.parametrize("case", BATCHES)
def test_a_payload_that_is_cut_or_longer_is_refused(case: dict[str, Any]) -> None:
    payload = bytes.fromhex(case["extData"])
    for broken in (
        payload[:-1],
        payload + b"\0",
        payload[:1],
        b"",
        payload[:5],
        b"\0\1" + payload[2:],
    ):
        with pytest.raises(CodecError):
            split_payload(broken)


@pytest.mark.parametrize("case", cases("flows"))
def test_exported_output_equals_the_imported_one(case: dict[str, Any]) -> None:
    exported = parse_platform_tx(bytes.fromhex(case["pExport"]["signedBytes"]))
    c_import = parse(bytes.fromhex(case["cImport"]["signedBytes"]))
    c_export = parse(bytes.fromhex(case["cExport"]["signedBytes"]))
    p_import = parse_platform_tx(bytes.fromhex(case["pImport"]["signedBytes"]))

    assert str(exported.tx_id) == case["pExport"]["txID"]
    assert str(c_import.tx_id) == case["cImport"]["txID"]
    assert str(c_export.tx_id) == case["cExport"]["txID"]
    assert str(p_import.tx_id) == case["pImport"]["txID"]
    (put,) = c_export.requests.put
    assert put.utxo_id.hex() == case["cExport"]["puts"]["key"]
    assert CODEC.marshal(put).hex() == case["cExport"]["puts"]["value"]
    assert ID(bytes.fromhex(case["pExport"]["puts"]["key"])) in c_import.requests.remove
    assert sha256(c_export.raw) == put.tx_id
