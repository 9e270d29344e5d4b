"""Chains of subnets that cannot begin or stop running, and what they leave: rows, databases, names and retries."""

import json
from typing import Any

import pytest
from django.core.management import call_command
from django.db import (
    DataError,
    OperationalError,
    ProgrammingError,
    connections,
)

from cchain_app import tasks
from cchain_app.chain import EvmChain
from cchain_app.precompiles.addresses import NATIVE_MINTER
from cchain_app.store import subnet_chains as rows
from chaindb.connections import in_thread
from chaindb.database import Database
from nodeproject.copies import chain_copies
from nodeproject.copies.snapshots import Snapshots
from nodeproject.startup import subnet_chains
from nodeproject.startup.chain_databases import alias_of
from primitives.hexadecimal import checksum_address, encode_data
from primitives.ids import ID
from tests.builders import platform
from tests.builders.node_settings import updated
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import SENDER
from tests.integration.nodeproject.test_subnet_chains import (
    CHAIN_ID,
    World,
    forget,
    node,
    started,
    world,
)
from tests.integration.nodeproject.test_third_chain import (
    application,
    client,
    end,
    over_http,
)

__all__ = ["application", "client", "node", "world"]

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.node_settings(mining="manual", track_subnets=("all",)),
    pytest.mark.sqlite_only,
]


def with_fields(**changes: Any) -> bytes:
    """Return a genesis file with other fields outside of `config`."""
    return json.dumps({**json.loads(subnet_genesis(CHAIN_ID)), **changes}).encode()


def test_chains_of_subnets_that_nobody_named_have_no_health_checks(world: World) -> None:
    named = world.subnet()
    world.node = started(updated(world.node.settings, track_subnets=("all", str(named))))
    running, broken = world.create(), world.create(b"{", "broken")
    own = world.create(b"{", "own", subnet_id=named)
    observation = world.node.observation
    later = world.create(subnet_genesis(8), "later")
    checks = observation.reporter.health().checks
    assert str(own) in checks
    assert not checks.keys() & {str(running), str(broken), str(later)}
    assert observation._checks.measure_bootstrapped().error == ""
    assert f'chain="{running}"' in observation.page.text()[1].decode()


def test_the_chains_of_subnets_that_nobody_named_are_limited(world: World) -> None:
    named = world.subnet()
    tracked = ("all", str(named))
    settings = updated(world.node.settings, track_subnets=tracked, subnet_chain_limit=1)
    world.node = started(settings)
    own, first = world.create(subnet_id=named), world.create(subnet_genesis(7))
    second = world.create(subnet_genesis(8))
    other = world.create(subnet_genesis(9), subnet_id=named)
    for running in (own, first, other):
        assert world.row(running).state == rows.RUNNING
    row = world.row(second)
    assert (row.state, row.database) == (rows.REFUSED, "")
    assert row.reason == (
        "too many chains of subnets: at most 1 (NODE_SUBNET_CHAIN_LIMIT) run on this node"
    )


@pytest.mark.parametrize(
    ("genesis", "reason"),
    [
        (b"", "parsing genesis: unexpected end of JSON input"),
        (subnet_genesis(43_112), "chain ID 43112 is taken by {c_chain}"),
        (
            subnet_genesis(7, txAllowListConfig={"adminAddresses": 2 * [f"0x{SENDER.hex()}"]}),
            "failed to verify genesis: invalid precompile upgrades: duplicate address in admin list: "
            f"{checksum_address(SENDER)}",
        ),
        (subnet_genesis(0), "config.chainId: missing"),
        (subnet_genesis(2**63), "config.chainId: wider than 63 bits"),
        (with_fields(gasLimit=hex(2**63)), "gasLimit: wider than 63 bits"),
        (with_fields(gasUsed=2**64 - 1), "gasUsed: wider than 63 bits"),
        (with_fields(timestamp=hex(2**63)), "timestamp: wider than 63 bits"),
    ],
)
def test_a_chain_that_cannot_run_says_why_in_its_row(
    world: World, genesis: bytes, reason: str
) -> None:
    blockchain_id = world.create(genesis)
    row = world.row(blockchain_id)
    assert (row.state, row.database) == (rows.REFUSED, "")
    assert row.reason == reason.format(c_chain=world.node.evm_chain.blockchain_id)
    assert list(world.node.evm_chains) == ["C"]
    assert world.node.refused_chains[blockchain_id].reason == row.reason

    good = world.create(name="good")
    assert world.row(good).state == rows.RUNNING


def test_other_virtual_machines_and_feature_extensions_are_refused(world: World) -> None:
    other = world.create(vm_id=platform.some_id("a virtual machine"))
    assert world.row(other).reason == (
        f"unknown VM {platform.some_id('a virtual machine')}: this node runs subnetevm chains"
    )
    extended = world.create(fx_ids=(platform.some_id("an extension"),))
    assert world.row(extended).reason == "unsupported feature extensions"


def test_a_chain_that_runs_no_longer_keeps_its_database(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = world.node.settings
    blockchain_id = world.create()
    database = world.row(blockchain_id).database
    other = updated(settings, track_subnets=(str(world.subnet()),))

    def fail(*_: object) -> Database:
        raise OperationalError("no space left")

    for state, given in ((rows.UNTRACKED, other), (rows.REFUSED, settings)):
        forget(world.node)
        world.node = started(given)
        with monkeypatch.context() as patched:
            patched.setattr(subnet_chains, "make_database", fail)
            world.node.subnet_chains.look()
        row = world.row(blockchain_id)
        assert (row.state, row.database) == (state, database)
        opened = chain_copies.databases_of(world.node.database, settings)
        assert list(opened) == [blockchain_id], "backups have its rows"


def test_a_chain_may_begin_while_a_thread_releases_its_connections(world: World) -> None:
    seen = iter(connections)
    next(seen)
    blockchain_id = world.create()
    assert alias_of(blockchain_id) not in list(seen)
    assert alias_of(blockchain_id) in list(connections)


def test_no_chain_runs_without_a_row(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OperationalError("the database is busy")

    with monkeypatch.context() as patched:
        patched.setattr(rows, "record", fail)
        with pytest.raises(OperationalError):
            world.create()
    assert list(world.node.evm_chains) == ["C"]
    world.node.subnet_chains.look()
    (row,) = rows.rows(world.node.database)
    assert (row.state, row.database) == (rows.RUNNING, alias_of(row.blockchain_id))
    assert str(row.blockchain_id) in world.node.evm_chains


def test_a_row_that_has_not_changed_is_not_written(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = world.create(b"{")
    before = world.row(refused)
    again = started(world.node.settings)
    writes: list[object] = []
    monkeypatch.setattr(Database, "atomic", lambda *_, **__: writes.append(1))
    again.subnet_chains.look()
    assert again.refused_chains[refused].reason == before.reason
    assert not writes


def test_the_status_changes_no_rows(world: World, capsys: pytest.CaptureFixture[str]) -> None:
    running, refused = world.create(), world.create(b"{", "broken")
    before = rows.rows(world.node.database)
    forget(world.node)
    started(updated(world.node.settings, track_subnets=(str(world.subnet()),)))
    call_command("node_status")
    assert rows.rows(world.node.database) == before
    shown = capsys.readouterr().out
    assert str(running) in shown
    assert f"chain broken ({str(refused)[:8]}…)" in shown
    assert world.row(refused).reason[:30] in shown


def test_a_name_that_another_chain_has_is_no_alias(world: World) -> None:
    first = world.create(subnet_genesis(1), "dex")
    second = world.create(subnet_genesis(2), "dex")
    assert world.chain(first).aliases == (str(first), "dex")
    assert world.chain(second).aliases == (str(second),)
    for number, taken in enumerate(("C", "evm", "P", "X", "avm"), 3):
        named = world.create(subnet_genesis(number), taken)
        assert world.chain(named).aliases == (str(named),)


async def test_a_name_that_is_an_id_leads_no_requests_to_the_chain(
    application: Any, world: World
) -> None:
    chains = (world.node.evm_chain, world.node.avm_chain)
    ids = await in_thread(lambda: [str(chain.blockchain_id) for chain in chains])
    c_chain = ids[0]
    for number, name in enumerate((*ids, str(ID(bytes(31) + b"\1"))), 7):
        named = await in_thread(world.create, subnet_genesis(number), name)
        assert world.chain(named).aliases == (str(named),)
    found = await over_http(application, f"/ext/bc/{c_chain}/rpc", "eth_chainId")
    assert found == hex(world.node.evm_chain.config.chain_id)
    await end(application)


@pytest.mark.parametrize("error", [OverflowError(), DataError("out of range")], ids=repr)
def test_an_error_that_nobody_foresaw_refuses_a_chain_for_good(
    world: World, monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    def fail(_: EvmChain) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(subnet_chains, "load_genesis", fail)
        refused = world.create()
    later = world.create(subnet_genesis(8), "later")

    assert world.row(refused).reason == (str(error) or "OverflowError")
    assert world.row(later).state == rows.RUNNING
    assert not world.node.subnet_chains._again


def test_known_chains_do_their_work_when_new_ones_cannot_be_looked_for(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise OperationalError("the disk is full")

    monkeypatch.setattr(tasks, "find_chains", fail)
    assert tasks.expire_pool() == {"expired": 0}
    assert tasks.expire_pool("C") == {"expired": 0}
    with pytest.raises(tasks.UnknownChain):
        tasks.expire_pool("nobody")


@pytest.mark.parametrize(
    ("error", "is_tried_again"),
    [(OperationalError, True), (OSError, True), (ProgrammingError, False)],
)
def test_only_errors_that_may_pass_are_tried_again(
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    error: type[Exception],
    *,
    is_tried_again: bool,
) -> None:
    def fail(*_: object) -> Database:
        raise error("permission denied")

    monkeypatch.setattr(subnet_chains, "make_database", fail)
    refused = world.create()
    assert world.row(refused).reason == "permission denied"
    assert (refused in world.node.subnet_chains._again) is is_tried_again


@pytest.mark.parametrize("step", ["network.connect", "endpoints.add_evm"])
def test_a_chain_that_the_process_cannot_begin_leaves_no_trace_and_begins_later(
    world: World, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    node = world.node
    shown = len(node.observation._evm_rpcs)

    def fail(*_: object) -> None:
        raise OperationalError("the connection was lost")

    with monkeypatch.context() as patched:
        owner = node.network if step == "network.connect" else node.endpoints
        patched.setattr(owner, "_connect" if step == "network.connect" else "add_evm", fail)
        blockchain_id = world.create()
    name = str(blockchain_id)
    assert world.row(blockchain_id).reason == "the connection was lost"
    assert node.chains.find(name) is None
    for names in (node.evm_chains, node.evm_runtimes, node.evm_rpcs, node.transaction_logs):
        assert list(names) == ["C"]
    assert name not in node.network.names
    assert node.network.evm_chains == (node.evm_chain,)

    node.subnet_chains._again_at = 0
    node.subnet_chains.look()
    assert world.row(blockchain_id).state == rows.RUNNING
    assert node.chains.find(name) is world.chain(blockchain_id)
    assert len(node.observation._evm_rpcs) == shown + 1


def test_a_chain_whose_work_fails_does_not_hold_up_the_others(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = world.create(), world.create(subnet_genesis(8), "second")
    seen: list[str] = []

    def expire(chain: EvmChain, now: float) -> int:
        seen.append(chain.name)
        if chain.name == str(first):
            raise OperationalError("the disk is full")
        return 1

    monkeypatch.setattr(tasks.removal, "expire", expire)
    with pytest.raises(OperationalError, match="the disk is full"):
        tasks.expire_pool()
    assert seen == ["C", str(first), str(second)]


def test_after_a_snapshot_is_restored_new_chains_are_found_again(world: World) -> None:
    node = world.node = started(updated(world.node.settings, track_subnets=(str(world.subnet_id),)))
    snapshots = Snapshots(node.settings, node.platform_chain, node.evm_chain, node.network)
    snapshots.save("before")
    broken = str(world.create(b"{", "broken"))
    assert broken in node.observation.reporter.health().checks
    snapshots.restore("before")
    node.subnet_chains.look()
    assert not node.refused_chains
    assert broken not in node.observation.reporter.health().checks

    again = world.create(name="again")  # it has the place of the other one in the order of creation
    assert world.row(again).state == rows.RUNNING


def test_other_code_at_the_address_of_a_precompile_is_logged(
    world: World, caplog: pytest.LogCaptureFixture
) -> None:
    document = json.loads(
        subnet_genesis(CHAIN_ID, contractNativeMinterConfig={"blockTimestamp": 1})
    )
    document["alloc"][NATIVE_MINTER.hex()] = {"balance": "0x0", "code": "0x00"}
    blockchain_id = world.create(json.dumps(document).encode())
    assert world.row(blockchain_id).state == rows.RUNNING
    words = f"alloc gives {encode_data(NATIVE_MINTER)}, the address of contractNativeMinterConfig"
    assert words in caplog.text
