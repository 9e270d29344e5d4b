"""Encoding and decoding of transactions; invalid bytes are rejected quickly."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from platform_app.txs.base import BaseTx, LockOut, Tx, UnsignedTx
from platform_app.txs.codec import (
    GENESIS_CODEC,
    TYPES,
    build,
    embed,
    parse,
    parse_embedded,
    sign_bytes,
)
from platform_app.txs.subnets import CreateChainTx, CreateSubnetTx
from primitives.codec_errors import CodecError, CodecReason
from primitives.hashing import sha256
from tests.builders.platform import ASSET_ID, every_type, signed, transfer_output, unsigned
from tests.builders.platform_strategies import transactions
from tests.builders.reasons import raises
from utxo.components import TransferableOutput

TOO_SHORT = {
    CodecReason.INPUT_TOO_SHORT,
    CodecReason.MISSING_TYPE_ID,
    CodecReason.MISSING_VERSION,
}
SIGNED = signed()
BEFORE_OUTPUTS = SIGNED.raw[: 2 + 4 + 4 + 32]


def test_every_type_has_a_number() -> None:
    assert set(every_type()) == {cls for cls in TYPES.values() if issubclass(cls, UnsignedTx)}
    assert set(range(43)) - set(TYPES) == {6, 8}


@pytest.mark.parametrize("cls", every_type(), ids=lambda cls: cls.__name__)
def test_transaction_of_each_type_round_trips(cls: type[UnsignedTx]) -> None:
    tx = signed(cls)

    assert parse(tx.raw) == tx
    assert tx.tx_id == sha256(tx.raw)
    assert tx.digest == sha256(sign_bytes(tx.unsigned))


@settings(deadline=None)
@given(transactions())
def test_random_transaction_round_trips(tx: Tx) -> None:
    read = parse(tx.raw)

    assert read == tx
    assert build(read.unsigned, read.credentials).raw == tx.raw
    assert tx.raw[: tx.unsigned_size] == sign_bytes(tx.unsigned)


@settings(deadline=None)
@given(transactions(), st.binary(max_size=10), st.binary(max_size=10))
def test_a_transaction_is_found_within_other_bytes(tx: Tx, before: bytes, after: bytes) -> None:
    found, end = parse_embedded(before + embed(tx) + after, len(before))

    assert found == tx
    assert end == len(before) + len(embed(tx))


@pytest.mark.parametrize("size", range(len(SIGNED.raw)))
def test_a_transaction_that_ends_early_is_refused(size: int) -> None:
    with pytest.raises(CodecError) as refused:
        parse(SIGNED.raw[:size])
    assert refused.value.reason in TOO_SHORT


def test_bytes_behind_a_transaction_are_refused() -> None:
    size = len(SIGNED.raw)

    with raises(
        CodecReason.TRAILING_BYTES,
        kind=CodecError,
        match=rf"^trailing buffer space: read {size} provided {size + 1}$",
    ):
        parse(SIGNED.raw + b"\0")


def test_another_version_is_refused() -> None:
    with raises(CodecReason.UNKNOWN_VERSION, kind=CodecError, match=r"^unknown codec version$"):
        parse(b"\0\1" + SIGNED.raw[2:])


def test_a_number_without_type_is_refused() -> None:
    with raises(
        CodecReason.UNKNOWN_TYPE_ID,
        kind=CodecError,
        match=r"^couldn't unmarshal interface: unknown type ID 255$",
    ):
        parse(b"\0\0" + (255).to_bytes(4, "big") + SIGNED.raw[6:])


@pytest.mark.parametrize("type_id", [0, 5, 9, 11, 28, 32])
def test_a_number_of_something_else_is_refused(type_id: int) -> None:
    with raises(
        CodecReason.WRONG_INTERFACE,
        kind=CodecError,
        match=r"does not implement interface UnsignedTx$",
    ):
        parse(b"\0\0" + type_id.to_bytes(4, "big") + SIGNED.raw[6:])


def test_nested_locks_are_refused() -> None:
    lock = (22).to_bytes(4, "big") + bytes(8)
    one_output = (1).to_bytes(4, "big") + bytes(32) + lock * 10_000

    with raises(
        CodecReason.RECURSIVE_TYPE, kind=CodecError, match=r"^recursive interface types: LockOut$"
    ):
        parse(BEFORE_OUTPUTS + one_output)


def test_a_count_of_two_billion_elements_is_not_believed() -> None:
    before_addresses = sign_bytes(unsigned(CreateSubnetTx))[: -4 - 20]

    with raises(CodecReason.INPUT_TOO_SHORT, kind=CodecError):
        parse(before_addresses + b"\x7f\xff\xff\xff" + bytes(1_000))


def test_a_count_of_four_billion_elements_is_refused() -> None:
    before_addresses = sign_bytes(unsigned(CreateSubnetTx))[: -4 - 20]

    with raises(
        CodecReason.LIST_TOO_LONG,
        kind=CodecError,
        match="^max slice length exceeded; array length, 4294967295, exceeds maximum length, 2147483647$",
    ):
        parse(before_addresses + b"\xff" * 4 + bytes(1_000))


def test_more_than_a_quarter_of_a_mebibyte_is_refused_before_it_is_read() -> None:
    with raises(
        CodecReason.INPUT_TOO_LARGE,
        kind=CodecError,
        match=r"^byte array exceeds maximum length: 262145 > 262144$",
    ):
        parse(bytes(262_145))


def test_genesis_transaction_has_no_size_limit() -> None:
    large = unsigned(CreateChainTx, genesis_data=bytes(300_000))

    tx = build(large, (), GENESIS_CODEC)

    assert parse(tx.raw, GENESIS_CODEC) == tx
    with raises(CodecReason.INPUT_TOO_LARGE, kind=CodecError):
        build(large, ())


def test_a_value_that_has_no_bytes_is_refused() -> None:
    with raises(CodecReason.UNENCODABLE_VALUE, kind=CodecError):
        sign_bytes(unsigned(BaseTx, network_id=2**32))


def test_a_nested_lock_has_no_bytes() -> None:
    nested = TransferableOutput(ASSET_ID, LockOut(5, LockOut(6, transfer_output())))

    with raises(CodecReason.RECURSIVE_TYPE, kind=CodecError):
        sign_bytes(unsigned(BaseTx, outputs=(nested,)))


@settings(deadline=None)
@given(st.data())
def test_garbled_transactions_are_read_as_something_or_refused(data: st.DataObject) -> None:
    raw = bytearray(signed(data.draw(st.sampled_from(every_type()))).raw)
    for _ in range(data.draw(st.integers(1, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))

    try:
        tx = parse(bytes(raw))
    except CodecError:
        return
    assert build(tx.unsigned, tx.credentials).raw == bytes(raw)
