"""Processes that answer from memory acknowledge changes; ended processes are not waited for."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

from chaindb.followers import Follower, wait_for_all


def test_waiting_without_followers_returns_immediately(tmp_path: Path) -> None:
    assert wait_for_all(tmp_path / "none", 1, patience=0) == []


def test_processes_that_have_not_noticed_are_named(tmp_path: Path) -> None:
    follower = Follower(tmp_path / "followers")
    follower.begin()
    assert wait_for_all(tmp_path / "followers", 1, patience=0) == [os.getpid()]
    follower.note(0)
    assert wait_for_all(tmp_path / "followers", 1, patience=0) == [os.getpid()]
    follower.note(1)
    assert wait_for_all(tmp_path / "followers", 1, patience=0) == []
    follower.note(10)
    follower.note(None)
    assert wait_for_all(tmp_path / "followers", 10, patience=0) == []
    assert wait_for_all(tmp_path / "followers", 11, patience=0) == [os.getpid()]
    follower.end()
    assert wait_for_all(tmp_path / "followers", 11, patience=0) == []


def test_writer_waits_until_all_followers_have_noticed(tmp_path: Path) -> None:
    first, second = Follower(tmp_path), Follower(tmp_path)
    for value in (first, second):
        value.begin()
        value.note(0)
    found: list[list[int]] = []
    waiting = threading.Thread(target=lambda: found.append(wait_for_all(tmp_path, 1, patience=60)))
    waiting.start()
    first.note(1)
    assert wait_for_all(tmp_path, 1, patience=0) == [os.getpid()]
    second.note(1)
    waiting.join()
    assert found == [[]]
    first.end()
    second.end()


def test_killed_follower_is_not_awaited_and_leaves_no_file(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from chaindb.followers import Follower;"
        f"f = Follower(Path({str(tmp_path)!r})); f.begin(); f.note(0); print('ready', flush=True);"
        "sys.stdin.read()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        assert wait_for_all(tmp_path, 1, patience=0) == [process.pid]
        process.send_signal(signal.SIGKILL)
        process.wait()
    assert wait_for_all(tmp_path, 1, patience=0) == []
    assert list(tmp_path.iterdir()) == []


def test_follower_can_restart_after_its_end(tmp_path: Path) -> None:
    follower = Follower(tmp_path)
    follower.note(3)  # before its start this has no effect
    for _ in range(2):
        follower.begin()
        assert wait_for_all(tmp_path, 3, patience=0) == [os.getpid()]
        follower.note(3)
        assert wait_for_all(tmp_path, 3, patience=0) == []
        follower.end()
