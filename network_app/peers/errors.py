"""Reasons why a connection was refused or has ended, one class for each reason.

Other reasons are defined next to the rules they belong to: `primitives.identity` (certificates),
`network_app.wire` (frames), `network_app.handshake` (handshakes and addresses) and
`network_app.bloom` (filters).

    PeerError
    ├── NotReached            no answer to a dial
    ├── ConnectionLost        the peer closed the connection, or it broke
    ├── TlsFailed             the TLS handshake failed, or the peer violated TLS later
    │   └── HttpInsteadOfTls  the peer is an HTTP server
    ├── TimedOut
    │   ├── TlsTooSlow        the TLS handshake took too long
    │   ├── HandshakeTooSlow  the handshake took too long
    │   ├── NothingRead       no bytes arrived for too long
    │   └── NothingTaken      the peer does not read the data sent to it
    ├── NotWanted
    │   ├── TooManyHalfOpen   too many connections without TLS: the oldest one is closed
    │   ├── TooManyInbound    too many unknown peers are connected
    │   ├── TooManyArrivals   too many connections in this second
    │   ├── CameTooSoon       the same address, or too many of its network, connected a moment ago
    │   ├── SelfConnection    the node dialled itself
    │   ├── AlreadyConnected  the node is connected already
    │   ├── MadeRoom          an idle connection is closed in favour of a new one
    │   └── Stopped           this node stops
    └── RuleBroken
        ├── SecondHandshake   a second handshake message
        ├── UptimeTooHigh     a ping with more than 100 percent
        ├── TooManyUnreadable repeated frames that no honest peer sends
        └── TooManyEarly      too many frames before the handshake is finished
"""


class PeerError(Exception):
    """A connection ended or could not be opened; the base class of the reasons."""


class NotReached(PeerError):
    """An address did not answer."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"not reached: {reason}")


class ConnectionLost(PeerError):
    """The peer closed the connection, or it broke."""

    def __init__(self) -> None:
        super().__init__("connection lost")


class TlsFailed(PeerError):
    """The TLS handshake failed, or the peer violated TLS later."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"TLS failed: {reason}")


class HttpInsteadOfTls(TlsFailed):
    """An HTTP response arrived where TLS was expected."""

    def __init__(self) -> None:
        super().__init__("an HTTP server answers")


class TimedOut(PeerError):
    """An operation took too long."""


class TlsTooSlow(TimedOut):
    """The TLS handshake took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"TLS was not up in {seconds:g} s")


class HandshakeTooSlow(TimedOut):
    """The handshake took too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"handshake was not finished in {seconds:g} s")


class NothingRead(TimedOut):
    """No complete message arrived for too long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"no message in {seconds:g} s")


class NothingTaken(TimedOut):
    """The peer does not read the data sent to it."""

    def __init__(self, seconds: float) -> None:
        super().__init__(f"peer did not read for {seconds:g} s")


class NotWanted(PeerError):
    """A connection that breaks no rule but is not kept."""


class TooManyHalfOpen(NotWanted):
    """There are too many connections without a completed TLS handshake."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} connections without TLS")


class TooManyInbound(NotWanted):
    """There are too many inbound connections."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} inbound connections")


class TooManyArrivals(NotWanted):
    """Too many connections were opened in a second."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} inbound connections a second")


class CameTooSoon(NotWanted):
    """The host, or too many hosts of its network, connected a moment ago."""

    def __init__(self, host: str, seconds: float) -> None:
        super().__init__(f"{host} connected less than {seconds:g} s ago")


class SelfConnection(NotWanted):
    """This node reached itself at one of its own addresses."""

    def __init__(self) -> None:
        super().__init__("connection to this node itself")


class AlreadyConnected(NotWanted):
    """The node already has a connection."""

    def __init__(self) -> None:
        super().__init__("already connected to this node")


class MadeRoom(NotWanted):
    """All places were taken, and this connection was idle."""

    def __init__(self) -> None:
        super().__init__("somebody else takes this place")


class Stopped(NotWanted):
    """The network stops."""

    def __init__(self) -> None:
        super().__init__("this node stops")


class RuleBroken(PeerError):
    """The peer broke a rule of the protocol."""


class SecondHandshake(RuleBroken):
    """The peer sent a second handshake message."""

    def __init__(self) -> None:
        super().__init__("second handshake")


class UptimeTooHigh(RuleBroken):
    """The peer reported an uptime above 100 percent."""

    def __init__(self, uptime: int) -> None:
        super().__init__(f"uptime of {uptime} percent is above 100")
        self.uptime = uptime


class TooManyUnreadable(RuleBroken):
    """The peer sent several unreadable frames."""

    def __init__(self, count: int) -> None:
        super().__init__(f"{count} unreadable frames")


class TooManyEarly(RuleBroken):
    """The peer sent too many frames before its handshake was finished."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"more than {limit} frames before the end of the handshake")
