"""Floods at a node's peer port: whatever unknown peers do, the node's memory stays bounded and RPC answers.

Each test proves that the node accepted its peers, and that it disconnected those that broke a rule, for the
expected reason.
"""

import asyncio
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress

import pytest

from network_app.wire import framing
from network_app.wire.p2p_pb2 import (
    Ancestors,
    AppGossip,
    ClaimedIpPort,
    GetAncestors,
    Message,
    PeerList,
    Ping,
)
from tests.builders.nodes import Node
from tests.builders.peers import Stranger, frontier_request, passed_on
from tests.builders.wire import compress
from tests.e2e.floods import PATIENCE, Flooded, Witness, until
from tests.e2e.network import LocalNetwork
from tests.e2e.strangers import (
    NOWHERE,
    Calls,
    addresses,
    answered,
    client_hello,
    crowd,
    frames_that_never_end,
    pouring,
    strangers,
)

MIB = 1024 * 1024
MAX_GROWTH = 128 * MIB
"""Most memory that the node may use in addition, because of all floods and of the requests during them."""
BOMB = compress(b"\x72\x80\x89\x7a" + b"\x0a\x00" * 1_000_000)
"""A list of a million empty addresses, compressed to some 200 bytes."""
UNKNOWN = b"\xfa\x7f\xe8\x07" + bytes(1000)
"""A message of a later protocol version, with field 2047, which breaks no rule."""
RECEIVED = 'messages_total{direction="received"}'
MAX_HALF_OPEN = 64
TOO_MANY_HALF_OPEN = f"more than {MAX_HALF_OPEN} connections without TLS"
SILENT = "TLS was not up in 15 s"
IN_A_LIST = 15
"""Number of addresses of a list that the node reads."""
LISTED = 60
"""Number of addresses of a list that is longer than allowed."""


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Flooded]:
    """A node that is flooded by the tests, one after the other."""
    env = {"NODE_LOG_LEVEL": "DEBUG"}
    with LocalNetwork(tmp_path_factory.mktemp("flooded"), 5, env=env) as network:
        yield Flooded(network)


@pytest.fixture
def witness(flooded: Flooded) -> Iterator[Witness]:
    """Checks that the node answers during the test and uses little more memory than before all floods."""
    flooded.forget()
    with Witness(flooded.node) as watching:
        yield watching
    assert watching.most - flooded.before < MAX_GROWTH


async def assert_serves(flooded: Flooded) -> None:
    """Check that a new peer can connect and gets answers."""
    async with strangers(flooded, crowd(1)) as (honest,):
        await answered(honest)


# --- before the handshake ---


@pytest.mark.parametrize("said", [b"", client_hello()], ids=["silent", "hello"])
async def test_connections_without_tls_are_dropped_for_others(
    flooded: Flooded, witness: Witness, said: bytes
) -> None:
    async with Calls(flooded, said) as calls:
        await calls.go_on(until_ended=300, why=TOO_MANY_HALF_OPEN)
        await until(lambda: calls.staying <= MAX_HALF_OPEN, "few are left")
        # On a slow machine some of the connections that are left have been silent for too long by now.
        reasons = {ending.reason for ending in calls.endings().values()}
        assert reasons <= {TOO_MANY_HALF_OPEN, SILENT}

        await witness.looks()
        await assert_serves(flooded)
        if said:
            await until(
                lambda: sum(item.heard > 0 for item in calls.made) >= MAX_HALF_OPEN,
                "as many as have room were answered",
            )


async def test_bytes_that_are_no_tls_are_survived(flooded: Flooded, witness: Witness) -> None:
    async with Calls(flooded, b"?" + secrets.token_bytes(4095)) as calls:
        await calls.go_on(until_ended=200, why="TLS failed")
        await until(lambda: not calls.staying, "all are turned out")
        await witness.looks()


async def test_repeated_short_connections_are_survived(flooded: Flooded, witness: Witness) -> None:
    nodes = crowd(30)
    for _ in range(10):
        flooded.forget()  # the system reuses the ports
        async with strangers(flooded, nodes, finished=False) as arrived:
            for item in arrived:
                item.writer.write((3).to_bytes(4, "big") + b"???")
        assert await flooded.all_ended(addresses(arrived)) == {"connection lost": 30}
    await witness.looks()


# --- messages that break a rule ---


@pytest.mark.parametrize("finished", [False, True])
async def test_compression_bombs_are_survived(
    flooded: Flooded, witness: Witness, *, finished: bool
) -> None:
    count = 2 if finished else 40  # the node reads each peer more slowly the more peers there are
    async with strangers(flooded, crowd(count), finished=finished) as arrived:
        await assert_turned_out(
            flooded,
            witness,
            arrived,
            said=[(len(BOMB).to_bytes(4, "big") + BOMB) * 100] * count,
            reasons=["too many unreadable frames: 8"] * count,
        )


@pytest.mark.parametrize(("finished", "limit"), [(False, 2**16), (True, 2**21)])
async def test_oversized_frames_are_survived(
    flooded: Flooded, witness: Witness, *, finished: bool, limit: int
) -> None:
    announced = [limit + 1, 2**32 - 1] * 20
    async with strangers(flooded, crowd(40), finished=finished) as arrived:
        await assert_turned_out(
            flooded,
            witness,
            arrived,
            said=[size.to_bytes(4, "big") + bytes(MIB) for size in announced],
            reasons=[f"frame of {size} bytes exceeds the limit of {limit}" for size in announced],
        )


async def assert_turned_out(
    flooded: Flooded,
    witness: Witness,
    arrived: Sequence[Stranger],
    *,
    said: Sequence[bytes],
    reasons: Sequence[str],
) -> None:
    """Check that each peer sends its bytes and is disconnected by the node for the given reason."""

    async def say(one: Stranger, said: bytes) -> None:
        # The node may close the connection before everything is sent.
        with suppress(ConnectionError):
            one.writer.write(said)
            await one.writer.drain()

    async with asyncio.timeout(PATIENCE):
        await asyncio.gather(*map(say, arrived, said))
        await witness.looks()
        assert all(await asyncio.gather(*[item.ended() for item in arrived]))
    await flooded.shows(arrived, still=False)
    endings = flooded.endings(addresses(arrived))
    assert [endings[other.address].reason for other in arrived] == list(reasons)


# --- messages that break no rule ---

WELL_FORMED = [
    (Message(ping=Ping(uptime=50)), 1000),
    (frontier_request(), 100),
    (
        Message(
            get_ancestors=GetAncestors(
                chain_id=bytes(32), request_id=1, deadline=10**9, container_id=bytes(32)
            )
        ),
        100,
    ),
    (Message(app_gossip=AppGossip(chain_id=bytes(32), app_bytes=bytes(1000))), 200),
    # the node has not requested these
    (Message(ancestors=Ancestors(chain_id=bytes(32), containers=[bytes(MIB)])), 5),
]
"""Messages of each kind, and how many of them a peer sends."""


async def test_messages_of_all_kinds_in_a_flood(flooded: Flooded, witness: Witness) -> None:
    before = flooded.metric(RECEIVED)
    async with strangers(flooded, crowd(4 * len(WELL_FORMED))) as arrived:
        for one, (message, count) in zip(arrived, 4 * WELL_FORMED, strict=True):
            one.writer.write(framing.encode(message) * count)
        await witness.looks()
        await assert_serves(flooded)
        await answered(*arrived)
        sent = 4 * sum(count for _, count in WELL_FORMED)
        await until(lambda: flooded.metric(RECEIVED) - before > sent, "all were read")
        await flooded.shows(arrived)
        assert not flooded.endings(addresses(arrived))


async def test_endless_unknown_frames_are_survived(flooded: Flooded, witness: Witness) -> None:
    before = flooded.metric(RECEIVED)
    async with strangers(flooded, crowd(2)) as arrived:
        async with pouring(arrived, len(UNKNOWN).to_bytes(4, "big") + UNKNOWN):
            await until(lambda: flooded.metric(RECEIVED) - before >= 1000, "so many are read")
            await witness.looks()
            await assert_serves(flooded)
        await flooded.shows(arrived)
        assert not flooded.endings(addresses(arrived))


# --- ten thousand addresses ---


def lists(told: Sequence[ClaimedIpPort], size: int) -> list[Message]:
    """Return gossip messages with these addresses, `size` addresses each."""
    return [
        Message(peer_list=PeerList(claimed_ip_ports=told[start : start + size]))
        for start in range(0, len(told), size)
    ]


async def test_ten_thousand_addresses_during_endless_frames_are_survived(
    flooded: Flooded, witness: Witness
) -> None:
    async with frames_that_never_end(flooded):
        await assert_serves(flooded)
        await addresses_of_nobody(flooded, witness)
        await addresses_of_validators(flooded, witness)


async def addresses_of_nobody(flooded: Flooded, witness: Witness) -> None:
    """Gossip ten thousand correctly signed addresses of a thousand non-validators, then two of validators.

    The node keeps only the last two.
    """
    now, known = int(time.time()), flooded.metric("known_nodes")
    nobody = [
        passed_on(who, NOWHERE + number, 1, now - number)
        for who in crowd(1000)
        for number in range(10)
    ]
    async with strangers(flooded, crowd(4)) as arrived:
        for place, one in enumerate(arrived):
            one.send(*lists(nobody[place::4], LISTED))
        for one, validator in zip(arrived, flooded.others[:2], strict=False):
            one.send(*lists([passed_on(validator, NOWHERE, 1, now)], 1))
        await witness.looks()
        await answered(*arrived)
        await flooded.shows(arrived)

        assert await known_nodes(flooded) == known + 2
        assert await latest_known(flooded, flooded.others[:2]) == {now}


async def addresses_of_validators(flooded: Flooded, witness: Witness) -> None:
    """Let two validators gossip ten thousand addresses of each other, each signed later than the one before.

    The node accepts all of them and keeps the newest of each validator.
    """
    hostile = flooded.others[2:]
    now, known = int(time.time()), flooded.metric("known_nodes")
    async with strangers(flooded, hostile, signed_at=now - 5000) as arrived:
        for one, other in zip(arrived, reversed(hostile), strict=True):
            newer = [
                passed_on(other, NOWHERE + number, 1, now - 4999 + number) for number in range(5000)
            ]
            one.send(*lists(newer, IN_A_LIST))
        await witness.looks()
        await answered(*arrived)
        await flooded.shows(arrived)

        assert await known_nodes(flooded) == known + 2
        assert await latest_known(flooded, hostile) == {now}


async def known_nodes(flooded: Flooded) -> int:
    """Return the number of nodes whose address is known now.

    Metrics show the node's last report, and reports come once a second or later. Once a new peer is listed, the
    report is newer than this call.
    """
    async with strangers(flooded, crowd(1)):
        return flooded.metric("known_nodes")


async def latest_known(flooded: Flooded, whose: Sequence[Node]) -> set[int]:
    """Return the signing times of these nodes' addresses that the node gossips to a new peer."""
    async with strangers(flooded, crowd(1), finished=False) as (newcomer,):
        newcomer.send(newcomer.handshake())
        told = (await newcomer.receive_kind("peer_list")).peer_list.claimed_ip_ports
    certificates = {who.identity.certificate_der for who in whose}
    return {item.timestamp for item in told if item.x509_certificate in certificates}
