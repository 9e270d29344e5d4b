"""Starts a chain as a fork, and replaces it by another fork in anvil_reset (devnet.md 13).

All requests to the upstream for a new fork are made before the transaction that writes it.
"""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.errors import DevelopmentError, DevelopmentReason
from cchain_app.development.overrides import NextBlockOverrides
from cchain_app.forking import questions
from cchain_app.forking.client import Upstream, upstream_at
from cchain_app.forking.errors import BadUpstreamAnswer, ForkReason, ForkRefused, UpstreamReason
from cchain_app.forking.origin import ForkOrigin, ForkPoint, read_wanted
from cchain_app.forking.replay import BlockPart, block_with, read_replay
from cchain_app.forks import system_contracts
from cchain_app.selectors.forked import fetch_accounts, upstream_of
from cchain_app.services import cheats, snapshots
from cchain_app.services.replaying import replay
from cchain_app.services.rewinding import moved, staying
from cchain_app.services.runtime import EvmRuntime
from cchain_app.store import chain as stored
from cchain_app.store import development
from cchain_app.store import forked as forked_rows
from chaindb import clock
from chaindb.locks import BUSY_SECONDS, Lock
from primitives.evm import ZERO_ADDRESS, Address, Hash
from primitives.hexadecimal import encode_data


class _Beginning(NamedTuple):
    """The data with which the rows of a fork start."""

    fork: ForkOrigin
    block: AcceptedBlock
    """The fork block, without its transactions."""
    accounts: dict[Address, questions.UpstreamAccount]
    """The accounts that are funded and those that every block or call reads, as of the fork block."""
    replay: BlockPart | None
    """The transactions that are executed on the fork block before anything else."""


def load_fork(chain: EvmChain) -> AcceptedBlock | None:
    """Start the fork that the settings name, or check that the existing fork matches them; return its first block.

    Return None if there is no fork and the settings name none. An existing fork continues without any request to the
    upstream.

    Unspecified: if the replay of a fork fails or is interrupted, the fork is removed completely.

    Raises:
        ForkRefused: The data directory has another chain, or the chain cannot be a fork.
        UpstreamError: The upstream does not return the data with which a fork starts.
    """
    settings = chain.settings.fork
    wanted = read_wanted(settings.url, settings.block_number, settings.transaction_hash)
    if chain.fork is not None:
        if stored.head_number(chain.db) != _unfinished_at(chain.fork):
            return _go_on(chain, chain.fork, wanted)
        upstream_of(chain)  # raises if there is no upstream, and the rows stay for a later start
        _forget(chain)
    if not wanted.urls:
        return None
    _verify_own(chain)
    if stored.head_number(chain.db) is not None:
        raise ForkRefused(ForkReason.NOT_A_FORK)
    beginning = _prepare(chain, upstream_of(chain), wanted)
    if chain.genesis_source.is_local:
        chain.genesis_source.keep(chain.genesis_file())
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        _write(chain, beginning)
    chain.memory.reset_to(beginning.block)  # forget everything that was read before the funding
    if beginning.replay is not None:
        try:
            replay(chain, beginning.fork, beginning.replay)
        except BaseException:
            _forget(chain)
            raise
    return beginning.block


def _unfinished_at(fork: ForkOrigin) -> int | None:
    """Return the height of the head if a fork's replay was interrupted; None: the fork has no replay."""
    return None if fork.transaction is None else fork.number


def _forget(chain: EvmChain) -> None:
    """Remove a fork whose start did not complete."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        chain.db.acquire(Lock.CCHAIN_POOL)
        forked_rows.forget_everything(chain.db)
        clock.restore(0, minimum=chain.least_time())
    chain.read_fork_again()


def _go_on(chain: EvmChain, fork: ForkOrigin, wanted: ForkPoint) -> AcceptedBlock:
    """Return the first block of the existing fork.

    Raises:
        ForkRefused: The settings name another fork.
    """
    number = wanted.number
    if number is not None and number >= 0 and number != fork.number:
        raise ForkRefused(ForkReason.OTHER_FORK, what="block", stored=fork.number, wanted=number)
    chain_id = chain.settings.fork.chain_id or chain.settings.chain_id
    if chain_id and chain_id != fork.chain_id:
        raise ForkRefused(
            ForkReason.OTHER_FORK, what="chain ID", stored=fork.chain_id, wanted=chain_id
        )
    names_pin = number is not None and number >= 0
    if wanted.transaction != fork.transaction and (wanted.transaction is not None or names_pin):
        raise ForkRefused(
            ForkReason.OTHER_FORK,
            what="transaction",
            stored=_shown(fork.transaction),
            wanted=_shown(wanted.transaction),
        )
    return stored.load_block(chain.db, fork.number, chain.format)


def _shown(transaction: Hash | None) -> str:
    return "none" if transaction is None else encode_data(transaction)


def _verify_own(chain: EvmChain) -> None:
    """Check that no other node follows the chain.

    Raises:
        ForkRefused: The settings allow other nodes.
    """
    if not chain.is_development:
        raise ForkRefused(
            ForkReason.NEEDS_OWN_CHAIN, problem="there are no development methods by these settings"
        )
    if not chain.has_development_methods:
        raise ForkRefused(ForkReason.NEEDS_OWN_CHAIN, problem="NODE_PROFILE is not embedded")


def _prepare(chain: EvmChain, upstream: Upstream, wanted: ForkPoint) -> _Beginning:
    """Request the data of a new fork: the fork block, the chain ID, the accounts to fund, and the replay."""
    after, number = None, wanted.number
    if wanted.transaction is not None:
        after = block_with(upstream, wanted.transaction)
        number = questions.block_of(after).number - 1
    pinned = questions.pinned_block(upstream, number)
    block = questions.block_of(pinned)
    header = block.header
    if number is not None and number >= 0 and header.number != number:
        raise BadUpstreamAnswer(
            UpstreamReason.OTHER_BLOCK, host=upstream.host, number=header.number, wanted=number
        )
    settings = chain.settings
    chain_id = questions.chain_id(upstream)
    fork = ForkOrigin(
        url=upstream.host,
        number=header.number,
        hash=block.hash,
        chain_id=settings.fork.chain_id or settings.chain_id or chain_id,
        gas_limit=header.gas_limit,
        block=pinned,
        transaction=wanted.transaction,
    )
    replayed = None
    if after is not None and wanted.transaction is not None:
        if questions.block_of(after).header.parent_hash != fork.hash:
            raise BadUpstreamAnswer(
                UpstreamReason.DIFFERENT_BLOCKS, host=upstream.host, number=header.number
            )
        replayed = read_replay(after, wanted.transaction, fork.chain_id)
    # Every block reads the coinbase and the system contracts, and every call reads its sender.
    config = chain.own_genesis.config
    rules = config.fork_at(header.number + 1, header.timestamp)
    funded = [fund.address for fund in _funds(chain)]
    needed = [*funded, ZERO_ADDRESS, config.coinbase, *system_contracts(rules).values()]
    return _Beginning(fork, block, fetch_accounts(upstream, needed, fork.number), replayed)


def _funds(chain: EvmChain) -> Sequence[cheats.AccountEdit]:
    """Return the balances of the accounts in a local network's genesis, which they also get on a fork.

    The zero address keeps its balance of the forked chain.
    """
    return [
        cheats.balance(address, account.balance)
        for address, account in chain.own_genesis.alloc.items()
        if account.balance and address != ZERO_ADDRESS
    ]


def _write(chain: EvmChain, beginning: _Beginning) -> None:
    """Write the first block, the fetched data and the funds; the clock continues from the fork block's time."""
    fork, block = beginning.fork, beginning.block
    stored.begin(chain.db, block, fork.chain_id)
    forked_rows.begin_fork(chain.db, fork)
    forked_rows.keep(chain.db, beginning.accounts, {})
    chain.read_fork_again()
    chain.memory.reset_to(block)
    cheats.write_changes(chain, block, _funds(chain))
    clock.show(block.header.timestamp, minimum=chain.least_time())


def reset(runtime: EvmRuntime, wanted: ForkPoint | None) -> None:
    """Rewind to the start of the fork, or replace it by another fork if another block or URL is requested.

    Unspecified: a fork with a replay keeps the replay, unless a block is requested, even if it is the fork block; then
    the fork has no replay.

    Args:
        runtime: The chain.
        wanted: The requested fork. None or the current fork: rewind to its start; a chain that is not a fork is
            rewound to block 0.

    Raises:
        ForkRefused: A fork is requested, but the chain has a genesis of its own.
        DevelopmentError: Other nodes follow the chain.
        UpstreamError: The upstream does not return the data with which a fork starts; nothing has changed.
    """
    chain = runtime.chain
    fork = chain.fork
    if fork is None:
        if wanted is not None:
            raise ForkRefused(ForkReason.NOT_A_FORK)
        snapshots.reset(chain)
        return
    number = None if wanted is None else wanted.number
    is_this = number is None or (number == fork.number and fork.transaction is None)
    if wanted is None or (not wanted.urls and is_this):
        _back_to_beginning(chain, fork)
        return
    upstream = upstream_at(chain.settings.fork, wanted.urls) if wanted.urls else upstream_of(chain)
    beginning = _prepare(chain, upstream, wanted)
    if (beginning.fork.hash, beginning.fork.transaction) == (fork.hash, fork.transaction):
        chain.upstream = upstream
        _back_to_beginning(chain, fork)
        return
    _restart_at(runtime, beginning, upstream)


def _back_to_beginning(chain: EvmChain, fork: ForkOrigin) -> None:
    def fund(begun: AcceptedBlock) -> None:
        if fork.transaction is None:  # otherwise the accounts were funded before the replay
            cheats.write_changes(chain, begun, _funds(chain))

    snapshots.reset(chain, fund)


def _restart_at(runtime: EvmRuntime, beginning: _Beginning, upstream: Upstream) -> None:
    chain = runtime.chain
    if chain.has_peers():
        raise DevelopmentError(DevelopmentReason.HAS_PEERS)
    with chain.vm_lock.held(BUSY_SECONDS):
        with staying(chain), chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN)
            chain.db.acquire(Lock.CCHAIN_POOL)
            found = development.conditions(chain.db)
            forked_rows.forget_everything(chain.db)
            runtime.vm.reset()
            for listener in chain.on_rewinding:
                listener(-1)
            _write(chain, beginning)
            rewinds = found.rewinds + 1
            development.add_rewind(chain.db, rewinds, beginning.fork.number)
            development.set_conditions(
                chain.db,
                NextBlockOverrides(
                    instance_id=Hash(secrets.token_bytes(32)),
                    next_snapshot=found.next_snapshot,
                    rewinds=rewinds,
                ),
            )
        chain.upstream = upstream
        moved(chain)


def set_upstream(chain: EvmChain, url: str) -> None:
    """Use another upstream URL until the end of this process; fetched data stays.

    Raises:
        ForkRefused: The chain has no upstream.
        MalformedForkSetting: The URL is invalid.
    """
    if chain.fork is None:
        raise ForkRefused(ForkReason.NOT_A_FORK)
    chain.upstream = upstream_at(chain.settings.fork, read_wanted([url]).urls)
