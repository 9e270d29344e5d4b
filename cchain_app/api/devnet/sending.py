"""Transactions that the node signs for its accounts, or sends for impersonated accounts (devnet.md 4).

Omitted fields are chosen as by eth_fillTransaction.
"""

import dataclasses
from contextlib import suppress
from typing import Final

from msgspec import Raw

from cchain_app.accounts.keyring import UnknownAccount
from cchain_app.api.errors import server_error
from cchain_app.api.eth import transactions as eth_transactions
from cchain_app.api.eth.blobs import with_blobs
from cchain_app.api.eth.transactions import receipt_in_turn, wait_for_receipt
from cchain_app.api.params.accounts import TransactionRequest
from cchain_app.api.rpc import EvmRpc
from cchain_app.pool.errors import is_nonce_taken
from cchain_app.pool.queues import Outcome
from cchain_app.selectors import blocks, development, pool, signers
from cchain_app.services import transactions
from cchain_app.txs.blobs import SentTransaction, Sidecar, join
from cchain_app.txs.request import CallRequest, to_be_signed
from cchain_app.txs.signing import (
    UnsignedTransaction,
    encode_unsigned,
    impersonate,
    sign_transaction,
)
from cchain_app.txs.transaction import (
    BLOB,
    LEGACY,
    Transaction,
)
from chaindb.locks import QUEUE_SECONDS
from jsonrpc.errors import JsonRpcError
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.hexadecimal import encode_data

MORE_ATTEMPTS: Final = 8
"""Further nonces to try if another process or client sends for the same account at the same time."""

PATIENCE: Final = 1.0
"""Seconds that an answer waits for the transaction's block."""


def send_transaction(rpc: EvmRpc, request: TransactionRequest) -> str:
    """eth_sendTransaction: sign a transaction, unless its sender is impersonated, and send it; returns its hash.

    If no sender is named, the first account sends.

    Raises:
        UnknownAccount: The node has no key for the sender, and does not impersonate it.
        JsonRpcError: -32000, fees contradict each other, it is for another chain, it creates nothing or fails;
            3, it reverts.
        PoolRejection: The pool rejects it; InvalidTransaction likewise.
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
    """Add a transaction of any sender to the pool. Raises as `send_transaction`."""
    return _send(rpc, _with_sender(rpc, request, anybody=True))


def _mined(rpc: EvmRpc, sent: Hash) -> str:
    """Wait until a transaction is in a block, if blocks are made when transactions arrive, and return its hash.

    Unspecified: tools for Hardhat ask for the receipt immediately (devnet.md 2). The hash of a transaction that is
    queued behind a nonce gap, or waits for a lower base fee, is returned immediately; other hashes after `PATIENCE`
    at the latest. Usually the transaction is mined already (`services.transactions`).
    """
    chain = rpc.chain
    if (
        development.mines_on_arrival(chain)
        and blocks.find_transaction(chain, sent) is None
        and sent in pool.pending_hashes(chain)
    ):
        with suppress(JsonRpcError):  # not mined in that time: it stays in the pool
            wait_for_receipt(rpc, sent, PATIENCE)
    return encode_data(sent)


def sign_transaction_only(rpc: EvmRpc, request: TransactionRequest) -> str:
    """eth_signTransaction: a transaction's signed envelope, with its blobs, as eth_sendRawTransaction takes it.

    Unspecified: omitted fields are chosen, and the answer is the envelope alone, both as in Anvil;
    go-ethereum requires nonce, gas and fees.

    Raises:
        UnknownAccount: The node has no key for the sender.
        JsonRpcError: -32000, fees contradict each other, it is for another chain, it creates nothing or fails;
            3, it reverts.
    """
    fields = request.fields
    if not request.names_sender:
        fields = fields._replace(sender=_first(rpc))
    key = signers.key_of(rpc.chain, fields.sender)
    fields, sidecar = with_blobs(rpc, fields)
    priced, gas = eth_transactions.with_fees_and_gas(rpc, fields)
    raw = sign_transaction(_unsigned(rpc, priced, gas), key)
    return encode_data(join(SentTransaction(raw, sidecar)))


def resend(rpc: EvmRpc, request: TransactionRequest, gas_price: int | None, gas: int | None) -> str:
    """eth_resend: sign a pending transaction of an own account again, with another gas price or limit; returns its hash.

    A new gas price makes it a legacy transaction, as in geth. 0 leaves price or limit as it is.

    Unspecified: the sender may be impersonated, as for eth_sendTransaction. A blob transaction keeps its type and its
    blobs, so another gas price, which must double all its fees, is not enough: send it again with its blobs.

    Raises:
        UnknownAccount: The node has no key for the sender, and does not impersonate it.
        JsonRpcError: -32000, no nonce is named, no such transaction is pending, or it has blobs; or as `send_transaction`.
        PoolRejection: The pool rejects it.
    """
    fields = _with_sender(rpc, request, anybody=False)
    if fields.nonce is None:
        raise server_error("missing transaction nonce in transaction spec")
    if fields.type == BLOB:
        raise server_error("blob transactions cannot be resent with another gas price or limit")
    priced, limit = eth_transactions.with_fees_and_gas(rpc, fields)
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
    """Return the fields of a request with its sender, which must be an account that the node may send for."""
    chain, fields = rpc.chain, request.fields
    if not request.names_sender:
        return fields._replace(sender=_first(rpc))
    sender = fields.sender
    if anybody or signers.has_key(chain, sender) or signers.is_impersonated(chain, sender):
        return fields
    raise UnknownAccount


def _first(rpc: EvmRpc) -> Address:
    return rpc.chain.keyring.addresses[0]


def _send(rpc: EvmRpc, request: CallRequest) -> Hash:
    """Complete a transaction and add it to the pool.

    The transactions of this process take their nonces one after the other. Another process, or a client that signs
    its own transactions, may use a nonce first: then the next nonce is tried, unless the request names a nonce.
    """
    request, sidecar = with_blobs(rpc, request)
    priced, gas = eth_transactions.with_fees_and_gas(rpc, request)
    with rpc.sending.held(QUEUE_SECONDS):
        outcome = _submit(rpc, request, _unsigned(rpc, priced, gas), sidecar)
        for _ in range(MORE_ATTEMPTS if request.nonce is None else 0):
            if not is_nonce_taken(outcome):
                break
            outcome = _submit(rpc, request, _unsigned(rpc, priced, gas), sidecar)
    if isinstance(outcome, Exception):
        raise outcome
    return outcome


def _unsigned(rpc: EvmRpc, priced: CallRequest, gas: int) -> UnsignedTransaction:
    return to_be_signed(
        priced,
        chain_id=rpc.chain.config.chain_id,
        nonce=eth_transactions.next_nonce(rpc, priced),
        gas=gas,
    )


def _submit(
    rpc: EvmRpc,
    request: CallRequest,
    unsigned: UnsignedTransaction,
    sidecar: Sidecar | None = None,
) -> Outcome:
    chain, sender = rpc.chain, request.sender
    try:
        key = signers.key_of(chain, sender)
    except UnknownAccount:
        unproven = impersonate(unsigned, sender)
        return transactions.submit_impersonated(rpc.runtime, unproven, sidecar)
    raw = join(SentTransaction(sign_transaction(unsigned, key), sidecar))
    (outcome,) = transactions.submit(rpc.runtime, [raw])
    return outcome
