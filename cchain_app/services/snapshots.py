"""evm_snapshot and evm_revert, rewinds by depth or to the beginning, and state dumps (devnet.md 5 and 8).

A snapshot consists of a height, the number of manual changes on it, the clock and the pool; the state is not
copied. The cost of a rewind depends on the changes since then.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.dump import document_of, unpack
from cchain_app.development.errors import DevelopmentReason, InvalidDevelopmentRequest
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.pool.entry import Newcomer
from cchain_app.services import cheats
from cchain_app.services.cheats import exclusively
from cchain_app.services.rewinding import moved, rewind, staying
from cchain_app.store import accounts as account_rows
from cchain_app.store import blobs as blob_rows
from cchain_app.store import chain as stored
from cchain_app.store import development as development_rows
from cchain_app.store import evm_state
from cchain_app.store import pool as pool_rows
from cchain_app.store.development import RestorableState
from cchain_app.txs.codec import decode_unsigned, with_sender
from cchain_app.txs.signing import authorities_of
from chaindb import clock
from chaindb.locks import BUSY_SECONDS
from primitives.evm import Hash


def take_snapshot(chain: EvmChain) -> int:
    """Record a snapshot, and return the number with which `revert` restores it.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    with exclusively(chain) as head:
        overrides = development_rows.conditions(chain.db)
        development_rows.add_snapshot(
            chain.db,
            RestorableState(
                overrides.next_snapshot,
                head.number,
                head.hash,
                development_rows.count_before(chain.db, head.number + 1),
                clock.cchain_offset(),
                tuple(pool_rows.stored(chain.db)),
                overrides.next_timestamp,
                overrides.next_base_fee,
                overrides.next_prev_randao,
                chain.config.chain_id,
            ),
        )
        development_rows.set_conditions(
            chain.db, replace(overrides, next_snapshot=overrides.next_snapshot + 1)
        )
    chain.memory.conditions.reset()
    return overrides.next_snapshot


def revert(chain: EvmChain, number: int, *, keep: bool = False) -> bool:
    """Restore a snapshot; it and all later ones are deleted. Return whether the snapshot exists.

    The chain with its chain ID, state, pool, clock and the overrides for the next block are restored. The mining
    mode, coinbase, gas limit and impersonations stay as they are now.

    Unspecified: impersonated signatures stay too.

    Args:
        chain: The chain.
        number: The number that `take_snapshot` returned.
        keep: Whether the snapshot itself stays.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    if development_rows.snapshot(chain.db, number) is None:
        return False
    with _going_back(chain) as head:
        snapshot = development_rows.snapshot(chain.db, number)
        if snapshot is None:
            # A concurrent call has reverted to it. Do not undo the changes made since then.
            return False
        rewind(chain, head, snapshot.number, partial(_as_then, snapshot), snapshot.changes)
        if snapshot.chain_id is not None and snapshot.chain_id != chain.config.chain_id:
            stored.set_chain_id(chain.db, snapshot.chain_id)
        _restore_pool(chain, snapshot)
        clock.restore(snapshot.clock_offset, minimum=chain.least_time())
        development_rows.forget_snapshots(chain.db, number + 1 if keep else number)
    return True


def rollback(chain: EvmChain, depth: int, what: str = "Rollback") -> None:
    """Drop the last blocks; their transactions are lost, pending ones stay.

    Raises:
        DevelopmentError: Other nodes follow the chain.
        InvalidDevelopmentRequest: The chain has fewer blocks.
    """
    with _going_back(chain) as head:
        if depth > head.number - chain.begun_number:
            raise InvalidDevelopmentRequest(
                DevelopmentReason.DEPTH_TOO_LARGE, what=what, height=head.number, depth=depth
            )
        rewind(chain, head, head.number - depth, NextBlockOverrides.used)


def reset(chain: EvmChain, fund: Callable[[AcceptedBlock], object] | None = None) -> None:
    """Rewind to the start of the chain: without manual changes, pending transactions or snapshots, at the current time.

    Unspecified: impersonated accounts stay. Impersonated signatures are removed, because they affect the execution of
    blocks. The chain ID is the initial one.

    Args:
        chain: The chain.
        fund: For a fork: repeats the manual changes of its start. The clock then starts at the time of the first
            block, or of the replayed block.

    Raises:
        DevelopmentError: Other nodes follow the chain.
    """
    with _going_back(chain) as head:
        first = chain.begun_number
        rewind(chain, head, first, _anew, 0)
        pool_rows.remove_all(chain.db)
        blob_rows.delete_all(chain.db)
        development_rows.forget_snapshots(chain.db, 0)
        account_rows.forget_signatures(chain.db)
        stored.restore_first_chain_id(chain.db)
        if fund is None:
            clock.restore(0, minimum=chain.least_time())
        else:
            begun = stored.load_block(chain.db, first, chain.format)
            chain.memory.reset_to(begun)
            fund(begun)
            clock.show(begun.header.timestamp, minimum=chain.least_time())


def instance_id(chain: EvmChain) -> Hash:
    """Return the random ID that distinguishes this chain from chains before a reset; a reset replaces it."""
    overrides = development_rows.conditions(chain.db)
    if any(overrides.instance_id):
        return overrides.instance_id
    with exclusively(chain):
        overrides = development_rows.conditions(chain.db)
        if not any(overrides.instance_id):
            overrides = replace(overrides, instance_id=Hash(secrets.token_bytes(32)))
            development_rows.set_conditions(chain.db, overrides)
    return overrides.instance_id


def _as_then(snapshot: RestorableState, overrides: NextBlockOverrides) -> NextBlockOverrides:
    return replace(
        overrides,
        next_timestamp=snapshot.next_timestamp,
        next_base_fee=snapshot.next_base_fee,
        next_prev_randao=snapshot.next_prev_randao,
    )


def _anew(overrides: NextBlockOverrides) -> NextBlockOverrides:
    return NextBlockOverrides(
        instance_id=Hash(secrets.token_bytes(32)),
        next_snapshot=overrides.next_snapshot,
        rewinds=overrides.rewinds,
    )


@contextmanager
def _going_back(chain: EvmChain) -> Iterator[AcceptedBlock]:
    """Lock the chain within one transaction, and yield its head; afterwards move this process to the new head."""
    for listener in chain.before_rewinding:
        listener()
    with chain.vm_lock.held(BUSY_SECONDS):
        with staying(chain), exclusively(chain) as head:
            yield head
        moved(chain)


def _restore_pool(chain: EvmChain, snapshot: RestorableState) -> None:
    """Replace the pool's content by that of the snapshot."""
    pool_rows.remove_all(chain.db)
    transactions = [with_sender(decode_unsigned(raw), sender) for raw, sender, _ in snapshot.pool]
    recovered = authorities_of(transactions, chain.recover_senders)
    for transaction, authorities, (_, _, arrival) in zip(
        transactions, recovered, snapshot.pool, strict=True
    ):
        pool_rows.add(chain.db, [Newcomer(transaction, authorities)], arrival)


def dump_state(chain: EvmChain) -> bytes:
    """Return the state at the head, with all development changes, as JSON. It does not block writers."""
    with chain.db.consistent_read():
        number = stored.head_number(chain.db)
        assert number is not None, "the process has begun the chain"
        head = stored.load_block(chain.db, number, chain.format)
        price = chain.rules.blob_base_fee(head)
        return document_of(head, price, evm_state.all_accounts(chain.db))


def load_state(chain: EvmChain, dump: bytes) -> None:
    """Set accounts to their values in a dump; accounts and slots that are not in it keep their values.

    Unspecified: blocks and transactions of a dump are not imported: every block here can be computed again, while
    those were made by other rules.

    Raises:
        InvalidDevelopmentRequest: The bytes are not a dump.
        DevelopmentError: Other nodes follow the chain.
    """
    wanted: list[cheats.AccountEdit] = []
    for address, account in unpack(dump).items():
        wanted.append(cheats.balance(address, account.balance))
        wanted.append(cheats.nonce(address, account.nonce))
        wanted.append(cheats.code(address, account.code))
        wanted += (cheats.storage(address, slot, word) for slot, word in account.storage.items())
    cheats.change_state(chain, wanted)
