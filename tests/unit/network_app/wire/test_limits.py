"""Messages that are small on the wire and large in memory are rejected before decoding."""

import tracemalloc
from collections.abc import Iterator

import pytest

from network_app.wire.errors import (
    UnreadableContent,
    UnreadableMessage,
    WireError,
    WireReason,
)
from network_app.wire.fields import EARLY_KINDS, EARLY_SIZE, LARGEST, LIMITS
from network_app.wire.framing import COMPRESSED, KINDS, decode, frame_size, parse, unpack
from network_app.wire.p2p_pb2 import (
    Accepted,
    Ancestors,
    BloomFilter,
    ClaimedIpPort,
    GetPeerList,
    Handshake,
    Message,
    PeerList,
    Ping,
)
from tests.builders.reasons import raises
from tests.builders.wire import compress

MILLION = 1_000_000
EMPTY_CLAIM = b"\x0a\x00"


def content(number: int, inside: bytes) -> bytes:
    """Return a handmade message: the number of its field, and its contents."""
    return varint(number << 3 | 2) + varint(len(inside)) + inside


def varint(number: int) -> bytes:
    written = b""
    while number >= 0x80:
        written += bytes([number & 0x7F | 0x80])
        number >>= 7
    return written + bytes([number])


@pytest.fixture
def traced() -> Iterator[None]:
    tracemalloc.start()
    yield
    tracemalloc.stop()


def test_every_kind_has_a_limit() -> None:
    assert set(LIMITS) | {COMPRESSED} == set(KINDS.values())
    assert all(limit.size <= LARGEST for limit in LIMITS.values())
    assert set(LIMITS) > EARLY_KINDS


@pytest.mark.parametrize(
    ("bomb", "reason", "words"),
    [
        (content(14, EMPTY_CLAIM * MILLION), WireReason.TOO_LARGE_FOR_KIND, "peer_list exceeds the limit of 65536"),
        (content(13, content(10, b"\1" * 2 * MILLION)), WireReason.TOO_LARGE_FOR_KIND, "handshake exceeds"),
        (content(17, content(4, b"\1" * 2 * MILLION)), WireReason.TOO_LARGE_FOR_KIND, "get_accepted_state_summary"),
        (content(21, b"\x22\x00" * MILLION), WireReason.TOO_LARGE_FOR_KIND, "get_accepted exceeds"),
        (content(24, b"\x1a\x00" * MILLION), WireReason.TOO_MANY_FIELDS, "ancestors has more than 2016 fields"),
        (content(14, EMPTY_CLAIM * 65), WireReason.TOO_MANY_FIELDS, "peer_list has more than 64 fields"),
        (content(27, b"\x78\x00" * 17), WireReason.TOO_MANY_FIELDS, "push_query has more than 16 fields"),
        (content(11, b"") * 9, WireReason.TOO_MANY_FIELDS, "message has more than 8 fields"),
        (content(14, EMPTY_CLAIM * 65) + content(12, b""), WireReason.TOO_MANY_FIELDS, "peer_list has more"),
        (content(11, b"") + content(26, bytes(2000)), WireReason.TOO_LARGE_FOR_KIND, "ping exceeds"),
        (content(30, bytes(70_000)), WireReason.TOO_LARGE_FOR_KIND, "app_request exceeds the limit of 65536"),
        (content(500, bytes(2 * MILLION)), WireReason.NO_KIND, "message of no known kind"),
    ],
    ids=[
        "addresses", "proposals", "heights", "IDs", "containers", "a few addresses", "unknown fields",
        "pings", "overwritten", "two kinds", "a chain's question", "unknown kind",
    ],
)  # fmt: skip
@pytest.mark.parametrize("form", [bytes, compress], ids=["plain", "compressed"])
def test_bombs_are_refused_without_objects(
    traced: None, bomb: bytes, form: type[bytes], reason: WireReason, words: str
) -> None:
    payload = form(bomb)
    before, _ = tracemalloc.get_traced_memory()

    with raises(reason, kind=UnreadableMessage, match=f"^{words}"):
        unpack(payload)

    assert tracemalloc.get_traced_memory()[1] - before < 3 * LARGEST


def test_a_small_kind_is_not_unpacked_beyond_its_size(traced: None) -> None:
    bomb = compress(content(14, EMPTY_CLAIM * MILLION))
    tracemalloc.reset_peak()

    with raises(WireReason.TOO_LARGE_FOR_KIND, kind=UnreadableContent):
        unpack(bomb)

    assert tracemalloc.get_traced_memory()[1] < 3 * EARLY_SIZE + len(bomb)


def test_largest_honest_messages_are_decoded() -> None:
    claim = ClaimedIpPort(
        x509_certificate=bytes(2048), ip_addr=bytes(16), ip_port=65535, timestamp=2**40,
        signature=bytes(512), tx_id=bytes(32),
    )  # fmt: skip
    largest = [
        Message(peer_list=PeerList(claimed_ip_ports=[claim] * 15)),
        Message(get_peer_list=GetPeerList(known_peers=BloomFilter(filter=bytes(60_000)))),
        Message(
            handshake=Handshake(
                tracked_subnets=[bytes(32)] * 16, known_peers=BloomFilter(filter=bytes(60_000))
            )
        ),
    ]
    for message in largest:
        for payload in (message.SerializeToString(), compress(message.SerializeToString())):
            assert parse(unpack(payload, early=True)) == message
    for message in (
        Message(ancestors=Ancestors(chain_id=bytes(32), request_id=1, containers=[b"x"] * 2000)),
        Message(accepted=Accepted(chain_id=bytes(32), container_ids=[bytes(32)] * 1024)),
    ):
        assert decode(compress(message.SerializeToString())) == message


@pytest.mark.parametrize("name", sorted(set(LIMITS) - EARLY_KINDS))
def test_a_chain_s_message_is_not_read_before_the_handshake(name: str) -> None:
    message = Message()
    getattr(message, name).SetInParent()

    for payload in (message.SerializeToString(), compress(message.SerializeToString())):
        assert parse(unpack(payload)) == message
        with raises(
            WireReason.TOO_EARLY,
            kind=UnreadableMessage,
            match=f"^{name} before the handshake is finished$",
        ):
            unpack(payload, early=True)


def test_before_the_handshake_frames_are_small() -> None:
    assert frame_size(EARLY_SIZE.to_bytes(4, "big"), early=True) == EARLY_SIZE
    with raises(
        WireReason.FRAME_TOO_LARGE,
        kind=WireError,
        match=r"^frame of 65537 bytes exceeds the limit of 65536$",
    ):
        frame_size((EARLY_SIZE + 1).to_bytes(4, "big"), early=True)


@pytest.mark.parametrize(
    "malformed",
    [b"\x5a", b"\x5b\x5c", b"\x02\x00", b"\x5a\x02\x08", b"\x59\x00", b"\xff" * 11, b"\x5e"],
    ids=["no length", "group", "number 0", "cut off", "eight bytes", "long tag", "form 6"],
)
def test_malformed_field_is_refused(malformed: bytes) -> None:
    with raises(WireReason.MALFORMED, kind=UnreadableContent, match=r"^malformed message$"):
        unpack(malformed)


def test_a_known_number_in_another_form_is_unknown() -> None:
    with raises(WireReason.NO_KIND, kind=UnreadableMessage):
        unpack(bytes.fromhex("5805"))
    beside = bytes.fromhex("5805 5d00000000") + Message(ping=Ping(uptime=7)).SerializeToString()

    assert decode(beside).ping.uptime == 7
