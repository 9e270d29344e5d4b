"""Run a project's tests against this node and against Anvil, and compare which tests pass on each.

The project is written for Anvil and does not mention this node. The tests run on a copy of the project, with
the contracts that all projects share and the packages installed for it; only the node's address differs.
"""

import json
import os
import re
import shutil
import socket
import subprocess
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pytest
from typing_extensions import override

from tests.servers.node import RunningNode
from tests.servers.ports import free_port
from tests.servers.process import ServerProcess

CLIENTS = Path(__file__).resolve().parents[1] / "clients"
PROJECTS = CLIENTS / "projects"
FOUNDRY = CLIENTS / "node_modules/@foundry-rs"
CHAIN_ID = 43112
RUN_SECONDS = 280.0
"""Time limit for one run of a suite: JavaScript compilers start slowly on a busy machine."""
TRIES = 3
"""Most runs on Anvil until every test has passed once. Anvil answers before a block is mined, and the helpers
do not wait for it."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SAID = re.compile(r"Counter(?: says|: refuses after|: 0x).*")
"""Matches the lines that the sample contracts write to the console, but no failure message."""


class DevelopmentServer(Protocol):
    """A node that a project's tests run against."""

    @property
    def url(self) -> str:
        """Its HTTP URL."""
        ...

    def log(self) -> str:
        """Return all of its output."""
        ...


class Anvil(AbstractContextManager["Anvil"]):
    """Foundry's Anvil with its own defaults, except for the chain ID. It runs from construction to `close`."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        # Anvil runs without --silent, because its output contains the lines of console.log.
        binary = str(FOUNDRY / "anvil-linux-amd64/bin/anvil")
        # Without this option Anvil would write the states of old blocks to the home directory.
        states = ["--cache-path", str(directory / "states")]
        command = [binary, "--port", str(self.port), "--chain-id", str(CHAIN_ID), *states]
        self._process = ServerProcess(command, directory / "anvil.log")
        self._process.wait_until(self._answers)

    @property
    def url(self) -> str:
        """Its HTTP URL."""
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> str:
        """Return all of its output."""
        return self._process.log.read_text(errors="replace")

    @override
    def __exit__(self, *_exception: object) -> None:
        self._process.kill()

    def _answers(self) -> bool:
        try:
            socket.create_connection(("127.0.0.1", self.port)).close()
        except OSError:
            return False
        return True


class DevelopmentNode(RunningNode):
    """This node as a developer starts it, with a single address for all requests of a project."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)

    @property
    @override
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The cases of a suite that passed, and the reasons why the others failed."""

    passed: frozenset[str]
    failed: Mapping[str, str]

    @classmethod
    def of_mocha(cls, report: Path) -> "Outcome":
        """Read the report of mocha's JSON reporter."""
        found = json.loads(report.read_text())
        return cls(
            frozenset(item["fullTitle"] for item in found["passes"]),
            {other["fullTitle"]: other["err"].get("message", "") for other in found["failures"]},
        )

    @classmethod
    def of_forge(cls, printed: str) -> "Outcome":
        """Read the output of `forge test --json`."""
        results = {
            f"{suite.partition(':')[2]} {name}": result
            for suite, found in json.loads(printed).items()
            for name, result in found["test_results"].items()
        }
        passed = {name for name, result in results.items() if result["status"] == "Success"}
        failed = {name: str(results[name]["reason"]) for name in results.keys() - passed}
        return cls(frozenset(passed), failed)

    @property
    def cases(self) -> frozenset[str]:
        """All cases that were run."""
        return self.passed | self.failed.keys()

    def __or__(self, later: "Outcome") -> "Outcome":
        """Merge two runs, of one suite or of two: a case passes if it passed in either run."""
        passed = self.passed | later.passed
        both = {**self.failed, **later.failed}
        failed = {name: why for name, why in both.items() if name not in passed}
        return Outcome(passed, failed)


def on_anvil(run: Callable[[], Outcome], *, refused: Collection[str] = ()) -> Outcome:
    """Run a suite on Anvil until every case has passed once, and return the merged outcome.

    Args:
        run: runs the suite once.
        refused: the cases that Anvil is known to fail.
    """
    outcome = run()
    for _ in range(TRIES - 1):
        if outcome.failed.keys() <= set(refused):
            break
        outcome |= run()
    return outcome


def assert_passes_as_on_anvil(
    ours: Outcome,
    anvil: Outcome,
    *,
    refused: Collection[str] = (),
    differs: Collection[str] = (),
) -> None:
    """Check that everything that passes on Anvil passes on this node.

    Args:
        ours: the outcome on this node.
        anvil: the outcome on Anvil.
        refused: the cases that fail on Anvil; on this node they may pass.
        differs: the cases that must fail on this node, by a documented decision.

    Raises:
        AssertionError: A case passes on Anvil alone; the message lists each such case with its reason.
    """
    assert set(anvil.failed) == set(refused), f"on Anvil itself: {dict(anvil.failed)}"
    assert ours.cases == anvil.cases
    assert set(differs) <= set(ours.failed)
    differing = {
        name: why
        for name, why in ours.failed.items()
        if name in anvil.passed and name not in differs
    }
    listed = "\n".join(f"  {name}: {why}" for name, why in sorted(differing.items()))
    assert not differing, f"{len(differing)} of {len(anvil.passed)} pass on Anvil alone:\n{listed}"


def said_on_console(server: DevelopmentServer) -> set[str]:
    """Return the distinct lines of console.log in a server's output."""
    lines = COLOURS.sub("", server.log()).splitlines()
    found = (SAID.search(line) for line in lines if "rror" not in line)
    return {item.group().rstrip() for item in found if item is not None}


def copy_of_project(name: str, into: Path, *, packages: str | None = None) -> Path:
    """Copy a project, add the shared contracts, and link its installed packages.

    Args:
        name: its folder.
        into: the directory for the copy.
        packages: the project whose packages it uses, if not its own.
    """
    copy = into / name
    shutil.copytree(PROJECTS / name, copy, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(PROJECTS / "contracts", copy / "contracts", dirs_exist_ok=True)
    (copy / "node_modules").symlink_to(PROJECTS / (packages or name) / "node_modules")
    return copy


def run_in(directory: Path, command: Sequence[str], env: Mapping[str, str]) -> str:
    """Run a tool in a project and return its output, whatever its exit code.

    The exit code does not distinguish failed tests from a run that could not start; the report does.
    """
    done = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, **env},
        capture_output=True,
        text=True,
        check=False,
        timeout=RUN_SECONDS,
    )
    (directory / "printed.log").write_text(done.stdout + done.stderr)
    return done.stdout


def mocha_suite(
    directory: Path, command: Sequence[str], server: DevelopmentServer
) -> Callable[[], Outcome]:
    """Return a function that runs a Hardhat project's tests against a server."""
    report = directory / "report.json"

    def run() -> Outcome:
        report.unlink(missing_ok=True)
        env = {
            "NODE_URL": server.url,
            "REPORT": str(report),
            "HARDHAT_DISABLE_TELEMETRY_PROMPT": "true",
        }
        run_in(directory, command, env)
        if not report.exists():
            printed = (directory / "printed.log").read_text()
            pytest.fail(f"the project did not get to its tests:\n{printed}", pytrace=False)
        return Outcome.of_mocha(report)

    return run


def outcome_of_script(found: Mapping[str, Any]) -> Outcome:
    """Read the result of one of this project's scripts in tests/clients."""
    passed: Iterable[str] = found["passed"]
    return Outcome(frozenset(passed), found["failed"])
