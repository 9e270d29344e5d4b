"""The distribution of the end-to-end tests among workers."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.e2e.sharing import group_of
from tests.servers.node import ROOT

CONFTEST = """
from tests.e2e.sharing import WholeFiles

def pytest_xdist_make_scheduler(config, log):
    return WholeFiles(config, log)
"""
TESTS = """
import os
from pathlib import Path

import pytest

@pytest.mark.parametrize("number", range(4))
def test(number):
    with Path("seen").open("a") as seen:
        seen.write(f"{Path(__file__).stem} {os.environ['PYTEST_XDIST_WORKER']}\\n")
"""


@pytest.mark.parametrize(
    ("nodeid", "group"),
    [
        ("tests/e2e/test_foundry.py::test_a[x/test_network_y.py::z]", "test_foundry"),
        ("tests/e2e/test_network_voting.py::test_b", "five"),
        ("tests/e2e/test_network_standstill.py::test_b", "network"),
        ("tests/e2e/test_local_network.py::test_c", "network"),
        ("tests/e2e/test_strangers_calls.py::test_d", "five"),
    ],
)
def test_files_and_networks_of_a_size_are_scheduled_together(nodeid: str, group: str) -> None:
    assert group_of(nodeid) == group


def test_xdist_groups_tests_that_share(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST)
    files = ("test_one", "test_two", "test_network_a", "test_network_b")
    for name in files:
        (tmp_path / f"{name}.py").write_text(TESTS)
    options = [
        "-q",
        "-n",
        "2",
        "-p",
        "no:django",
        "-p",
        "no:cacheprovider",
        "--rootdir",
        str(tmp_path),
    ]

    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "."],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout
    seen = {(*line.split(),) for line in (tmp_path / "seen").read_text().splitlines()}
    worker = dict(seen)
    assert set(worker) == set(files)
    assert len(seen) == len(files)  # one worker for each file
    assert worker["test_network_a"] == worker["test_network_b"]
