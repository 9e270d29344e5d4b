"""Transactions of a wallet: selects coins for the fee, adds change, and signs (xchain.md 16)."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from primitives.hashing import sha256
from primitives.ids import ID, ShortID
from primitives.uint64 import MAX
from utxo.coins import Keychain, OwnInput, Wallet, payment, sole_owner, sort_inputs
from utxo.components import (
    Credential,
    OutputOwners,
    SignatureCredential,
    TransferableInput,
    TransferableOutput,
    TransferOutput,
    UtxoContent,
)
from utxo.well_formed import sort_outputs
from xchain_app.config import AvmEnv
from xchain_app.txs import base
from xchain_app.txs.base import AssetState, AvmBaseTx, AvmTx
from xchain_app.txs.codec import CODEC, build, sign_bytes
from xchain_app.txs.extensions import (
    COINS,
    COLLECTIBLES,
    MintOutput,
    NftCredential,
    NftMintOutput,
    PropertyCredential,
    extension_of,
)
from xchain_app.txs.syntax import MAX_MEMO_SIZE, content_key
from xchain_app.wallet.errors import AvmWalletError, AvmWalletReason
from xchain_app.wallet.spending import OwnOperation, select, select_all, sort_operations

_CREDENTIALS = (SignatureCredential, NftCredential, PropertyCredential)
"""The class of credentials of an extension, by its index."""


class AssetPayment(NamedTuple):
    """An amount of an asset for an address."""

    asset_id: ID
    amount: int
    to: ShortID


class AssetNames(NamedTuple):
    """The names of a new asset."""

    name: str
    symbol: str
    denomination: int


class _Funding(NamedTuple):
    """Inputs that pay for a transaction, and its outputs with the change."""

    inputs: tuple[OwnInput, ...]
    outputs: tuple[TransferableOutput, ...]


@dataclass(frozen=True, slots=True)
class AvmWallet:
    """Builds transactions of one chain.

    Args:
        env: The chain and its network.
        wallet: The keys and their UTXOs, with the address for change.
    """

    env: AvmEnv
    wallet: Wallet

    def send(self, payments: Sequence[AssetPayment], memo: bytes = b"") -> AvmTx:
        """Return a transaction that pays several amounts.

        Raises:
            AvmWalletError: There are no payments or an amount is zero; the memo is too long; the coins do not suffice.
        """
        if len(memo) > MAX_MEMO_SIZE:
            raise AvmWalletError(AvmWalletReason.MEMO_TOO_LONG, limit=MAX_MEMO_SIZE, size=len(memo))
        if not payments:
            raise AvmWalletError(AvmWalletReason.NO_OUTPUTS)
        amounts: dict[ID, int] = {}
        for item in payments:
            if not item.amount:
                raise AvmWalletError(AvmWalletReason.ZERO_AMOUNT)
            amounts[item.asset_id] = amounts.get(item.asset_id, 0) + item.amount
        outputs = [payment(*item) for item in payments]
        funding = self._fund(amounts, self.env.config.tx_fee, outputs)
        return self._sign(AvmBaseTx(*self._base(funding, memo)), funding)

    def create_asset(
        self,
        names: AssetNames,
        holders: Sequence[tuple[int, ShortID]],
        minters: Sequence[OutputOwners],
    ) -> AvmTx:
        """Return a transaction that creates an asset of coins.

        Raises:
            AvmWalletError: There are neither holders nor minters; the coins do not suffice for the fee.
        """
        if not holders and not minters:
            raise AvmWalletError(AvmWalletReason.NO_HOLDERS)
        held = [TransferOutput(amount, sole_owner(address)) for amount, address in holders]
        return self._create(names, COINS, [*held, *map(MintOutput, minters)])

    def create_collectibles(self, names: AssetNames, minters: Sequence[OutputOwners]) -> AvmTx:
        """Return a transaction that creates an asset of collectibles; the i-th minters have the right for group i.

        Raises:
            AvmWalletError: There are no minters; the coins do not suffice for the fee.
        """
        if not minters:
            raise AvmWalletError(AvmWalletReason.NO_MINTERS)
        rights = [NftMintOutput(group, owners) for group, owners in enumerate(minters)]
        return self._create(names, COLLECTIBLES, rights)

    def operate(
        self, operations: Sequence[OwnOperation], keychain: Keychain | None = None
    ) -> AvmTx:
        """Return a transaction that executes operations.

        Args:
            operations: The operations.
            keychain: The keys that sign; None: those of the wallet, which also pays the fee.

        Raises:
            AvmWalletError: The coins do not suffice for the fee.
        """
        ordered = sort_operations(operations)
        funding = self._fund({}, self.env.config.tx_fee, ())
        unsigned = base.OperationTx(*self._base(funding), tuple(own.operation for own in ordered))
        return self._sign(unsigned, funding, operations=ordered, keychain=keychain)

    def export(self, exported: AssetPayment, destination: ID) -> AvmTx:
        """Return a transaction that exports an amount to an address on another chain.

        Raises:
            AvmWalletError: The amount is zero; the coins do not suffice.
        """
        if not exported.amount:
            raise AvmWalletError(AvmWalletReason.ZERO_AMOUNT)
        funding = self._fund({exported.asset_id: exported.amount}, self.env.config.tx_fee, ())
        unsigned = base.AvmExportTx(*self._base(funding), destination, (payment(*exported),))
        return self._sign(unsigned, funding)

    def import_all(self, shared: Wallet, source: ID, to: ShortID) -> AvmTx:
        """Return a transaction that imports all outputs which another chain has exported to the keys.

        The fee is paid from the imported coins, or from coins of this chain if they do not suffice.

        Args:
            shared: The keys and the exported outputs.
            source: The chain that exported them.
            to: The address that gets the coins.

        Raises:
            AvmWalletError: The coins do not suffice for the fee.
        """
        found = select_all(shared)
        fee, fee_asset = self.env.config.tx_fee, self.env.fee_asset_id
        amounts = dict(found.amounts)
        paid = min(fee, amounts.get(fee_asset, 0))
        amounts[fee_asset] = amounts.get(fee_asset, 0) - paid
        outputs = [payment(asset, amount, to) for asset, amount in amounts.items() if amount]
        funding = self._fund({}, fee - paid, outputs)
        imported = sort_inputs(found.inputs)
        unsigned = base.AvmImportTx(
            *self._base(funding), source, tuple(own.input for own in imported)
        )
        return self._sign(unsigned, funding, imported=imported)

    def _create(self, names: AssetNames, extension: int, contents: Iterable[UtxoContent]) -> AvmTx:
        ordered = sorted(contents, key=content_key)
        funding = self._fund({}, self.env.config.create_asset_tx_fee, ())
        state = AssetState(extension, tuple(ordered))
        return self._sign(base.CreateAssetTx(*self._base(funding), *names, (state,)), funding)

    def _fund(
        self, amounts: Mapping[ID, int], fee: int, outputs: Iterable[TransferableOutput]
    ) -> _Funding:
        needed = dict(amounts)
        needed[self.env.fee_asset_id] = needed.get(self.env.fee_asset_id, 0) + fee
        if any(amount > MAX for amount in needed.values()):
            raise AvmWalletError(AvmWalletReason.AMOUNT_OVERFLOW)
        selection = select(self.wallet, needed)
        change = [
            self.wallet.change_output(asset, amount) for asset, amount in selection.change.items()
        ]
        return _Funding(
            sort_inputs(coin.own for coin in selection.coins),
            sort_outputs([*outputs, *change], CODEC),
        )

    def _base(
        self, funding: _Funding, memo: bytes = b""
    ) -> tuple[int, ID, tuple[TransferableOutput, ...], tuple[TransferableInput, ...], bytes]:
        """Return the base fields of a transaction."""
        inputs = tuple(own.input for own in funding.inputs)
        return self.env.config.network_id, self.env.chain_id, funding.outputs, inputs, memo

    def _sign(
        self,
        unsigned: AvmBaseTx,
        funding: _Funding,
        *,
        imported: Sequence[OwnInput] = (),
        operations: Sequence[OwnOperation] = (),
        keychain: Keychain | None = None,
    ) -> AvmTx:
        digest = sha256(sign_bytes(unsigned))
        inputs = (*funding.inputs, *imported)
        signers = [*(own.signers for own in inputs), *(own.signers for own in operations)]
        kinds = [SignatureCredential] * len(inputs) + [
            _CREDENTIALS[extension_of(own.operation.operation)] for own in operations
        ]
        signatures = (keychain or self.wallet.keychain).sign_inputs(digest, signers)
        credentials: tuple[Credential, ...] = tuple(
            kind(signed) for kind, signed in zip(kinds, signatures, strict=True)
        )
        return build(unsigned, credentials)
