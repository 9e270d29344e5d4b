"""Selection of coins, rights and collectibles that keys can use, in the order of getUTXOs (xchain.md 16).

Outputs that the keys cannot sign for now are passed over, as are outputs of other kinds.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from primitives.ids import ID, ShortID
from primitives.uint64 import MAX
from utxo.coins import OwnInput, Selection, SigningOwners, Wallet, sole_owner
from utxo.components import UTXO, OutputOwners, TransferOutput
from xchain_app.txs import extensions
from xchain_app.txs.base import AssetOperation, OutputReference
from xchain_app.txs.extensions import FxOperation, SigningIndices
from xchain_app.txs.syntax import operation_key
from xchain_app.wallet.errors import AvmWalletError, AvmWalletReason


class OwnOperation(NamedTuple):
    """An operation, and the owners who sign for it."""

    operation: AssetOperation
    signers: tuple[ShortID, ...]


def select(wallet: Wallet, amounts: Mapping[ID, int]) -> Selection:
    """Select coins for amounts by asset.

    Raises:
        AvmWalletError: There are too few coins of an asset, or the selected ones do not fit into 64 bits.
    """
    selection = wallet.select(amounts)
    for asset_id, missing in selection.missing.items():
        raise AvmWalletError(
            AvmWalletReason.NOT_ENOUGH,
            wanted=amounts[asset_id],
            asset_id=asset_id,
            owned=amounts[asset_id] - missing,
        )
    for asset_id, wanted in amounts.items():
        if wanted + selection.change.get(asset_id, 0) > MAX:
            raise AvmWalletError(AvmWalletReason.SPENT_OVERFLOW)
    return selection


class AllCoins(NamedTuple):
    """All coins that a wallet can spend."""

    inputs: tuple[OwnInput, ...]
    amounts: Mapping[ID, int]
    """Their sums by asset."""


def select_all(wallet: Wallet) -> AllCoins:
    """Select all coins of a wallet.

    Raises:
        AvmWalletError: The coins of an asset do not fit into 64 bits.
    """
    inputs: list[OwnInput] = []
    amounts: dict[ID, int] = {}
    for utxo in wallet.utxos:
        own = wallet.input_for(utxo)
        if own is None or not isinstance(utxo.output, TransferOutput):
            continue
        total = amounts.get(utxo.asset_id, 0) + utxo.output.amount
        if total > MAX:
            raise AvmWalletError(AvmWalletReason.SPENT_OVERFLOW)
        amounts[utxo.asset_id] = total
        inputs.append(own)
    return AllCoins(tuple(inputs), amounts)


def mint_coins(wallet: Wallet, asset_id: ID, amount: int, to: ShortID) -> OwnOperation:
    """Return an operation that mints coins with the first right that the keys can use.

    Raises:
        AvmWalletError: The keys can use no right to mint coins of the asset.
    """
    for utxo in wallet.utxos:
        right = utxo.output
        if utxo.asset_id == asset_id and isinstance(right, extensions.MintOutput):
            signing = _signing(wallet, right.owners)
            if signing is not None:
                minted = TransferOutput(amount, sole_owner(to))
                indices = SigningIndices(signing.indices)
                return _own(utxo, extensions.MintOperation(indices, right, minted), signing)
    raise AvmWalletError(AvmWalletReason.NO_RIGHT)


def mint_collectible(wallet: Wallet, asset_id: ID, payload: bytes, to: ShortID) -> OwnOperation:
    """Return an operation that mints a collectible with the first right that the keys can use, whatever its group.

    Raises:
        AvmWalletError: The keys can use no right to mint collectibles of the asset.
    """
    for utxo in wallet.utxos:
        right = utxo.output
        if utxo.asset_id == asset_id and isinstance(right, extensions.NftMintOutput):
            signing = _signing(wallet, right.owners)
            if signing is not None:
                minting = extensions.NftMintOperation(
                    SigningIndices(signing.indices), right.group_id, payload, (sole_owner(to),)
                )
                return _own(utxo, minting, signing)
    raise AvmWalletError(AvmWalletReason.NO_RIGHT)


def move_collectible(wallet: Wallet, asset_id: ID, group_id: int, to: ShortID) -> OwnOperation:
    """Return an operation that gives away the first collectible of a group.

    Raises:
        AvmWalletError: The keys own no collectible of the group.
    """
    for utxo in wallet.utxos:
        piece = utxo.output
        if (
            utxo.asset_id == asset_id
            and isinstance(piece, extensions.NftTransferOutput)
            and piece.group_id == group_id
        ):
            signing = _signing(wallet, piece.owners)
            if signing is not None:
                moved = extensions.NftTransferOutput(group_id, piece.payload, sole_owner(to))
                moving = extensions.NftTransferOperation(SigningIndices(signing.indices), moved)
                return _own(utxo, moving, signing)
    raise AvmWalletError(AvmWalletReason.NO_COLLECTIBLE)


def _signing(wallet: Wallet, owners: OutputOwners) -> SigningOwners | None:
    return wallet.keychain.signers_for(owners, wallet.now)


def _own(utxo: UTXO, operation: FxOperation, signing: SigningOwners) -> OwnOperation:
    reference = OutputReference(utxo.tx_id, utxo.output_index)
    return OwnOperation(
        AssetOperation(utxo.asset_id, (reference,), operation), tuple(signing.addresses)
    )


def sort_operations(operations: Sequence[OwnOperation]) -> tuple[OwnOperation, ...]:
    """Return operations in serialisation order."""
    return tuple(sorted(operations, key=lambda own: operation_key(own.operation)))
