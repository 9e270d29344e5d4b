"""Signed claims of nodes about their own address, sent by the node itself or by others (p2p.md 4, 5.1, 5.2).

Also the errors of claims and of handshakes. `network_app.gossip` decides which claims are kept and sent to peers.
"""

from dataclasses import dataclass
from enum import StrEnum
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from typing import TypeAlias

from network_app.wire.p2p_pb2 import ClaimedIpPort
from primitives import bls
from primitives.bls import Suite
from primitives.hashing import sha256
from primitives.identity import (
    CertificateError,
    PrivateKey,
    node_id_of,
    public_key_of,
    sign,
    verify,
)
from primitives.ids import ID, NodeID
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


IPAddress: TypeAlias = IPv4Address | IPv6Address

TOLERANCE = 60
"""Seconds by which a signing time may be ahead of our clock."""

_IPV4_PREFIX = bytes(10) + b"\xff\xff"
_GOSSIP_PADDING = bytes(12)
_BROADCAST = IPv4Address("255.255.255.255")
_PRIVATE = tuple(map(ip_network, ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "fc00::/7")))


@dataclass(frozen=True, slots=True)
class SignedIP:
    """The address at which a node claims to listen."""

    ip: IPAddress
    port: int
    """1 to 65535."""
    timestamp: int
    """Unix seconds of the signing; the claim with the latest timestamp counts."""
    tls_signature: bytes
    bls_signature: bytes | None = None
    """None if the claim was sent by another node."""

    @property
    def signed(self) -> bytes:
        """The message that is signed."""
        return preimage(self.ip, self.port, self.timestamp)

    @property
    def host_port(self) -> str:
        """IP:port, an IPv6 address in brackets."""
        return f"[{self.ip}]:{self.port}" if self.ip.version == 6 else f"{self.ip}:{self.port}"


@dataclass(frozen=True, slots=True)
class NodeClaim:
    """A claim, and the node that made it."""

    node_id: NodeID
    certificate_der: bytes
    claim: SignedIP

    def verify(self, now: float) -> None:
        """Verify that the node made this claim.

        Raises:
            HandshakeError: Its signing time is in the future, or its certificate or signature is not that of the node.
        """
        check_time(self.claim, now)
        verify_tls(self.claim, self.certificate_der)


def preimage(ip: IPAddress, port: int, timestamp: int) -> bytes:
    """Return the 26 bytes to sign: IPv6 or mapped IPv4 address, port, Unix seconds."""
    return _as_16_bytes(ip) + port.to_bytes(2, "big") + timestamp.to_bytes(8, "big")


def sign_ip(
    ip: IPAddress, port: int, timestamp: int, *, tls_key: PrivateKey, bls_secret: bytes
) -> SignedIP:
    """Claim an address with both keys of a node. A new claim is needed only if the address changes.

    Raises:
        InvalidSecretKey: `bls_secret` is not a BLS key.
    """
    message = preimage(ip, port, timestamp)
    return SignedIP(
        ip=ip,
        port=port,
        timestamp=timestamp,
        tls_signature=sign(tls_key, message),
        bls_signature=bls.sign(bls_secret, message, Suite.POSSESSION),
    )


def read_ip(raw: bytes) -> IPAddress:
    """Decode an address of 4 or 16 bytes; a mapped IPv4 address is returned as IPv4.

    Raises:
        HandshakeError: It has another length.
    """
    if len(raw) not in {4, 16}:
        raise HandshakeError(HandshakeReason.ADDRESS_SIZE, size=len(raw))
    return ip_address(raw.removeprefix(_IPV4_PREFIX) if len(raw) == 16 else raw)


def is_public(ip: IPAddress) -> bool:
    """Return whether an address is on the public internet, by the reference's rule (p2p.md 5.1).

    A public address is a global unicast address that is not private; RFC 1918 and RFC 4193 list the private
    ones. Shared, documentation and reserved addresses count as public.
    """
    special = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not (special or ip == _BROADCAST or any(ip in network for network in _PRIVATE))


def read_port(number: int) -> int:
    """Decode a port from the low 16 bits of a number.

    Raises:
        HandshakeError: They are 0.
    """
    port = number & 0xFFFF
    if not port:
        raise HandshakeError(HandshakeReason.PORT_ZERO)
    return port


def check_time(claim: SignedIP, now: float, *, tolerance: int = TOLERANCE) -> None:
    """Verify a claim's signing time; `now` is Unix seconds.

    Raises:
        HandshakeError: It is too far ahead.
    """
    if claim.timestamp > int(now) + tolerance:
        raise HandshakeError(
            HandshakeReason.SIGNED_IN_THE_FUTURE, timestamp=claim.timestamp, now=int(now)
        )


def verify_tls(claim: SignedIP, certificate_der: bytes) -> None:
    """Verify that a claim was signed with the key of a certificate.

    Raises:
        HandshakeError: Nodes do not use such certificates, or the claim was signed with another key.
    """
    try:
        key = public_key_of(certificate_der)
    except CertificateError as error:
        raise HandshakeError(HandshakeReason.CERTIFICATE, cause=error) from None
    if not verify(key, claim.signed, claim.tls_signature):
        raise HandshakeError(HandshakeReason.WRONG_TLS_SIGNATURE)


def verify_bls(claim: SignedIP, public_key: bytes) -> None:
    """Verify that a claim was signed with a validator's BLS key (compressed, 48 bytes).

    Raises:
        HandshakeError: It was signed with another key.
    """
    signature = claim.bls_signature or b""
    if not bls.verify(public_key, claim.signed, signature, Suite.POSSESSION):
        raise HandshakeError(HandshakeReason.WRONG_BLS_SIGNATURE)


def gossip_id(node_id: NodeID, timestamp: int) -> ID:
    """Return the ID of a claim in the filters of known addresses."""
    return ID(sha256(node_id + timestamp.to_bytes(8, "big") + _GOSSIP_PADDING))


def claimed_ip_port(certificate_der: bytes, claim: SignedIP) -> ClaimedIpPort:
    """Return a claim as the message that is sent to other nodes."""
    return ClaimedIpPort(
        x509_certificate=certificate_der,
        ip_addr=_as_16_bytes(claim.ip),
        ip_port=claim.port,
        timestamp=claim.timestamp,
        signature=claim.tls_signature,
        tx_id=bytes(ID.SIZE),
    )


def parse_claimed_ip_port(message: ClaimedIpPort) -> NodeClaim:
    """Decode a claim sent by another node, without verifying it: see `NodeClaim.verify`.

    Raises:
        HandshakeError: Its certificate or address is invalid, or its port is 0.
    """
    certificate = message.x509_certificate
    try:
        public_key_of(certificate)
    except CertificateError as error:
        raise HandshakeError(HandshakeReason.CERTIFICATE, cause=error) from None
    claim = SignedIP(
        ip=read_ip(message.ip_addr),
        port=read_port(message.ip_port),
        timestamp=message.timestamp,
        tls_signature=message.signature,
    )
    return NodeClaim(node_id_of(certificate), certificate, claim)


def _as_16_bytes(ip: IPAddress) -> bytes:
    return _IPV4_PREFIX + ip.packed if isinstance(ip, IPv4Address) else ip.packed
