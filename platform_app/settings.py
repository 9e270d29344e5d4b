"""The settings of the P-Chain."""

from dataclasses import dataclass

from primitives.settings import flag


@dataclass(frozen=True, slots=True)
class PlatformSettings:
    """The settings of the P-Chain."""

    keystore_users: int = flag(1000, "Maximum users of this node's keystore.", least=0)
