"""Operators' actions in the admin: permissions, confirmations, effects and log entries."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from django.contrib.admin.models import CHANGE, DELETION, LogEntry
from django.contrib.auth.models import Permission, User
from django.db import OperationalError
from django.test import Client

from cchain_app import tasks
from cchain_app.apps import evm_runtime
from cchain_app.models import PoolTransaction
from cchain_app.selectors import development, pool
from chaindb import clock
from nodeproject.apps import this_node
from platform_app.models import DroppedTx, MempoolTx
from primitives.evm import Hash
from tests.builders.transactions import SENDER
from tests.integration.nodeproject.snapshots import Scene

EMBEDDED = pytest.mark.node_settings(profile="embedded")

FRONT = "/admin/"
AUTO = pytest.mark.node_settings(mining="auto")
PAUSE, RESUME = "/admin/production/pause/", "/admin/production/resume/"


def _text(client: Client, path: str) -> str:
    answer = client.get(path)
    assert answer.status_code == 200
    return answer.content.decode()


def _confirm(client: Client, path: str) -> str:
    """Confirm the action that a page asks about, and return the resulting message."""
    answer = client.post(path, follow=True)
    assert answer.status_code == 200
    return answer.content.decode()


def _logged() -> list[tuple[str, int, str]]:
    found = LogEntry.objects.order_by("id")
    return list(found.values_list("object_repr", "action_flag", "change_message"))


@pytest.fixture
def staff(client: Client) -> Callable[..., Client]:
    """Return a function that logs in a staff user who has exactly the given permissions."""

    def log_in(*codenames: str) -> Client:
        person = User.objects.create_user("operator", password="x", is_staff=True)
        person.user_permissions.set(Permission.objects.filter(codename__in=codenames))
        client.force_login(person)
        return client

    return log_in


def _pooled(scene: Scene) -> tuple[list[Hash], list[str]]:
    """Put two transactions into the pool; return their hashes and the URLs that drop them."""
    hashes = scene.chain.send(scene.chain.make(), scene.chain.make())
    keys = [PoolTransaction.objects.get(hash=block_hash).pk for block_hash in hashes]
    return hashes, [f"/admin/cchain_app/pooltransaction/{key}/do/drop/" for key in keys]


def test_a_pooled_transaction_is_dropped(scene: Scene, admin_client: Client) -> None:
    hashes, paths = _pooled(scene)
    page = _text(admin_client, paths[1].replace("do/drop", "change"))
    assert f'href="{paths[1]}"' in page
    asked = _text(admin_client, paths[1])
    assert "Drop this transaction?" in asked
    assert f"0x{hashes[1].hex()}" in asked
    assert "A block that is being built may already contain it" in asked
    assert PoolTransaction.objects.count() == 2  # nothing has changed yet

    told = _confirm(admin_client, paths[1])
    assert "It had nonce 1; 1 of its sender is left, 0 behind the gap." in told
    assert f'href="/admin/cchain_app/pooltransaction/?q=0x{SENDER.hex()}"' in told

    assert pool.transaction(scene.chain.evm, hashes[1]) is None
    assert pool.transaction(scene.chain.evm, hashes[0]) is not None
    ((title, flag, words),) = _logged()
    assert (flag, words) == (DELETION, f"Dropped transaction 0x{hashes[1].hex()} from the mempool.")
    assert hashes[1].hex()[:6] in title
    assert "does not exist. It is not pending" in _confirm(admin_client, paths[1])
    assert len(_logged()) == 1


def test_own_pool_of_a_followed_chain_can_be_changed(
    scene: Scene, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    hashes, paths = _pooled(scene)
    monkeypatch.setattr(scene.chain.evm, "has_peers", lambda: True)
    assert "Dropped transaction" in _confirm(admin_client, paths[0])
    assert pool.transaction(scene.chain.evm, hashes[0]) is None


def test_transaction_mined_meanwhile_is_not_dropped(
    scene: Scene, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, paths = _pooled(scene)
    row = PoolTransaction.objects.order_by("id").first()
    # The page has read the row before the block arrives.
    monkeypatch.setattr("cchain_app.admin.mempool.PoolTransactionAdmin.get_object", lambda *_: row)
    scene.mine()
    assert "The action was refused: the transaction is no longer pending" in _confirm(
        admin_client, paths[0]
    )
    assert _logged() == []


def test_a_transaction_of_the_mempool_is_dropped_and_remembered(
    scene: Scene, admin_client: Client
) -> None:
    tx = scene.pchain.make()
    scene.pchain.issue(tx)
    path = f"/admin/platform_app/mempooltx/{MempoolTx.objects.get().pk}/do/drop/"
    asked = _text(admin_client, path)
    assert str(tx.tx_id) in asked
    assert "A block that is being built may already contain it" in asked

    told = _confirm(admin_client, path)
    assert f"Dropped transaction {tx.tx_id} from the mempool. 0 transactions are left." in told
    assert f'href="/admin/platform_app/droppedtx/?q={tx.tx_id}"' in told

    assert not MempoolTx.objects.exists()
    dropped = DroppedTx.objects.get()
    assert (dropped.tx_id, dropped.reason) == (tx.tx_id, "dropped by the node's operator")
    ((_, flag, words),) = _logged()
    assert (flag, words) == (DELETION, f"Dropped transaction {tx.tx_id} from the mempool.")
    assert scene.pchain.issue(tx) == [tx.tx_id]  # its inputs are free again


@AUTO
def test_production_is_paused_in_all_processes_and_resumed(
    scene: Scene, admin_client: Client
) -> None:
    front = _text(admin_client, FRONT)
    assert f'href="{PAUSE}"' in front
    asked = _text(admin_client, PAUSE)
    assert "Pause the production of blocks?" in asked
    assert "its blocks follow the clock" in asked  # the P-Chain's

    told = _confirm(admin_client, PAUSE)
    assert "Paused the C-Chain" in told
    assert "The head is block 0; 0 transactions pending, 0 behind a gap." in told
    assert 'href="/admin/cchain_app/pooltransaction/">Mempool</a>' in told

    scene.send()
    assert tasks.beat(evm_runtime()) == {"blocks": 0}
    # Another process reads the row.
    scene.chain.evm.memory.conditions.reset()
    assert development.mining(scene.chain.evm) == "manual"
    front = _text(admin_client, FRONT)
    assert ">paused<" in front.replace("\n", "").replace("  ", "")
    assert f'href="{RESUME}"' in front
    assert "The action was refused: production is already paused." in _confirm(admin_client, PAUSE)
    assert tasks.produce_blocks() == {"blocks": 0}  # requested before the pause

    assert "1 transaction pending, 0 behind a gap." in _confirm(admin_client, RESUME)

    assert development.mining(scene.chain.evm) == scene.chain.evm.settings.mining
    assert PoolTransaction.objects.count() == 1
    assert tasks.beat(evm_runtime())["blocks"] == 1
    assert [flag for _, flag, _ in _logged()] == [CHANGE, CHANGE]


@EMBEDDED
def test_interval_set_over_rpc_survives_a_pause(
    scene: Scene, admin_client: Client, rpc: Any
) -> None:
    rpc("evm_setIntervalMining", 7)
    _confirm(admin_client, PAUSE)
    _confirm(admin_client, RESUME)
    assert development.mining(scene.chain.evm) == "interval"
    assert development.block_interval(scene.chain.evm) == 7


@EMBEDDED
@pytest.mark.parametrize(
    "calls",
    [
        pytest.param((("evm_setIntervalMining", 5), ("evm_setAutomine", True)), marks=AUTO),
        pytest.param(
            (("evm_setAutomine", True),), marks=pytest.mark.node_settings(mining="manual")
        ),
    ],
)
def test_automine_set_over_rpc_survives_a_pause(
    scene: Scene, admin_client: Client, rpc: Any, calls: tuple[tuple[str, object], ...]
) -> None:
    for method, argument in calls:
        rpc(method, argument)
    _confirm(admin_client, PAUSE)
    assert rpc("anvil_getAutomine") is False
    assert 'nd-wait">paused<' in _text(admin_client, "/admin/cchain_app/developmentsettings/")
    assert "Resumed the C-Chain" in _confirm(admin_client, RESUME)
    assert development.mining(scene.chain.evm) == "auto"


@EMBEDDED
@AUTO
@pytest.mark.parametrize(
    ("call", "mining"),
    [
        (("evm_setAutomine", True), "auto"),
        (("evm_setIntervalMining", 7), "interval"),
    ],
)
def test_enabling_production_ends_a_pause(
    scene: Scene, admin_client: Client, rpc: Any, call: tuple[str, object], mining: str
) -> None:
    _confirm(admin_client, PAUSE)
    rpc(*call)
    assert development.mining(scene.chain.evm) == mining
    assert "The action was refused: blocks are already being produced." in _confirm(
        admin_client, RESUME
    )


@EMBEDDED
@AUTO
def test_disabled_production_survives_a_pause(scene: Scene, admin_client: Client, rpc: Any) -> None:
    _confirm(admin_client, PAUSE)
    rpc("evm_setIntervalMining", 0)
    assert development.mining(scene.chain.evm) == "manual"
    assert development.is_paused(scene.chain.evm)
    rpc("evm_setAutomine", False)
    assert development.is_paused(scene.chain.evm)

    assert "Resumed the C-Chain" in _confirm(admin_client, RESUME)

    assert development.mining(scene.chain.evm) == "manual"
    front = _text(admin_client, FRONT)
    assert "manual only" in front
    assert PAUSE not in front
    assert RESUME not in front
    assert "The action was refused: production is not paused." in _confirm(admin_client, RESUME)
    assert "The action was refused: blocks are already made manually only." in _confirm(
        admin_client, PAUSE
    )


@AUTO
def test_pause_is_refused_if_other_nodes_rely_on_the_chain(
    scene: Scene, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scene.chain.evm, "has_peers", lambda: True)
    words = "development methods need a chain of this node alone"
    asked = _text(admin_client, PAUSE)
    assert words in asked
    assert "nd-sure" not in asked.partition('class="nd-panel')[2]
    assert f"The action was refused: {words}" in _confirm(admin_client, PAUSE)
    monkeypatch.setattr(scene.chain.evm, "node", replace(scene.chain.evm.node, consensus="snowman"))
    assert "other nodes rely on this chain" in _text(admin_client, PAUSE)
    assert _logged() == []


def test_check_can_be_run_again(
    scene: Scene, admin_client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    reporter = this_node().observation.reporter
    before = reporter.health().checks["X"].ended
    path = "/admin/check/X/"
    assert f'href="{path}"' in _text(admin_client, FRONT)
    asked = _text(admin_client, path)
    assert "Run this check again?" in asked
    assert "rejected counts as a failure for at least half a minute" in asked
    assert reporter.health().checks["X"].ended == before

    told = _confirm(admin_client, path)
    assert re.search(r"The check X-Chain was run again: it passes\. The run took \d+ ms\.", told)
    assert 'href="/admin/health_app/healthchange/">Changes of health</a>' in told

    after = reporter.health().checks["X"].ended
    assert after is not None
    assert before is None or after > before
    assert _logged() == [("health check X", CHANGE, "The check X-Chain was run again: it passes.")]
    assert admin_client.get("/admin/check/Y/").status_code == 404
    assert admin_client.get("/admin/production/stop/").status_code == 404


@pytest.mark.parametrize(
    ("path", "codename", "asked"),
    [
        (PAUSE, "change_developmentsettings", "Pause the production"),
        ("/admin/check/X/", "change_healthchange", "Run this check"),
        ("drop", "delete_pooltransaction", "Drop this transaction"),
    ],
)
def test_actions_need_their_permission(
    scene: Scene, staff: Callable[..., Client], path: str, codename: str, asked: str
) -> None:
    if path == "drop":
        _, (path, _) = _pooled(scene)
    assert Client().get(path).headers["Location"].startswith("/admin/login/")
    client = staff()
    for answer in (client.get(path), client.post(path)):
        assert answer.status_code == 403
    assert f'href="{path}"' not in _text(client, FRONT)
    assert _logged() == []
    assert clock.now()  # only the time has changed

    User.objects.get().user_permissions.set(Permission.objects.filter(codename=codename))
    view = Permission.objects.filter(codename="view_pooltransaction")
    User.objects.get().user_permissions.add(*view)
    assert asked in _text(client, path)


@pytest.mark.parametrize("codename", ["", "view_pooltransaction", "delete_pooltransaction"])
def test_without_permission_pending_actions_are_hidden(
    scene: Scene, staff: Callable[..., Client], codename: str
) -> None:
    _, (there, _) = _pooled(scene)
    client = staff(codename)
    for path in (there, "/admin/cchain_app/pooltransaction/999999/do/drop/"):
        for answer in (client.get(path), client.post(path)):
            assert answer.status_code == 403
    assert PoolTransaction.objects.count() == 2


@AUTO
def test_action_is_logged_if_its_log_entry_fails(
    scene: Scene,
    admin_client: Client,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def refuse(**_: Any) -> None:
        raise OperationalError("disk full")

    monkeypatch.setattr(LogEntry.objects, "create", refuse)

    told = _confirm(admin_client, PAUSE)

    assert "Paused the C-Chain" in told
    assert "The action was done, but the database did not accept the log entry" in told
    assert development.mining(scene.chain.evm) == "manual"
    (done, failed) = [record for record in caplog.records if record.name == "adminkit.actions"]
    assert "Paused the C-Chain" in done.getMessage()
    assert "(by admin, in the admin)" in done.getMessage()
    assert "disk full" in str(failed.exc_info)


@AUTO
def test_a_deed_needs_the_page_s_token(scene: Scene, admin_user: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.force_login(admin_user)
    assert strict.post(PAUSE).status_code == 403
    assert development.mining(scene.chain.evm) != "manual"
