"""Processes that are forked from a warm process behave like newly started ones."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.servers.process import ServerProcess

SAYS = """
import json, os, sys
print(json.dumps([
    os.getpid() == os.getsid(0), os.environ.get("NODE_HTTP_PORT"), "HOME" in os.environ, os.getcwd(), sys.argv,
    "nodeproject" in sys.modules, sorted(map(int, os.listdir("/proc/self/fd")))[:4],
]))
sys.exit(7)
"""


def test_process_has_own_arguments_environment_and_group(tmp_path: Path) -> None:
    script = tmp_path / "says.py"
    script.write_text(SAYS)
    command = [sys.executable, str(script), "--loud"]

    process = ServerProcess(
        command, tmp_path / "log", env={"NODE_HTTP_PORT": "1"}, cwd=tmp_path, is_warm=True
    )

    assert process.ending(60) == 7
    said = json.loads((tmp_path / "log").read_text())
    assert said == [True, "1", False, str(tmp_path), command[1:], False, [0, 1, 2, 3]]
    assert not process.running


def test_process_ends_by_a_signal(tmp_path: Path) -> None:
    script = tmp_path / "waits.py"
    script.write_text("import signal, sys\nprint('waits', flush=True)\nsignal.pause()\n")
    log = tmp_path / "log"
    process = ServerProcess(
        [sys.executable, str(script)], log, env=os.environ, cwd=tmp_path, is_warm=True
    )
    process.wait_until(lambda: "waits" in log.read_text())
    assert process.running
    with pytest.raises(subprocess.TimeoutExpired):
        process._process.wait(0.01)

    process.stop()

    assert process.ending(60) == -signal.SIGTERM


def test_failing_process_logs_its_error(tmp_path: Path) -> None:
    script = tmp_path / "fails.py"
    script.write_text("raise LookupError('nothing there')\n")
    log = tmp_path / "log"

    process = ServerProcess(
        [sys.executable, str(script)], log, env=os.environ, cwd=tmp_path, is_warm=True
    )

    assert process.ending(60) == 1
    assert log.read_text().endswith("LookupError: nothing there\n")
