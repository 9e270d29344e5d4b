"""Accepts signed transactions: `eth_sendRawTransaction`, batches of it, gossip by peers; and impersonated ones.

This module turns signed envelopes into transactions with verified signers, without reading accounts. Then
`admissions` stores those that the pool accepts. The transactions of several threads are written together, in one
database transaction. Single calls that arrive together are combined earlier: the endpoints gather them for one thread
(`jsonrpc.dispatch.gathering`).
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.pool.admission import (
    AdmissionRules,
    Outcome,
    check_after_sender,
    check_before_sender,
    check_size,
)
from cchain_app.pool.entry import Newcomer
from cchain_app.pool.errors import PoolRejection
from cchain_app.pool.limits import PoolLimits
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import fork_of_next
from cchain_app.txs.authorities import authorities_of
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.errors import (
    BlobTransactionRefused,
    InvalidSignatureValues,
    InvalidTransaction,
    SenderNotRecoverable,
)
from cchain_app.txs.impersonation import names_sender
from cchain_app.txs.transaction import BLOB, Transaction
from primitives.evm import Address
from primitives.networks import LOCAL

Refusal = PoolRejection | InvalidTransaction

_BLOB: Final = bytes([BLOB])
"""The first byte of envelopes of that type."""


def submit(chain: EvmChain, raws: Sequence[bytes], *, gossiped: bool = False) -> list[Outcome]:
    """Submit signed envelopes to the pool, in order, and return the outcome of each.

    A hash is returned after the transaction was committed, so it survives a crash. `gossiped` envelopes are exempt
    from checks that apply only to RPC.
    """
    outcomes = _read(chain, raws, gossiped=gossiped)
    newcomers = [outcome for outcome in outcomes if isinstance(outcome, Newcomer)]
    admitted = iter(chain.admissions.run(newcomers) if newcomers else ())
    return [next(admitted) if isinstance(item, Newcomer) else item for item in outcomes]


def submit_impersonated(chain: EvmChain, transaction: Transaction) -> Outcome:
    """Submit an unsigned transaction to the pool, and return its outcome.

    The caller has checked that its sender may send without a key. All other checks are those of `submit`.
    """
    rules = _rules(chain, chain.pool_limits)
    try:
        check_before_sender(transaction, rules)
        check_after_sender(transaction, rules)
    except PoolRejection as rejection:
        return rejection
    (newcomer,) = _with_authorities(chain, [transaction])
    assert isinstance(newcomer, Newcomer)
    (outcome,) = chain.admissions.run([newcomer])
    return outcome


def _rules(chain: EvmChain, limits: PoolLimits) -> AdmissionRules:
    head = blocks.head(chain)
    return AdmissionRules(
        fork=fork_of_next(chain, head),
        block_gas_limit=head.header.gas_limit,
        limits=limits,
    )


def _read(
    chain: EvmChain, raws: Sequence[bytes], *, gossiped: bool = False
) -> list[Newcomer | Refusal]:
    """Decode envelopes, recover their signers together, and do all checks that need no account.

    The checks are in go-ethereum's order. Unspecified: the type of blob transactions and the size are checked before all
    others, so that nothing oversized is decoded, and senders of blobs learn that they are not accepted.

    Args:
        chain: The chain.
        raws: The envelopes.
        gossiped: Whether other nodes sent them. These have acknowledged them, so the limits that
            protect this node's own users from mistakes do not apply, as in go-ethereum.
    """
    limits = chain.pool_limits
    if gossiped:
        limits = replace(limits, fee_cap=None, unprotected_allowed=True)
    rules = _rules(chain, limits)
    outcomes = [_decoded(chain, raw, rules) for raw in raws]
    decoded = [outcome for outcome in outcomes if isinstance(outcome, DecodedTransaction)]
    senders = iter(chain.recover_senders([signed_digest(item) for item in decoded]))
    return _with_authorities(
        chain,
        [
            _with_sender(other, next(senders), rules)
            if isinstance(other, DecodedTransaction)
            else other
            for other in outcomes
        ],
    )


def _decoded(chain: EvmChain, raw: bytes, rules: AdmissionRules) -> DecodedTransaction | Refusal:
    try:
        if raw[:1] == _BLOB:
            raise BlobTransactionRefused
        check_size(len(raw), rules.limits)
        decoded = decode_unsigned(raw)
        check_before_sender(decoded, rules)
        check_signature(decoded, chain.config.chain_id)
        if chain.node.network_id == LOCAL and names_sender(decoded):
            # The bytes of an impersonated transaction: a recovered sender would give another transaction, with the same hash.
            raise InvalidSignatureValues
    except (PoolRejection, InvalidTransaction) as refusal:
        return refusal
    return decoded


def _with_sender(
    decoded: DecodedTransaction, sender: Address | None, rules: AdmissionRules
) -> Transaction | Refusal:
    if sender is None:
        return SenderNotRecoverable()
    try:
        check_after_sender(decoded, rules)
    except PoolRejection as rejection:
        return rejection
    return with_sender(decoded, sender)


def _with_authorities(
    chain: EvmChain, outcomes: Sequence[Transaction | Refusal]
) -> list[Newcomer | Refusal]:
    """Recover authorities last, so that each recovery is covered by the transaction's gas."""
    setting_code = [
        outcome
        for outcome in outcomes
        if isinstance(outcome, Transaction) and outcome.authorizations
    ]
    recovered = iter(authorities_of(setting_code, chain.recover_senders))
    return [
        Newcomer(item, next(recovered) if item.authorizations else ())
        if isinstance(item, Transaction)
        else item
        for item in outcomes
    ]
