"""Transactions that the node signs for its accounts, or sends for whoever needs no key (devnet.md 4).

What a client left out is chosen as eth_fillTransaction does (`fill`).
"""

import dataclasses
from contextlib import suppress
from typing import Final

from msgspec import Raw

from cchain_app.accounts.errors import UnknownAccount
from cchain_app.api.errors import server_error
from cchain_app.api.eth import fill
from cchain_app.api.eth.transactions import receipt_in_turn, wait_for_receipt
from cchain_app.api.params.accounts import TransactionRequest
from cchain_app.api.rpc import EvmRpc
from cchain_app.pool import errors as pool_errors
from cchain_app.pool.admission import Outcome
from cchain_app.selectors import blocks, development, impersonation, pool, signers
from cchain_app.services import transactions
from cchain_app.txs.errors import BlobTransactionRefused
from cchain_app.txs.impersonation import impersonate
from cchain_app.txs.request import CallRequest, to_be_signed
from cchain_app.txs.signing import UnsignedTransaction, encode_unsigned, sign_transaction
from cchain_app.txs.transaction import BLOB, LEGACY, Transaction
from chaindb.locks import QUEUE_SECONDS
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data

MORE_ATTEMPTS: Final = 8
"""Nonces that are tried besides the first where others send for the same account at the same time."""

PATIENCE: Final = 1.0
"""Seconds for which an answer waits for the transaction's block."""

_TAKEN: Final = (
    pool_errors.AlreadyKnown,
    pool_errors.NonceTooLow,
    pool_errors.ReplacementUnderpriced,
)
"""What a nonce is refused with that somebody else has used meanwhile."""


def send_transaction(rpc: EvmRpc, request: TransactionRequest) -> str:
    """eth_sendTransaction: sign a transaction, unless its sender is impersonated, and send it; its hash.

    The first account sends where none is named.

    Raises:
        UnknownAccount: The node has no key for the sender, who is not impersonated either.
        JsonRpcError: -32000, fees contradict each other, it is for another chain, it creates nothing or fails;
            3, it reverts.
        PoolRejection: The pool does not take it; InvalidTransaction likewise.
    """
    return _mined(rpc, _send(rpc, _with_sender(rpc, request, anybody=False)))


def send_transaction_sync(
    rpc: EvmRpc, request: TransactionRequest, milliseconds: int | None
) -> Raw:
    """eth_sendTransactionSync: sign a transaction, send it and wait for its receipt; else as eth_sendTransaction.

    Raises as `send_transaction`.
    """
    fields = _with_sender(rpc, request, anybody=False)
    return receipt_in_turn(rpc, lambda: _send(rpc, fields), milliseconds)


def send_unsigned_transaction(rpc: EvmRpc, request: TransactionRequest) -> str:
    """eth_sendUnsignedTransaction: as eth_sendTransaction for any account, impersonated or not.

    Raises as `send_transaction`.
    """
    return _mined(rpc, send_unsigned(rpc, request))


def send_unsigned(rpc: EvmRpc, request: TransactionRequest) -> Hash:
    """Bring a transaction of anybody's to the pool. Raises as `send_transaction`."""
    return _send(rpc, _with_sender(rpc, request, anybody=True))


def _mined(rpc: EvmRpc, sent: Hash) -> str:
    """Return a hash once its transaction is in a block, where blocks are made on a transaction's arrival.

    Unspecified: tools for Hardhat ask for the receipt immediately (devnet.md 2). The hash of a transaction that waits
    behind a missing nonce, or for a lower base fee, is returned immediately; others after `PATIENCE` at the latest. In
    the embedded profile the transaction is in its block already (`services.automine`).
    """
    chain = rpc.chain
    if (
        development.mining(chain) == "auto"
        and blocks.find_transaction(chain, sent) is None
        and sent in pool.pending_hashes(chain)
    ):
        with suppress(JsonRpcError):  # no block in that time: it waits in the pool
            wait_for_receipt(rpc, sent, PATIENCE)
    return encode_data(sent)


def sign_transaction_only(rpc: EvmRpc, request: TransactionRequest) -> str:
    """eth_signTransaction: a transaction's signed envelope, as eth_sendRawTransaction takes it.

    Unspecified: what was left out is chosen, and the answer is the envelope alone, both as Anvil does;
    go-ethereum wants nonce, gas and fees.

    Raises:
        UnknownAccount: The node has no key for the sender.
        JsonRpcError: -32000, fees contradict each other, it is for another chain, it creates nothing or fails;
            3, it reverts.
    """
    fields = request.fields
    if not request.names_sender:
        fields = fields._replace(sender=_first(rpc))
    key = signers.key_of(rpc.chain, fields.sender)
    priced, gas = _completed(rpc, fields)
    return encode_data(sign_transaction(_unsigned(rpc, priced, gas), key))


def resend(rpc: EvmRpc, request: TransactionRequest, gas_price: int | None, gas: int | None) -> str:
    """eth_resend: sign a pending transaction of an own account again, with another gas price or limit; its hash.

    A gas price makes it a legacy transaction, as in geth. 0 leaves price or limit as it is.

    Unspecified: the sender may be impersonated, as for eth_sendTransaction.

    Raises:
        UnknownAccount: The node has no key for the sender, and does not impersonate it.
        JsonRpcError: -32000, no nonce is named, or no such transaction is pending; or as `send_transaction`.
        PoolRejection: The pool does not take it.
    """
    fields = _with_sender(rpc, request, anybody=False)
    if fields.nonce is None:
        raise server_error("missing transaction nonce in transaction spec")
    priced, limit = _completed(rpc, fields)
    wanted = _unsigned(rpc, priced, limit)
    pending = pool.content(rpc.chain, [fields.sender]).pending.get(fields.sender, [])
    if not any(_is_same(transaction, wanted) for transaction in pending):
        shown = encode_data(keccak256(encode_unsigned(wanted)))
        raise server_error(f"transaction {shown} not found")
    if gas_price:
        priced = priced._replace(
            gas_price=gas_price,
            max_fee_per_gas=None,
            max_priority_fee_per_gas=None,
            wanted_type=LEGACY,
        )
    outcome = _submit(rpc, priced, _unsigned(rpc, priced, gas or limit))
    if isinstance(outcome, Exception):
        raise outcome
    return _mined(rpc, outcome)


def _is_same(transaction: Transaction, wanted: UnsignedTransaction) -> bool:
    """Return whether two transactions have the same fields, apart from the signature."""
    return all(
        getattr(transaction, field.name) == getattr(wanted, field.name)
        for field in dataclasses.fields(wanted)
    )


def _with_sender(rpc: EvmRpc, request: TransactionRequest, *, anybody: bool) -> CallRequest:
    """Return what was asked for with its sender, for whom the node may send."""
    chain, fields = rpc.chain, request.fields
    if not request.names_sender:
        return fields._replace(sender=_first(rpc))
    sender = fields.sender
    if anybody or signers.has_key(chain, sender) or impersonation.is_impersonated(chain, sender):
        return fields
    raise UnknownAccount


def _first(rpc: EvmRpc) -> Address:
    return rpc.chain.keyring.addresses[0]


def _send(rpc: EvmRpc, request: CallRequest) -> Hash:
    """Complete a transaction and bring it to the pool.

    Those of this process take their nonces in turns. Other processes may be faster, and so may a client that
    signs by itself: then the next nonce is tried, unless one was asked for.
    """
    priced, gas = _completed(rpc, request)
    with rpc.sending.held(QUEUE_SECONDS):
        outcome = _submit(rpc, request, _unsigned(rpc, priced, gas))
        for _ in range(MORE_ATTEMPTS if request.nonce is None else 0):
            if not isinstance(outcome, _TAKEN):
                break
            outcome = _submit(rpc, request, _unsigned(rpc, priced, gas))
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _completed(rpc: EvmRpc, request: CallRequest) -> tuple[CallRequest, int]:
    if request.type == BLOB:
        raise BlobTransactionRefused
    return fill.with_fees_and_gas(rpc, request)


def _unsigned(rpc: EvmRpc, priced: CallRequest, gas: int) -> UnsignedTransaction:
    return to_be_signed(
        priced,
        chain_id=rpc.chain.config.chain_id,
        nonce=fill.next_nonce(rpc, priced),
        gas=gas,
    )


def _submit(rpc: EvmRpc, request: CallRequest, unsigned: UnsignedTransaction) -> Outcome:
    chain, sender = rpc.chain, request.sender
    try:
        key = signers.key_of(chain, sender)
    except UnknownAccount:
        return transactions.submit_impersonated(chain, impersonate(unsigned, sender))
    (outcome,) = transactions.submit(chain, [sign_transaction(unsigned, key)])
    return outcome
