"""Every row of the parameter grammar: accepted values, and the messages for rejected ones."""

import pytest

from cchain_app.api.params import values as params
from cchain_app.api.params.values import BlockHash, StorageKey, Tag
from jsonrpc.errors import InvalidParam, JsonRpcError

ADDRESS = "0x8db97C7cEcE249c2b98bDC0226Cc4C2A57BF52FC"
HASH = "0x" + "ab" * 32


@pytest.mark.parametrize(
    ("text", "number"), [("0x0", 0), ("0x1", 1), ("0xff", 255), ("0X10", 16), ("", 0)]
)
def test_a_quantity_is_read(text, number):
    assert params.quantity(text) == number


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("0x", 'hex string "0x"'),
        ("0x01", "hex number with leading zero digits"),
        ("0x00", "hex number with leading zero digits"),
        ("10", "hex string without 0x prefix"),
        (10, "hex string without 0x prefix"),
        (True, "hex string without 0x prefix"),
        ("0xzz", "invalid hex string"),
        ("0x1_0", "invalid hex string"),
        ("0x" + "f" * 65, "hex number > 256 bits"),
    ],
)
def test_an_invalid_quantity_is_refused(value, words):
    with pytest.raises(InvalidParam) as refusal:
        params.quantity(value)
    assert refusal.value.text == words


def test_a_quantity_of_64_bits_ends_at_64_bits():
    assert params.uint64("0xffffffffffffffff") == 2**64 - 1
    with pytest.raises(InvalidParam, match="hex number > 64 bits"):
        params.uint64("0x10000000000000000")


@pytest.mark.parametrize("text", [ADDRESS, ADDRESS.lower(), "0x" + ADDRESS[2:].upper()])
def test_an_address_is_read_in_any_case(text):
    assert params.address(text).hex() == ADDRESS[2:].lower()


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (
            ADDRESS[2:],
            "json: cannot unmarshal hex string without 0x prefix into Go value of type common.Address",
        ),
        ("0xabcd", "hex string has length 4, want 40 for common.Address"),
        ("0x", "hex string has length 0, want 40 for common.Address"),
        (
            "0xabc",
            "json: cannot unmarshal hex string of odd length into Go value of type common.Address",
        ),
        (
            "0x" + "g" * 40,
            "json: cannot unmarshal invalid hex string into Go value of type common.Address",
        ),
        (5, "json: cannot unmarshal non-string into Go value of type common.Address"),
        ([], "json: cannot unmarshal non-string into Go value of type common.Address"),
    ],
)
def test_an_invalid_address_is_refused(value, words):
    with pytest.raises(InvalidParam) as refusal:
        params.address(value)
    assert refusal.value.text == words


def test_a_hash_has_64_digits():
    assert params.hash32(HASH) == b"\xab" * 32
    with pytest.raises(InvalidParam, match=r"hex string has length 62, want 64 for common.Hash"):
        params.hash32(HASH[:-2])


@pytest.mark.parametrize(
    ("text", "data"), [("0x", b""), ("0x00ff", b"\x00\xff"), ("0xAB", b"\xab")]
)
def test_bytes_are_read(text, data):
    assert params.data(text) == data


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("0x0", "hex string of odd length"),
        ("00", "hex string without 0x prefix"),
        ("", "empty hex string"),
    ],
)
def test_invalid_bytes_are_refused(text, reason):
    with pytest.raises(InvalidParam) as refusal:
        params.data(text)
    words = f"json: cannot unmarshal {reason} into Go value of type hexutil.Bytes"
    assert refusal.value.text == words


def test_accepted_is_the_last_accepted_block() -> None:
    assert params.block_number("accepted") is params.block_param("accepted") is Tag.LATEST
    assert params.block_param({"blockNumber": "accepted"}) is Tag.LATEST


@pytest.mark.parametrize("tag", ["latest", "earliest", "pending", "safe", "finalized"])
def test_a_tag_is_a_block_number_and_a_block_parameter(tag):
    assert params.block_number(tag) is Tag(tag)
    assert params.block_param(tag) is Tag(tag)


def test_a_height_reaches_to_the_largest_signed_number():
    assert params.block_number("0x7fffffffffffffff") == 2**63 - 1
    with pytest.raises(InvalidParam, match=r"^block number larger than int64$"):
        params.block_number("0x8000000000000000")
    with pytest.raises(InvalidParam, match=r"^blocknumber too high$"):
        params.block_param("0x8000000000000000")


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("5", "hex string without 0x prefix"),
        (5, "hex string without 0x prefix"),
        ("Latest", "hex string without 0x prefix"),
        ("0x05", "hex number with leading zero digits"),
        ("0x", 'hex string "0x"'),
        ("", "empty hex string"),
        (HASH, "hex number > 64 bits"),
    ],
)
def test_an_invalid_block_number_is_refused(value, words):
    with pytest.raises(InvalidParam) as refusal:
        params.block_number(value)
    assert refusal.value.text == words


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (HASH, BlockHash(b"\xab" * 32)),
        ({"blockHash": HASH}, BlockHash(b"\xab" * 32)),
        ({"blockHash": HASH, "requireCanonical": True}, BlockHash(b"\xab" * 32, True)),
        ({"blockHash": HASH, "requireCanonical": None}, BlockHash(b"\xab" * 32)),
        ({"blockNumber": "0x5"}, 5),
        ({"blockNumber": "latest"}, Tag.LATEST),
        ({"blockNumber": "0x5", "blockHash": None}, 5),
    ],
)
def test_a_block_parameter_has_five_forms(value, found):
    assert params.block_param(value) == found


def test_a_block_parameter_with_both_hash_and_number_is_refused():
    with pytest.raises(InvalidParam) as refusal:
        params.block_param({"blockHash": HASH, "blockNumber": "0x1"})
    assert refusal.value.text == (
        "cannot specify both BlockHash and BlockNumber, choose one or the other"
    )


def test_a_block_parameter_with_neither_hash_nor_number_is_refused():
    with pytest.raises(InvalidParam, match="neither block nor hash specified"):
        params.block_param({})


@pytest.mark.parametrize(
    ("text", "last_bytes", "length"),
    [
        ("0x0", b"\x00", 1),
        ("0x", b"", 0),
        ("", b"", 0),
        ("1", b"\x01", 1),
        ("0xabc", b"\x0a\xbc", 2),
        (HASH, b"\xab" * 32, 32),
        (HASH[2:], b"\xab" * 32, 32),
        ("0X12", b"\x12", 1),
    ],
)
def test_a_storage_key_is_read_leniently(text, last_bytes, length):
    assert params.storage_key(text) == StorageKey(last_bytes.rjust(32, b"\0"), length)


def test_a_storage_key_of_33_bytes_is_refused_without_counting_the_argument():
    with pytest.raises(JsonRpcError) as refusal:
        params.storage_key(HASH + "00")
    assert refusal.value.code == -32602
    assert refusal.value.message == (f'storage key too long (want at most 32 bytes): "{HASH}00"')


def test_a_storage_key_that_is_not_hex_is_refused():
    with pytest.raises(JsonRpcError) as refusal:
        params.storage_key("0xzz")
    assert (refusal.value.code, refusal.value.message) == (
        -32602,
        'invalid hex in storage key: "0xzz"',
    )


@pytest.mark.parametrize(
    ("value", "number"), [("0x4", 4), ("4", 4), (4, 4), ("0x04", 4), ("0", 0), ("0x0", 0)]
)
def test_a_count_of_blocks_is_a_quantity_or_decimal(value, number):
    assert params.count(value) == number


@pytest.mark.parametrize("value", ["four", "-1", -1, 1.5, True, "", [], 2**64, "1_0", "٤"])
def test_an_invalid_count_is_refused(value):
    with pytest.raises(InvalidParam, match=r"^invalid hex or decimal integer$"):
        params.count(value)


def test_a_count_without_digits_is_refused():
    with pytest.raises(InvalidParam, match=r'^hex string "0x"$'):
        params.count("0x")


def test_percentiles_are_numbers():
    assert params.percentiles([0, 25.5, 100]) == [0.0, 25.5, 100.0]


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("25", "json: cannot unmarshal string into Go value of type []float64"),
        (["25"], "json: cannot unmarshal string into Go value of type float64"),
        ([True], "json: cannot unmarshal bool into Go value of type float64"),
        ([10**400], "json: cannot unmarshal number into Go value of type float64"),
    ],
)
def test_invalid_percentiles_are_refused(value, words):
    with pytest.raises(InvalidParam) as refusal:
        params.percentiles(value)
    assert refusal.value.text == words


def test_malformed_filter_id_counts_as_unknown():
    assert params.filter_id("0xff") == 255
    assert params.filter_id("nonsense") == params.NO_FILTER
    with pytest.raises(InvalidParam, match=r"rpc.ID"):
        params.filter_id(5)


def test_boolean_parameter_accepts_true_and_refuses_numbers():
    assert params.boolean(True) is True
    with pytest.raises(InvalidParam, match="cannot unmarshal number into Go value of type bool"):
        params.boolean(1)
