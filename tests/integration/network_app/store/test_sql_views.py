"""SQL views: they show the stored data in readable form."""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.db import connection

from chaindb.database import Database
from network_app.ports import SyncState
from network_app.store import consensus, outer, sync
from network_app.store.outer import Wrapping
from primitives.ids import ID, NodeID
from tests.builders import network_rows
from tests.builders.consensus_report import block_id, decided

pytestmark = pytest.mark.django_db

NODE, OTHER = NodeID(bytes(range(20))), NodeID(bytes(range(1, 21)))
BLOCK_ID = ID(bytes(range(32)))


def ask(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def shown(data: bytes) -> str:
    return "0x" + data.hex()


def test_peers_are_shown_connected_or_not() -> None:
    network_rows.peer(NODE, benched=["C"], observed_uptime=97)
    network_rows.peer(OTHER, connected_since=None)

    (row,) = ask("SELECT * FROM n_peers WHERE is_connected")
    assert (row["node_id"], row["version"], row["observed_uptime"]) == (
        str(NODE), "avalanchego/1.14.2", 97,
    )  # fmt: skip
    assert (row["ip"], bool(row["is_outbound"])) == ("198.51.100.4:50123", False)
    assert '"C"' in str(row["benched"]) or row["benched"] == ["C"]
    assert row["connected_since"] is not None
    (row,) = ask("SELECT * FROM n_peers WHERE NOT is_connected")
    assert (row["node_id"], row["connected_since"]) == (str(OTHER), None)


def test_the_way_of_each_chain_is_shown() -> None:
    now = datetime(2026, 2, 3, 4, 5, 6, tzinfo=UTC)
    sync.write("P", SyncState(False, 10, 25, 100, fetched=7), now)
    sync.write("C", SyncState(True, 0, 40, 40), now)

    rows = {row["chain"]: row for row in ask("SELECT * FROM n_bootstrap")}
    assert [rows[chain]["state"] for chain in "PC"] == ["bootstrapping", "bootstrapped"]
    way = ("start_height", "height", "target_height", "fetched")
    assert [rows["P"][name] for name in way] == [10, 25, 100, 7]
    assert str(rows["C"]["finished_at"]).startswith("2026-02-03 04:05:06")
    assert rows["P"]["finished_at"] is None


def test_the_proposer_of_each_block_is_shown() -> None:
    signed = Wrapping(
        height=5, block_id=BLOCK_ID, kind=2, time=1_700_000_001, p_chain_height=3, epoch_height=2,
        epoch_number=1, epoch_start=1_700_000_000, proposer=NODE, signature=b"signature",
        certificate=b"certificate",
    )  # fmt: skip
    option = signed._replace(
        height=6, block_id=ID(bytes(32)), kind=1, time=None, proposer=None, certificate=b""
    )
    outer.add(Database(), "P", [signed, option])

    by_height = {row["height"]: row for row in ask("SELECT * FROM n_block_proposers")}
    row = by_height[5]
    assert (row["chain"], row["block_id"], row["node_id"]) == ("P", shown(BLOCK_ID), str(NODE))
    assert (row["p_chain_height"], row["epoch_number"]) == (3, 1)
    assert str(row["time"]).startswith("2023-11-14 22:13:21")
    assert (by_height[6]["node_id"], by_height[6]["time"]) == (None, None)


def test_view_shows_voted_decisions() -> None:
    consensus.add("C", [decided(3, proposer=NODE), decided(4, accepted=False)], keep=10)

    accepted, rejected = ask("SELECT * FROM n_decisions ORDER BY height")
    assert (accepted["chain"], accepted["height"], accepted["polls"]) == ("C", 3, 20)
    assert (accepted["block_id"], accepted["parent_id"]) == (shown(block_id(3)), shown(block_id(2)))
    assert (accepted["node_id"], rejected["node_id"]) == (str(NODE), None)
    assert [bool(row["is_accepted"]) for row in (accepted, rejected)] == [True, False]
    assert str(accepted["issued_at"]).startswith("2023-11-14 22:13:18")
    assert str(accepted["decided_at"]).startswith("2023-11-14 22:13:20")
