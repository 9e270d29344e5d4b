"""The connections that are dropped when too many have not completed TLS."""

import asyncio
from typing import Any, cast

from OpenSSL import SSL

from network_app.config import NetworkConfig
from network_app.peers.errors import NotWanted, PeerError
from network_app.peers.listener import Listener
from network_app.peers.stream import Stream


class Half:
    """A connection from a host that sends nothing."""

    def __init__(self, host: str) -> None:
        self.host = host
        self.ended: PeerError | None = None

    def abort(self, reason: PeerError) -> None:
        self.ended = reason


class ListeningServer:
    """A listener, and the connections that it accepted."""

    def __init__(self, **config: Any) -> None:
        self.arrived: list[Stream] = []
        self.refused: list[NotWanted] = []
        self.listener = Listener(
            cast(SSL.Context, None),
            NetworkConfig(network_id=1, **config),
            bytearray(),
            self.arrived.append,
            self.refused.append,
        )

    def comes(self, *hosts: str) -> list[Half]:
        came = [Half(host) for host in hosts]
        for item in came:
            self.listener._admit(cast(Stream, item))
        return came


async def test_the_oldest_of_the_network_that_has_most_gives_way() -> None:
    server = ListeningServer(max_half_open=4)
    alone, first, second, third = server.comes("198.51.100.1", *(f"192.0.2.{n}" for n in (1, 2, 3)))

    (newcomer,) = server.comes("203.0.113.1")

    assert str(first.ended) == "more than 4 connections without TLS"
    assert not any(value.ended for value in (alone, second, third, newcomer))
    assert server.listener.half_open == 4


async def test_oldest_connection_of_one_machine_is_evicted() -> None:
    server = ListeningServer(max_half_open=4)
    came = server.comes(*["127.0.0.1"] * 9)

    assert [item.ended is not None for item in came] == [True] * 5 + [False] * 4
    assert not server.refused


async def test_validators_do_not_count_as_unknown_inbound_peers() -> None:
    server = ListeningServer(max_half_open=2, max_inbound=3)
    for number in range(5):
        (one,) = server.comes(f"192.0.{number}.1")
        server.listener.secured(cast(Stream, one))
    server.comes("203.0.113.1")
    assert len(server.refused) == 1

    server.listener.takes_no_place(cast(Stream, one))
    server.comes("203.0.113.1")

    assert len(server.refused) == 1
    await asyncio.sleep(0)
    assert len(server.arrived) == 6


async def test_half_open_connections_do_not_count_as_unknown_peers() -> None:
    server = ListeningServer(max_half_open=4, max_inbound=3)
    for number in range(3):
        (one,) = server.comes(f"192.0.{number}.1")
        server.listener.secured(cast(Stream, one))
    server.comes(*(f"198.51.100.{number}" for number in range(4)))

    (perhaps_a_validator,) = server.comes("203.0.113.1")

    assert not server.refused
    assert perhaps_a_validator.ended is None
    assert (server.listener.seated, server.listener.half_open) == (3, 4)
