"""SQL views of the X-Chain, on a recorded chain with all kinds of transactions."""

from typing import Any

import pytest
from django.db import connection

from tests.builders.xchain import x_chain
from tests.integration.xchain_app.replaying import BLOCKS, replayed
from xchain_app.models import XOutput

pytestmark = pytest.mark.django_db(transaction=True)


def ask(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def test_the_views_show_the_chain() -> None:
    chain = x_chain()
    replayed(chain)
    fee_asset = "0x" + chain.stored().fee_asset_id.hex()

    assert [row["height"] for row in ask("SELECT * FROM x_blocks ORDER BY height")] == list(
        range(len(BLOCKS))
    )
    types = {row["type"] for row in ask("SELECT * FROM x_txs")}
    assert types == {"BaseTx", "CreateAssetTx", "OperationTx", "ImportTx", "ExportTx"}
    burned = sum(int(row["burned"]) for row in ask("SELECT * FROM x_txs WHERE height > 0"))
    assert burned >= 1_000_000 * (len(BLOCKS) - 1)
    (asset,) = ask("SELECT * FROM x_assets WHERE alias = 'AVAX'")
    assert (asset["asset_id"], asset["name"], asset["denomination"]) == (fee_asset, "Avalanche", 9)
    unspent = ask("SELECT * FROM x_utxos")
    assert len(unspent) == XOutput.objects.filter(spent_by=None).count()
    held = ask(f"SELECT * FROM x_holders WHERE asset_id = '{fee_asset}'")
    assert sum(int(row["amount"]) for row in held) == sum(
        int(row["amount"]) for row in unspent if row["asset_id"] == fee_asset
    )
    assert all(row["payload"].startswith("0x") for row in ask("SELECT * FROM x_collectibles"))
    assert ask("SELECT * FROM x_mempool") == []
