"""A C-Chain of a network of avalanchego in the database: recorded blocks are followed, stored, served and answered."""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.contrib.admin import site
from django.test import RequestFactory

from cchain_app import migrations
from cchain_app.admin import blocks as admin_blocks
from cchain_app.chain import EvmChain
from cchain_app.genesis import load_genesis as read_genesis
from cchain_app.genesis_fields import GenesisFileError
from cchain_app.models import AtomicKind, AtomicTransaction, Block, CorethBlock
from cchain_app.rules.coreth.description import described
from cchain_app.rules.coreth.rules import CorethRules
from cchain_app.selectors import blocks, figures
from cchain_app.selectors.coins_held import EvmCoins, coins_held
from cchain_app.selectors.rebuilding import verify_state
from cchain_app.services.genesis import WrongChainInDatabase, begin_import, load_genesis
from cchain_app.store.chain import is_of_coreth
from health_app.metrics.chains import of_evm
from tests.builders.coreth import local_genesis
from tests.conformance.coreth_vectors import data, document
from tests.integration.cchain_app.coreth.follower import Follower, chain_of

pytestmark = pytest.mark.django_db(transaction=True)

LAST = 51
"""The blocks up to this height are of all kinds; those after it are long."""


@pytest.fixture
def follower() -> Follower:
    return Follower(chain_of(local_genesis().encode()))


def assert_no_coin_is_lost(chain: EvmChain) -> None:
    """Check that fees are in balances, and that only imports and exports change the sum of all balances."""
    coins = coins_held(chain)
    assert isinstance(coins, EvmCoins)
    moved = 0
    for tx in chain.db.objects(AtomicTransaction).all():
        moved += tx.amount if tx.kind == AtomicKind.IMPORT else -tx.amount - tx.burned
    assert moved != 0
    assert coins.burned == 0
    assert coins.balances == coins.genesis + moved * 10**9


_FIELDS = """
SELECT number, hash, time_milliseconds, ext_data_gas_used, block_gas_cost, gas_target, target_excess,
gas_capacity, gas_excess, min_delay_milliseconds FROM c_coreth_blocks ORDER BY number
"""


def assert_fields_are_shown_in_sql(chain: EvmChain, recorded: list[Any]) -> None:
    """Compare the view of fields that Ethereum's headers do not have, and the metrics of the last block."""
    rows = [(row[1], *map(_number, row[2:])) for row in chain.db.rows(_FIELDS)]
    first, *others = rows
    assert first == (recorded[0]["hash"], 1_607_144_400_000, 0, 0, None, None, None, None, 2_000)
    for row, entry in zip(others, recorded[1:], strict=True):
        gas, header = entry["gas"], entry.get("rpcBlock")
        block_hash, milliseconds, extra_gas, cost, target, excess, *state = row
        assert (block_hash, cost) == (entry["hash"], 0)
        assert excess == int(gas["targetExcess"])
        assert state == [
            int(gas["capacityAfter"]), int(gas["excessAfter"]), int(gas["minDelayMilliseconds"]),
        ]  # fmt: skip
        assert target is not None
        if header is not None:
            assert milliseconds == int(header["timestampMilliseconds"], 16)
            assert extra_gas == int(header["extDataGasUsed"], 16)
    last = figures.coreth_fields(chain)
    assert last is not None
    assert (last.gas_capacity, last.gas_excess, last.min_delay) == others[-1][6:]
    names = {metric.name for metric in of_evm(chain)}
    assert names >= {
        "svc_cchain_gas_target", "svc_cchain_gas_capacity", "svc_cchain_gas_excess",
        "svc_cchain_min_block_delay_seconds",
    }  # fmt: skip
    head = blocks.head(chain)
    shown = dict(described(head.header, chain.genesis.upgrades))
    assert shown["Target excess"] == f"{others[-1][5]:,}"
    assert shown["Time to the next block"] == f"{last.min_delay:,} ms at least"


def assert_fields_are_shown_in_the_admin(chain: EvmChain, monkeypatch: pytest.MonkeyPatch) -> None:
    """Look at the page of a block with atomic transactions."""
    monkeypatch.setattr(admin_blocks, "evm_chain", lambda: chain)
    pages = admin_blocks.BlockAdmin(Block, site)
    names = [name for name, _ in pages.get_fieldsets(RequestFactory().get("/"))]
    assert names[-1] == "Avalanche"
    row = chain.db.objects(AtomicTransaction).first()
    assert row is not None
    block = chain.db.objects(Block).get(number=row.block_number)
    text = pages.of_avalanche(block)
    assert "Gas of the atomic transactions: " in text
    assert "Gas target: " in text


def assert_an_older_database_gets_the_fields(chain: EvmChain) -> None:
    """Fill the table of the fields again, as the migration that creates it does."""
    rows = chain.db.objects(CorethBlock)
    before = list(rows.values_list())
    rows.all().delete()
    (path,) = Path(migrations.__file__).parent.glob("*_coreth_blocks.py")
    import_module(f"{migrations.__name__}.{path.stem}").fill(apps, chain.db.alias)
    assert list(rows.values_list()) == before


def _number(value: object) -> int | None:
    return None if value is None else int(str(value))


def test_a_recorded_network_is_followed(
    follower: Follower, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorded = document("local_chain")["blocks"][: LAST + 1]
    assert isinstance(follower.chain.rules, CorethRules)
    assert not follower.chain.is_development
    assert follower.genesis.hash == data(recorded[0]["hash"])
    follower.follow(recorded[1:12])
    follower.follow(recorded[12:])

    served = blocks.raw_blocks(follower.chain, 1, LAST, 10**7)
    assert [block.raw for block in served] == [data(entry["blockRLP"]) for entry in recorded[1:]]

    # As another process has it: everything is read from the rows.
    again = Follower(chain_of(local_genesis().encode()))
    for entry in recorded:
        assert again.ask("debug_getRawBlock", hex(entry["number"])) == entry["blockRLP"]
        assert again.ask("debug_getRawReceipts", hex(entry["number"])) == entry["receiptsRaw"]
        if "rpcBlock" not in entry:
            continue
        shown = again.ask("eth_getBlockByNumber", hex(entry["number"]), True)
        shown.pop("logsBloom")
        for transaction in shown["transactions"]:
            assert transaction["blockHash"] == entry["hash"]
        assert shown == entry["rpcBlock"]
    assert again.ask("eth_getChainConfig") == document("local_chain")["chainConfig"]
    above = {"code": -32000, "message": "cannot query unfinalized data"}
    assert again.ask("eth_getBlockByNumber", hex(LAST + 1), False) == above
    assert is_of_coreth(again.chain.db)
    assert_no_coin_is_lost(again.chain)
    assert_fields_are_shown_in_sql(again.chain, recorded)
    assert_fields_are_shown_in_the_admin(again.chain, monkeypatch)
    assert_an_older_database_gets_the_fields(again.chain)
    verify_state(again.chain.db, again.chain.new_trie(cached=False), tmp_path)
    for entry in document("local_chain")["proofs"]:
        if entry["number"] > LAST:
            continue
        place = (entry["address"], entry["storageKeys"], hex(entry["number"]))
        assert again.ask("eth_getProof", *place) == entry["proof"]
        for key, value in entry["getStorageAt"].items():
            found = again.ask("eth_getStorageAt", entry["address"], key, hex(entry["number"]))
            assert found == value


def test_a_chain_of_ethereum_is_not_taken_for_one_of_coreth(follower: Follower) -> None:
    document_of_ethereum = json.loads(local_genesis())
    del document_of_ethereum["config"]["apricotPhase1BlockTimestamp"]
    del document_of_ethereum["config"]["eip150Hash"]
    other = chain_of(json.dumps(document_of_ethereum).encode())
    assert not other.is_of_coreth
    with pytest.raises(WrongChainInDatabase):
        load_genesis(other)


def test_it_is_not_imported_as_a_chain_of_ethereum(follower: Follower) -> None:
    with pytest.raises(GenesisFileError, match="import_chain reads chains of Ethereum"):
        begin_import(follower.chain, local_genesis().encode())


def test_an_old_chain_of_ethereum_is_not_one_of_coreth() -> None:
    document_of_2020 = json.loads(local_genesis()) | {"difficulty": "0x400"}
    for key in ("apricotPhase1BlockTimestamp", "apricotPhase2BlockTimestamp"):
        del document_of_2020["config"][key]
    assert not read_genesis(json.dumps(document_of_2020)).is_of_coreth
    assert read_genesis(json.dumps(document_of_2020 | {"difficulty": "0x0"})).is_of_coreth
