"""Indexes token transfers, token data and balances: after the blocks, in small batches.

The index never delays a block: logs are read and contracts are called without a lock, and each write is short.
Transfers come first; balances are queried once the transfers of all blocks are written. Answers that a fork's remote
node cannot provide yet do not delay anything else.
"""

import logging
import time
from collections.abc import Iterator, Sequence
from typing import Final

from cchain_app.chain import EvmChain
from cchain_app.selectors import blocks
from chaindb import clock
from chaindb.fields import row_id
from explorer_app.selectors import token_logs
from explorer_app.selectors.contracts import Contracts, DetailsUnavailable
from explorer_app.selectors.token_logs import TransferLog, WrappedCoins
from explorer_app.services.token_metadata import (
    ask_contract,
    is_collection,
    next_attempt,
    read_balance,
)
from explorer_app.store import token_rewinding
from explorer_app.store import tokens as token_rows
from explorer_app.store.tokens import (
    BalanceAnswer,
    PlacedTransfer,
    TransferIndexProgress,
    TransferProgressMoved,
)
from explorer_app.tokens.events import (
    TokenStandard,
    Transfer,
    is_of_erc20,
    is_range,
    is_unindexed,
    is_wrapping,
    read_transfers,
)
from primitives.counting import counted
from primitives.evm import ZERO_ADDRESS, Address

LOGS_AT_ONCE: Final = 100
"""Logs that are read together."""

ROWS_AT_ONCE: Final = 1000
"""Limit of transfers and owners per database transaction, unless a single log contains more: block producers wait at
most for one such transaction."""

BALANCES_AT_ONCE: Final = 50
"""Balances that are written together."""

_SHARE_OF_TRANSFERS: Final = 0.6
"""Share of the time for transfers; the rest is for calls of contracts, so that they are called during constant load."""

_log: Final = logging.getLogger(__name__)


def forget_above(chain: EvmChain, number: int) -> None:
    """Remove the index's rows above a height, together with the blocks of a chain that is reverted."""
    token_rewinding.forget_above(chain.db, number, clock.wall())


def index_tokens(chain: EvmChain, *, seconds: float, now: int) -> int:
    """Index transfers in order for about `seconds`, and query contracts; return the number of indexed blocks.

    The time is checked after every hundred logs, after each contract and after each balance, so at least one such
    step is done. After a crash the next call continues from the stored progress. If two processes index at the same
    time, one of them gives up.

    Args:
        chain: The chain.
        seconds: The time limit.
        now: Wall time in Unix seconds, for scheduling queries of contracts.
    """
    began = time.monotonic()
    # In this order: if the head were reverted before the progress is read, its logs would count as indexed.
    before = written = token_rows.begin(chain.db)
    head = blocks.catch_up(chain)
    contracts = Contracts(chain, head)
    try:
        until = began + seconds * _SHARE_OF_TRANSFERS
        written = _write_transfers(contracts, chain, before, until, now)
        _ask_tokens(contracts, chain, written, began + seconds, now)
        if written.is_between_blocks and written.height == head.number:
            _ask_for_balances(contracts, chain, written, began + seconds)
    except TransferProgressMoved:
        return 0
    return written.height - before.height


def _write_transfers(
    contracts: Contracts, chain: EvmChain, written: TransferIndexProgress, until: float, now: int
) -> TransferIndexProgress:
    end = row_id(contracts.height + 1)
    while written.next_log < end:
        written = _Part(contracts, chain, written, end).write(now)
        if time.monotonic() >= until:
            break
    return written


class _Part:
    """A batch of consecutive logs, limited to one database transaction."""

    def __init__(
        self, contracts: Contracts, chain: EvmChain, before: TransferIndexProgress, end: int
    ) -> None:
        self._contracts = contracts
        self._chain = chain
        self._before = before
        self._end = end
        self._logs = token_logs.next_logs(chain, before.next_log, end, LOGS_AT_ONCE)
        wrapping = [log for log in self._logs if is_wrapping(log.topics)]
        self._beside = token_logs.beside(chain, wrapping)
        self._signers = token_logs.signers(chain, (log.transaction for log in self._logs))
        ranges = [log.transaction for log in self._logs if is_range(log.topics)]
        self._owners_left = token_logs.owners_left(chain, ranges)
        unindexed = [log.address for log in self._logs if is_unindexed(log.topics)]
        kinds = token_logs.known_kinds(chain, unindexed)
        self._collections = {
            address: kind is TokenStandard.ERC721 for address, kind in kinds.items()
        }

    def write(self, now: int) -> TransferIndexProgress:
        """Write the transfers in the logs; return the new progress. Raises as `rows.write_transfers`."""
        pairs, next_log = self._read()
        return token_rows.write_transfers(
            self._chain.db, list(self._placed(pairs)), self._before, next_log, now
        )

    def _read(self) -> tuple[list[tuple[TransferLog, Transfer]], int]:
        """Return the transfers, and the key after the last log that they come from."""
        pairs: list[tuple[TransferLog, Transfer]] = []
        size, was_asked = 0, False
        for log in self._logs:
            if is_unindexed(log.topics) and log.address not in self._collections:
                if was_asked:
                    return pairs, log.key  # at most one contract per batch is queried
                was_asked = True
                self._collections[log.address] = is_collection(self._contracts, log.address)
            transfers = self._transfers(log)
            size += sum(1 + len(transfer.token_ids) for transfer in transfers)
            if pairs and size > ROWS_AT_ONCE:
                return pairs, log.key
            pairs += [(log, transfer) for transfer in transfers]
        whole = len(self._logs) < LOGS_AT_ONCE
        return pairs, self._end if whole else self._logs[-1].key + 1

    def _transfers(self, log: TransferLog) -> Sequence[Transfer]:
        collection = self._collections.get(log.address, False)
        transfers = read_transfers(log.topics, log.data, is_collection=collection)
        if is_range(log.topics):
            return [self._within_limit(log.transaction, transfer) for transfer in transfers]
        if not is_wrapping(log.topics):
            return transfers
        return [
            transfer
            for transfer in transfers
            if WrappedCoins(
                log.transaction, log.address, transfer.sender, transfer.to, transfer.value
            )
            not in self._beside
        ]

    def _within_limit(self, transaction: int, transfer: Transfer) -> Transfer:
        """Return a range whose recorded owners are limited by the gas of its transaction."""
        noted = min(len(transfer.token_ids), self._owners_left[transaction])
        self._owners_left[transaction] -= noted
        return transfer._replace(noted=noted)

    def _placed(self, pairs: Sequence[tuple[TransferLog, Transfer]]) -> Iterator[PlacedTransfer]:
        accounts = self._signing_senders(pairs)
        for log, transfer in pairs:
            signed = transfer.sender == self._signers.get(log.transaction)
            doubtful = not transfer.value or (transfer.sender in accounts and not signed)
            yield PlacedTransfer(
                log.key, log.transaction, log.address, transfer, doubtful, is_of_erc20(log.topics)
            )

    def _signing_senders(self, pairs: Sequence[tuple[TransferLog, Transfer]]) -> set[Address]:
        """Return the senders that can sign transactions: a transfer that such a sender did not sign is doubtful.

        Unspecified: if this could not be determined, no sender is returned, so that no transfer is doubtful for it.
        """
        senders = {
            transfer.sender
            for log, transfer in pairs
            if transfer.sender != self._signers.get(log.transaction)
        } - {ZERO_ADDRESS}
        try:
            return self._contracts.signing_accounts(senders)
        except DetailsUnavailable as error:
            _log.warning(
                "transfers of %s are not marked as doubtful, signed or not: %s",
                counted(len(senders), "account"),
                error,
            )
            return set()


def _ask_tokens(
    contracts: Contracts, chain: EvmChain, written: TransferIndexProgress, until: float, now: int
) -> None:
    while (token := token_logs.next_due_token(chain, now)) is not None:
        try:
            answers = ask_contract(contracts, token, now)
        except DetailsUnavailable as error:
            _log.warning("token 0x%s will be queried later: %s", token.address.hex(), error)
            token_rows.put_off(chain.db, token.address, *next_attempt(token, now), written)
        else:
            token_rows.write_metadata(chain.db, token.address, answers, written)
        if time.monotonic() >= until:
            return


def _ask_for_balances(
    contracts: Contracts, chain: EvmChain, written: TransferIndexProgress, until: float
) -> None:
    after = b""
    while queries := token_logs.due_balances(chain, after, BALANCES_AT_ONCE):
        answers: list[BalanceAnswer] = []
        for holding in queries:
            after = holding.key
            try:
                amount = read_balance(contracts, holding) if holding.is_asked else None
                answers.append(BalanceAnswer(holding.key, amount))
            except DetailsUnavailable as error:
                _log.warning(
                    "a balance of 0x%s will be queried later: %s", holding.contract.hex(), error
                )
            if time.monotonic() >= until:
                break
        token_rows.write_balances(chain.db, answers, contracts.height, written)
        if time.monotonic() >= until:
            return
