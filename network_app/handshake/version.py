"""The version of a node, and the versions that it accepts from peers (p2p.md 4, the version rule)."""

from typing import NamedTuple, Self

from typing_extensions import override

from network_app.handshake.errors import HandshakeError, HandshakeReason
from network_app.wire.p2p_pb2 import Client

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
