"""Taking in signed transactions: `eth_sendRawTransaction`, batches of it, what peers gossip; and impersonated ones.

From signed envelopes to transactions whose signers are proven: here. No account is looked at before that; then
`admissions` stores what the pool takes. What several threads bring is written together, in one transaction of
the database. Single calls that arrive together are one submission before: the doors gather them for one thread
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
"""With what envelopes of that type begin."""


def submit(chain: EvmChain, raws: Sequence[bytes], *, gossiped: bool = False) -> list[Outcome]:
    """Take signed envelopes into the pool, in order, and return what became of each.

    A hash is returned after the transaction that stores it is committed: it survives a crash. What
    is `gossiped` is free of what only RPC refuses.
    """
    outcomes = _read(chain, raws, gossiped=gossiped)
    newcomers = [one for one in outcomes if isinstance(one, Newcomer)]
    admitted = iter(chain.admissions.run(newcomers) if newcomers else ())
    return [next(admitted) if isinstance(one, Newcomer) else one for one in outcomes]


def submit_impersonated(chain: EvmChain, transaction: Transaction) -> Outcome:
    """Take a transaction into the pool that nobody signed, and return what became of it.

    The caller has seen to it that its sender may send without a key. All other checks are those of `submit`.
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
    """Decode envelopes, recover their signers together, and check what needs no account.

    The checks are in go-ethereum's order. Unspecified: but for the type of blob transactions and the size, which come
    first of all, so that nothing oversized is decoded, and who sends blobs hears that they are not taken.

    Args:
        chain: Which chain.
        raws: The envelopes.
        gossiped: Whether other nodes sent them. These have acknowledged them, so the limits that
            guard this node's own users from mistakes do not hold, as in go-ethereum.
    """
    limits = chain.pool_limits
    if gossiped:
        limits = replace(limits, fee_cap=None, unprotected_allowed=True)
    rules = _rules(chain, limits)
    outcomes = [_decoded(chain, raw, rules) for raw in raws]
    decoded = [one for one in outcomes if isinstance(one, DecodedTransaction)]
    senders = iter(chain.recover_senders([signed_digest(one) for one in decoded]))
    return _with_authorities(
        chain,
        [
            _with_sender(one, next(senders), rules) if isinstance(one, DecodedTransaction) else one
            for one in outcomes
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
            # An impersonated transaction's bytes again: they would be somebody else's, with the same hash.
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
    """Recover authorities only now: nobody has them recovered without gas for each of them."""
    setting_code = [one for one in outcomes if isinstance(one, Transaction) and one.authorizations]
    recovered = iter(authorities_of(setting_code, chain.recover_senders))
    return [
        Newcomer(one, next(recovered) if one.authorizations else ())
        if isinstance(one, Transaction)
        else one
        for one in outcomes
    ]
