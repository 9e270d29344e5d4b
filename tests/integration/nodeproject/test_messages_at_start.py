"""Settings that prevent a start, or have no effect, are reported in one line by the commands themselves."""

import logging
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeproject import celery
from nodeproject.apps import this_node
from tests.servers.node import ROOT

pytestmark = pytest.mark.sqlite_only

SECONDS = 120.0
Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Return a function that runs a command of a node with its own data directory."""

    def started(*command: str, **env: str) -> subprocess.CompletedProcess[str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("NODE_") and name != "DJANGO_SETTINGS_MODULE"
        }
        return subprocess.run(
            [sys.executable, "manage.py", *command],
            cwd=ROOT,
            env=inherited | {"NODE_DATA_DIR": str(tmp_path / "data")} | env,
            capture_output=True,
            text=True,
            check=False,
            timeout=SECONDS,
        )

    return started


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("node_status", "--jsno"), "manage.py status: error: unrecognized arguments: --jsno\n"),
        (("snapshot", "list", "--jsno"), "unrecognized arguments: --jsno; did you mean --json?\n"),
        (("snapshot", "lst"), "did you mean list?\n"),
        (("produce_block", "--cuont", "3"), "--cuont 3; did you mean --count?\n"),
        (("snapshot",), "the following arguments are required: verb\n"),
    ],
)
def test_wrong_arguments_of_a_command_end_with_the_nearest(
    run: Run, command: tuple[str, ...], words: str
) -> None:
    done = run(*command)

    assert done.returncode == 2
    assert done.stderr.endswith(words)
    assert "Traceback" not in done.stderr


def test_the_help_of_a_command_has_no_flag_of_django(run: Run) -> None:
    done = run("status", "--help")

    assert done.returncode == 0
    assert done.stdout.split() == [
        "usage:",
        "manage.py",
        "status",
        "[-h]",
        "[--data-dir",
        "DIRECTORY]",
        "Show",
        "heads,",
        "mempools",
        "and",
        "health",
        "of",
        "the",
        "node.",
        "options:",
        "-h,",
        "--help",
        "show",
        "this",
        "help",
        "message",
        "and",
        "exit",
        "--data-dir",
        "DIRECTORY",
        "the",
        "data",
        "directory",
        "of",
        "the",
        "node",
        "that",
        "is",
        "meant",
        "(NODE_DATA_DIR)",
    ]


def test_a_command_names_a_misspelled_variable_and_continues(run: Run) -> None:
    done = run("node_settings", NODE_MINNG="manual", NODE_ENV="production", NODE_FOO="1")

    assert done.returncode == 0
    assert (
        "?: (node.W004) NODE_MINNG is not a setting and has no effect: did you mean NODE_MINING?\n"
        in done.stderr
    )
    assert (
        "?: (node.I001) NODE_FOO is not a setting of this node and has no effect.\n" in done.stderr
    )
    assert "NODE_ENV" not in done.stderr


def test_addresses_of_services_are_named_and_ignored(run: Run) -> None:
    done = run(
        "node_settings", NODE_HTTP_PORT="tcp://10.0.0.1:9650", NODE_PORT="tcp://10.0.0.1:9650"
    )

    assert done.returncode == 0
    assert (
        "?: (node.W008) NODE_HTTP_PORT is the address of a service, not a setting, and is ignored.\n"
        in done.stderr
    )
    assert "NODE_PORT " not in done.stderr


def test_impossible_hosts_and_origins_stop_a_command(run: Run) -> None:
    done = run(
        "check", NODE_ALLOWED_HOSTS="localhost,https://a.example", NODE_ALLOWED_ORIGINS="a.example"
    )

    assert done.returncode == 1
    assert (
        "(node.E015) NODE_ALLOWED_HOSTS has entries that match no request: https://a.example."
        in done.stderr
    )
    assert (
        "(node.E016) NODE_ALLOWED_ORIGINS has entries that match no request: a.example."
        in done.stderr
    )


def test_unusable_token_file_stops_a_command(run: Run, tmp_path: Path) -> None:
    (tmp_path / "short").write_text("shorter-than-16")
    done = run(
        "node_settings",
        NODE_RPC_TOKEN_FILE=str(tmp_path / "short"),
        NODE_METRICS_TOKEN_FILE=str(tmp_path / "missing"),
    )

    assert done.returncode == 1
    assert (
        f"?: (node.E019) NODE_RPC_TOKEN_FILE cannot be used: {tmp_path}/short, line 1: a token has 16 to 512 characters, "
        "this one has 15.\n\tHINT: Make one with: openssl rand -hex 32 > FILE; chmod 600 FILE\n"
    ) in done.stderr
    assert "shorter-than" not in done.stderr
    assert "Traceback" not in done.stderr


def test_web_workers_of_the_embedded_profile_stop_a_command(run: Run) -> None:
    done = run("runnode", NODE_WEB_WORKERS="2")

    assert done.returncode == 1
    assert (
        "(node.E017) NODE_WEB_WORKERS is 2, but the embedded profile is one process.\n"
        in done.stderr
    )
    assert "NODE_PROFILE=production" in done.stderr


def test_variables_of_other_programs_pass_the_strict_check(run: Run) -> None:
    strict = ("check", "--fail-level", "WARNING")

    assert run(*strict, NODE_ENV="test", NODE_OPTIONS="", NODE_FOO="1").returncode == 0
    assert run(*strict, NODE_MINNG="manual").returncode == 1


def test_wrong_value_is_reported_in_one_line_with_allowed_values(run: Run) -> None:
    for name, value, allowed in (
        ("NODE_MINING", "atuo", "one of auto, interval, manual, mixed"),
        ("NODE_HTTP_PORT", "http", "a whole number from 0 to 65535"),
        ("NODE_PROFILE", "prod", "one of embedded, production"),
    ):
        done = run("init_node", **{name: value})

        assert done.returncode == 1
        assert done.stderr == f"{name} is '{value}'; it must be {allowed}\n"


@pytest.mark.parametrize("signal", ["worker_init", "beat_init"])
@pytest.mark.node_settings(profile="production")
@pytest.mark.usefixtures("node_settings")
def test_celery_processes_log_misspelled_settings(
    signal: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("NODE_MINNG", "manual")
    for observe in ("observe_worker", "observe"):
        monkeypatch.setattr(this_node().observation, observe, lambda *_: None)

    getattr(celery, signal).send(sender=None)

    said = [record for record in caplog.records if "NODE_MINNG" in record.message]
    assert [record.levelno for record in said] == [logging.WARNING]
    assert said[0].message.endswith("did you mean NODE_MINING?")
