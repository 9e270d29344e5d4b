"""Modules that a node loads at start: each takes time and memory, whether it is used or not."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.sqlite_only

LOADED = """
import asyncio, sys
import nodeproject.asgi as asgi
import nodeproject.management.commands.runnode
import nodeproject.processes.uvicorn_protocols
from nodeproject.processes.embedded import EmbeddedWorkers
EmbeddedWorkers()
first = set(sys.modules)
asyncio.run(asgi.DjangoPages().load())
print(" ".join(first & {*sys.argv[1].split()}), "|", " ".join({"nodeproject.web.urls", "cchain_app.admin"} - {*sys.modules}))
"""

FAILED = """
import sys
class Refusing:
    def find_spec(self, name, path, target=None):
        if name == "network_app.admin.status":
            sys.meta_path.remove(self)
            raise OSError(24, "no descriptors")
from nodeproject.startup.profile import choose_settings
choose_settings()
import django
django.setup()
from django.contrib import admin
from adminkit.loading import load_admins
from network_app.models import Peer
sys.meta_path.insert(0, Refusing())
try:
    load_admins()
except OSError:
    print("OSError")
load_admins()
print("whole" if admin.site.is_registered(Peer) else "partial")
"""

UNUSED = (
    "nodeproject.web.urls cchain_app.admin unfold.admin ninja twisted psycopg structlog zxcvbn "
    "celery django_celery_beat rich explorer_app.site network_app.runtime network_app.peers.network OpenSSL "
    "google.protobuf cryptography.x509 django.core.handlers.asgi nodeproject.startup.migrating nodeproject.processes.ipc nodeproject.copies.backup_manifest "
    "network_app.consensus.vm network_app.snowman.topological nodeproject.web.openrpc.page "
    "nodeproject.web.openrpc.entries nodeproject.web.openrpc.results_platform "
    "platform_app.chain platform_app.config xchain_app.chain utxo.coins network_app.node network_app.config "
    "nodeproject.web.observation nodeproject.web.get_pages websockets channels.routing"
)

AGAIN = """
import sys
from nodeproject.startup.profile import choose_settings
choose_settings()
import django
django.setup()
from nodeproject.apps import this_node
from nodeproject.management.banner import banner_of
from nodeproject.management.initialise import initialise
for _ in range(2):
    initialise(this_node())
    banner_of(this_node())("http://127.0.0.1:9650")
print("loaded:", "platform_app.chain" in sys.modules, "xchain_app.chain" in sys.modules)
"""

CHANGED = """
from pathlib import Path
from nodeproject.startup.profile import choose_settings
choose_settings()
import django
django.setup()
from django.conf import settings
from django.test import RequestFactory
from whitenoise.middleware import WhiteNoiseMiddleware
file = Path(settings.STATIC_ROOT) / "probe.css"
file.write_text("a{}")
serve = WhiteNoiseMiddleware(lambda request: None)
for text in ("a{}", "a{color:red}"):
    file.write_text(text)
    reply = serve(RequestFactory().get("/static/probe.css"))
    print(reply["content-length"], b"".join(reply).decode())
"""

WORKING = """
import sys, threading
from nodeproject.startup.profile import choose_settings
choose_settings()
import django
django.setup()
from nodeproject.processes.embedded import EmbeddedWorkers
early = EmbeddedWorkers()
early.start()
early.stop()
print("celery" in sys.modules, early._thread.is_alive())
from celery import signals
ended, names = threading.Event(), []
def note(sender, **_):
    names.append(sender.name)
    if sender.name == "health_app.prune_history":
        ended.set()
signals.task_postrun.connect(note)
from chaindb import wakeup
wakeup.task_app().signature("health_app.prune_history").apply_async()
workers = EmbeddedWorkers()
workers.start()
ended.wait()
workers.stop()
print(workers._thread.is_alive(), names.count("health_app.prune_history"))
"""


def test_start_on_sqlite_imports_no_pages_and_no_server_clients(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", LOADED, UNUSED],
        env={
            **os.environ,
            "NODE_DATA_DIR": str(tmp_path),
            "NODE_DATABASE_URL": "",
            "NODE_LOG_FORMAT": "text",
            "DJANGO_SETTINGS_MODULE": "nodeproject.settings.embedded",
        },
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    early, missing = (found.split() for found in made.stdout.split("|"))
    assert not early, "loaded at the start"
    assert not missing, "not loaded with the pages"


def test_start_on_an_existing_chain_imports_no_other_chain(tmp_path: Path) -> None:
    for is_first in (True, False):
        made = subprocess.run(
            [sys.executable, "-c", AGAIN],
            env={**os.environ, "NODE_DATA_DIR": str(tmp_path), "NODE_DATABASE_URL": ""}
            | {"DJANGO_SETTINGS_MODULE": "nodeproject.settings.embedded"},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        assert "P-Chain block 0" in made.stdout
        assert "10,000 AVAX, and so on" in made.stdout
        assert made.stdout.splitlines()[-1] == f"loaded: {is_first} {is_first}"


def test_static_files_may_change_while_a_node_runs(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", CHANGED],
        env={**os.environ, "NODE_DATA_DIR": str(tmp_path), "NODE_DATABASE_URL": ""}
        | {"DJANGO_SETTINGS_MODULE": "nodeproject.settings.embedded"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert made.stdout.splitlines() == ["3 a{}", "12 a{color:red}"]


def test_worker_runs_tasks_sent_before_it_was_loaded(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", WORKING],
        env={**os.environ, "NODE_DATA_DIR": str(tmp_path), "NODE_DATABASE_URL": ""}
        | {"DJANGO_SETTINGS_MODULE": "nodeproject.settings.embedded"},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert made.stdout.split() == ["False", "False", "False", "1"], made.stderr


async def test_failed_import_of_pages_is_repeated_completely(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from nodeproject import asgi

    asked = []

    def load() -> None:
        asked.append(1)
        if len(asked) == 1:
            raise OSError("no descriptors")

    monkeypatch.setattr(asgi, "load_pages", load)
    pages = asgi.DjangoPages()
    for _ in range(2):
        with pytest.raises(OSError, match="no descriptors"):
            await pages.load()
    assert len(asked) == 1
    monkeypatch.setattr(asgi, "RELOAD_SECONDS", 0.0)
    pages = asgi.DjangoPages()
    asked.clear()
    with pytest.raises(OSError, match="no descriptors"):
        await pages.load()
    await pages.load()
    await pages.load()
    assert len(asked) == 2


def test_admin_is_complete_after_a_failed_import(tmp_path: Path) -> None:
    made = subprocess.run(
        [sys.executable, "-c", FAILED],
        env={**os.environ, "NODE_DATA_DIR": str(tmp_path), "NODE_DATABASE_URL": ""},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert made.stdout.split() == ["OSError", "whole"], made.stderr
