"""Under avalanchego's parameters blocks take the transactions that burn most per gas first (etna.md 2)."""

import pytest

from platform_app import models
from platform_app.apps import platform_chain
from platform_app.blocks.block import BanffStandardBlock
from platform_app.store import mempool
from platform_app.txs.base import BaseTx, Tx, inner_output
from primitives.keys import EWOQ_KEY
from tests.builders import platform
from tests.integration.platform_app.conftest import EWOQ, PChain
from tests.integration.platform_app.produced import follow, standard

AMOUNT = 10**9


def payment(pchain: PChain, burn: int, *, more: int = 0) -> Tx:
    """Return a transfer that burns an amount, with this many more outputs."""
    coin = next(one for one in pchain.coins() if inner_output(one.output).amount == AMOUNT)
    pchain._spent.add(coin.utxo_id)
    kept = AMOUNT - burn - more
    outputs = [pchain.output(kept, EWOQ), *(pchain.output(1, EWOQ) for _ in range(more))]
    unsigned = platform.unsigned(
        BaseTx, inputs=platform.spend_all(coin), outputs=tuple(reversed(outputs))
    )
    return platform.signed(unsigned, [[EWOQ_KEY]])


def split(pchain: PChain, count: int) -> None:
    """Give ewoq coins, in a block of another node."""
    outputs = [pchain.output(AMOUNT, EWOQ) for _ in range(count)]
    block = standard(pchain, pchain.make(BaseTx, *outputs, burn=10**7), after=60)
    pchain.now = block.time + 60
    follow(pchain, block)


def test_block_takes_the_highest_price_first(reference_pchain: PChain) -> None:
    pchain = reference_pchain
    split(pchain, 5)
    cheap, dear, equal, same = (
        payment(pchain, burn) for burn in (10**6, 3 * 10**6, 2 * 10**6, 2 * 10**6)
    )
    large = payment(pchain, 25 * 10**5, more=1)  # burns more than `equal`, but less per gas
    pchain.issue(cheap, dear, equal, same, large)

    (block,) = pchain.build()

    assert isinstance(block, BanffStandardBlock)
    assert [tx.tx_id for tx in block.txs] == [tx.tx_id for tx in (dear, equal, same, large, cheap)]


def test_transactions_without_a_price_come_last(
    reference_pchain: PChain, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mempool, "_BATCH", 2)
    pchain = reference_pchain
    split(pchain, 5)
    txs = [payment(pchain, burn * 10**6) for burn in (1, 2, 2, 2, 3)]
    pchain.issue(*txs)
    assert [tx.tx_id for tx in mempool.dearest_first(platform_chain().db)] == [
        txs[place].tx_id for place in (4, 1, 2, 3, 0)
    ]

    for tx in (txs[4], txs[1], txs[3]):  # as rows of an earlier version
        models.MempoolTx.objects.filter(tx_id=tx.tx_id).update(gas_price=None)
    assert [tx.tx_id for tx in mempool.dearest_first(platform_chain().db)] == [
        txs[place].tx_id for place in (2, 0, 1, 3, 4)
    ]


def test_static_fees_keep_the_order_of_arrival(pchain: PChain) -> None:
    pchain.issue(pchain.make(), pchain.make(burn=10**7))

    assert set(models.MempoolTx.objects.values_list("gas_price", flat=True)) == {None}
