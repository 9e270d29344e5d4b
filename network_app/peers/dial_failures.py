"""Reasons why a bootstrapper cannot be reached, as text for logs and health and as a label for metrics.

Unspecified: the reference logs a clock that is too far off as a warning when the peer is a bootstrapper, and
everything else for debugging only.
"""

import logging
import time
from collections.abc import Callable

from network_app.handshake.claims import TOLERANCE, HandshakeError, HandshakeReason
from network_app.peers.errors import NotWanted, PeerError, PeerReason, TimedOut
from network_app.peers.throttle import LogLimit
from network_app.ports import DialFailure
from network_app.wire.errors import WireError
from primitives.identity import CertificateError

JITTER = 2
"""Seconds by which measured clock offsets may differ before the message changes."""
GRACE = 10.0
"""Seconds before a failure is logged, because failures are normal while the nodes of a network start."""
OUTDATED = 120.0
"""Seconds after which a closed connection replaces a more precise reason, twice the longest wait between dials."""
TRANSIENT = frozenset({"unreachable", "closed", "timeout"})
"""Reasons that may no longer hold at the next dial."""

STAKING_PORT = (
    "NODE_BOOTSTRAP needs the staking port (9651 by default), not the HTTP port (9650 by default)"
)

_log = logging.getLogger(__name__)


def explain(address: str, error: Exception) -> DialFailure:
    """Return the reason why an outbound connection failed, and how to fix it. Pure."""
    offset = None
    match error:
        case HandshakeError(
            reason=HandshakeReason.CLOCKS_DIFFER, values={"theirs": int(theirs), "ours": int(ours)}
        ):
            offset = ours - theirs
            reason, message = "clock", _clock_message(offset)
        case HandshakeError(
            reason=HandshakeReason.SIGNED_IN_THE_FUTURE,
            values={"timestamp": int(signed), "now": int(now)},
        ):
            reason = "clock"
            message = (
                f"it signed its address {signed - now} s ahead of this node's clock: synchronize both "
                "clocks (NTP), then restart the bootstrapper if its clock was wrong"
            )
        case HandshakeError(
            reason=HandshakeReason.WRONG_NETWORK, values={"theirs": theirs, "ours": ours}
        ):
            reason = "network_id"
            message = (
                f"it is on network {theirs}, this node is on network {ours}: correct NODE_BOOTSTRAP or "
                "NODE_NETWORK_ID"
            )
        case HandshakeError(reason=HandshakeReason.INCOMPATIBLE_VERSION):
            reason, message = "version", f"its {error}: update the older of both nodes"
        case HandshakeError():
            reason, message = "handshake", f"its handshake is invalid: {error}"
        case PeerError(reason=PeerReason.HTTP_INSTEAD_OF_TLS):
            reason, message = "wrong_port", f"an HTTP server answers: {STAKING_PORT}"
        case PeerError(reason=PeerReason.TLS_FAILED) | CertificateError():
            reason, message = "tls", f"its TLS is not that of a node ({error}): {STAKING_PORT}"
        case WireError():
            reason = "wrong_port"
            message = f"it does not speak the peer protocol ({error}): {STAKING_PORT}"
        case PeerError(reason=PeerReason.NOT_REACHED):
            reason = "unreachable"
            message = f"{error}: check that the node runs and that its staking port is open"
        case PeerError(reason=PeerReason.CONNECTION_LOST):
            reason = "closed"
            message = (
                "it closed the connection before the handshake was finished: check its log, its clock and that the "
                "port is its staking port"
            )
        case TimedOut():
            reason = "timeout"
            message = f"{error}: check that the node responds and that the port is its staking port"
        case _:
            reason, message = "other", str(error) or type(error).__name__
    return DialFailure(address, reason, message, offset)


class DialFailures:
    """The latest failure of each dialled bootstrapper; logs one line a minute for each address and reason."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._log_limit = LogLimit(clock)
        self._latest: dict[str, tuple[DialFailure, float]] = {}
        """The failure at each address, and its time."""
        self._since: dict[str, float] = {}
        """Time of the first failure in a row, by address."""

    def ended(self, address: str, error: Exception, *, finished: bool) -> None:
        """Record the end of a connection or of a connection attempt.

        Args:
            address: The bootstrapper's address, as host:port.
            error: The reason.
            finished: Whether the handshake was finished, which means that the bootstrapper was reached.
        """
        if finished or isinstance(
            error, NotWanted
        ):  # this node's own decision, for example because of a second connection
            self._latest.pop(address, None)
            self._since.pop(address, None)
            return
        now = self._clock()
        failure = explain(address, error)
        known, at = self._latest.get(address, (failure, now))
        if failure.reason == "closed" and known.reason not in TRANSIENT and now - at < OUTDATED:
            return  # peers close connections that follow each other too soon
        if _is_same_clock(known, failure):
            failure = known
        self._latest[address] = failure, now
        since = self._since.setdefault(address, now)
        if failure.reason in TRANSIENT and now - since < GRACE:
            return
        if self._log_limit.allows((address, failure.reason)):
            _log.warning("cannot connect to %s", failure)

    def latest(self) -> dict[str, DialFailure]:
        """Return the failures by address."""
        return {address: failure for address, (failure, _) in self._latest.items()}


def _is_same_clock(known: DialFailure, failure: DialFailure) -> bool:
    offsets = known.clock_offset, failure.clock_offset
    return None not in offsets and abs(offsets[0] - offsets[1]) <= JITTER  # type: ignore[operator]


def _clock_message(offset: int) -> str:
    where = "ahead of" if offset > 0 else "behind"
    return (
        f"this node's clock is {abs(offset)} s {where} the bootstrapper's, at most {TOLERANCE} s are accepted: "
        "synchronize the clocks (NTP)"
    )
