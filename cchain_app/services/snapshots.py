"""evm_snapshot and evm_revert, and going back by depth or to the beginning (devnet.md 5 and 8).

A snapshot is a height, how many changes by hand were made on it, the clock and the pool: nothing of the state is
copied. What it costs to go back depends on what changed since.
"""

import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.conditions import Conditions
from cchain_app.development.errors import DepthTooLarge
from cchain_app.pool.entry import Newcomer
from cchain_app.services.by_hand import exclusively
from cchain_app.services.rewinding import moved, rewind, staying
from cchain_app.store import chain as stored
from cchain_app.store import development as rows
from cchain_app.store import impersonation
from cchain_app.store import pool as pool_rows
from cchain_app.store.development import Snapshot
from cchain_app.txs.authorities import authorities_of
from cchain_app.txs.codec import decode_unsigned, with_sender
from chaindb import clock
from chaindb.locks import BUSY_SECONDS
from primitives.evm import Hash


def take_snapshot(chain: EvmChain) -> int:
    """Note the moment, and return the number by which `revert` goes back to it.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    with exclusively(chain) as head:
        found = rows.conditions(chain.db)
        rows.add_snapshot(
            chain.db,
            Snapshot(
                found.next_snapshot,
                head.number,
                head.hash,
                rows.count_before(chain.db, head.number + 1),
                clock.cchain_offset(),
                tuple(pool_rows.stored(chain.db)),
                found.next_timestamp,
                found.next_base_fee,
                found.next_prev_randao,
                chain.config.chain_id,
            ),
        )
        rows.set_conditions(chain.db, replace(found, next_snapshot=found.next_snapshot + 1))
    chain.memory.conditions.reset()
    return found.next_snapshot


def revert(chain: EvmChain, number: int, *, keep: bool = False) -> bool:
    """Go back to a snapshot; it and all later ones end. Return whether there is such a snapshot.

    Chain with its chain ID, state, pool, clock and what was set for the next block are as they were; how blocks
    are made, their coinbase and gas limit, and impersonations stay as they are now.

    Unspecified: of signatures too.

    Args:
        chain: Which chain.
        number: As `take_snapshot` returned it.
        keep: Whether the snapshot itself stays.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    if rows.snapshot(chain.db, number) is None:
        return False
    with _going_back(chain) as head:
        snapshot = rows.snapshot(chain.db, number)
        if snapshot is None:
            # Whoever came first has gone back, and what happened since is not to be lost.
            return False
        rewind(chain, head, snapshot.number, partial(_as_then, snapshot), snapshot.changes)
        if snapshot.chain_id is not None and snapshot.chain_id != chain.config.chain_id:
            stored.set_chain_id(chain.db, snapshot.chain_id)
        _restore_pool(chain, snapshot)
        clock.restore(snapshot.clock_offset, least=chain.least_time())
        rows.forget_snapshots(chain.db, number + 1 if keep else number)
    return True


def rollback(chain: EvmChain, depth: int, what: str = "Rollback") -> None:
    """Drop the last blocks; what was in them is lost, what waits stays.

    Raises:
        HasPeers: Other nodes follow the chain.
        DepthTooLarge: There are not so many.
    """
    with _going_back(chain) as head:
        if depth > head.number - chain.begun_number:
            raise DepthTooLarge(what, head.number, depth)
        rewind(chain, head, head.number - depth, Conditions.used)


def reset(chain: EvmChain, fund: Callable[[AcceptedBlock], object] | None = None) -> None:
    """Go back to where the chain began: no changes by hand, nothing waits, no snapshots, the clock of now.

    Unspecified: impersonated accounts stay, and impersonated signatures, which change what blocks do, are forgotten.
    The chain ID is the one with which it began.

    Args:
        chain: Which chain.
        fund: Of a fork: makes the changes by hand anew with which it began; its clock is the first block's, or the
            replayed one's.

    Raises:
        HasPeers: Other nodes follow the chain.
    """
    with _going_back(chain) as head:
        first = chain.begun_number
        rewind(chain, head, first, _anew, 0)
        pool_rows.remove_all(chain.db)
        rows.forget_snapshots(chain.db, 0)
        impersonation.forget_signatures(chain.db)
        stored.bring_back_chain_id(chain.db)
        if fund is None:
            clock.restore(0, least=chain.least_time())
        else:
            begun = stored.load_block(chain.db, first)
            chain.memory.begin_at(begun)
            fund(begun)
            clock.show(begun.header.timestamp, least=chain.least_time())


def instance_id(chain: EvmChain) -> Hash:
    """Return what tells this chain from one that was reset: drawn once, and anew at a reset."""
    found = rows.conditions(chain.db)
    if any(found.instance_id):
        return found.instance_id
    with exclusively(chain):
        found = rows.conditions(chain.db)
        if not any(found.instance_id):
            found = replace(found, instance_id=Hash(secrets.token_bytes(32)))
            rows.set_conditions(chain.db, found)
    return found.instance_id


def _as_then(snapshot: Snapshot, found: Conditions) -> Conditions:
    return replace(
        found,
        next_timestamp=snapshot.next_timestamp,
        next_base_fee=snapshot.next_base_fee,
        next_prev_randao=snapshot.next_prev_randao,
    )


def _anew(found: Conditions) -> Conditions:
    return Conditions(
        instance_id=Hash(secrets.token_bytes(32)),
        next_snapshot=found.next_snapshot,
        rewinds=found.rewinds,
    )


@contextmanager
def _going_back(chain: EvmChain) -> Iterator[AcceptedBlock]:
    """Hold the chain still in one transaction, and give its head; then move this process to the new one."""
    for listener in chain.before_rewinding:
        listener()
    with chain.consensus.lock.held(BUSY_SECONDS):
        with staying(chain), exclusively(chain) as head:
            yield head
        moved(chain)


def _restore_pool(chain: EvmChain, snapshot: Snapshot) -> None:
    """Let wait what waited then, and nothing else."""
    pool_rows.remove_all(chain.db)
    transactions = [with_sender(decode_unsigned(raw), sender) for raw, sender, _ in snapshot.pool]
    recovered = authorities_of(transactions, chain.recover_senders)
    for transaction, authorities, (_, _, arrival) in zip(
        transactions, recovered, snapshot.pool, strict=True
    ):
        pool_rows.add(chain.db, [Newcomer(transaction, authorities)], arrival)
