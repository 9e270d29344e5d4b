"""Tasks of the connections, one each, from the open socket until the last message is processed."""

import asyncio
import logging
from collections.abc import Callable, Coroutine

from network_app.bloom import BloomError
from network_app.handshake.claims import HandshakeError
from network_app.peers.dialer import ConnectionLifetime
from network_app.peers.errors import NotWanted, PeerError, PeerReason, TimedOut
from network_app.peers.listener import Listener
from network_app.peers.peer import Peer, PeerContext
from network_app.peers.roster import Roster
from network_app.peers.stream import Stream
from network_app.wire.errors import WireError
from primitives.identity import CertificateError
from primitives.ids import NodeID

REASONS = (PeerError, HandshakeError, WireError, BloomError, CertificateError)
"""Expected reasons why connections end. Any other exception is a bug in this node."""
SETTLING = 15.0
"""Seconds in which messages of an ended connection may still be processed; its place stays taken."""

_log = logging.getLogger(__name__)


class ConnectionTasks:
    """The tasks of all connections."""

    def __init__(self, context: PeerContext, roster: Roster, listener: Listener) -> None:
        self._context = context
        self._roster = roster
        self._listener = listener
        self._tasks: dict[asyncio.Task[ConnectionLifetime], Stream] = {}
        self._stopping = False

    def __len__(self) -> int:
        return len(self._tasks)

    def arrive(self, stream: Stream) -> None:
        """Run a connection that another node opened."""
        _ = self._begin(stream, self._live(stream, _ignore, outbound=False))

    async def dialled(self, stream: Stream, met: Callable[[NodeID], None]) -> ConnectionLifetime:
        """Run a connection that this node opened; `met` is called with the peer's node ID.

        The connection continues if this call is cancelled.
        """
        task = self._begin(stream, self._live(stream, met, outbound=True))
        return await asyncio.shield(task)

    async def stop(self) -> None:
        """End all connections, and wait until their sockets are closed."""
        self._stopping = True
        peers = list(self._roster)
        for peer in peers:
            peer.close(NotWanted(PeerReason.STOPPED))
        with_peers = {peer.task for peer in peers}
        streams = list(self._tasks.values())
        for task in self._tasks:
            if task not in with_peers:
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for stream in streams:
            stream.abort()  # its task may have been cancelled before its first step
            await stream.closed.wait()

    def _begin(
        self, stream: Stream, live: Coroutine[None, None, ConnectionLifetime]
    ) -> asyncio.Task[ConnectionLifetime]:
        task = asyncio.get_running_loop().create_task(live)
        self._tasks[task] = stream
        task.add_done_callback(self._over)
        return task

    async def _live(
        self, stream: Stream, met: Callable[[NodeID], None], *, outbound: bool
    ) -> ConnectionLifetime:
        reason: Exception = NotWanted(PeerReason.STOPPED)
        peer: Peer | None = None
        try:
            certificate = await self._secure(stream)
            self._listener.secured(stream)
            peer = Peer(stream, certificate, self._context, self._finished, outbound=outbound)
            met(peer.node_id)
            self._roster.admit(peer)
            if not peer.is_stranger:
                self._listener.takes_no_place(stream)
            await self._talk(peer, stream)
        except REASONS as error:
            reason = error
        except Exception as error:
            _log.exception("the connection with %s broke", stream.address)
            reason = error
        finally:
            stream.close()
            self._context.counters.connection_ended(reason)
            _log.debug("%s at %s: %s", peer and peer.node_id, stream.address, reason)
            await stream.closed.wait()
        return ConnectionLifetime(reason, finished=peer is not None and peer.is_finished)

    async def _secure(self, stream: Stream) -> bytes:
        seconds = self._context.config.handshake_timeout
        try:
            async with asyncio.timeout(seconds):
                return await stream.secure()
        except TimeoutError:
            raise TimedOut(PeerReason.TLS_TOO_SLOW, seconds=seconds) from None

    async def _talk(self, peer: Peer, stream: Stream) -> None:
        try:
            await peer.run()
        finally:
            peer.outbox.close()
            self._listener.takes_no_place(
                stream
            )  # frees its place even while messages are processed
            try:
                self._left(peer)
            finally:
                await peer.work.settle(0 if self._stopping else SETTLING)

    def _finished(self, peer: Peer) -> None:
        self._roster.finished(peer)
        self._context.counters.times_connected += 1
        self._context.handler.connected(peer.info())

    def _left(self, peer: Peer) -> None:
        self._roster.leave(peer)
        if peer.is_finished:
            self._context.counters.times_disconnected += 1
            self._context.handler.disconnected(peer.node_id)

    def _over(self, task: asyncio.Task[ConnectionLifetime]) -> None:
        self._listener.left(self._tasks.pop(task))


def _ignore(_node_id: NodeID) -> None:
    pass
