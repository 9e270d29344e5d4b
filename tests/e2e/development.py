"""A project's tests against this node and against Anvil: two servers side by side, and what passes on each.

A project is written for Anvil and knows nothing of this node. It runs on a copy, with the contracts that
all projects share and the packages that were installed for it; only the address of the node differs.
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
CLIENT_NAME = "anvil/v1.7.1"
"""What helpers look for in web3_clientVersion (`NODE_CLIENT_NAME`)."""
RUN_SECONDS = 280.0
"""Until one run of a suite is given up: compilers of JavaScript start slowly on a busy machine."""
TRIES = 3
"""Runs on Anvil, until all has passed once: it answers before a block is made, and helpers do not wait."""
COLOURS = re.compile(r"\x1b\[[0-9;]*m")
SAID = re.compile(r"Counter(?: says|: refuses after|: 0x).*")
"""What the sample contracts say on the console begins so, and no message of a failure does."""


class DevelopmentServer(Protocol):
    """A node that a project's tests run against."""

    @property
    def url(self) -> str:
        """Where it answers over HTTP."""
        ...

    def log(self) -> str:
        """Return all that it has printed."""
        ...


class Anvil(AbstractContextManager["Anvil"]):
    """Foundry's Anvil with its own defaults, but for the chain ID; runs at once, until it is closed."""

    def __init__(self, directory: Path) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        # What it prints has the words of console.log: it is not silenced.
        binary = str(FOUNDRY / "anvil-linux-amd64/bin/anvil")
        # It would leave states of old blocks at home.
        states = ["--cache-path", str(directory / "states")]
        command = [binary, "--port", str(self.port), "--chain-id", str(CHAIN_ID), *states]
        self._process = ServerProcess(command, directory / "anvil.log")
        self._process.wait_until(self._answers)

    @property
    def url(self) -> str:
        """Where it answers over HTTP."""
        return f"http://127.0.0.1:{self.port}"

    def log(self) -> str:
        """Return all that it has printed."""
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
    """This node as a developer starts it, at the one address that a project asks."""

    def __init__(self, directory: Path) -> None:
        super().__init__(directory, env={"NODE_CLIENT_NAME": CLIENT_NAME})

    @property
    @override
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Which cases of a suite passed, and why the others did not."""

    passed: frozenset[str]
    failed: Mapping[str, str]

    @classmethod
    def of_mocha(cls, report: Path) -> "Outcome":
        """Read what mocha's JSON reporter wrote."""
        found = json.loads(report.read_text())
        return cls(
            frozenset(one["fullTitle"] for one in found["passes"]),
            {one["fullTitle"]: one["err"].get("message", "") for one in found["failures"]},
        )

    @classmethod
    def of_forge(cls, printed: str) -> "Outcome":
        """Read what `forge test --json` prints."""
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
        """Return what passed in one of two runs, of one suite or of two."""
        passed = self.passed | later.passed
        both = {**self.failed, **later.failed}
        failed = {name: why for name, why in both.items() if name not in passed}
        return Outcome(passed, failed)


def on_anvil(run: Callable[[], Outcome], *, refused: Collection[str] = ()) -> Outcome:
    """Run a suite on Anvil; return what passes there.

    Args:
        run: one run.
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
    """Check that what passes on Anvil passes here.

    Args:
        ours: what was found here.
        anvil: what was found there.
        refused: the cases that fail on Anvil; here they may pass.
        differs: those that fail here by a decision that is documented; they must fail.

    Raises:
        AssertionError: A case does not; the message names each with its reason.
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
    """Return the lines of console.log in a server's output; how often each was said is its own affair."""
    lines = COLOURS.sub("", server.log()).splitlines()
    found = (SAID.search(line) for line in lines if "rror" not in line)
    return {one.group().rstrip() for one in found if one is not None}


def copy_of_project(name: str, into: Path, *, packages: str | None = None) -> Path:
    """Copy a project, add the shared contracts to its own, and link the packages that are installed for it.

    Args:
        name: its folder.
        into: where the copy goes.
        packages: the project whose packages it uses, if not its own.
    """
    copy = into / name
    shutil.copytree(PROJECTS / name, copy, ignore=shutil.ignore_patterns("node_modules"))
    shutil.copytree(PROJECTS / "contracts", copy / "contracts", dirs_exist_ok=True)
    (copy / "node_modules").symlink_to(PROJECTS / (packages or name) / "node_modules")
    return copy


def run_in(directory: Path, command: Sequence[str], env: Mapping[str, str]) -> str:
    """Run a tool in a project and return what it prints; how it ended does not matter.

    A run whose tests fail ends as one that could not begin: the report tells them apart.
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
    """Return what runs a Hardhat project's tests against a server."""
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
    """Read what a script of ours in tests/clients found."""
    passed: Iterable[str] = found["passed"]
    return Outcome(frozenset(passed), found["failed"])
