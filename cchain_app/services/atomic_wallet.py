"""Atomic transactions built, signed and issued with private keys of a keystore (atomic.md 10).

Reading and building change nothing; issuing is one transaction of `services.atomic`.
"""

from collections.abc import Sequence
from typing import Final

from cchain_app.atomic.builder import Payment, build_export, build_import
from cchain_app.atomic.errors import AtomicReason
from cchain_app.atomic.parameters import AtomicParameters
from cchain_app.atomic.transactions import CODEC, AtomicTx
from cchain_app.chain import EvmChain
from cchain_app.selectors import atomic as waiting
from cchain_app.selectors import blocks
from cchain_app.selectors.state import state_at
from cchain_app.services import atomic
from chaindb import clock
from primitives.evm import Address
from primitives.ids import ID
from primitives.secp256k1 import address_of_private_key
from utxo.coins import Keychain
from utxo.components import UTXO
from utxo.errors import InvalidTx

MOST_INPUTS: Final = 64
"""Outputs that one import takes: with more of them its gas could exceed that of a block."""


def import_coins(
    chain: EvmChain, keys: Sequence[bytes], *, source_chain: ID, to: Address, base_fee: int | None
) -> AtomicTx:
    """Import the outputs that keys can spend, to one account, and return the issued transaction.

    Unspecified: at most 64 outputs at a time; the reference fails if there are more than a transaction can take.

    Args:
        chain: The chain.
        keys: Private keys of 32 bytes.
        source_chain: The chain that exported the outputs.
        to: The account that gets the coins.
        base_fee: Wei per gas to pay for; None: the base fee of the next block.

    Raises:
        AtomicTxNotBuilt: There are no outputs, or they do not cover the fee.
        AtomicTxRefused: The pool does not take it now.
        InvalidTx: It cannot be accepted.
    """
    parameters = _parameters(chain)
    keychain = Keychain.of(keys)
    page = waiting.importable(
        chain, keychain.addresses, source=source_chain, after=None, limit=MOST_INPUTS
    )
    tx = build_import(
        keychain,
        [CODEC.unmarshal(UTXO, raw) for raw in page.utxos],
        source_chain=source_chain,
        to=to,
        base_fee=_base_fee(chain) if base_fee is None else base_fee,
        now=max(clock.cchain_now(chain.db), blocks.head(chain).header.timestamp),
        parameters=parameters,
    )
    atomic.issue(chain, tx)
    return tx


def export_coins(
    chain: EvmChain, keys: Sequence[bytes], payment: Payment, *, base_fee: int | None
) -> AtomicTx:
    """Export an amount from the accounts of keys, and return the issued transaction.

    Args:
        chain: The chain.
        keys: Private keys of 32 bytes; their accounts pay in this order.
        payment: The exported amount and its recipient.
        base_fee: Wei per gas to pay for; None: the base fee of the next block.

    Raises:
        AtomicTxNotBuilt: The accounts have too little.
        AtomicTxRefused: The pool does not take it now.
        InvalidTx: It cannot be accepted.
    """
    parameters = _parameters(chain)
    state = state_at(chain, blocks.head(chain).number)
    addresses = map(address_of_private_key, keys)
    accounts = {address: state.account(address) for address in addresses}
    tx = build_export(
        keys,
        {address: account for address, account in accounts.items() if account is not None},
        payment,
        base_fee=_base_fee(chain) if base_fee is None else base_fee,
        parameters=parameters,
    )
    atomic.issue(chain, tx)
    return tx


def _parameters(chain: EvmChain) -> AtomicParameters:
    if chain.atomic is None:
        raise InvalidTx(AtomicReason.NOT_ENABLED)
    return chain.atomic.parameters()


def _base_fee(chain: EvmChain) -> int:
    return blocks.base_fee_after(chain, blocks.head(chain)) or 0
