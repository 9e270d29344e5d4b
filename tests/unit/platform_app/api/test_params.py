"""Arguments are accepted only in the formats that clients send."""

from typing import Any

import pytest

from jsonrpc.errors import InvalidParam, JsonRpcError
from platform_app.api import params
from platform_app.api.params import PROPOSED, StartIndex
from primitives.checksummed import TextEncoding
from primitives.ids import ID, NodeID

NAME = "2fombhL7aGPwj3KH4bfrmJwW6PVnMobf9Y2fn9GwxiAAJyFDbe"
NODE = "NodeID-7Xhw2mDxuDS44j42TCB6U5579esbSt3Lg"


@pytest.mark.parametrize(
    ("read", "value", "meaning"),
    [
        (params.text, "x", "x"),
        (params.boolean, True, True),
        (params.uint64, 5, 5),
        (params.uint64, "5", 5),
        (params.uint64, "007", 7),
        (params.uint64, 2**64 - 1, 2**64 - 1),
        (params.uint64, str(2**64 - 1), 2**64 - 1),
        (params.uint32, 2**32 - 1, 2**32 - 1),
        (params.uint16, "65535", 65535),
        (params.decimal, 2, 2.0),
        (params.decimal, 2.5, 2.5),
        (params.decimal, "2", 2.0),
        (params.decimal, "-.5e1", -5.0),
        (params.identifier, NAME, ID.parse(NAME)),
        (params.node_id, NODE, NodeID.parse(NODE)),
        (params.encoding, "HexNC", TextEncoding.HEXNC),
        (params.encoding, "json", TextEncoding.JSON),
        (params.height, "proposed", PROPOSED),
        (params.height, "12", 12),
        (params.start_index, {}, StartIndex("", "")),
        (params.start_index, {"ADDRESS": "a", "utxo": None, "more": 1}, StartIndex("a", "")),
        (params.list_of(params.uint64, 0), ["1", 2, None], [1, 2, 0]),
        (params.list_of(params.text, ""), [], []),
        (params.few_of("names", params.text, "x"), ["a", None], ["a", "x"]),
    ],
)
def test_valid_value_is_parsed(read: Any, value: Any, meaning: Any) -> None:
    assert read(value) == meaning


@pytest.mark.parametrize(
    ("read", "value"),
    [
        (params.text, 5),
        (params.boolean, "true"),
        (params.boolean, 1),
        (params.uint64, -1),
        (params.uint64, 1.0),
        (params.uint64, 2**64),
        (params.uint64, str(2**64)),
        (params.uint64, True),
        (params.uint64, ""),
        (params.uint64, "-1"),
        (params.uint64, "1.0"),
        (params.uint64, "0x5"),
        (params.uint64, " 5"),
        (params.uint64, "1_0"),
        (params.uint64, "٣"),
        (params.uint64, "9" * 5000),
        (params.uint32, 2**32),
        (params.uint16, 65536),
        (params.decimal, "x"),
        (params.decimal, ""),
        (params.decimal, "NaN"),
        (params.decimal, "inf"),
        (params.decimal, True),
        (params.decimal, 10**400),
        (params.identifier, NODE),
        (params.identifier, ""),
        (params.identifier, 5),
        (params.identifier, "1" * 100_000),
        (params.node_id, NAME),
        (params.node_id, NODE[7:]),
        (params.encoding, "cb58"),
        (params.encoding, 5),
        (params.height, "Proposed"),
        (params.start_index, []),
        (params.start_index, {"address": 5}),
        (params.list_of(params.uint64, 0), "1"),
        (params.list_of(params.uint64, 0), [[]]),
        (params.few_of("numbers", params.uint64, 0), {}),
        (params.few_of("numbers", params.uint64, 0), [[]]),
    ],
)
def test_invalid_value_is_refused(read: Any, value: Any) -> None:
    with pytest.raises(InvalidParam):
        read(value)


def test_a_list_is_judged_by_its_length_before_anything_in_it_is_read() -> None:
    reads: list[object] = []
    few = params.few_of("numbers", reads.append, None)

    assert few([1] * 1024) == [None] * 1024
    assert len(reads) == 1024
    with pytest.raises(JsonRpcError) as refused:
        few([1] * 1025)
    assert (refused.value.code, refused.value.message) == (
        -32000,
        "number of numbers given, 1025, exceeds maximum, 1024",
    )
    assert len(reads) == 1024
