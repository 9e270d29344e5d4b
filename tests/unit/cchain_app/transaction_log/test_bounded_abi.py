"""ABI decoding takes time in proportion to the length of the data, and decodes all ordinary encodings."""

from typing import Any

import eth_abi
import pytest
from eth_abi import grammar
from hypothesis import given
from hypothesis import strategies as st

from cchain_app.transaction_log import abi, bounded_abi
from cchain_app.transaction_log.bounded_abi import (
    LONGEST_TYPE,
    MAX_REMEMBERED,
    allowance,
    decode,
    encode,
    is_canonical,
)
from cchain_app.transaction_log.errors import Undecodable
from explorer_app.names.decoding import arguments_of
from explorer_app.verification.comparing import MAX_BYTES, are_arguments

MOST = 128 * 1024


def word(number: int) -> bytes:
    return number.to_bytes(32)


def shared(depth: int, count: int) -> bytes:
    """Return `depth` levels of arrays with `count` identical elements each; the innermost are bytes."""
    data = word(32)
    for _ in range(depth):
        data += word(count) + word(32 * count) * count
    return data + word(1024) + b"\1" * 1024


def size(value: Any) -> int:
    """Return the least number of bytes of a value if no part of it is shared."""
    if isinstance(value, tuple):
        return 32 * (not value) + sum(map(size, value))
    return 32 + (len(value) if isinstance(value, bytes) else 0)


def test_identical_elements_are_counted_each_time() -> None:
    few = shared(2, 2)
    (found,) = decode(["bytes[][]"], few, most=MOST)
    assert found == ((b"\1" * 1024,) * 2,) * 2
    for depth, count in ((1, 1000), (2, 40), (3, 20), (20, 2)):
        bomb = shared(depth, count)
        assert len(bomb) < MOST / 2
        with pytest.raises(Undecodable):
            decode(["bytes" + "[]" * depth], bomb, most=MOST)
        with pytest.raises(Undecodable):
            is_canonical(["bytes" + "[]" * depth], bomb, most=MOST)


def test_all_decoders_are_bounded() -> None:
    from cchain_app.transaction_log.declarations import Declaration

    bomb = shared(3, 20)
    declared = [{"type": "constructor", "inputs": [{"name": "", "type": "bytes[][][]"}]}]

    assert not are_arguments(declared, bomb)
    with pytest.raises(Undecodable):
        arguments_of(Declaration.parse("f(bytes[][][])").parameters, bomb)
    with pytest.raises(Undecodable):
        abi.decode(["bytes[][][]"], bomb)


def test_constructor_arguments_above_a_length_are_not_decoded() -> None:
    declared = [{"type": "constructor", "inputs": [{"name": "", "type": "bytes"}]}]

    assert are_arguments(declared, eth_abi.encode(["bytes"], [bytes(MAX_BYTES - 64)]))
    assert not are_arguments(declared, eth_abi.encode(["bytes"], [bytes(MAX_BYTES)]))


@pytest.mark.parametrize(
    "type_", ["()[]", "uint256[0][]", "bytes0[]", "(uint256[0])[]", "uint256[" + "9" * LONGEST_TYPE]
)
def test_types_without_length_or_end_are_not_read(type_: str) -> None:
    with pytest.raises(Undecodable):
        decode([type_], word(32) + word(2**255), most=MOST)


@given(st.integers(1, 4), st.integers(1, 12))
def test_shared_offsets_do_not_exceed_the_decoding_limit(depth: int, count: int) -> None:
    data = shared(depth, count)
    try:
        found = decode(["bytes" + "[]" * depth], data, most=MOST)
    except Undecodable:
        assert count**depth * 1024 > len(data)
        return
    assert size(found) <= allowance(len(data))


VALUES: dict[str, Any] = {
    "uint256": st.integers(0, 2**256 - 1),
    "bytes": st.binary(max_size=80),
    "(uint256,(bool,address))[]": st.lists(
        st.tuples(st.integers(0, 9), st.tuples(st.booleans(), st.just("0x" + "ab" * 20))),
        max_size=200,
    ).map(tuple),
    "bytes[][]": st.lists(st.lists(st.binary(max_size=40), max_size=5).map(tuple), max_size=9).map(
        tuple
    ),
}


@given(st.data(), st.lists(st.sampled_from(sorted(VALUES)), min_size=1, max_size=4))
def test_compiler_encoded_data_is_decoded(data: st.DataObject, types: list[str]) -> None:
    values = tuple(data.draw(VALUES[kind]) for kind in types)
    encoded = eth_abi.encode(types, values)

    assert decode(types, encoded, most=MOST) == values
    assert is_canonical(types, encoded, most=MOST)


def test_types_are_not_remembered_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bounded_abi, "MAX_REMEMBERED", MAX_REMEMBERED // 64)
    parsed = grammar.parse.cache_info
    most = 0
    for place in range(300):
        type_ = f"bytes[{place + 1}][]"
        assert encode([type_], [[]]) == word(32) + word(0)
        assert decode([type_], word(32) + word(0), most=MOST) == ((),)
        most = max(most, parsed().currsize)

    assert most < 300
