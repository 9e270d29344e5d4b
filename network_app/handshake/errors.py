"""Errors of handshakes and of claimed addresses."""

from enum import StrEnum

from primitives.reasons import ErrorWithReason


class HandshakeReason(StrEnum):
    """A rule that a handshake or a claimed address breaks."""

    WRONG_NETWORK = "network ID {theirs} is not ours, {ours}"
    CLOCKS_DIFFER = "peer's clock says {theirs}, ours {ours}: too far apart"
    TOO_MANY_SUBNETS = "peer tracks {count} subnets, more than {limit}"
    SUBNET_ID_SIZE = "tracked subnet ID has {size} bytes, not 32"
    CONFLICTING_OPINIONS = "peer supports and objects to ACP {acp}"
    KNOWN_PEERS = "known peers: {cause}"
    INCOMPATIBLE_VERSION = "version {version} is not compatible"
    MALFORMED_BLS_SIGNATURE = "malformed BLS signature of the address"
    WRONG_BLS_SIGNATURE = "BLS signature of the address is not the validator's"
    # Of a claimed address, sent by its node or by others.
    ADDRESS_SIZE = "IP address has {size} bytes, neither 4 nor 16"
    PORT_ZERO = "port is 0"
    SIGNED_IN_THE_FUTURE = "address was signed at {timestamp}, but it is {now}"
    CERTIFICATE = "{cause}"
    WRONG_TLS_SIGNATURE = "signature of the address is not its node's"


class HandshakeError(ErrorWithReason):
    """An error that closes the connection to the peer that caused it."""
