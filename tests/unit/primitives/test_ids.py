"""Identifiers: their lengths, texts and order."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from primitives import cb58
from primitives.ids import (
    EMPTY_ID,
    EMPTY_NODE_ID,
    EVM_ID,
    ID,
    PLATFORM_VM_ID,
    IdError,
    IdReason,
    NodeID,
    ShortID,
    WrongIdLength,
)
from tests.builders.reasons import raises

KINDS = [ID, ShortID, NodeID]


@given(st.sampled_from(KINDS), st.data())
def test_identifier_round_trips_through_text(kind: type[ID], data: st.DataObject) -> None:
    identifier = kind(data.draw(st.binary(min_size=kind.SIZE, max_size=kind.SIZE)))
    found = kind.parse(str(identifier))
    assert found == identifier
    assert type(found) is kind


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("difference", [-1, 1])
def test_identifier_of_wrong_length_is_refused(kind: type[ID], difference: int) -> None:
    size = kind.SIZE + difference
    message = rf"^invalid hash length: expected {kind.SIZE} bytes but got {size}$"
    with pytest.raises(WrongIdLength, match=message):
        kind(bytes(size))


def test_the_text_of_another_identifier_is_refused() -> None:
    message = r"^invalid hash length: expected 32 bytes but got 20$"
    with pytest.raises(cb58.WrongSize, match=message):
        ID.parse(str(ShortID(bytes(20))))


def test_a_node_id_needs_its_prefix() -> None:
    message = r"^ID: 111111111111111111116DBWJs is missing the prefix: NodeID-$"
    with raises(IdReason.MISSING_NODE_PREFIX, kind=IdError, match=message):
        NodeID.parse("111111111111111111116DBWJs")


def test_error_for_a_long_text_is_short() -> None:
    with raises(IdReason.MISSING_NODE_PREFIX, kind=IdError) as caught:
        NodeID.parse("x" * 10_000)
    assert len(str(caught.value)) < 150


def test_well_known_identifiers() -> None:
    assert str(EMPTY_ID) == "11111111111111111111111111111111LpoYY"
    assert str(EMPTY_NODE_ID) == "NodeID-111111111111111111116DBWJs"
    assert str(PLATFORM_VM_ID) == "rWhpuQPF1kb72esV2momhMuTYGkEb1oL29pt2EBXWmSy4kxnT"
    assert str(EVM_ID) == "mgj786NP7uDwBCcq6YwThhaN8FLyybkCa4zBWTQbNgmK6k9A6"


def test_identifiers_are_sorted_as_bytes() -> None:
    low, high = ShortID(b"\x01" + bytes(19)), ShortID(b"\x80" + bytes(19))
    assert sorted([high, low]) == [low, high]
