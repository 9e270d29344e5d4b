"""info.getNodeVersion."""

import re

import pytest
from django.db import connection
from django.db.migrations.loader import MigrationLoader

from cchain_app.apps import evm_chain
from info_app import api
from info_app.version import PRODUCT, vm_versions
from tests.integration.platform_app.conftest import Rpc

pytestmark = pytest.mark.sqlite_only


def test_versions_of_node_and_vms_are_returned(rpc: Rpc) -> None:
    found = rpc("info.getNodeVersion")

    assert set(found) == {
        "version", "databaseVersion", "rpcProtocolVersion", "gitCommit", "vmVersions",
    }  # fmt: skip
    assert found["version"] == PRODUCT
    assert found["rpcProtocolVersion"] == "45"
    assert found["vmVersions"] == vm_versions(evm_chain().engine.name)
    assert set(found["vmVersions"]) == {"avm", "evm", "platform"}
    assert all(isinstance(value, str) for value in found["vmVersions"].values())


def test_database_version_is_that_of_the_last_migrations(rpc: Rpc) -> None:
    leaves = dict(MigrationLoader(connection).graph.leaf_nodes())
    newest = [int(leaves[app][:4]) for app in ("platform_app", "cchain_app", "network_app")]

    shown = rpc("info.getNodeVersion")["databaseVersion"]

    assert shown == "v" + ".".join(map(str, newest))
    assert re.fullmatch(r"v\d+\.\d+\.\d+", shown)


def test_commit_is_that_of_the_loaded_code(rpc: Rpc, monkeypatch) -> None:
    assert re.fullmatch(r"[0-9a-f]{40}|", rpc("info.getNodeVersion")["gitCommit"])

    monkeypatch.setattr(api, "COMMIT", "ab" * 20)
    assert rpc("info.getNodeVersion")["gitCommit"] == "ab" * 20


def test_unmigrated_database_has_an_older_version(rpc: Rpc) -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'network_app'")
        cursor.execute("DELETE FROM django_migrations WHERE app = 'platform_app' AND name > '0002'")

    assert re.fullmatch(r"v1\.\d+\.0", rpc("info.getNodeVersion")["databaseVersion"])
