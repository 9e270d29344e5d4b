"""Turns the bodies of blocks that other nodes or clients made into transactions with verified signers.

Signers are recovered together, because the engine does that in parallel. No accounts are read.
"""

from collections.abc import Sequence

from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.blocks.errors import TransactionRefused
from cchain_app.chain import EvmChain
from cchain_app.txs.codec import (
    DecodedTransaction,
    check_signature,
    decode_unsigned,
    signed_digest,
    with_sender,
)
from cchain_app.txs.signing import named_sender, names_sender
from cchain_app.txs.transaction import BLOB, InvalidTransaction, Transaction, TransactionReason
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

Body = list[Transaction] | TransactionRefused
"""A block's transactions, or the error of an invalid one."""


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
        blobs: Accept blob transactions, which only local and imported chains have.
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
            decoded = _decode(raw, blobs=blobs)
            if chain.is_development and names_sender(decoded):
                found.append(with_sender(decoded, named_sender(decoded)))
                continue
            check_signature(decoded, chain_id)
        except InvalidTransaction as error:
            return TransactionRefused(index, error)
        found.append(decoded)
    return found


def _decode(raw: bytes, *, blobs: bool) -> DecodedTransaction:
    decoded = decode_unsigned(raw)
    if decoded.type == BLOB and not blobs:
        raise InvalidTransaction(TransactionReason.BLOBS_NOT_SUPPORTED)
    return decoded


def _with_senders(
    listed: Sequence[Transaction | DecodedTransaction], senders: dict[Hash, Address | None]
) -> Body:
    found: list[Transaction] = []
    for index, item in enumerate(listed):
        if isinstance(item, Transaction):
            found.append(item)
            continue
        sender = senders[item.hash]
        if sender is None:
            return TransactionRefused(
                index, InvalidTransaction(TransactionReason.SENDER_NOT_RECOVERABLE)
            )
        found.append(with_sender(item, sender))
    return found
