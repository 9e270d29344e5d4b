"""Private keys in memory: the outputs that they can spend, and signing. Keys are never shown."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Self

from platform_app.txs.components import OutputOwners
from primitives.ids import ShortID
from primitives.keys import address_of
from primitives.secp256k1 import sign_sha256


class SigningOwners(NamedTuple):
    """The owners who sign: their indices among all owners, and their addresses in the same order."""

    indices: tuple[int, ...]
    addresses: tuple[ShortID, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Keychain:
    """Keys by address, in the order given."""

    keys: Mapping[ShortID, bytes] = field(repr=False)

    @classmethod
    def of(cls, keys: Iterable[bytes]) -> Self:
        """Create a keychain from private keys of 32 bytes.

        Raises:
            InvalidPrivateKey: One of them is not a valid key.
        """
        return cls({address_of(key): key for key in keys})

    @property
    def addresses(self) -> tuple[ShortID, ...]:
        """The addresses of the keys."""
        return tuple(self.keys)

    def signers_for(self, owners: OutputOwners, now: int) -> SigningOwners | None:
        """Return the signers for owners: as many as the threshold, the first ones whose keys are here.

        None if there are too few, or if they cannot sign yet at the time `now`.
        """
        if owners.locktime > now:
            return None
        held = ((place, one) for place, one in enumerate(owners.addresses) if one in self.keys)
        signing = tuple(islice(held, owners.threshold))
        if len(signing) < owners.threshold:
            return None
        return SigningOwners(tuple(place for place, _ in signing), tuple(one for _, one in signing))

    def sign(self, digest: bytes, address: ShortID) -> bytes:
        """Return the 65-byte signature of a SHA-256 digest by the key of an address."""
        return sign_sha256(digest, self.keys[address])
