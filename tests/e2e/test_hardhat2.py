"""A Hardhat 2 project: network-helpers, chai matchers, console.log, hardhat-deploy, upgrades; compared with Anvil."""

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

ALICE = "0x70997970C51812dc3A010C7d01b50e0d17dc79C8"
SAYS = {
    "Counter says",
    "Counter says 1",
    "Counter says true false",
    f"Counter says {ALICE}",
    "Counter says one of 1",
    "Counter says 100%",
    "Counter says two words 3",
}
"""The console output of the sample contract, by argument."""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copy_of_project("hardhat2", tmp_path_factory.mktemp("projects"))


def run(project: Path, server: DevelopmentServer) -> Outcome:
    script = "node_modules/hardhat/internal/cli/cli.js"
    command = ["node", script, "test", "--network", "devnet"]
    return mocha_suite(project, command, server)()


@pytest.fixture(scope="module")
def there(project: Path, anvil: Anvil) -> Outcome:
    """The outcome on Anvil."""
    return on_anvil(lambda: run(project, anvil))


@pytest.fixture(scope="module")
def here(project: Path, devnet: DevelopmentNode) -> Outcome:
    """The outcome on this node."""
    return run(project, devnet)


def test_a_projects_tests_pass_as_on_anvil(here: Outcome, there: Outcome) -> None:
    assert len(there.cases) > 65
    for plugin in ("hardhat-deploy", "OpenZeppelin upgrades"):
        assert [case for case in there.cases if case.startswith(plugin)], plugin
    assert_passes_as_on_anvil(here, there)


@pytest.mark.usefixtures("here", "there")
def test_contracts_are_heard_as_on_anvil(anvil: Anvil, devnet: DevelopmentNode) -> None:
    assert said_on_console(anvil) > SAYS
    assert said_on_console(devnet) == said_on_console(anvil)
