"""Private keys in memory: the outputs that they can spend, and signing. Keys are never shown."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Self

from primitives.ids import ShortID
from primitives.keys import address_of
from primitives.secp256k1 import sign_sha256
from utxo.components import OutputOwners


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
        with_key = (
            (index, address)
            for index, address in enumerate(owners.addresses)
            if address in self.keys
        )
        signing = tuple(islice(with_key, owners.threshold))
        if len(signing) < owners.threshold:
            return None
        indices = tuple(index for index, _ in signing)
        return SigningOwners(indices, tuple(address for _, address in signing))

    def sign(self, digest: bytes, address: ShortID) -> bytes:
        """Return the 65-byte signature of a SHA-256 digest by the key of an address."""
        return sign_sha256(digest, self.keys[address])

    def sign_inputs(
        self, digest: bytes, signers: Iterable[Sequence[ShortID]]
    ) -> Iterator[tuple[bytes, ...]]:
        """Yield the signatures of a digest for each input's signers. Each address signs only once."""
        signatures: dict[ShortID, bytes] = {}
        for addresses in signers:
            for address in addresses:
                if address not in signatures:
                    signatures[address] = self.sign(digest, address)
            yield tuple(signatures[address] for address in addresses)
