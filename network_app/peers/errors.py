"""Why a connection was refused or has ended.

A class stands for one reason. Others come from the rooms whose rules they are: `primitives.identity`
(certificates), `network_app.wire` (frames), `network_app.handshake` (handshakes and addresses) and
`network_app.bloom` (filters).

    PeerError
    ├── NotReached            dialled, and nobody answered
    ├── ConnectionLost        the other side closed it, or it broke
    ├── TlsFailed             no TLS came up, or it broke a rule of TLS
    │   └── HttpInsteadOfTls  the other side is an HTTP server
    ├── TimedOut
    │   ├── TlsTooSlow        TLS was not up in time
    │   ├── HandshakeTooSlow  the handshake was not finished in time
    │   ├── NothingRead       nothing came for too long
    │   └── NothingTaken      the other side takes nothing of what is sent
    ├── NotWanted
    │   ├── TooManyHalfOpen   too many connections are without TLS: an old one gives way
    │   ├── TooManyInbound    too many strangers have connected
    │   ├── TooManyArrivals   too many connect in this second
    │   ├── CameTooSoon       the same address, or many beside it, connected a moment ago
    │   ├── SelfConnection    it leads to this node
    │   ├── AlreadyConnected  there is one to the same node
    │   ├── MadeRoom          somebody takes its place who may do more with it
    │   └── Stopped           this node stops
    └── RuleBroken
        ├── SecondHandshake   it had one
        ├── UptimeTooHigh     a ping with more than 100 percent
        ├── TooManyUnreadable frames again and again that no honest peer sends
        └── TooManyEarly      more frames than a handshake is made of, and it is not finished
"""


class PeerError(Exception):
    """A connection that is not there any more, and why."""


class NotReached(PeerError):
    """Nobody answers at an address."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not reached: {reason}")


class ConnectionLost(PeerError):
    """The other side closed the connection, or it broke."""

    def __init__(self) -> None:
        super().__init__("connection lost")


class TlsFailed(PeerError):
    """TLS did not come up, or was broken later."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"TLS failed: {reason}")


class HttpInsteadOfTls(TlsFailed):
    """An HTTP response arrived where TLS was expected."""

    def __init__(self) -> None:
        super().__init__("an HTTP server answers")


class TimedOut(PeerError):
    """Something took too long."""


class TlsTooSlow(TimedOut):
    """TLS was not up in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"TLS was not up in {seconds:g} s")


class HandshakeTooSlow(TimedOut):
    """The handshake was not finished in time."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"handshake was not finished in {seconds:g} s")


class NothingRead(TimedOut):
    """No message, or no whole one, for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no message in {seconds:g} s")


class NothingTaken(TimedOut):
    """What is sent is not read on the other side."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"peer did not read for {seconds:g} s")


class NotWanted(PeerError):
    """A connection that breaks no rule but is not kept."""


class TooManyHalfOpen(NotWanted):
    """Too many connections whose TLS is not up."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} connections without TLS")


class TooManyInbound(NotWanted):
    """Too many connections that others opened."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} inbound connections")


class TooManyArrivals(NotWanted):
    """Too many connections in a second."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} inbound connections a second")


class CameTooSoon(NotWanted):
    """A host that connected a moment ago, or one of a network of which many did."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(f"{host} connected less than {seconds:g} s ago")


class SelfConnection(NotWanted):
    """This node, reached by one of its own addresses."""

    def __init__(self) -> None:
        super().__init__("connection to this node itself")


class AlreadyConnected(NotWanted):
    """One connection to a node is enough."""

    def __init__(self) -> None:
        super().__init__("already connected to this node")


class MadeRoom(NotWanted):
    """All places are taken, and this one was of no use."""

    def __init__(self) -> None:
        super().__init__("somebody else takes this place")


class Stopped(NotWanted):
    """The network stops."""

    def __init__(self) -> None:
        super().__init__("this node stops")


class RuleBroken(PeerError):
    """The peer did what no peer does."""


class SecondHandshake(RuleBroken):
    """A handshake after the first one."""

    def __init__(self) -> None:
        super().__init__("second handshake")


class UptimeTooHigh(RuleBroken):
    """More uptime than there is time."""

    def __init__(self, uptime: int) -> None:
        super().__init__(f"uptime of {uptime} percent is above 100")
        self.uptime = uptime


class TooManyUnreadable(RuleBroken):
    """Frames that nobody can read."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} unreadable frames")


class TooManyEarly(RuleBroken):
    """Frames without end before the handshake is finished."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} frames before the end of the handshake")
