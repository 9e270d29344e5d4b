"""The SQL view `transfers`: one row for each output that moved between chains, with both ends."""

from typing import Any

from django.db import connection

from nodeproject.apps import this_node
from primitives.ids import P_CHAIN_ID
from primitives.keys import EWOQ_KEY, address_of
from tests.integration.explorer_app.x_history import COIN
from tests.integration.platform_app.conftest import PChain, nothing_remembered, pchain
from tests.integration.platform_app.made import export as platform_export
from xchain_app.services import mempool, wallet
from xchain_app.wallet.transactions import AssetPayment

__all__ = ["nothing_remembered", "pchain"]

EWOQ = address_of(EWOQ_KEY)


def rows() -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM transfers ORDER BY import_height")
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_a_transfer_has_both_ends(pchain: PChain) -> None:
    node = this_node()
    chain = node.avm_chain
    exported = pchain.do(platform_export(pchain, chain.blockchain_id, 5 * COIN)).tx_id
    (waiting,) = rows()
    assert (waiting["source"], waiting["destination"]) == ("P", "X")
    assert (waiting["export_tx"], waiting["export_height"]) == (f"0x{exported.hex()}", 1)
    assert waiting["export_time"] is not None
    assert (waiting["import_tx"], waiting["import_height"], waiting["import_time"]) == (None,) * 3
    assert int(waiting["amount"]) == 5 * COIN
    assert waiting["asset_id"] == f"0x{pchain.asset_id.hex()}"

    own = wallet.own_wallet(chain, [EWOQ_KEY], now=pchain.now)
    shared = wallet.shared_wallet(chain, [EWOQ_KEY], P_CHAIN_ID, now=pchain.now)
    imported = mempool.issue_tx(chain, own.import_all(shared, P_CHAIN_ID, EWOQ), now=pchain.now)
    assert node.avm_runtime.consensus.produce(now=pchain.now) is not None
    (moved,) = rows()
    assert (moved["import_tx"], moved["import_height"]) == (f"0x{imported.hex()}", 1)
    assert str(moved["import_time"])[:4] == str(waiting["export_time"])[:4]

    later = wallet.own_wallet(chain, [EWOQ_KEY], now=pchain.now)
    paid = AssetPayment(chain.stored().fee_asset_id, COIN, EWOQ)
    mempool.issue_tx(chain, later.export(paid, pchain.network.c_chain_id), now=pchain.now)
    assert node.avm_runtime.consensus.produce(now=pchain.now) is not None
    to_c = next(row for row in rows() if row["destination"] == "C")
    assert (to_c["source"], to_c["export_height"]) == ("X", 2)
    assert to_c["export_time"] is not None
