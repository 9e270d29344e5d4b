"""Turns signed bytes into transactions with verified signers: envelopes for the pool, and the bodies of other nodes' blocks.

Signers are recovered together, because the engine does that in parallel. No accounts are read.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.pool.admission import (
    AdmissionRules,
    check_after_sender,
    check_before_sender,
    check_size,
)
from cchain_app.pool.entry import Newcomer, PoolLimits
from cchain_app.pool.errors import PoolRejection
from cchain_app.selectors import blocks
from cchain_app.selectors.blocks import fork_of_next
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.signing import authorities_of, named_sender, names_sender
from cchain_app.txs.transaction import BLOB, InvalidTransaction, Transaction, TransactionReason
from primitives.evm import Address, Hash
from primitives.hashing import keccak256
from primitives.networks import LOCAL

Refusal = PoolRejection | InvalidTransaction
"""Why an envelope is rejected without reading accounts."""

_BLOB: Final = bytes([BLOB])
"""The first byte of envelopes of that type."""

Body = list[Transaction] | TransactionRefused
"""A block's transactions, or the error of an invalid one."""


def read_envelopes(
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


def read_impersonated(chain: EvmChain, transaction: Transaction) -> Newcomer | Refusal:
    """Check an unsigned transaction like an envelope, and recover its authorities.

    The caller has checked that its sender may send without a key.
    """
    rules = _rules(chain, chain.pool_limits)
    try:
        check_before_sender(transaction, rules)
        check_after_sender(transaction, rules)
    except PoolRejection as rejection:
        return rejection
    (newcomer,) = _with_authorities(chain, [transaction])
    return newcomer


def _rules(chain: EvmChain, limits: PoolLimits) -> AdmissionRules:
    head = blocks.head(chain)
    return AdmissionRules(
        fork=fork_of_next(chain, head),
        block_gas_limit=head.header.gas_limit,
        limits=limits,
    )


def _decoded(chain: EvmChain, raw: bytes, rules: AdmissionRules) -> DecodedTransaction | Refusal:
    if raw[:1] == _BLOB:
        return InvalidTransaction(TransactionReason.BLOBS_NOT_SUPPORTED)
    try:
        check_size(len(raw), rules.limits)
        decoded = decode_unsigned(raw)
        check_before_sender(decoded, rules)
        check_signature(decoded, chain.config.chain_id)
    except (PoolRejection, InvalidTransaction) as refusal:
        return refusal
    if chain.node.network_id == LOCAL and names_sender(decoded):
        # The bytes of an impersonated transaction: a recovered sender would give another transaction, with the same hash.
        return InvalidTransaction(TransactionReason.SIGNATURE_VALUES)
    return decoded


def _with_sender(
    decoded: DecodedTransaction, sender: Address | None, rules: AdmissionRules
) -> Transaction | Refusal:
    if sender is None:
        return InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE)
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


def read_transactions(
    chain: EvmChain,
    candidates: Sequence[CandidateBlock],
    *,
    blobs: bool = False,
) -> list[Body]:
    """Decode the transactions of all blocks; a block with an invalid transaction gets its error instead.

    The senders of all blocks are recovered together, because the engine does that in parallel. Transactions in this
    node's pool have known senders. A development chain's own blocks contain unsigned (impersonated) transactions.

    Args:
        chain: The chain to which the transactions should belong.
        candidates: The blocks.
        blobs: Also decode type 3 transactions, which only imported chains have.
    """
    read = [_decode_all(chain, candidate.transactions, blobs=blobs) for candidate in candidates]
    unsigned = [
        entry
        for listed in read
        if not isinstance(listed, TransactionRefused)
        for entry in listed
        if isinstance(entry, DecodedTransaction)
    ]
    recovered = chain.recover_senders([signed_digest(other) for other in unsigned])
    senders = dict(zip((item.hash for item in unsigned), recovered, strict=True))
    return [
        listed if isinstance(listed, TransactionRefused) else _with_senders(listed, senders)
        for listed in read
    ]


def _decode_all(
    chain: EvmChain,
    raws: Sequence[bytes],
    *,
    blobs: bool,
) -> list[Transaction | DecodedTransaction] | TransactionRefused:
    known = chain.memory.transactions
    chain_id = chain.config.chain_id
    found: list[Transaction | DecodedTransaction] = []
    for index, raw in enumerate(raws):
        waiting = known.get(keccak256(raw))
        if waiting is not None:
            found.append(waiting)
            continue
        try:
            decoded = decode_unsigned(raw, blobs=blobs)
            if chain.is_development and names_sender(decoded):
                found.append(with_sender(decoded, named_sender(decoded)))
                continue
            check_signature(decoded, chain_id)
        except InvalidTransaction as error:
            return TransactionRefused(index, error)
        found.append(decoded)
    return found


def _with_senders(
    listed: Sequence[Transaction | DecodedTransaction], senders: dict[Hash, Address | None]
) -> Body:
    found: list[Transaction] = []
    for index, one in enumerate(listed):
        if isinstance(one, Transaction):
            found.append(one)
            continue
        sender = senders[one.hash]
        if sender is None:
            return TransactionRefused(
                index, InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE)
            )
        found.append(with_sender(one, sender))
    return found
