"""Headers: a known hash, the specification's encoding, and the fields of each fork."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.header import (
    EMPTY_REQUESTS_HASH,
    Header,
    HeaderReason,
    MalformedHeader,
    decode_header,
    encode_header,
)
from primitives.evm import ZERO_HASH, Address, Hash
from primitives.hashing import EMPTY_ROOT
from primitives.recursion import recursion_limit_restored
from tests.builders.reasons import raises

with recursion_limit_restored():
    import ethereum_rlp
    import rlp as library
    from ethereum.crypto.hash import Hash32
    from ethereum.forks.prague import blocks as specification
    from ethereum.forks.prague.fork_types import Address as TheirAddress
    from ethereum_types.bytes import Bytes8, Bytes32, Bytes256
    from ethereum_types.numeric import U64, U256, Uint

MAINNET_GENESIS = Header(
    parent_hash=ZERO_HASH,
    coinbase=Address(bytes(20)),
    state_root=Hash(
        bytes.fromhex("d7f8974fb5ac78d9ac099b9ad5018bedc2ce0a72dad1827a1709da30580f0544")
    ),
    transactions_root=EMPTY_ROOT,
    receipts_root=EMPTY_ROOT,
    logs_bloom=bytes(256),
    difficulty=0x400000000,
    number=0,
    gas_limit=5_000,
    gas_used=0,
    timestamp=0,
    extra_data=bytes.fromhex("11bbe8db4e347b4e8c937c1c8370e4b5ed33adb3db69cbdb7a38e1e50b1b82fa"),
    nonce=bytes.fromhex("0000000000000042"),
)
LONDON = replace(MAINNET_GENESIS, base_fee=10**9)
SHANGHAI = replace(LONDON, withdrawals_root=EMPTY_ROOT)
CANCUN = replace(SHANGHAI, blob_gas_used=0, excess_blob_gas=0, parent_beacon_block_root=ZERO_HASH)
PRAGUE = replace(CANCUN, requests_hash=EMPTY_REQUESTS_HASH)

hashes = st.binary(min_size=32, max_size=32).map(Hash)
uint64 = st.integers(min_value=0, max_value=2**64 - 1)
prague_headers = st.builds(
    Header,
    parent_hash=hashes,
    ommers_hash=hashes,
    coinbase=st.binary(min_size=20, max_size=20).map(Address),
    state_root=hashes,
    transactions_root=hashes,
    receipts_root=hashes,
    logs_bloom=st.binary(min_size=256, max_size=256),
    difficulty=uint64,
    number=uint64,
    gas_limit=uint64,
    gas_used=uint64,
    timestamp=uint64,
    extra_data=st.binary(max_size=32),
    mix_hash=hashes,
    nonce=st.binary(min_size=8, max_size=8),
    base_fee=st.integers(min_value=0, max_value=2**256 - 1),
    withdrawals_root=hashes,
    blob_gas_used=uint64,
    excess_blob_gas=uint64,
    parent_beacon_block_root=hashes,
    requests_hash=hashes,
)


def by_specification(header):
    """Return the same header in the type of the executable specification."""
    return specification.Header(
        parent_hash=Hash32(header.parent_hash),
        ommers_hash=Hash32(header.ommers_hash),
        coinbase=TheirAddress(header.coinbase),
        state_root=Bytes32(header.state_root),
        transactions_root=Bytes32(header.transactions_root),
        receipt_root=Bytes32(header.receipts_root),
        bloom=Bytes256(header.logs_bloom),
        difficulty=Uint(header.difficulty),
        number=Uint(header.number),
        gas_limit=Uint(header.gas_limit),
        gas_used=Uint(header.gas_used),
        timestamp=U256(header.timestamp),
        extra_data=header.extra_data,
        prev_randao=Bytes32(header.mix_hash),
        nonce=Bytes8(header.nonce),
        base_fee_per_gas=Uint(header.base_fee),
        withdrawals_root=Bytes32(header.withdrawals_root),
        blob_gas_used=U64(header.blob_gas_used),
        excess_blob_gas=U64(header.excess_blob_gas),
        parent_beacon_block_root=Bytes32(header.parent_beacon_block_root),
        requests_hash=Hash32(header.requests_hash),
    )


def test_the_first_block_of_ethereum_has_its_well_known_hash():
    assert MAINNET_GENESIS.hash.hex() == (
        "d4e56740f876aef8c010b86a40d5f56745a118d0906a34e69aec8c0db1cb8fa3"
    )


@given(prague_headers)
def test_a_header_is_encoded_as_by_the_specification(header):
    assert encode_header(header) == ethereum_rlp.rlp.encode(by_specification(header))


@given(prague_headers)
def test_header_round_trips(header):
    assert decode_header(encode_header(header)) == header


@pytest.mark.parametrize("header", [MAINNET_GENESIS, LONDON, SHANGHAI, CANCUN, PRAGUE])
def test_every_fork_has_its_own_number_of_fields(header):
    fields = library.decode(encode_header(header))
    optional = (header.base_fee, header.withdrawals_root, header.blob_gas_used,
                header.excess_blob_gas, header.parent_beacon_block_root,
                header.requests_hash)  # fmt: skip
    assert len(fields) == 15 + sum(value is not None for value in optional)
    assert decode_header(encode_header(header)) == header


def test_header_field_requires_fields_of_earlier_forks():
    with raises(HeaderReason.HEADER_GAP, kind=MalformedHeader) as caught:
        replace(LONDON, requests_hash=EMPTY_REQUESTS_HASH)
    assert str(caught.value) == "header has fields of later forks, but no withdrawals_root"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "rlp: value size exceeds available input length for types.Header"),
        (b"\x80", "rlp: expected input list for types.Header"),
        (b"\xc0", "rlp: too few elements for types.Header"),
        (library.encode([b""] * 22), "rlp: input list has too many elements for types.Header"),
        (library.encode([b""] * 15), "rlp: input string too short for types.Header"),
        (encode_header(PRAGUE) + b"\x00",
         "rlp: input contains more than one value for types.Header"),
    ],
)  # fmt: skip
def test_malformed_header_is_refused(data, message):
    with raises(HeaderReason.HEADER_ENCODING, kind=MalformedHeader) as caught:
        decode_header(data)
    assert str(caught.value) == message


@given(st.binary(max_size=100))
def test_any_bytes_are_refused_with_an_error_of_headers(data):
    with pytest.raises(MalformedHeader):
        decode_header(data)
