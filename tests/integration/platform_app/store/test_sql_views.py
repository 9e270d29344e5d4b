"""SQL views: they show the stored data in readable form."""

from dataclasses import replace
from decimal import Decimal
from importlib import import_module
from typing import Any

import pytest
from django.db import connection

from platform_app.apps import platform_chain
from platform_app.models import BlockKind, TxKind
from platform_app.state.chain import Diff
from platform_app.state.l1_validators import Conversion, L1Fees, L1Validator
from platform_app.state.stakers import AutoRenewal, Priority
from platform_app.store import mempool, uptime
from platform_app.txs import subnets
from platform_app.txs.base import BaseTx, TxStatus
from platform_app.txs.l1 import PChainOwner
from primitives.ids import ID, PRIMARY_NETWORK_ID, NodeID
from tests.builders import platform
from tests.builders.platform_rows import (
    accept,
    adding,
    adding_auto_renewed,
    adding_tx,
    begin,
    producing,
    renewing,
    reward,
)

pytestmark = pytest.mark.django_db

FIRST, SECOND = platform.ADDRESSES[:2]


def ask(sql: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        names = [column[0] for column in cursor.description]
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def shown(data: bytes) -> str:
    return "0x" + data.hex()


def test_a_transaction_is_found_by_its_id_in_text() -> None:
    begin()
    tx = platform.signed(BaseTx, outputs=platform.outputs(500_000))
    block = accept(adding_tx(tx))

    (row,) = ask(f"SELECT * FROM p_txs WHERE tx_id = '{shown(tx.tx_id)}'")

    assert (row["height"], row["tx_index"], row["type"], row["status"]) == (
        1, 0, "BaseTx", "Committed",
    )  # fmt: skip
    assert int(row["burned"]) == 1_500_000
    assert float(row["burned_coins"]) == 1.5
    assert str(row["time"]).startswith("2023-11-14 22:13:21")
    (row,) = ask("SELECT * FROM p_blocks WHERE height = 1")
    assert (row["block_id"], row["type"]) == (shown(block.block_id), "BanffStandardBlock")
    assert row["size"] == len(block.raw)


def test_outputs_and_balances_are_shown_by_owner() -> None:
    begin(
        producing(
            platform.utxo(2_500_000, FIRST),
            platform.utxo(500_000, FIRST, number=1, stakeable_until=2**64 - 1),
            platform.utxo(1_000_000, SECOND, number=2),
        )
    )

    (row,) = ask(f"SELECT * FROM p_balances WHERE address = '{shown(FIRST)}'")
    assert (int(row["amount"]), float(row["coins"]), row["utxo_count"]) == (3_000_000, 3.0, 2)
    rows = ask("SELECT * FROM p_utxos ORDER BY amount")
    assert len(rows) == 3
    assert int(rows[0]["stakeable_locktime"]) in {0, 2**64 - 1}
    rows = ask(f"SELECT * FROM p_utxo_owners WHERE address = '{shown(SECOND)}'")
    assert [int(item["amount"]) for item in rows] == [1_000_000]


def test_stakers_are_shown_from_their_beginning_to_their_end() -> None:
    validator, add = adding(potential_reward=5_000_000)
    delegator, delegate = adding(
        Priority.PRIMARY_DELEGATOR_CURRENT, weight=25_000_000, end=platform.NOW + 99
    )
    begin(add, delegate)
    paid = platform.utxo(750_000)
    reward(delegator, lambda diff: diff.utxos.add_reward(delegator.tx_id, paid))

    (row,) = ask("SELECT * FROM p_validators")
    assert (row["node_id"], row["phase"], row["outcome"]) == (
        str(platform.NODE_ID), "current", None,
    )  # fmt: skip
    assert float(row["delegation_fee"]) == 2.0
    assert (int(row["potential_reward"]), float(row["coins"])) == (5_000_000, 2000.0)
    assert row["subnet_id"] == shown(PRIMARY_NETWORK_ID)
    assert row["tx_id"] == shown(validator.tx_id)
    (row,) = ask("SELECT * FROM p_delegations")
    assert (row["phase"], row["outcome"], row["left_height"]) == ("past", "rewarded", 2)
    (row,) = ask("SELECT * FROM p_rewards")
    assert (row["node_id"], float(row["coins"])) == (str(platform.NODE_ID), 0.75)
    (row,) = ask("SELECT * FROM p_uptime")
    assert (row["node_id"], row["up_duration"]) == (str(platform.NODE_ID), 0)
    assert (row["connected_since"], float(row["uptime"])) == (None, 1.0)


def test_uptimes_are_shown_as_they_were_written_last() -> None:
    validator, add = adding(start=platform.NOW, end=platform.NOW + 1000)
    begin(add)
    uptime.claim(platform_chain().db, platform.NOW)
    uptime.settle_all(platform_chain().db, platform.NOW + 300, tracking=True)
    uptime.connect(platform_chain().db, [platform.NODE_ID], platform.NOW + 300)
    uptime.settle_all(platform_chain().db, platform.NOW + 400, tracking=True)

    (row,) = ask("SELECT * FROM p_uptime")

    assert (row["phase"], row["up_duration"], float(row["uptime"])) == ("current", 100, 0.25)
    assert str(row["connected_since"]).startswith("2023-11-14 22:18:20")
    assert str(row["last_updated"]).startswith("2023-11-14 22:20:00")
    reward(validator)
    (row,) = ask("SELECT * FROM p_uptime")
    assert (row["phase"], row["up_duration"], float(row["uptime"])) == ("past", 700, 0.7)
    assert row["connected_since"] is None


def test_periods_and_rewards_of_auto_renewed_validators_are_shown() -> None:
    end, later = platform.NOW + 3600, platform.NOW + 10_800
    terms = AutoRenewal(7200, 250_000)
    first, add = adding_auto_renewed(terms, start=platform.NOW, end=end, weight=2_000_000_000)
    begin()
    accept(add)
    restaked = AutoRenewal(7200, 250_000, 500_000, 250_000)
    second, renew = renewing(first, restaked, weight=2_000_750_000, end=later)
    paid = platform.utxo(1_500_000)

    def change(diff: Diff) -> None:
        renew(diff)
        diff.utxos.add_reward(diff.txs.changes()[-1][0].tx_id, paid)

    block = accept(change)

    (row,) = ask("SELECT * FROM p_validators")
    assert (row["next_period"], float(row["auto_compound"])) == (7200, 25.0)
    assert (int(row["restaked"]), int(row["weight"])) == (750_000, 2_000_750_000)
    assert (row["joined_height"], row["added_height"]) == (2, 1)
    (row,) = ask("SELECT * FROM p_renewed_periods")
    assert (row["tx_id"], row["node_id"]) == (shown(first.tx_id), str(platform.NODE_ID))
    assert (row["joined_height"], row["left_height"]) == (1, 2)
    assert (int(row["weight"]), float(row["coins"])) == (2_000_000_000, 2000.0)
    assert row["reward_tx_id"] == shown(block.txs[-1].tx_id)
    (row,) = ask("SELECT * FROM p_rewards")
    assert (row["tx_id"], row["staking_tx_id"]) == (
        shown(block.txs[-1].tx_id), shown(second.tx_id),
    )  # fmt: skip
    assert (row["node_id"], float(row["coins"])) == (str(platform.NODE_ID), 1.5)
    (row,) = ask("SELECT * FROM p_uptime")
    assert row["up_duration"] == 0


def test_other_validators_have_no_terms_of_renewal() -> None:
    begin(adding()[1])
    (row,) = ask("SELECT * FROM p_validators")
    assert [row[name] for name in ("next_period", "auto_compound", "restaked")] == [None] * 3
    assert ask("SELECT * FROM p_renewed_periods") == []


def test_subnets_and_blockchains_are_shown() -> None:
    begin(lambda diff: diff.supplies.set(PRIMARY_NETWORK_ID, 2**64 - 1))
    subnet = platform.signed(subnets.CreateSubnetTx)
    blockchain = platform.signed(subnets.CreateChainTx, chain_name="Mine")

    def create(diff: Diff) -> None:
        diff.txs.add(subnet, TxStatus.COMMITTED)
        diff.subnets.add(subnet.tx_id, platform.owners(FIRST, SECOND, threshold=2))
        diff.txs.add(blockchain, TxStatus.COMMITTED)
        diff.subnets.add_blockchain(blockchain)

    accept(create)

    (row,) = ask("SELECT * FROM p_subnets")
    assert (row["subnet_id"], row["threshold"]) == (shown(subnet.tx_id), 2)
    assert (row["height"], row["control_key_count"]) == (1, 2)
    keys = {row["address"] for row in ask("SELECT * FROM p_control_keys")}
    assert keys == {shown(FIRST), shown(SECOND)}
    (row,) = ask("SELECT * FROM p_blockchains")
    assert (row["name"], row["blockchain_id"]) == ("Mine", shown(blockchain.tx_id))
    (row,) = ask("SELECT * FROM p_supply")
    assert Decimal(row["amount"]) == 2**64 - 1


def test_views_show_l1s_with_balances_and_weights() -> None:
    l1, manager = platform.some_id("l1"), bytes(19) + b"\x09"
    conversion = Conversion(platform.some_id("conversion"), platform.C_CHAIN_ID, manager)
    active = l1_validator("active", l1, weight=70, end_accumulated_fee=2_600_000)
    inactive = l1_validator("inactive", l1, weight=30)
    begin()

    def convert(diff: Diff) -> None:
        diff.l1_validators.set_fees(L1Fees(0, 100_000))
        diff.l1_validators.convert(l1, conversion)
        diff.l1_validators.put(active)
        diff.l1_validators.put(inactive)

    accept(convert)
    accept(lambda diff: diff.l1_validators.put(replace(active, weight=71, min_nonce=1)))

    (row,) = ask("SELECT * FROM p_l1s")
    assert (row["subnet_id"], row["conversion_id"]) == (shown(l1), shown(conversion.conversion_id))
    assert (row["manager_chain_id"], row["manager_address"]) == (
        shown(platform.C_CHAIN_ID), shown(manager),
    )  # fmt: skip
    assert (row["height"], row["validator_count"], row["active_count"]) == (1, 2, 1)
    assert int(row["weight"]) == 101
    first, second = ask("SELECT * FROM p_l1_validators ORDER BY state")
    assert (first["state"], first["validation_id"]) == ("active", shown(active.validation_id))
    assert (int(first["balance"]), float(first["coins"])) == (2_500_000, 2.5)
    assert (int(first["weight"]), int(first["min_nonce"])) == (71, 1)
    assert (first["node_id"], first["added_height"]) == (str(active.node_id), 1)
    assert (second["state"], int(second["balance"])) == ("inactive", 0)
    weights = ask("SELECT * FROM p_l1_weights ORDER BY state, from_height")
    assert [
        (row["state"], int(row["weight"]), row["from_height"], row["until_height"])
        for row in weights
    ] == [("active", 70, 1, 2), ("active", 71, 2, None), ("inactive", 30, 1, None)]
    assert weights[0]["node_id"] == str(active.node_id)
    accept(lambda diff: diff.l1_validators.put(replace(active, weight=0, min_nonce=2)))
    (row,) = ask("SELECT * FROM p_l1_validators WHERE state = 'removed'")
    assert (row["removed_height"], int(row["balance"])) == (3, 0)


def l1_validator(name: str, l1: ID, *, weight: int, end_accumulated_fee: int = 0) -> L1Validator:
    owner = PChainOwner(1, (FIRST,))
    return L1Validator(
        validation_id=platform.some_id(name),
        subnet_id=l1,
        node_id=NodeID(platform.some_id(name)[:20]),
        public_key=bytes(48),
        remaining_balance_owner=owner,
        deactivation_owner=owner,
        start=platform.NOW,
        weight=weight,
        end_accumulated_fee=end_accumulated_fee,
    )


def test_views_show_pending_dropped_and_shared_rows() -> None:
    begin()
    waiting, dropped = platform.signed(BaseTx), platform.some_id("dropped")
    mempool.add(platform_chain().db, [waiting], platform.NOW)
    mempool.drop(platform_chain().db, [(dropped, "too early")], platform.NOW)
    accept(lambda diff: diff.utxos.export(platform.C_CHAIN_ID, platform.utxo(1_000_000)))

    (row,) = ask("SELECT * FROM p_mempool")
    assert (row["tx_id"], row["type"]) == (shown(waiting.tx_id), "BaseTx")
    (row,) = ask("SELECT * FROM p_dropped")
    assert (row["tx_id"], row["reason"]) == (shown(dropped), "too early")
    (row,) = ask("SELECT * FROM p_shared_utxos")
    assert row["destination_chain"] == shown(platform.C_CHAIN_ID)


def test_every_kind_has_its_name() -> None:
    views = import_module("platform_app.migrations.0002_sql_views")

    assert {kind.value: kind.label for kind in TxKind} == views.TX_TYPES
    assert {kind.value for kind in BlockKind} == set(views.BLOCK_TYPES)
