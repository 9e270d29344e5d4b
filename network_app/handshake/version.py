"""What a node runs, and whose versions it talks to (p2p.md 4, the version rule)."""

from typing import NamedTuple, Self

from typing_extensions import override

from network_app.handshake.errors import IncompatibleVersion
from network_app.wire.p2p_pb2 import Client

MAX_NAME = 24
"""Characters of a peer's name that are kept."""


class Version(NamedTuple):
    """A release of a node."""

    name: str
    major: int
    minor: int
    patch: int

    @classmethod
    def of(cls, client: Client) -> Self:
        """Return what a peer says that it runs.

        Unspecified: the reference keeps any name. Here it is shortened and loses what cannot be
        printed, since it is shown and stored.
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


PROTOCOL = Version("avalanchego", 1, 14, 2)
"""What this node announces: the release whose protocol it speaks."""
MINIMUM = (1, 14, 0)
"""The oldest that is accepted once the network's latest upgrade is active."""
MINIMUM_BEFORE = (1, 13, 0)
"""The oldest that is accepted before."""


def check_compatible(version: Version, *, upgraded: bool = True) -> None:
    """Accept a version that follows our rules.

    Args:
        version: The peer's; its name does not matter.
        upgraded: Whether the network's latest upgrade is active, as it is on networks of one's own.

    Raises:
        IncompatibleVersion: It is too old, or of a later major version.
    """
    minimum = MINIMUM if upgraded else MINIMUM_BEFORE
    if version.major > PROTOCOL.major or version.number < minimum:
        raise IncompatibleVersion(str(version))
