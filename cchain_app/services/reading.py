"""Transactions of others' blocks, read: the senders of all that are there recovered together."""

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
from cchain_app.txs.errors import InvalidTransaction, SenderNotRecoverable
from cchain_app.txs.impersonation import named_sender, names_sender
from cchain_app.txs.transaction import Transaction
from primitives.evm import Address, Hash
from primitives.hashing import keccak256

Body = list[Transaction] | TransactionRefused
"""A block's transactions; or why one of them is none."""


def read_transactions(
    chain: EvmChain,
    candidates: Sequence[CandidateBlock],
    *,
    blobs: bool = False,
) -> list[Body]:
    """Read the transactions of all blocks; where one is none, that is its block's entry.

    Senders of all blocks are recovered together: the engine does that in parallel. Those that wait
    in this node's pool are known. A development chain's own blocks have transactions that nobody signed.

    Args:
        chain: Whose transactions they should be.
        candidates: The blocks.
        blobs: Also read those of type 3, which only chains have that others made.
    """
    read = [_decode_all(chain, one.transactions, blobs=blobs) for one in candidates]
    unsigned = [
        one
        for listed in read
        if not isinstance(listed, TransactionRefused)
        for one in listed
        if isinstance(one, DecodedTransaction)
    ]
    recovered = chain.recover_senders([signed_digest(one) for one in unsigned])
    senders = dict(zip((one.hash for one in unsigned), recovered, strict=True))
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
            return TransactionRefused(index, SenderNotRecoverable())
        found.append(with_sender(one, sender))
    return found
