"""viem's test client: every action of `createTestClient` in the modes anvil and hardhat; compared with Anvil."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.e2e.conftest import node_script
from tests.e2e.development import (
    CHAIN_ID,
    Anvil,
    DevelopmentNode,
    DevelopmentServer,
    Outcome,
    assert_passes_as_on_anvil,
    on_anvil,
    outcome_of_script,
)

DIFFERS = {"reset: to another chain"}
"""A data directory that is no fork cannot become one while the node runs (docs/development.md)."""

REFUSED = {
    "anvil": set[str](),
    # Anvil does not have the first two methods, and it reads the milliseconds of the third as seconds.
    "hardhat": {
        "setBlockTimestampInterval, removeBlockTimestampInterval",
        "setRpcUrl: of a chain that is no fork",
        "setIntervalMining: blocks come by themselves",
    },
}
"""The actions that fail on Anvil, by mode."""


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Anvil]:
    """Another chain, which clients fork on the node."""
    with Anvil(tmp_path_factory.mktemp("upstream")) as running:
        yield running


@pytest.mark.parametrize("mode", sorted(REFUSED))
def test_every_action_behaves_as_on_anvil(
    mode: str, devnet: DevelopmentNode, anvil: Anvil, upstream: Anvil, contracts: dict[str, Any]
) -> None:
    never_used = set[str]()

    def run(server: DevelopmentServer) -> Outcome:
        given = {
            "url": server.url,
            "upstream": upstream.url,
            "chainId": CHAIN_ID,
            "mode": mode,
            "artifact": contracts["Ledger"],
        }
        found = node_script("run.mjs", "viem_devnet", "everyAction", json.dumps(given))
        never_used.clear()
        never_used.update(found["unused"])
        return outcome_of_script(found)

    refused = REFUSED[mode]
    there = on_anvil(lambda: run(anvil), refused=refused)
    # The action that undoes a missing action is not tried.
    assert never_used <= {"removeBlockTimestampInterval"}
    assert len(there.passed) > 30
    assert_passes_as_on_anvil(run(devnet), there, refused=refused, differs=DIFFERS)
