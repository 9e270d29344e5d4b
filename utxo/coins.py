"""Private keys in memory, which are never shown, and selection of the coins that they can spend."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import NamedTuple, Self

from primitives.ids import ID, ShortID
from primitives.keys import address_of
from primitives.secp256k1 import sign_sha256
from utxo.components import (
    UTXO,
    OutputOwners,
    TransferableInput,
    TransferableOutput,
    TransferInput,
    TransferOutput,
)


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
        """Return the first owners whose keys are here, as many as the threshold requires.

        None if there are too few of them, or if the owners cannot sign yet at the time `now`.
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


class OwnInput(NamedTuple):
    """An input, and the owners who sign for it, in the order of its indices."""

    input: TransferableInput
    signers: tuple[ShortID, ...]


class SelectedCoin(NamedTuple):
    """A coin that is spent, and its amount."""

    own: OwnInput
    amount: int


class Selection(NamedTuple):
    """The selected coins in the order in which they were taken, and amounts by asset."""

    coins: tuple[SelectedCoin, ...]
    change: Mapping[ID, int]
    """The amounts by which the selected coins exceed the requested amounts."""
    missing: Mapping[ID, int]
    """The amounts that the coins do not cover."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wallet:
    """Private keys, which its repr does not show, and the coins that they may spend."""

    keychain: Keychain
    utxos: Sequence[UTXO]
    """The coins, in the order in which they are selected."""
    change_address: ShortID
    now: int
    """The time in Unix seconds that locktimes are compared with."""
    avoided: frozenset[ID] = frozenset()
    """UTXOs that must not be spent, because another transaction spends them."""

    def transfer_output(self, utxo: UTXO) -> TransferOutput | None:
        """Return the output that the owners of a UTXO can transfer now; None if it has another content."""
        return utxo.output if isinstance(utxo.output, TransferOutput) else None

    def input_for(self, utxo: UTXO) -> OwnInput | None:
        """Return the input that transfers a UTXO.

        None if its content cannot be transferred, the keys cannot spend it now, or it is in `avoided`.
        """
        output = self.transfer_output(utxo)
        return None if output is None else self.input_for_output(utxo, output)

    def input_for_output(self, utxo: UTXO, output: TransferOutput) -> OwnInput | None:
        """Return the input that spends a UTXO's transfer output.

        None if the keys cannot spend it now, or if the UTXO is in `avoided`.
        """
        if utxo.utxo_id in self.avoided:
            return None
        signers = self.keychain.signers_for(output.owners, self.now)
        if signers is None:
            return None
        spent = TransferInput(output.amount, signers.indices)
        transferable = TransferableInput(utxo.tx_id, utxo.output_index, utxo.asset_id, spent)
        return OwnInput(transferable, signers.addresses)

    def select(self, amounts: Mapping[ID, int]) -> Selection:
        """Select coins for amounts by asset, in the wallet's order until all amounts are covered."""
        missing = {asset_id: amount for asset_id, amount in amounts.items() if amount}
        change: dict[ID, int] = {}
        coins: list[SelectedCoin] = []
        for utxo in self.utxos:
            if not missing:
                break
            output = self.transfer_output(utxo)
            if utxo.asset_id not in missing or output is None:
                continue
            own = self.input_for_output(utxo, output)
            if own is None:
                continue
            coins.append(SelectedCoin(own, output.amount))
            rest = output.amount - missing.pop(utxo.asset_id)
            if rest < 0:
                missing[utxo.asset_id] = -rest
            elif rest:
                change[utxo.asset_id] = rest
        return Selection(tuple(coins), change, missing)

    def change_output(self, asset_id: ID, amount: int) -> TransferableOutput:
        """Return an output that pays an amount to the change address."""
        return payment(asset_id, amount, self.change_address)


def payment(asset_id: ID, amount: int, address: ShortID) -> TransferableOutput:
    """Return an output that one address can spend immediately."""
    return TransferableOutput(asset_id, TransferOutput(amount, sole_owner(address)))


def sole_owner(address: ShortID) -> OutputOwners:
    """Return an owner with a single address and no locktime."""
    return OutputOwners(locktime=0, threshold=1, addresses=(address,))


def sort_inputs(inputs: Iterable[OwnInput]) -> tuple[OwnInput, ...]:
    """Return inputs in serialisation order."""
    return tuple(sorted(inputs, key=lambda own: (own.input.tx_id, own.input.output_index)))
