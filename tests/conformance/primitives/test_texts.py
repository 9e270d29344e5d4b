"""Identifiers, bytes, keys and addresses as text: vectors of the reference implementation."""

from typing import Any

import pytest

from platform_app.config import reference_config
from primitives import addresses, cb58, checksummed, keys, secp256k1
from primitives.checksummed import TextEncoding
from primitives.hexadecimal import checksum_address
from primitives.ids import ID, NodeID, ShortID, utxo_id
from primitives.networks import name_of
from tests.builders.reasons import raises
from tests.conformance.pchain_vectors import cases

CB58_ERRORS = {
    "input string is smaller than the checksum size": cb58.Cb58Reason.MISSING_CHECKSUM,
    "bad checksum": cb58.Cb58Reason.WRONG_CHECKSUM,
}
HEX_ERRORS = {
    "invalid hex digit": checksummed.EncodingReason.INVALID_HEX,
    "invalid input checksum": checksummed.EncodingReason.WRONG_HEX_CHECKSUM,
    "missing 0x prefix to hex encoding": checksummed.EncodingReason.MISSING_HEX_PREFIX,
}
OTHERWISE_NAMED = {"fuji": "testnet", "cascade": "network-2", "everest": "network-4"}
"""Networks that this node names differently on purpose, by the reference's names."""


@pytest.mark.parametrize("case", cases("cb58", error=None, prefix=None))
def test_cb58_is_written_and_read(case: dict[str, Any]) -> None:
    data = bytes.fromhex(case["hex"])
    assert cb58.encode(data) == case["string"]
    assert cb58.decode(case["string"]) == data
    assert cb58.decode(case["string"], len(data)) == data


@pytest.mark.parametrize("case", cases("cb58", prefix="NodeID-"))
def test_a_node_id_is_written_and_read(case: dict[str, Any]) -> None:
    node_id = NodeID(bytes.fromhex(case["hex"]))
    assert str(node_id) == case["string"]
    assert NodeID.parse(case["string"]) == node_id


@pytest.mark.parametrize("case", cases("cb58", error=...))
def test_an_invalid_cb58_is_refused(case: dict[str, Any]) -> None:
    with raises(CB58_ERRORS[case["error"]], kind=cb58.Cb58Error):
        cb58.decode(case["string"])


@pytest.mark.parametrize("case", cases("hex_encoding", error=None))
@pytest.mark.parametrize("encoding", ["hex", "hexc", "hexnc"])
def test_bytes_are_written_and_read(case: dict[str, Any], encoding: str) -> None:
    data = bytes.fromhex(case["bytes"])
    assert checksummed.encode(data, TextEncoding(encoding)) == case[encoding]
    assert checksummed.decode(case[encoding], TextEncoding(encoding)) == data


@pytest.mark.parametrize("case", cases("hex_encoding", error=...))
def test_malformed_hex_is_refused(case: dict[str, Any]) -> None:
    with raises(HEX_ERRORS[case["error"]], kind=checksummed.EncodingError):
        checksummed.decode(case["string"], TextEncoding(case["encoding"]))


@pytest.mark.parametrize("case", cases("keys_addresses"))
def test_a_key_is_read_and_has_its_public_key_and_addresses(case: dict[str, Any]) -> None:
    key = keys.parse_private_key(case["privateKey"])
    address = keys.address_of(key)

    assert key.hex() == case["privateKeyHex"]
    assert keys.format_private_key(key) == case["privateKey"]
    assert secp256k1.compressed_public_key(key).hex() == case["publicKey"]
    assert address.hex() == case["addressHex"]
    assert str(address) == case["shortID"]
    assert checksum_address(secp256k1.address_of_private_key(key)) == case["evmAddress"]


@pytest.mark.parametrize("case", cases("keys_addresses"))
def test_an_address_is_written_and_read_for_every_network(case: dict[str, Any]) -> None:
    short_id = ShortID.parse(case["shortID"])
    texts = [
        (chain, hrp, text)
        for hrp, chains in case["addresses"].items()
        for chain, text in chains.items()
    ]
    assert len(texts) == 21
    for chain, hrp, text in texts:
        assert addresses.format_address(chain, hrp, short_id) == text
        assert addresses.parse_address(text) == (chain, hrp, short_id)


@pytest.mark.parametrize("case", cases("derived_ids", kind="inputID"))
def test_the_id_of_an_output(case: dict[str, Any]) -> None:
    tx_id = ID.parse(case["txID"])
    assert tx_id.hex() == case["txIDHex"]
    assert str(utxo_id(tx_id, case["outputIndex"])) == case["result"]


@pytest.mark.parametrize("case", cases("network_constants"))
def test_the_parameters_of_the_reference_have_its_prefixes(case: dict[str, Any]) -> None:
    assert reference_config(case["networkID"]).hrp == case["hrp"]


@pytest.mark.parametrize("case", cases("network_constants"))
def test_network_names_equal_the_reference_or_the_design(case: dict[str, Any]) -> None:
    theirs = case["networkName"]
    assert name_of(case["networkID"]) == OTHERWISE_NAMED.get(theirs, theirs)
