"""The network's command line: its output for the operator."""

import asyncio
import json
import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime
from io import StringIO
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError

from network_app import selectors
from network_app.management.commands import bootstrap_progress
from network_app.models import SyncPhase
from nodeproject.management.commands import runnetwork
from tests.builders import network_rows
from tests.builders.node_settings import updated
from tests.integration.network_app.world import World

pytestmark = pytest.mark.sqlite_only

FOLLOWS = pytest.mark.node_settings(bootstrap=("127.0.0.1:9651",))


def said(command: str) -> str:
    out = StringIO()
    call_command(command, stdout=out)
    return out.getvalue()


@pytest.mark.django_db
def test_progress_of_a_node_without_bootstrappers_is_complete(node_settings: Any) -> None:
    assert said("bootstrap_progress") == "All chains are bootstrapped.\n"


def test_polls_of_one_and_of_ten_blocks_are_timed() -> None:
    told = json.loads(said("time_record_poll"))
    assert 0 < told["one"] < told["ten"]


@FOLLOWS
@pytest.mark.django_db
def test_bars_show_how_far_chains_are_until_they_are_there(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    network_rows.report()
    network_rows.sync("X")
    way = {"phase": SyncPhase.BOOTSTRAPPING, "start_height": 0, "target_height": 4000}
    steps: list[Callable[[], Any]] = [
        lambda: network_rows.sync("P", **way, height=1000),
        lambda: network_rows.sync(
            "P", **way, height=3000, blocks_per_second=1250.0, seconds_left=0.8
        ),
        lambda: network_rows.sync("P", height=4000, target_height=4000),
        lambda: network_rows.sync("C", **way, height=0, obstacle="a genesis of another network"),
        lambda: network_rows.sync("C", obstacle=None),
    ]
    monkeypatch.setattr(
        bootstrap_progress, "time", type("Time", (), {"sleep": lambda _seconds: steps.pop(0)()})
    )

    assert said("bootstrap_progress") == "All chains are bootstrapped.\n"

    assert steps == []
    shown = capsys.readouterr().err
    assert "P-Chain" in shown
    assert "100 %  at height 4,000" in shown
    assert "C-Chain: a genesis of another network" in shown


@FOLLOWS
@pytest.mark.django_db
def test_progress_without_reports_is_explained(
    node_settings: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def no_tables() -> Any:
        raise OperationalError("no such table")

    def end() -> None:
        raise KeyboardInterrupt

    steps: list[Callable[[], Any]] = [
        lambda: monkeypatch.setattr(selectors, "status", status),
        lambda: network_rows.report(heartbeat_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)),
        lambda: None,
        end,
    ]
    status = selectors.status
    monkeypatch.setattr(selectors, "status", no_tables)
    monkeypatch.setattr(
        bootstrap_progress, "time", type("Time", (), {"sleep": lambda _seconds: steps.pop(0)()})
    )

    with pytest.raises(KeyboardInterrupt):
        said("bootstrap_progress")

    shown = " ".join(capsys.readouterr().err.split())
    assert shown.count("No node has run yet on ") == 1
    silent = "is not running; its last report is from 2026-01-02 03:04:05 UTC"
    assert shown.count(silent) == 1


def test_embedded_profile_refuses_runnetwork(node_settings: Any, settings: Any) -> None:
    settings.NODE = updated(settings.NODE, profile="embedded")
    with pytest.raises(
        CommandError, match=r"^In the embedded profile `runnode` connects to peers\.$"
    ):
        call_command("runnetwork")


@pytest.fixture
def production(world: World, settings: Any) -> Callable[..., None]:
    """Return a function that configures the production profile, with some settings."""

    def change(**values: Any) -> None:
        settings.NODE = updated(settings.NODE, profile="production", **values)

    return change


@pytest.mark.parametrize(
    ("values", "words"),
    [
        ({"bootstrap": ("somewhere",)}, "NODE_BOOTSTRAP has 'somewhere', which is not IP:PORT"),
        ({"public_ip": "1.2.3.4:x"}, "NODE_PUBLIC_IP has '1.2.3.4:x', which is not IP:PORT"),
        ({"producer": "alice"}, "NODE_PRODUCER is 'alice', which is no node ID: "),
    ],
)
def test_settings_that_cannot_be_used_are_named(
    production: Callable[..., None], values: dict[str, Any], words: str
) -> None:
    production(**values)
    with pytest.raises(CommandError) as refused:
        call_command("runnetwork")
    assert str(refused.value).startswith(words)


@pytest.mark.django_db
def test_runnetwork_without_chain_names_init_node(
    node_settings: Any, settings: Any, tmp_path: Any
) -> None:
    settings.NODE = updated(settings.NODE, profile="production", data_dir=str(tmp_path))
    with pytest.raises(
        CommandError, match=r"^This node has no chain yet: run `init_node` first\.$"
    ):
        call_command("runnetwork")


@pytest.mark.django_db
def test_a_database_that_is_away_is_named(
    node_settings: Any, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise OperationalError("connection refused\n\tIs the server running?\n")

    settings.NODE = updated(settings.NODE, profile="production")
    monkeypatch.setattr(runnetwork.connection, "ensure_connection", refuse)
    with pytest.raises(
        CommandError,
        match=r"^The database cannot be reached: connection refused Is the server running\?$",
    ):
        call_command("runnetwork")


class Network:
    """A stub of the network: runs until it is asked to stop."""

    def __init__(self, error: OSError | None = None) -> None:
        self.error = error
        self.stopped = False

    async def run(self, stopping: asyncio.Event) -> None:
        if self.error is not None:
            raise self.error
        os.kill(os.getpid(), signal.SIGTERM)
        await asyncio.wait_for(stopping.wait(), 60)
        self.stopped = True


def test_runnetwork_runs_until_interrupted(
    production: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    production(staking_port=9651)
    network = Network()
    monkeypatch.setattr(runnetwork, "RunningNetwork", lambda _node: network)

    call_command("runnetwork")

    assert network.stopped
    assert "Peers connect to 127.0.0.1:9651" in capsys.readouterr().err


def test_a_port_that_is_taken_is_named(
    production: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    production(staking_port=9651)
    network = Network(OSError(98, "Address already in use"))
    monkeypatch.setattr(runnetwork, "RunningNetwork", lambda _node: network)

    with pytest.raises(
        CommandError, match=r"^cannot listen on 127\.0\.0\.1:9651: Address already in use$"
    ):
        call_command("runnetwork")
