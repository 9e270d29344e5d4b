"""The mempool and the builder against the reference's, on one chain with the vectors' world."""

import pytest

from chainvm.port import BlockContext
from primitives.ids import ID
from tests.builders.xchain import world_chain
from tests.conformance.xchain_vectors import document, raw_bytes, world
from xchain_app.blocks.block import parse_block
from xchain_app.chain import AvmChain
from xchain_app.models import XMempoolTx
from xchain_app.services import mempool
from xchain_app.services.runtime import AvmRuntime
from xchain_app.store import mempool as pool_rows
from xchain_app.txs.base import AvmTx, conflict_keys
from xchain_app.txs.codec import parse

pytestmark = pytest.mark.django_db(transaction=True)

CASES = {case["id"]: case for case in document("pool")["cases"]}
CLOCK = world().clock


def _nothing(_: ID) -> None:
    """Write nothing besides."""


def add(chain: AvmChain, tx: AvmTx) -> str | None:
    """Add a transaction to the pool without looking at the rules; return the error."""
    if pool_rows.raws(chain.db, [tx.tx_id]):
        return f"duplicate tx: {tx.tx_id}"
    keys = list(conflict_keys(tx.unsigned))
    room = mempool.MAX_BYTES - pool_rows.size(chain.db)
    refused = mempool.refusal(tx, room, pool_rows.spenders(chain.db, keys))
    if refused is not None:
        return str(refused)
    pool_rows.add(chain.db, [tx], CLOCK)
    return None


@pytest.mark.parametrize("name", ["pool/001", "pool/002"])
def test_refusals_have_avalanchegos_messages(name: str) -> None:
    chain = world_chain()
    for step in CASES[name]["steps"]:
        if step["op"] != "add":
            continue
        tx = parse(raw_bytes(step["tx"]))
        if step["error"] is None and pool_rows.count(chain.db) == step["length"]:
            pool_rows.remove(chain.db, [row.tx_id for row in XMempoolTx.objects.all()])
        assert add(chain, tx) == step["error"]
        assert pool_rows.count(chain.db) == step["length"]


def test_a_transaction_above_64_kib_is_refused() -> None:
    step = CASES["pool/004"]["steps"][0]
    chain = world_chain()
    tx = parse(raw_bytes(CASES["pool/001"]["steps"][0]["tx"]))
    large = AvmTx(tx.unsigned, tx.credentials, tx.raw + bytes(step["size"] - len(tx.raw)), 0)

    error = add(chain, large)

    assert error == f"tx too large: {large.tx_id} size (65579) > max size (65536)"
    assert step["error"].partition(" size ")[2] == error.partition(" size ")[2]


def test_an_empty_pool_gives_no_block() -> None:
    assert AvmRuntime(world_chain()).consensus.produce(now=CLOCK) is None


def test_an_invalid_transaction_is_dropped_with_its_reason() -> None:
    case = CASES["pool/008"]
    chain = world_chain()
    tx = parse(raw_bytes(case["tx"]))
    pool_rows.add(chain.db, [tx], CLOCK)

    assert AvmRuntime(chain).consensus.produce(now=CLOCK) is None

    assert pool_rows.count(chain.db) == case["length"]
    assert pool_rows.reasons(chain.db, [tx.tx_id]) == {tx.tx_id: case["dropReason"]}


def test_block_time_is_not_before_its_parents() -> None:
    case = CASES["pool/010"]
    chain = world_chain()
    pool_rows.add(chain.db, [parse(raw_bytes(raw)) for raw in case["pool"]], CLOCK)

    block = AvmRuntime(chain).vm.build(BlockContext(case["clock"]))

    assert block is not None
    assert block.time == case["time"]
    assert block.raw == raw_bytes(case["block"])


def test_the_transactions_of_a_rejected_block_return_to_the_pool() -> None:
    case = CASES["pool/013"]
    chain = world_chain()
    runtime = AvmRuntime(chain)
    block = parse_block(raw_bytes(case["block"]))
    runtime.vm.last_accepted()

    runtime.vm.verify(block, BlockContext(CLOCK))
    assert pool_rows.count(chain.db) == case["lengthBefore"]
    runtime.vm.reject(block.block_id)

    assert sorted(map(str, pool_rows.newest(chain.db, 10))) == sorted(case["poolAfter"])


def test_a_refusal_is_remembered_until_the_next_block() -> None:
    chain = world_chain()
    wrong = parse(raw_bytes(CASES["pool/008"]["tx"]))
    right = parse(raw_bytes(CASES["pool/001"]["steps"][0]["tx"]))
    first, again = (mempool.issue(chain, [wrong], now=CLOCK)[0] for _ in range(2))

    assert str(first) == str(again) == CASES["pool/008"]["dropReason"]
    assert pool_rows.reasons(chain.db, [wrong.tx_id])

    mempool.issue_tx(chain, right, now=CLOCK)
    assert AvmRuntime(chain).consensus.produce(now=CLOCK) is not None

    assert not pool_rows.reasons(chain.db, [wrong.tx_id])
    assert pool_rows.is_empty(chain.db)


def test_a_pending_transaction_is_acknowledged_again() -> None:
    chain = world_chain()
    tx = parse(raw_bytes(CASES["pool/001"]["steps"][0]["tx"]))

    assert mempool.issue_tx(chain, tx, now=CLOCK) == tx.tx_id
    assert mempool.issue(chain, [tx, tx], now=CLOCK) == [tx.tx_id] * 2
    assert pool_rows.count(chain.db) == 1
