"""Bytes of headers, blocks and block 0 against the reference's."""

from typing import Any

import pytest

from cchain_app.blocks.accepted import join_block
from cchain_app.blocks.errors import BlockRefused
from cchain_app.blocks.header import MalformedHeader
from cchain_app.evm.trie import StateTrie
from cchain_app.evm.trie_python import PythonStateTrie
from cchain_app.first_block import first_block
from cchain_app.genesis import load_genesis
from cchain_app.rules.coreth.block import CorethFormat, split_block
from cchain_app.rules.coreth.description import described
from cchain_app.rules.coreth.genesis import chain_config, with_upgrades
from cchain_app.rules.coreth.header import decode_header, ext_data_hash
from cchain_app.rules.coreth.summary import first_summary
from primitives.evm import Hash
from primitives.hashing import keccak256
from primitives.rlp import encode_uint
from primitives.upgrades import OWN_NETWORK, parse_upgrades
from tests.conformance.coreth_vectors import cases, data, document, header_of


@pytest.mark.parametrize("case", cases("header_rlp"))
def test_header(case: dict[str, Any]) -> None:
    header = header_of(case["header"])
    assert header.raw == data(case["rlp"])
    assert header.hash == data(case["hash"])
    if case.get("decodeError"):
        with pytest.raises(MalformedHeader) as caught:
            decode_header(header.raw)
        assert str(caught.value) == case["decodeError"]
    else:
        decoded = decode_header(header.raw)
        assert decoded == header_of(case["decodedAgain"])
        assert decoded.hash == data(case["hashOfDecoded"])


@pytest.mark.parametrize("case", cases("block_rlp"))
def test_block(case: dict[str, Any]) -> None:
    raw = data(case["rlp"])
    whole = not case["name"].startswith("header:")
    read = split_block if whole else decode_header
    if case["error"] is not None:
        with pytest.raises((BlockRefused, MalformedHeader)) as caught:
            read(raw)
        assert str(caught.value) == case["error"]
        return
    if not whole:
        assert decode_header(raw).raw == raw
        return
    parts = split_block(raw)
    assert (parts.version, parts.ext_data) == (case["version"], data(case["extData"]))
    assert parts.header.hash == data(case["hash"])
    again = join_block(
        parts.header_raw,
        parts.transactions,
        ommers=parts.ommers,
        withdrawals=encode_uint(parts.version),
        payload=parts.ext_data,
    )
    assert again == data(case["encodedAgain"])


@pytest.mark.parametrize("case", cases("ext_data_hash"))
def test_ext_data_hash(case: dict[str, Any]) -> None:
    assert ext_data_hash(data(case["extData"])) == data(case["hash"])


@pytest.fixture(scope="module")
def trie() -> StateTrie:
    return PythonStateTrie(of_coreth=True)


@pytest.mark.parametrize("case", cases("genesis"))
def test_genesis(case: dict[str, Any], trie: StateTrie) -> None:
    upgrades = parse_upgrades(case["upgrades"])
    genesis = with_upgrades(load_genesis(case["genesisJSON"]), upgrades)
    block, _ = first_block(trie, genesis, CorethFormat(trie.ordered_root, upgrades))
    assert block.header.raw == data(case["headerRLP"])
    assert block.hash == data(case["hash"])
    assert block.raw == block.ethereum_raw == data(case["blockRLP"])
    assert block.size == len(block.raw)
    assert decode_header(block.header.raw) == block.header == header_of(case["header"])


@pytest.mark.parametrize("case", cases("genesis"))
def test_config_that_follows_from_upgrades(case: dict[str, Any]) -> None:
    wanted = dict(case["chainConfig"])
    del wanted["upgrades"]  # which eth_getChainConfig leaves out
    assert chain_config(wanted["chainId"], parse_upgrades(case["upgrades"])) == wanted


def test_blocks_of_a_network_are_encoded_as_they_were(trie: StateTrie) -> None:
    block_format = CorethFormat(trie.ordered_root, OWN_NETWORK)
    for entry in document("local_chain")["blocks"][1:]:
        raw = data(entry["blockRLP"])
        candidate = block_format.parse_block(raw)
        assert candidate.hash == block_format.parse_header(raw).hash == data(entry["hash"])
        assert keccak256(candidate.header.raw) == candidate.hash
        again = join_block(
            candidate.header.raw,
            candidate.transactions,
            withdrawals=encode_uint(0),
            payload=candidate.payload or b"",
        )
        assert again == raw


@pytest.mark.parametrize(
    "entry", document("phases_chain")["blocks"], ids=lambda entry: entry["number"]
)
def test_blocks_of_all_phases_are_encoded_as_they_were(entry: dict[str, Any]) -> None:
    parts = split_block(data(entry["rlp"]))
    assert parts.header.hash == keccak256(data(entry["headerRLP"])) == data(entry["hash"])
    assert parts.header.raw == parts.header_raw == data(entry["headerRLP"])
    assert parts.ext_data == data(entry["extData"])


def test_fields_are_described_for_pages() -> None:
    entry = document("local_chain")["blocks"][50]
    header = split_block(data(entry["blockRLP"])).header
    gas = entry["gas"]
    assert dict(described(header, OWN_NETWORK)) == {
        "Hash of the atomic transactions": "0x" + header.ext_data_hash.hex(),
        "Gas of the atomic transactions": "33,690",
        "Gas target": "1,021,716 per second",
        "Target excess": f"{int(gas['targetExcess']):,}",
        "Gas left for the next block": "10,068,500 of 10,217,160",
        "Gas above the target": f"{int(gas['excessAfter']):,}",
        "Time in milliseconds": str(header.time_milliseconds),
        "Time to the next block": f"{int(gas['minDelayMilliseconds']):,} ms at least",
        "Minimum delay excess": f"{getattr(header, 'min_delay_excess', None):,}",
    }


def test_fields_of_an_older_phase_are_described() -> None:
    upgrades = parse_upgrades(document("phases_chain")["upgrades"])
    (entry,) = (one for one in document("phases_chain")["blocks"] if one["number"] == 10)
    header = split_block(data(entry["rlp"])).header
    assert described(header, upgrades) == [
        ("Hash of the atomic transactions", "0x" + header.ext_data_hash.hex()),
        ("Gas of the atomic transactions", "22,460"),
    ], "the window is no gas state"


def test_summary_of_block_0() -> None:
    (case,) = (case for case in document("genesis") if case["networkID"] == 12345)
    state_root = data(case["header"]["stateRoot"])
    summary = first_summary(Hash(data(case["hash"])), Hash(state_root))
    assert len(summary) == 106
    wanted = "5c56b6520f53326ca67dc0300cf9d2128101d09f192db5c81d068656a34bcf60"
    assert keccak256(summary).hex() == wanted
