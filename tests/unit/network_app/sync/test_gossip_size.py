"""Transactions in a gossip message are counted before they are decoded."""

import pytest

from network_app.sync.messages import MAX_TOLD, transactions_in
from network_app.wire.errors import UnreadableContent, WireReason
from network_app.wire.sdk_pb2 import PullGossipResponse, PushGossip
from tests.builders.reasons import raises

EMPTY = b"\x0a\x00"


@pytest.mark.parametrize("form", [PushGossip, PullGossipResponse])
def test_number_of_gossiped_transactions_is_limited(
    form: type[PushGossip] | type[PullGossipResponse],
) -> None:
    raws = [b"transaction %d" % at for at in range(MAX_TOLD)]
    assert list(transactions_in(form(gossip=raws).SerializeToString(), form)) == raws
    assert list(transactions_in(b"", form)) == []


@pytest.mark.parametrize(
    "payload",
    [
        PushGossip(gossip=[b"transaction"] * (MAX_TOLD + 1)).SerializeToString(),
        PushGossip(gossip=[b"transaction", b""]).SerializeToString(),
        b"\x0a\x05no",
        b"\xff",
    ],
    ids=["one too many", "an empty one", "cut off", "no field"],
)
def test_malformed_gossip_is_refused(payload: bytes) -> None:
    with raises(WireReason.MALFORMED, kind=UnreadableContent):
        transactions_in(payload, PushGossip)


def test_a_million_of_nothing_are_never_made(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[bytes] = []
    monkeypatch.setattr("network_app.sync.messages.MAX_TOLD", 3)

    class Form:
        FromString = made.append

    with raises(WireReason.MALFORMED, kind=UnreadableContent):
        transactions_in(EMPTY * 1_000_000, Form)  # type: ignore[arg-type]
    assert made == []
