"""Requests of peers for accepted blocks: ancestors, ranges by height, and by ID; and for pending transactions."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from cchain_app.apps import evm_runtime
from cchain_app.pool.errors import PoolReason
from cchain_app.services import transactions
from network_app.chains import chain as network_chain
from network_app.chains.chain import NetworkChain
from network_app.ports import ANCESTOR_OVERHEAD
from network_app.proposervm.block import parse
from platform_app.apps import platform_chain
from platform_app.services import mempool
from platform_app.services.errors import IssueReason, RefusedIssue
from primitives.hashing import keccak256, sha256
from primitives.ids import ID
from tests.builders.node_settings import updated
from tests.builders.reasons import raises, reason_of
from tests.integration.network_app.world import Past, World, raws, tip
from tests.integration.platform_app.made import export, rival

UNKNOWN = ID(bytes(range(32)))
NO_LIMIT = 1 << 40
LONG = 60.0


@pytest.fixture
def made(world: World) -> Past:
    """A history built by this node."""
    world.make_history()
    return Past(raws(world.maker.p), raws(world.maker.c))


def ancestors(
    chain: NetworkChain[Any],
    block_id: ID,
    count: int = 2000,
    size: int = NO_LIMIT,
    seconds: float = LONG,
) -> list[bytes]:
    """Return the blocks of a response, lowest first."""
    found = chain.ancestors(block_id, count=count, size=size, seconds=seconds)
    return found[::-1]


def test_the_whole_history_ends_with_the_first_block_after_genesis(
    world: World, made: Past
) -> None:
    for chain, blocks in zip(world.maker, made, strict=True):
        for height in range(1, len(blocks) + 1):
            assert ancestors(chain, parse(blocks[height - 1]).outer_id) == blocks[:height]


def test_genesis_is_returned_unwrapped_on_request(world: World, made: Past) -> None:
    for chain in world.maker:
        genesis = chain.rows.genesis
        assert ancestors(chain, genesis.block_id) == [genesis.raw]
        assert chain.block(genesis.block_id) == genesis.raw
    assert world.maker.p.accepted_at([0]) == [ID(sha256(world.maker.p.rows.genesis.raw))]


def test_unknown_block_is_not_found(world: World, made: Past) -> None:
    for chain, blocks in zip(world.maker, made, strict=True):
        inner_id = tip(chain).block_id
        for block_id in (UNKNOWN, inner_id):
            assert ancestors(chain, block_id) == []
            assert chain.block(block_id) is None
            assert chain.height_of([block_id]) == [None]
        assert chain.accepted_at([len(blocks) + 1, -1]) == [None, None]


@pytest.mark.parametrize("chunk", [1, 2, 128])
def test_number_of_ancestors_is_limited(
    world: World, made: Past, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(network_chain, "CHUNK", chunk)
    for chain, blocks in zip(world.maker, made, strict=True):
        top = parse(blocks[-1]).outer_id
        for count in (1, 2, 5, len(blocks), len(blocks) + 1):
            assert ancestors(chain, top, count=count) == blocks[-count:]


@pytest.mark.parametrize("chunk", [1, 3, 128])
def test_size_of_ancestors_is_limited(
    world: World, made: Past, monkeypatch: pytest.MonkeyPatch, chunk: int
) -> None:
    monkeypatch.setattr(network_chain, "CHUNK", chunk)
    for chain, blocks in zip(world.maker, made, strict=True):
        top = parse(blocks[-1]).outer_id
        for count in range(1, len(blocks) + 1):
            size = sum(len(raw) + ANCESTOR_OVERHEAD for raw in blocks[-count:])
            assert ancestors(chain, top, size=size) == blocks[-count:]
            fewer = max(1, count - 1)  # the requested block is always included
            assert ancestors(chain, top, size=size - 1) == blocks[-fewer:]
        assert ancestors(chain, top, size=0) == blocks[-1:]


def test_an_answer_takes_so_long_at_most(
    world: World, made: Past, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network_chain, "CHUNK", 2)
    for chain, blocks in zip(world.maker, made, strict=True):
        top = parse(blocks[-1]).outer_id
        assert ancestors(chain, top, seconds=0) == blocks[-2:]


def test_accepted_since_returns_later_blocks(world: World, made: Past) -> None:
    for chain, blocks in zip(world.maker, made, strict=True):
        places = [(place.height, raw) for place, raw in chain.accepted_since(2, 3)]
        assert places == [(3, blocks[2]), (4, blocks[3]), (5, blocks[4])]
        assert [raw for _, raw in chain.accepted_since(0, 100)] == blocks
        assert chain.accepted_since(len(blocks), 1) == []
        assert chain.accepted_since(len(blocks) + 5, 1) == []


def test_much_is_given_in_pieces(world: World, made: Past, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network_chain, "SINCE_BYTES", 1)
    for chain, blocks in zip(world.maker, made, strict=True):
        assert [raw for _, raw in chain.accepted_since(0, 100)] == blocks[:1]


@pytest.mark.parametrize(("alias", "most"), [("p", 4), ("c", 4)])
def test_an_answer_costs_few_statements(world: World, made: Past, alias: str, most: int) -> None:
    chain: NetworkChain[Any] = getattr(world.maker, alias)
    top = chain.last_accepted().block_id
    assert chain.rows.genesis.height == 0
    with CaptureQueriesContext(connection) as asked:
        assert len(ancestors(chain, top)) > 5
    assert len(asked) <= most
    with CaptureQueriesContext(connection) as asked:
        chain.block(top)
    assert len(asked) <= most
    with CaptureQueriesContext(connection) as asked:
        chain.height_of([top, UNKNOWN])
    assert len(asked) == 1


def test_pending_transactions_are_served_to_peers(world: World) -> None:
    first, second = world.c.make(value=1), world.c.make(value=2)
    world.c.send(first, second)
    payment = world.p.make()
    world.p.issue(payment)
    unknown = ID(b"\x07" * 32)

    chain = world.maker.c
    assert chain.waiting(10) == [ID(first.hash), ID(second.hash)]
    assert chain.waiting(1) == [ID(second.hash)]
    assert chain.transactions([ID(second.hash), unknown]) == [second.raw, None]
    assert chain.transaction_id(first.raw) == ID(keccak256(first.raw)) == ID(first.hash)

    chain = world.maker.p
    assert chain.waiting(10) == [payment.tx_id]
    assert chain.transactions([unknown, payment.tx_id]) == [None, payment.raw]
    assert chain.transaction_id(payment.raw) == payment.tx_id


def test_transactions_of_peers_are_verified(world: World) -> None:
    good = world.c.make(value=1)
    chain = world.maker.c
    taken, refused, known = chain.issue([good.raw, b"\x02", good.raw])
    assert taken == ID(good.hash)
    assert isinstance(refused, Exception)
    assert isinstance(known, Exception)
    assert chain.waiting(10) == [ID(good.hash)]

    payment = world.p.make()
    chain = world.maker.p
    refused, taken, conflicting = chain.issue([b"\0\0", payment.raw, rival(payment).raw])
    assert isinstance(refused, Exception)
    assert taken == payment.tx_id
    assert isinstance(conflicting, Exception)
    assert chain.waiting(10) == [payment.tx_id]


@pytest.mark.node_settings(rpc_tx_fee_cap=100.0)
def test_client_fee_cap_does_not_apply_to_gossiped_transactions(
    world: World,
) -> None:
    dear = world.c.make(max_fee_per_gas=10**16)
    (refused,) = transactions.submit(evm_runtime(), [dear.raw])
    assert reason_of(refused) is PoolReason.FEE_ABOVE_CAP

    assert world.maker.c.issue([dear.raw]) == [ID(dear.hash)]


def test_gossiped_exports_are_accepted(world: World, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, chains=("P", "C"))
    tx = export(world.p, world.p.network.x_chain_id)
    with raises(IssueReason.NOTHING_IMPORTS, kind=RefusedIssue):
        mempool.issue_tx(platform_chain(), tx, now=world.p.now)

    assert world.maker.p.issue([tx.raw]) == [tx.tx_id]


def test_chain_has_alias_and_id(world: World) -> None:
    assert [chain.alias for chain in world.maker] == ["P", "C"]
    assert world.maker.p.chain_id == ID(bytes(32))
    assert world.maker.c.chain_id == platform_chain().network().c_chain_id
