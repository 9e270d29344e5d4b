"""A node with rows in every table, its backup, and the rows that a backup contains."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.contrib.auth import get_user_model

from cchain_app.services.calls import index_calls
from chaindb.database import Database
from explorer_app.models import (
    FaucetPayment,
    L1Request,
    SuppliedAbi,
    Verification,
    VerificationState,
    VerifiedContract,
)
from explorer_app.services.statistics import summarise
from health_app import services as health
from health_app.result import CheckResult
from nodeproject.apps import this_node
from nodeproject.copies import backups, tables
from nodeproject.copies.backup_manifest import BackupManifest
from tests.builders import bytecode
from tests.builders.transactions import SENDER
from tests.integration.nodeproject.snapshots import Scene

CLIENT = "203.0.113.9"
"""Address of the client that submitted sources."""
ALIASES = ("default", "second")
SECOND = Database("second")

Rows = dict[str, list[Any]]


def rows(db: Database, *, keys: bool = True) -> Rows:
    """Return all rows that a backup contains, by table."""
    return {
        table.name: list(table.read(db))
        for table in (tables.EVERYTHING if keys else tables.WITHOUT_PEOPLE).tables()
    }


def counts(db: Database) -> dict[str, int]:
    """Return the number of rows that were not created together with the tables."""
    found = tables.EVERYTHING.counts(db)
    return {name: count for name, count in found.items() if count}


def make_backup(scene: Scene, path: Path) -> None:
    """Save a node that has rows in every table that can have rows here."""
    contract = bytecode.deploy_code(bytecode.STORE)
    created = bytecode.created(SENDER, scene.chain.nonce)
    scene.chain.do(to=None, data=contract, gas=500_000, value=0)
    scene.chain.do(to=created, data=bytecode.words(1, 2**256 - 1), gas=100_000, value=0)
    scene.use_tokens()
    index_calls(this_node().evm_chain, seconds=60)
    summarise(this_node().evm_chain, seconds=60)
    explain(created)
    FaucetPayment.objects.create(
        recipient=b"C" + SENDER, client=CLIENT, coins=1, paid_at=datetime(2026, 1, 2, tzinfo=UTC)
    )
    L1Request.objects.create(
        name="game",
        terms="{}",
        genesis="{}",
        state=L1Request.DONE,
        began_at=datetime(2026, 1, 2, tzinfo=UTC),
    )
    scene.change_everything("alice")
    get_user_model().objects.create_superuser("ada", "", "a password of hers")
    health.record(Database(), "network", _failing("alone"))
    save(path)


def explain(contract: bytes) -> None:
    """Add the sources and the ABI of a contract, and their submission by a client."""
    now, code_hash = datetime(2026, 1, 2, tzinfo=UTC), bytes(31) + b"\x01"
    texts = {
        "name": "Store",
        "path": "Store.sol",
        "compiler": "0.8.28+commit.7893614a",
        "license": "",
    }
    verified = VerifiedContract.objects.create(
        **texts, address=contract, code_hash=code_hash, runtime_match="match", language="Solidity", input="{}",
        is_single_file=False, note="", abi="[]", metadata="{}", artifacts="{}", arguments=b"\x00\xff",
        libraries="{}", immutables="{}", verified_at=now,
    )  # fmt: skip
    SuppliedAbi.objects.create(
        address=contract, code_hash=code_hash, name="", abi="[]", supplied_at=now
    )
    Verification.objects.create(
        **texts, id="a", digest=bytes(32), address=contract, code_hash=code_hash, client=CLIENT, input="{}",
        is_single_file=False, knows_evm_version=True, state=VerificationState.PASSED, worker="", tries=1,
        submitted_at=now, finished_at=now, reason="", message="", details="{}", contract=verified,
    )  # fmt: skip


def _failing(words: str) -> CheckResult:
    return CheckResult(error=words, message={"peers": 0}, ended=1_700_000_000_123_456_000)


def save(path: Path, *, keys: bool = True) -> BackupManifest:
    node = this_node()
    return backups.backup(node.settings, node.platform_chain.db, path, keys=keys)
