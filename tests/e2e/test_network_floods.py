"""Strangers at a node's peer port: whatever they do, its memory stays bounded and its RPC answers."""

import contextlib
import secrets
import socket
import ssl
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from primitives.identity import make_certificate
from tests.builders.wire import compress
from tests.servers.node import RunningNode
from tests.servers.process import resident_bytes

MIB = 1024 * 1024
MOST_GROWTH = 96 * MIB
"""All that a node may keep because of strangers; its pools of unprocessed bytes are far smaller."""
BOMB = compress(b"\x72\x80\x89\x7a" + b"\x0a\x00" * 1_000_000)
"""A list of a million empty addresses in some 200 bytes."""
PATIENCE = 5.0
"""Seconds in which RPC must answer meanwhile; how fast it is otherwise is measured in benchmarks."""


@pytest.fixture
def identity(tmp_path: Path) -> ssl.SSLContext:
    """What a stranger shows when it is asked for a certificate: one of its own."""
    made = make_certificate(int(time.time()))
    (tmp_path / "key").write_bytes(made.key_pem)
    (tmp_path / "certificate").write_bytes(made.certificate_pem)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.load_cert_chain(tmp_path / "certificate", tmp_path / "key")
    return context


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    """A node that strangers come to, one test after the other."""
    with RunningNode(tmp_path_factory.mktemp("flooded")) as node:
        yield node.start()


@pytest.fixture
def peer_port(flooded: RunningNode) -> int:
    return flooded.staking_port


@pytest.fixture
def bounded(flooded: RunningNode) -> Iterator[None]:
    """Checks after the test that the node is still itself."""
    flooded.rpc("eth_blockNumber")
    before = resident_bytes(flooded.pid)
    yield
    assert answers(flooded)
    assert resident_bytes(flooded.pid) - before < MOST_GROWTH


def answers(node: RunningNode) -> bool:
    began = time.monotonic()
    node.rpc("eth_blockNumber")
    return time.monotonic() - began < PATIENCE


def connect(port: int) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)


@pytest.mark.usefixtures("bounded")
def test_connections_that_say_nothing(flooded: RunningNode, peer_port: int) -> None:
    with ExitStack() as opened:
        for _ in range(600):
            with contextlib.suppress(OSError):
                opened.enter_context(connect(peer_port))
        assert answers(flooded)


def greeted(port: int, identity: ssl.SSLContext) -> bool:
    """Say whether the node talks to somebody who connects now: its handshake comes first."""
    try:
        with identity.wrap_socket(connect(port)) as newcomer:
            return len(newcomer.recv(4)) > 0
    except OSError:
        return False


@pytest.mark.usefixtures("bounded")
def test_connections_that_say_nothing_do_not_keep_others_out(
    flooded: RunningNode, peer_port: int, identity: ssl.SSLContext
) -> None:
    with ExitStack() as opened:
        for _ in range(100):
            with contextlib.suppress(OSError):
                opened.enter_context(connect(peer_port))
        end = time.monotonic() + PATIENCE  # the silent ones stay for longer than that
        while not greeted(peer_port, identity):
            assert time.monotonic() < end
        assert answers(flooded)


@pytest.mark.usefixtures("bounded")
def test_messages_that_are_small_on_the_wire_and_large_in_memory(
    flooded: RunningNode, peer_port: int, identity: ssl.SSLContext
) -> None:
    frame = len(BOMB).to_bytes(4, "big") + BOMB
    with ExitStack() as opened:
        for _ in range(40):
            with contextlib.suppress(OSError):
                stranger = opened.enter_context(identity.wrap_socket(connect(peer_port)))
                stranger.sendall(frame * 100)
        assert answers(flooded)


@pytest.mark.usefixtures("bounded")
def test_handshakes_that_never_end(
    flooded: RunningNode, peer_port: int, identity: ssl.SSLContext
) -> None:
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    half = identity.wrap_bio(incoming, outgoing)
    with contextlib.suppress(ssl.SSLWantReadError):
        half.do_handshake()
    hello = outgoing.read()
    with ExitStack() as opened:
        for _ in range(300):
            with contextlib.suppress(OSError):
                opened.enter_context(connect(peer_port)).sendall(hello)
        assert answers(flooded)


@pytest.mark.usefixtures("bounded")
def test_bytes_that_are_no_tls(flooded: RunningNode, peer_port: int) -> None:
    for _ in range(200):
        with contextlib.suppress(OSError), connect(peer_port) as stranger:
            stranger.sendall(secrets.token_bytes(4096))
    assert answers(flooded)


@pytest.mark.usefixtures("bounded")
@pytest.mark.parametrize("announced", [2**21, 2**21 + 1, 2**32 - 1])
def test_frames_that_are_too_large_or_never_end(
    flooded: RunningNode, peer_port: int, identity: ssl.SSLContext, announced: int
) -> None:
    with ExitStack() as opened:
        for _ in range(40):
            with contextlib.suppress(OSError):
                stranger = opened.enter_context(identity.wrap_socket(connect(peer_port)))
                stranger.sendall(announced.to_bytes(4, "big") + bytes(MIB))
        assert answers(flooded)


@pytest.mark.usefixtures("bounded")
def test_connections_that_come_and_go(
    flooded: RunningNode, peer_port: int, identity: ssl.SSLContext
) -> None:
    for _ in range(300):
        with contextlib.suppress(OSError), identity.wrap_socket(connect(peer_port)) as stranger:
            stranger.sendall((3).to_bytes(4, "big") + b"???")
    assert answers(flooded)
