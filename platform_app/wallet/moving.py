"""Signed transactions that move funds: on this chain, to another chain, and from another chain.

Raised by all: NotBuilt and its subclasses, and the errors of `transactions.sign`.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from platform_app.txs.base import BaseTx, LockOut, Tx, inner_output
from platform_app.txs.codec import CODEC
from platform_app.txs.subnets import ExportTx, ImportTx
from platform_app.wallet.errors import NotBuilt, WalletReason
from platform_app.wallet.transactions import fields, sign
from platform_app.wallet.wallet import PlatformWallet, Spend, choose
from primitives import uint64
from primitives.ids import ID, ShortID
from utxo.coins import OwnInput, payment, sort_inputs
from utxo.components import UTXO
from utxo.well_formed import sort_outputs

IMPORT_ROOM = 56 * 1024
"""Bytes for imported outputs; the mempool accepts 64 KiB, and the fee may need some of them."""

_INPUT, _SIGNATURE, _OUTPUT = 92, 69, 80
"""Bytes of an input with its credential, of each signature, of an output (pchain.md 2.3)."""


def build_transfer(wallet: PlatformWallet, *, amount: int, to: ShortID) -> Tx:
    """Build a BaseTx that transfers an amount of the staking asset to an address."""
    spend = choose(wallet, fee=_with_fee(wallet, amount))
    outputs = sort_outputs((*spend.change, payment(wallet.asset_id, amount, to)), CODEC)
    return sign(wallet, BaseTx(*fields(wallet, outputs, spend.inputs)), spend.inputs)


def build_export(wallet: PlatformWallet, *, amount: int, to: ShortID, destination_chain: ID) -> Tx:
    """Build an ExportTx that transfers an amount of the staking asset to an address on another chain."""
    spend = choose(wallet, fee=_with_fee(wallet, amount))
    unsigned = ExportTx(
        *fields(wallet, spend.change, spend.inputs),
        destination_chain=destination_chain,
        exported_outputs=(payment(wallet.asset_id, amount, to),),
    )
    return sign(wallet, unsigned, spend.inputs)


def build_import(
    wallet: PlatformWallet, shared: Iterable[UTXO], *, source_chain: ID, to: ShortID
) -> Tx:
    """Build an ImportTx of the outputs of all assets that another chain has exported to these keys.

    The fee is taken from the imported amount; if that is not enough, also from coins of this chain.

    Unspecified: as much as fits into one transaction is imported, the rest by the next import. The
    reference would build a transaction that no mempool accepts.

    Raises:
        NotBuilt: These keys cannot spend any of the outputs.
    """
    imports = _open(wallet, shared)
    if not imports.inputs:
        raise NotBuilt(WalletReason.NO_IMPORTABLE_FUNDS)
    amounts, fee = dict(imports.amounts), wallet.config.fees.tx
    own = amounts.pop(wallet.asset_id, 0)
    spend = choose(wallet, fee=fee - own) if own < fee else Spend((), (), ())
    if own > fee:
        amounts[wallet.asset_id] = own - fee
    gained = (payment(asset_id, amount, to) for asset_id, amount in amounts.items())
    unsigned = ImportTx(
        *fields(wallet, sort_outputs((*spend.change, *gained), CODEC), spend.inputs),
        source_chain=source_chain,
        imported_inputs=tuple(imported.input for imported in imports.inputs),
    )
    return sign(wallet, unsigned, (*spend.inputs, *imports.inputs))


class _Found(NamedTuple):
    """The imported outputs: inputs in serialisation order, and amounts by asset."""

    inputs: tuple[OwnInput, ...]
    amounts: dict[ID, int]


def _open(wallet: PlatformWallet, shared: Iterable[UTXO]) -> _Found:
    inputs: list[OwnInput] = []
    amounts: dict[ID, int] = defaultdict(int)
    room = IMPORT_ROOM
    for utxo, own in _openable(wallet, shared):
        amount = inner_output(utxo.output).amount
        room -= _INPUT + _SIGNATURE * len(own.signers)
        room -= 0 if utxo.asset_id in amounts else _OUTPUT
        if room < 0:
            break
        # Two outputs of a foreign asset may have a larger sum than one output can hold.
        if amounts[utxo.asset_id] + amount <= uint64.MAX:
            amounts[utxo.asset_id] += amount
            inputs.append(own)
    return _Found(sort_inputs(inputs), amounts)


def _openable(wallet: PlatformWallet, shared: Iterable[UTXO]) -> Iterator[tuple[UTXO, OwnInput]]:
    """Yield the outputs that these keys can import. Chains do not share outputs with stakeable locks."""
    for utxo in shared:
        own = None if isinstance(utxo.output, LockOut) else wallet.input_for(utxo)
        if own:
            yield utxo, own


def _with_fee(wallet: PlatformWallet, amount: int) -> int:
    try:
        return uint64.add(amount, wallet.config.fees.tx)
    except uint64.Overflow:
        raise NotBuilt(WalletReason.AMOUNT_OVERFLOW) from None
