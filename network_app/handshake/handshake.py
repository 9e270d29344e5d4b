"""The first message of each side: created from our settings, and checked rule by rule (p2p.md 4).

This includes the version of a node, and the versions that it accepts from peers.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

from typing_extensions import override

from network_app.bloom import EMPTY, BloomError, BloomFilter
from network_app.handshake.claims import (
    TOLERANCE,
    HandshakeError,
    HandshakeReason,
    SignedIP,
    check_time,
    read_ip,
    read_port,
    verify_bls,
    verify_tls,
)
from network_app.wire.p2p_pb2 import BloomFilter as FilterMessage
from network_app.wire.p2p_pb2 import Client, Handshake
from primitives import bls
from primitives.ids import ID, PRIMARY_NETWORK_ID

MAX_NAME = 24
"""Maximum length of a peer's name; longer names are cut off."""


class ReleaseVersion(NamedTuple):
    """A release of the node software."""

    name: str
    major: int
    minor: int
    patch: int

    @classmethod
    def of(cls, client: Client) -> Self:
        """Return the version that a peer announces.

        Unspecified: the reference keeps any name. Here it is shortened, and non-printable characters are
        removed, because the name is displayed and stored.
        """
        name = "".join(filter(str.isprintable, client.name[:MAX_NAME]))
        return cls(name, client.major, client.minor, client.patch)

    def client(self) -> Client:
        """Return the version as a message."""
        return Client(name=self.name, major=self.major, minor=self.minor, patch=self.patch)

    @property
    def number(self) -> tuple[int, int, int]:
        """The version without the name, for comparisons."""
        return self.major, self.minor, self.patch

    @override
    def __str__(self) -> str:
        return f"{self.name}/{self.major}.{self.minor}.{self.patch}"


PROTOCOL = ReleaseVersion("avalanchego", 1, 14, 2)
"""The version that this node announces: the release whose protocol it implements."""
MINIMUM = (1, 14, 0)
"""The oldest version accepted once the network's latest upgrade is active."""
MINIMUM_BEFORE = (1, 13, 0)
"""The oldest version accepted before that."""


def check_compatible(version: ReleaseVersion, *, upgraded: bool = True) -> None:
    """Verify that a version follows our rules.

    Args:
        version: The peer's version; the name is ignored.
        upgraded: Whether the network's latest upgrade is active, as it is on private networks.

    Raises:
        HandshakeError: It is too old, or of a later major version.
    """
    minimum = MINIMUM if upgraded else MINIMUM_BEFORE
    if version.major > PROTOCOL.major or version.number < minimum:
        raise HandshakeError(HandshakeReason.INCOMPATIBLE_VERSION, version=str(version))


MAX_SUBNETS = 16
DEBATED_ACPS: frozenset[int] = frozenset()
"""Proposals on which nodes may state an opinion. Unspecified: none is open at release 1.14.2."""

_MAX_STORED = 2**63 - 1


@dataclass(frozen=True, slots=True)
class PeerVersionInfo:
    """The content of a valid handshake."""

    version: ReleaseVersion
    claim: SignedIP
    tracked_subnets: tuple[ID, ...]
    """Sorted and without duplicates or the Primary Network, which every node tracks."""
    supported_acps: tuple[int, ...]
    """Sorted; only open proposals."""
    objected_acps: tuple[int, ...]
    upgrade_time: int
    """Unix seconds; limited to the range of a database column."""
    known_peers: BloomFilter
    """Gossip IDs of the claims known to the peer."""
    all_subnets: bool


def make(
    *,
    network_id: int,
    now: float,
    claim: SignedIP,
    tracked_subnets: Iterable[ID],
    known_peers: tuple[bytes, bytes],
    all_subnets: bool,
    upgrade_time: int,
    supported_acps: Sequence[int] = (),
    objected_acps: Sequence[int] = (),
) -> Handshake:
    """Return our own handshake.

    Args:
        network_id: ID of our network.
        now: Unix seconds.
        claim: Our address, signed with both keys.
        tracked_subnets: Without the Primary Network.
        known_peers: A filter of the claims that we know, and its salt.
        all_subnets: Whether to request the addresses of every subnet's validators.
        upgrade_time: Unix seconds of the network's latest upgrade.
        supported_acps: Open proposals that we support.
        objected_acps: Open proposals that we object to.
    """
    entries, salt = known_peers
    return Handshake(
        network_id=network_id,
        my_time=int(now),
        ip_addr=claim.ip.packed,
        ip_port=claim.port,
        upgrade_time=upgrade_time,
        ip_signing_time=claim.timestamp,
        ip_node_id_sig=claim.tls_signature,
        ip_bls_sig=claim.bls_signature or b"",
        tracked_subnets=tracked_subnets,
        client=PROTOCOL.client(),
        supported_acps=supported_acps,
        objected_acps=objected_acps,
        known_peers=FilterMessage(filter=entries, salt=salt),
        all_subnets=all_subnets,
    )


def check(
    handshake: Handshake,
    *,
    certificate_der: bytes,
    network_id: int,
    now: float,
    validator_key: bytes | None,
    upgraded: bool = True,
    clock_tolerance: int = TOLERANCE,
    debated_acps: Collection[int] = DEBATED_ACPS,
) -> PeerVersionInfo:
    """Verify a peer's handshake and return its content.

    Args:
        handshake: The peer's first message.
        certificate_der: The peer's TLS certificate.
        network_id: ID of our network.
        now: Unix seconds.
        validator_key: The peer's BLS key, if it validates the Primary Network and has one.
        upgraded: Whether the network's latest upgrade is active.
        clock_tolerance: Seconds by which clocks may differ.
        debated_acps: Open proposals; opinions on other proposals are dropped.

    Raises:
        HandshakeError: The handshake breaks a rule; the connection must be closed.
    """
    _check_network(handshake, network_id)
    _check_clock(handshake, now, clock_tolerance)
    subnets = _tracked_subnets(handshake)
    supported, objected = _opinions(handshake, debated_acps)
    known_peers = _known_peers(handshake)
    claim = _claim(handshake)
    check_time(claim, now, tolerance=clock_tolerance)
    version = ReleaseVersion.of(handshake.client)
    check_compatible(version, upgraded=upgraded)
    verify_tls(claim, certificate_der)
    if not bls.is_signature(handshake.ip_bls_sig):
        raise HandshakeError(HandshakeReason.MALFORMED_BLS_SIGNATURE)
    if validator_key is not None:
        verify_bls(claim, validator_key)
    return PeerVersionInfo(
        version=version,
        claim=claim,
        tracked_subnets=subnets,
        supported_acps=supported,
        objected_acps=objected,
        upgrade_time=min(handshake.upgrade_time, _MAX_STORED),
        known_peers=known_peers,
        all_subnets=handshake.all_subnets,
    )


def read_filter(message: FilterMessage) -> BloomFilter:
    """Parse the filter of known peers in a handshake or in a later request for addresses.

    Raises:
        HandshakeError: The filter is invalid or missing.
    """
    try:
        return BloomFilter.parse(message.filter, message.salt)
    except BloomError as error:
        raise HandshakeError(HandshakeReason.KNOWN_PEERS, cause=error) from None


def _check_network(handshake: Handshake, network_id: int) -> None:
    if handshake.network_id != network_id:
        raise HandshakeError(
            HandshakeReason.WRONG_NETWORK, theirs=handshake.network_id, ours=network_id
        )


def _check_clock(handshake: Handshake, now: float, tolerance: int) -> None:
    if abs(handshake.my_time - int(now)) > tolerance:
        raise HandshakeError(HandshakeReason.CLOCKS_DIFFER, theirs=handshake.my_time, ours=int(now))


def _tracked_subnets(handshake: Handshake) -> tuple[ID, ...]:
    if len(handshake.tracked_subnets) > MAX_SUBNETS:
        raise HandshakeError(
            HandshakeReason.TOO_MANY_SUBNETS,
            count=len(handshake.tracked_subnets),
            limit=MAX_SUBNETS,
        )
    for raw in handshake.tracked_subnets:
        if len(raw) != ID.SIZE:
            raise HandshakeError(HandshakeReason.SUBNET_ID_SIZE, size=len(raw))
    subnets = {ID(raw) for raw in handshake.tracked_subnets}
    return tuple(sorted(subnets - {PRIMARY_NETWORK_ID}))


def _opinions(
    handshake: Handshake, debated: Collection[int]
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the open proposals that are supported, and those that are objected to."""
    supported = {acp for acp in handshake.supported_acps if acp in debated}
    objected = {acp for acp in handshake.objected_acps if acp in debated}
    if both := supported & objected:
        raise HandshakeError(HandshakeReason.CONFLICTING_OPINIONS, acp=min(both))
    return tuple(sorted(supported)), tuple(sorted(objected))


def _known_peers(handshake: Handshake) -> BloomFilter:
    return read_filter(handshake.known_peers) if handshake.HasField("known_peers") else EMPTY


def _claim(handshake: Handshake) -> SignedIP:
    return SignedIP(
        ip=read_ip(handshake.ip_addr),
        port=read_port(handshake.ip_port),
        timestamp=handshake.ip_signing_time,
        tls_signature=handshake.ip_node_id_sig,
        bls_signature=handshake.ip_bls_sig,
    )
