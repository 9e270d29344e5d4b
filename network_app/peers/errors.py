"""Reasons why a connection was refused or has ended.

Other reasons are defined next to the rules they belong to: `primitives.identity` (certificates),
`network_app.wire` (frames), `network_app.handshake` (handshakes and addresses) and
`network_app.bloom` (filters).
"""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class PeerReason(StrEnum):
    """A reason why a connection was refused or has ended."""

    NOT_REACHED = "not reached: {cause}"
    CONNECTION_LOST = "connection lost"
    TLS_FAILED = "TLS failed: {cause}"
    HTTP_INSTEAD_OF_TLS = "an HTTP server answers"
    # Rules of the protocol that the peer broke.
    SECOND_HANDSHAKE = "second handshake"
    UPTIME_TOO_HIGH = "uptime of {uptime} percent is above 100"
    TOO_MANY_UNREADABLE = "too many unreadable frames: {count}"
    TOO_MANY_EARLY = "more than {limit} frames before the end of the handshake"
    # Of `TimedOut`.
    TLS_TOO_SLOW = "TLS was not up in {seconds:g} s"
    HANDSHAKE_TOO_SLOW = "handshake was not finished in {seconds:g} s"
    NOTHING_READ = "no message in {seconds:g} s"
    NOTHING_TAKEN = "peer did not read for {seconds:g} s"
    # Of `NotWanted`.
    TOO_MANY_HALF_OPEN = "more than {limit} connections without TLS"
    TOO_MANY_INBOUND = "more than {limit} inbound connections"
    TOO_MANY_ARRIVALS = "more than {limit} inbound connections a second"
    CAME_TOO_SOON = "{host} connected less than {seconds:g} s ago"
    SELF_CONNECTION = "connection to this node itself"
    ALREADY_CONNECTED = "already connected to this node"
    MADE_ROOM = "another peer gets this connection slot"
    STOPPED = "this node stops"


class PeerError(ErrorWithReason):
    """A connection ended or could not be opened."""


class TimedOut(PeerError):
    """An operation took too long."""


class NotWanted(PeerError):
    """A connection that breaks no rule but is not kept."""
