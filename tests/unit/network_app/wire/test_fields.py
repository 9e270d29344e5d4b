"""Counting fields gives the same number as iterating over them, and stops above the wanted maximum."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from network_app.wire.errors import UnreadableContent, WireReason
from network_app.wire.fields import count, iter_fields
from network_app.wire.p2p_pb2 import Chits, GetAccepted, Message
from tests.builders.reasons import raises

ENOUGH = 1_000


def walked(raw: bytes) -> int | None:
    """Return the number of fields; None if the bytes are malformed."""
    try:
        return sum(1 for _ in iter_fields(raw))
    except UnreadableContent:
        return None


def counted(raw: bytes, most: int = ENOUGH) -> int | None:
    try:
        return count(raw, 0, len(raw), most)
    except UnreadableContent:
        return None


@given(raw=st.binary(max_size=40))
def test_any_bytes_are_counted_as_they_are_walked(raw: bytes) -> None:
    assert counted(raw) == walked(raw)


@given(
    ids=st.lists(st.binary(max_size=200), max_size=20),
    height=st.integers(0, 2**64 - 1),
    unknown=st.sampled_from([b"", b"\x09" + bytes(8), b"\x0d" + bytes(4)]),
)
def test_messages_are_counted_as_they_are_walked(
    ids: list[bytes], height: int, unknown: bytes
) -> None:
    chits = Chits(preferred_id=bytes(ids[0]) if ids else b"", accepted_height=height)
    for content in (chits, GetAccepted(container_ids=ids, deadline=height)):
        raw = content.SerializeToString() + unknown
        assert counted(raw) == walked(raw) is not None
        whole = Message(chits=chits).SerializeToString() + raw
        assert count(whole, len(whole) - len(raw), len(whole), ENOUGH) == walked(raw)


def test_counting_stops_above_the_limit() -> None:
    raw = GetAccepted(container_ids=[b"id"] * 10).SerializeToString()

    assert counted(raw, 10) == 10
    assert counted(raw, 9) == 10
    assert counted(raw, 3) == 4
    assert counted(raw + b"\x07", 3) == 4  # the rest is not parsed


@pytest.mark.parametrize(
    "raw", [b"\x0a", b"\x0a\x80", b"\x0a\x05abc", b"\x08", b"\x02\x00", b"\x0b"]
)
def test_malformed_field_is_refused(raw: bytes) -> None:
    with raises(WireReason.MALFORMED, kind=UnreadableContent):
        count(raw, 0, len(raw), ENOUGH)
