"""Receipts and blooms, compared to the executable specification."""

import tracemalloc

from hypothesis import given
from hypothesis import strategies as st

from cchain_app.blocks.receipt import (
    Receipt,
    bloom_bits,
    bloom_from_bytes,
    bloom_of,
    bloom_to_bytes,
    encode_receipt,
    make_receipts,
    may_contain,
    merged_bloom,
)
from cchain_app.evm.engine import Log, TransactionResult
from primitives.evm import Address, Word
from primitives.recursion import recursion_limit_restored

with recursion_limit_restored():
    import ethereum_rlp
    from ethereum.forks.prague import blocks as specification
    from ethereum.forks.prague.bloom import logs_bloom
    from ethereum.forks.prague.fork_types import Address as TheirAddress
    from ethereum_types.bytes import Bytes32, Bytes256
    from ethereum_types.numeric import Uint

words = st.binary(min_size=32, max_size=32).map(Word)
logs = st.builds(
    Log,
    address=st.binary(min_size=20, max_size=20).map(Address),
    topics=st.lists(words, max_size=4).map(tuple),
    data=st.binary(max_size=70),
)
some_logs = st.lists(logs, max_size=4).map(tuple)


def by_specification(log):
    topics = tuple(map(Bytes32, log.topics))
    return specification.Log(address=TheirAddress(log.address), topics=topics, data=log.data)


def result(gas_used, *, succeeded=True, logs=()):
    return TransactionResult(succeeded, gas_used, logs, None)


@given(some_logs)
def test_the_bloom_of_logs_is_the_specifications(logs):
    expected = logs_bloom(tuple(map(by_specification, logs)))
    assert bloom_to_bytes(bloom_of(logs)) == expected


@given(some_logs, some_logs)
def test_the_union_of_blooms_is_the_bloom_of_all_logs(first, second):
    union = merged_bloom([bloom_of(first), bloom_of(second)])
    assert union == bloom_of(first + second)


@given(some_logs)
def test_a_bloom_may_contain_all_that_is_in_its_logs(logs):
    union = bloom_of(logs)
    for log in logs:
        assert all(may_contain(union, item) for item in (log.address, *log.topics))


def test_a_bloom_of_one_address_does_not_contain_another():
    union = bloom_of([Log(Address(b"\x01" * 20), (), b"")])
    assert not may_contain(union, b"\x02" * 20)
    assert not may_contain(0, b"\x01" * 20)


@given(st.binary(min_size=256, max_size=256))
def test_bloom_round_trips_through_bytes(data):
    assert bloom_to_bytes(bloom_from_bytes(data)) == data


def test_no_logs_make_the_empty_bloom():
    assert bloom_to_bytes(bloom_of([])) == bytes(256)


@given(
    some_logs,
    st.booleans(),
    st.integers(min_value=0, max_value=2**63),
    st.sampled_from([0, 1, 2, 4]),
)
def test_a_receipt_is_encoded_as_by_the_specification(logs, succeeded, gas, type_):
    receipt = Receipt(type_, succeeded, gas, bloom_of(logs), logs)
    theirs = specification.Receipt(
        succeeded=succeeded,
        cumulative_gas_used=Uint(gas),
        bloom=Bytes256(bloom_to_bytes(receipt.bloom)),
        logs=tuple(map(by_specification, logs)),
    )
    type_byte = bytes((type_,)) if type_ else b""
    assert encode_receipt(receipt) == type_byte + ethereum_rlp.rlp.encode(theirs)


def test_receipts_of_a_block_add_up_the_gas_and_keep_their_logs_apart():
    log = Log(Address(b"\x01" * 20), (Word(b"\x02" * 32),), b"")
    made = make_receipts([(2, result(21_000)), (0, result(30_000, succeeded=False, logs=(log,)))])
    first, second = made.receipts
    assert made.envelopes == [encode_receipt(first), encode_receipt(second)]
    assert made.bloom == bloom_to_bytes(second.bloom)
    assert first == Receipt(2, True, 21_000, 0, ())
    assert second == Receipt(0, False, 51_000, bloom_of([log]), (log,))


def test_bits_are_remembered_in_a_few_mib():
    tracemalloc.start()
    before, _ = tracemalloc.get_traced_memory()
    for number in range(20_000):
        bloom_bits(number.to_bytes(32, "big"))
    held = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    bloom_bits.cache_clear()

    assert held < 5 * 2**20
