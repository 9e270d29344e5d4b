"""First requests for parts that a node loads last: pages, admin, static files, the other chain, peers and tasks."""

import http.cookiejar
import os
import re
import sqlite3
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from nunatak.node import NodeProcess
from nunatak.rpc import call
from primitives.keys import EWOQ_KEY, format_private_key

ROOT = Path(__file__).resolve().parents[2]
STRANGER = "0x000000000000000000000000000000000000dEaD"

SESSION = """
def test_one(chain, node):
    chain.mine()
    print(f"directory={node.directory}")
"""


@pytest.fixture(autouse=True)
def of_this_checkout(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))


@pytest.fixture
def node(tmp_path: Path) -> Iterator[NodeProcess]:
    """A node in a new directory, which has answered eth_chainId and nothing else."""
    with NodeProcess(tmp_path / "node") as started:
        yield started


def read(url: str) -> tuple[int, bytes]:
    with urllib.request.urlopen(url, timeout=60) as reply:
        return reply.status, reply.read()


def test_first_concurrent_requests_to_all_parts_succeed(node: NodeProcess) -> None:
    pages = {
        "/": b"<title>",
        "/admin/login/": b"csrfmiddlewaretoken",
        "/static/nodeproject/reference.css": b"{",
        "/ext/docs": b"eth_chainId",
        "/ext/metrics": b"svc_",
        "/ext/health/liveness": b'"healthy":true',
        "/v2/api?chainid=43112&module=account&action=balance&address=" + STRANGER: b'"result":"0"',
    }
    with ThreadPoolExecutor(len(pages) + 1) as threads:
        asked = {path: threads.submit(read, node.base_url + path) for path in pages}
        height = threads.submit(call, node.platform_url, "platform.getHeight")
        for path, expected in pages.items():
            status, body = asked[path].result()
            assert status == 200, path
            assert expected in body, path
        assert height.result() == {"height": "0"}


def test_the_first_request_logs_in_to_the_admin(node: NodeProcess) -> None:
    browser = urllib.request.build_opener(
        urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    )
    login = f"{node.base_url}/admin/login/?next=/admin/"
    form = browser.open(login, timeout=60).read().decode()
    found = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', form)
    assert found is not None
    given = {
        "csrfmiddlewaretoken": found[1],
        "username": "admin",
        "password": (node.directory / "data" / "admin_password").read_text().strip(),
    }
    request = urllib.request.Request(
        login, urllib.parse.urlencode(given).encode(), {"Referer": login}
    )
    page = browser.open(request, timeout=60)

    assert page.url == f"{node.base_url}/admin/"
    shown = page.read().decode()
    assert "Log out" in shown
    assert "Periodic tasks" not in shown  # the schedule of this profile is in no table


def test_transaction_pending_before_the_worker_starts_is_accepted(node: NodeProcess) -> None:
    """A Celery task empties the P-Chain's mempool."""
    user = {"username": "first", "password": "vJ5-tQ2.kZ8+mR1"}
    call(f"{node.base_url}/ext/keystore", "keystore.createUser", user)
    key = format_private_key(EWOQ_KEY)
    address = call(node.platform_url, "platform.importKey", {**user, "privateKey": key})["address"]
    wanted = {**user, "controlKeys": [address], "threshold": 1}
    tx_id = call(node.platform_url, "platform.createSubnet", wanted)["txID"]

    deadline = time.monotonic() + 120
    status = ""
    while status != "Committed" and time.monotonic() < deadline:
        status = call(node.platform_url, "platform.getTxStatus", {"txID": tx_id})["status"]
    assert status == "Committed"


def applied(path: Path) -> list[tuple[str, ...]]:
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT * FROM django_migrations").fetchall()


def test_chains_of_all_sessions_of_the_fixtures_begin_with_the_same_tables(tmp_path: Path) -> None:
    """The times in the list of migrations are those of one build."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("NODE_")}
    built = subprocess.run(
        [sys.executable, ROOT / "scripts/build_empty_database.py"],
        env=kept, check=True, capture_output=True, text=True,
    )  # fmt: skip
    (tmp_path / "test_sample.py").write_text(SESSION)
    for number in range(2):
        session = subprocess.run(
            [
                sys.executable, "-m", "pytest", "-q", "-s", "-p", "no:cacheprovider",
                "-p", "nunatak.pytest_plugin", f"--basetemp={tmp_path / f'session{number}'}", "test_sample.py",
            ],
            env=kept | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}, cwd=tmp_path, check=False, capture_output=True, text=True,
        )  # fmt: skip
        assert session.returncode == 0, session.stdout
        found = re.search(r"^directory=(.+)$", session.stdout, re.MULTILINE)
        assert found is not None
        database = Path(found[1]) / "data" / "node.sqlite3"
        assert applied(database) == applied(Path(built.stdout.strip()))
