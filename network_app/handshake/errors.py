"""Errors of handshakes and of claimed addresses, which close the connection.

HandshakeError
├── WrongNetwork               a node of another network
├── ClocksDiffer               its clock is too far from ours
├── TooManySubnets             it tracks more than 16
├── InvalidSubnet              a subnet's ID is not 32 bytes
├── ConflictingOpinions        it supports and objects to the same proposal
├── InvalidKnownPeers          its filter is invalid
├── IncompatibleVersion        its version is too old, or of another major version
├── MalformedBlsSignature      not the encoding of a signature
├── WrongBlsSignature          not signed with the validator's BLS key
└── ClaimError                 a claimed address, sent by its node or by others
    ├── InvalidAddress         neither 4 nor 16 bytes
    ├── InvalidPort            port 0
    ├── SignedInTheFuture      its signing time is in the future
    ├── InvalidClaimant        a certificate that nodes do not accept
    └── WrongTlsSignature      not signed with the certificate's key
"""

from network_app.bloom import BloomError
from primitives.identity import CertificateError


class HandshakeError(Exception):
    """An error that closes the connection to the peer that caused it."""


class WrongNetwork(HandshakeError):
    """A node of another network."""

    def __init__(self, theirs: int, ours: int) -> None:
        super().__init__(f"network ID {theirs} is not ours, {ours}")
        self.theirs = theirs
        self.ours = ours


class ClocksDiffer(HandshakeError):
    """A node whose clock differs too much."""

    def __init__(self, theirs: int, ours: int) -> None:
        super().__init__(f"peer's clock says {theirs}, ours {ours}: too far apart")
        self.theirs = theirs
        self.ours = ours


class TooManySubnets(HandshakeError):
    """More tracked subnets than a node may send."""

    def __init__(self, count: int, limit: int) -> None:
        super().__init__(f"peer tracks {count} subnets, more than {limit}")
        self.count = count


class InvalidSubnet(HandshakeError):
    """A tracked subnet whose ID has the wrong length."""

    def __init__(self, size: int) -> None:
        super().__init__(f"tracked subnet ID has {size} bytes, not 32")
        self.size = size


class ConflictingOpinions(HandshakeError):
    """Support of a proposal, and objection to it."""

    def __init__(self, acp: int) -> None:
        super().__init__(f"peer supports and objects to ACP {acp}")
        self.acp = acp


class InvalidKnownPeers(HandshakeError):
    """An invalid filter of known peers."""

    def __init__(self, reason: BloomError) -> None:
        super().__init__(f"known peers: {reason}")
        self.reason = reason


class IncompatibleVersion(HandshakeError):
    """A version that this node does not support."""

    def __init__(self, version: str) -> None:
        super().__init__(f"version {version} is not compatible")
        self.version = version


class MalformedBlsSignature(HandshakeError):
    """Bytes that do not encode any BLS signature."""

    def __init__(self) -> None:
        super().__init__("malformed BLS signature of the address")


class WrongBlsSignature(HandshakeError):
    """A BLS signature that was not made with the validator's key."""

    def __init__(self) -> None:
        super().__init__("BLS signature of the address is not the validator's")


class ClaimError(HandshakeError):
    """An address claim that its node cannot have made in this form."""


class InvalidAddress(ClaimError):
    """Bytes that are not an IP address."""

    def __init__(self, size: int) -> None:
        super().__init__(f"IP address has {size} bytes, neither 4 nor 16")
        self.size = size


class InvalidPort(ClaimError):
    """A port at which no node can listen."""

    def __init__(self) -> None:
        super().__init__("port is 0")


class SignedInTheFuture(ClaimError):
    """A signing time too far ahead of our clock."""

    def __init__(self, timestamp: int, now: int) -> None:
        super().__init__(f"address was signed at {timestamp}, but it is {now}")
        self.timestamp = timestamp
        self.now = now


class InvalidClaimant(ClaimError):
    """A certificate that nodes do not use."""

    def __init__(self, reason: CertificateError) -> None:
        super().__init__(str(reason))
        self.reason = reason


class WrongTlsSignature(ClaimError):
    """A signature that was not made with the certificate's key."""

    def __init__(self) -> None:
        super().__init__("signature of the address is not its node's")
