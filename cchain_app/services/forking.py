"""A chain that begins as a fork, and becomes another one by anvil_reset (devnet.md 13).

All that is asked of the remote node for a beginning is asked before the transaction that writes it.
"""

import secrets
from collections.abc import Sequence
from typing import NamedTuple

from cchain_app.blocks.accepted import AcceptedBlock
from cchain_app.chain import EvmChain
from cchain_app.development.conditions import Conditions
from cchain_app.development.errors import HasPeers
from cchain_app.forking import questions
from cchain_app.forking.client import Upstream, upstream_at
from cchain_app.forking.errors import (
    BadUpstreamAnswer,
    ForkNeedsOwnChain,
    NotAFork,
    OtherFork,
)
from cchain_app.forking.origin import Fork, Wanted, read_wanted
from cchain_app.forking.replay import Replay, block_with, read_replay
from cchain_app.forks import system_contracts
from cchain_app.selectors.forked import fetch_accounts, upstream_of
from cchain_app.services import by_hand, local_genesis, snapshots
from cchain_app.services.replaying import replay
from cchain_app.services.rewinding import moved, staying
from cchain_app.store import chain as stored
from cchain_app.store import development
from cchain_app.store import forked as rows
from chaindb import clock
from chaindb.locks import BUSY_SECONDS, Lock
from primitives.evm import ZERO_ADDRESS, Address, Hash
from primitives.hexadecimal import encode_data


class _Beginning(NamedTuple):
    """All that the rows of a fork begin with."""

    fork: Fork
    block: AcceptedBlock
    """The pin, without its transactions."""
    accounts: dict[Address, questions.ForkedAccount]
    """Those that are funded, and those that every block or call reads, as they are at the pin."""
    replay: Replay | None
    """What is executed on the pin before anything else."""


def load_fork(chain: EvmChain) -> AcceptedBlock | None:
    """Begin the fork that the settings name, or see that the one there is theirs; return its first block.

    None where there is no fork, nor one wanted. A fork that is there is gone on with, and nobody is asked.

    Unspecified: a fork whose replay fails, or was interrupted, has not begun; nothing of it stays.

    Raises:
        ForkRefused: By a subclass: the data directory has something else, or the chain cannot be a fork.
        UpstreamError: The remote node does not tell what a fork begins with.
    """
    node = chain.node
    wanted = read_wanted(node.fork_url, node.fork_block_number, node.fork_transaction_hash)
    if chain.fork is not None:
        if stored.head_number(chain.db) != _unfinished_at(chain.fork):
            return _go_on(chain, chain.fork, wanted)
        upstream_of(chain)  # without somebody to ask, what is there stays for a start with one
        _forget(chain)
    if not wanted.urls:
        return None
    _verify_own(chain)
    if stored.head_number(chain.db) is not None:
        raise NotAFork
    beginning = _prepare(chain, upstream_of(chain), wanted)
    if chain.is_local_genesis:
        local_genesis.keep(chain)
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        _write(chain, beginning)
    chain.memory.begin_at(beginning.block)  # nothing of what was read before the funds came
    if beginning.replay is not None:
        try:
            replay(chain, beginning.fork, beginning.replay)
        except BaseException:
            _forget(chain)
            raise
    return beginning.block


def _unfinished_at(fork: Fork) -> int | None:
    """Return the head's height of a fork whose replay was interrupted; None: it has no replay."""
    return None if fork.transaction is None else fork.number


def _forget(chain: EvmChain) -> None:
    """Drop a fork that has not begun."""
    with chain.db.atomic(durable=True):
        chain.db.acquire(Lock.CCHAIN)
        chain.db.acquire(Lock.CCHAIN_POOL)
        rows.forget_everything(chain.db)
        clock.restore(0, least=chain.least_time())
    chain.read_fork_again()


def _go_on(chain: EvmChain, fork: Fork, wanted: Wanted) -> AcceptedBlock:
    """Return the first block of the fork that is there.

    Raises:
        OtherFork: The settings name another one.
    """
    number = wanted.number
    if number is not None and number >= 0 and number != fork.number:
        raise OtherFork("block", fork.number, number)
    chain_id = chain.node.fork_chain_id or chain.node.chain_id
    if chain_id and chain_id != fork.chain_id:
        raise OtherFork("chain ID", fork.chain_id, chain_id)
    names_pin = number is not None and number >= 0
    if wanted.transaction != fork.transaction and (wanted.transaction is not None or names_pin):
        raise OtherFork("transaction", _shown(fork.transaction), _shown(wanted.transaction))
    return stored.load_block(chain.db, fork.number)


def _shown(transaction: Hash | None) -> str:
    return "none" if transaction is None else encode_data(transaction)


def _verify_own(chain: EvmChain) -> None:
    """See that the chain is this node's alone.

    Raises:
        ForkNeedsOwnChain: It is not.
    """
    if not chain.is_development:
        raise ForkNeedsOwnChain("there are no development methods by these settings")
    if chain.node.profile != "embedded":
        raise ForkNeedsOwnChain("NODE_PROFILE is not embedded")


def _prepare(chain: EvmChain, upstream: Upstream, wanted: Wanted) -> _Beginning:
    """Ask for all that a fork begins with: the pin, the chain ID, the accounts that are funded, what is replayed."""
    after, number = None, wanted.number
    if wanted.transaction is not None:
        after = block_with(upstream, wanted.transaction)
        number = questions.header_of(after).number - 1
    told = questions.pinned_block(upstream, number)
    header = questions.header_of(told)
    if number is not None and number >= 0 and header.number != number:
        raise BadUpstreamAnswer(f"{upstream.host} told of block {header.number}, not {number}")
    node = chain.node
    chain_id = questions.chain_id(upstream)
    fork = Fork(
        url=upstream.host,
        number=header.number,
        hash=questions.hash_of(told),
        chain_id=node.fork_chain_id or node.chain_id or chain_id,
        gas_limit=header.gas_limit,
        block=told,
        transaction=wanted.transaction,
    )
    replayed = None
    if after is not None and wanted.transaction is not None:
        if questions.header_of(after).parent_hash != fork.hash:
            raise BadUpstreamAnswer(f"{upstream.host} told of two blocks {header.number}")
        replayed = read_replay(after, wanted.transaction, fork.chain_id)
    # Its transactions are upstream's to tell.
    block = AcceptedBlock(header, fork.hash, questions.size_of(told), (), ())
    # Each block reads the coinbase and what its rules call, each call its sender.
    config = chain.own_genesis.config
    rules = config.fork_at(header.number + 1, header.timestamp)
    funded = [one.address for one in _funds(chain)]
    needed = [*funded, ZERO_ADDRESS, config.coinbase, *system_contracts(rules).values()]
    return _Beginning(fork, block, fetch_accounts(upstream, needed, fork.number), replayed)


def _funds(chain: EvmChain) -> Sequence[by_hand.Wanted]:
    """Return the balances that the accounts of a local network's genesis get on a fork, too.

    The zero address keeps its balance of the other chain.
    """
    return [
        by_hand.balance(address, account.balance)
        for address, account in chain.own_genesis.alloc.items()
        if account.balance and address != ZERO_ADDRESS
    ]


def _write(chain: EvmChain, beginning: _Beginning) -> None:
    """Write the first block, what was fetched, and the funds; the clock goes on from the pin's time."""
    fork, block = beginning.fork, beginning.block
    stored.begin(chain.db, block, fork.chain_id)
    rows.begin_fork(chain.db, fork)
    rows.keep(chain.db, beginning.accounts, {})
    chain.read_fork_again()
    chain.memory.begin_at(block)
    by_hand.write_changes(chain, block, _funds(chain))
    clock.show(block.header.timestamp, least=chain.least_time())


def reset(chain: EvmChain, wanted: Wanted | None) -> None:
    """Go back to where the fork began; or drop everything and begin anew where another block or URL is asked for.

    Unspecified: a fork with a replay keeps that, unless a block is asked for, be it the pin: then it has none.

    Args:
        chain: Which chain.
        wanted: The fork; None, or the one that it is: back to where it began, of a chain that is none to block 0.

    Raises:
        NotAFork: The chain has a genesis of its own.
        HasPeers: Other nodes follow the chain.
        UpstreamError: The remote node does not tell what a fork begins with; nothing has changed.
    """
    fork = chain.fork
    if fork is None:
        if wanted is not None:
            raise NotAFork
        snapshots.reset(chain)
        return
    number = None if wanted is None else wanted.number
    is_this = number is None or (number == fork.number and fork.transaction is None)
    if wanted is None or (not wanted.urls and is_this):
        _back_to_beginning(chain, fork)
        return
    upstream = upstream_at(chain.node, wanted.urls) if wanted.urls else upstream_of(chain)
    beginning = _prepare(chain, upstream, wanted)
    if (beginning.fork.hash, beginning.fork.transaction) == (fork.hash, fork.transaction):
        chain.upstream = upstream
        _back_to_beginning(chain, fork)
        return
    _begin_anew(chain, beginning, upstream)


def _back_to_beginning(chain: EvmChain, fork: Fork) -> None:
    def fund(begun: AcceptedBlock) -> None:
        if fork.transaction is None:  # else the funds came before the replay, and are there
            by_hand.write_changes(chain, begun, _funds(chain))

    snapshots.reset(chain, fund)


def _begin_anew(chain: EvmChain, beginning: _Beginning, upstream: Upstream) -> None:
    if chain.has_peers():
        raise HasPeers
    with chain.consensus.lock.held(BUSY_SECONDS):
        with staying(chain), chain.db.atomic(durable=True):
            chain.db.acquire(Lock.CCHAIN)
            chain.db.acquire(Lock.CCHAIN_POOL)
            found = development.conditions(chain.db)
            rows.forget_everything(chain.db)
            for listener in chain.on_rewinding:
                listener(-1)
            _write(chain, beginning)
            rewinds = found.rewinds + 1
            development.add_rewind(chain.db, rewinds, beginning.fork.number)
            development.set_conditions(
                chain.db,
                Conditions(
                    instance_id=Hash(secrets.token_bytes(32)),
                    next_snapshot=found.next_snapshot,
                    rewinds=rewinds,
                ),
            )
        chain.upstream = upstream
        moved(chain)


def set_upstream(chain: EvmChain, url: str) -> None:
    """Ask another URL from now on, until the end of this process; what was fetched stays.

    Raises:
        NotAFork: There is nothing to ask.
        MalformedForkSetting: It is no URL.
    """
    if chain.fork is None:
        raise NotAFork
    chain.upstream = upstream_at(chain.node, read_wanted([url]).urls)
