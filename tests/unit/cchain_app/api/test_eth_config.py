"""eth_config (EIP-7910): the current fork, the next one and the last one."""

import zlib
from typing import Any

import pytest

from cchain_app.api.eth import node
from cchain_app.apps import evm_chain
from cchain_app.config import parse_config
from nodeproject.apps import this_node
from tests.unit.cchain_app.test_config import BLOCK_KEYS

PRAGUE_BLOBS = {"target": 6, "max": 9, "baseFeeUpdateFraction": 5007716}


@pytest.fixture
def scheduled(monkeypatch: pytest.MonkeyPatch):
    """Schedule forks at these times."""

    def schedule(**times: int) -> None:
        blocks = dict.fromkeys(BLOCK_KEYS, 0)
        config = parse_config({"chainId": 43112, "terminalTotalDifficulty": 0, **blocks, **times})
        monkeypatch.setattr(evm_chain(), "config", config)

    return schedule


def activations(found: dict[str, Any]) -> list[int | None]:
    return [
        value and value["activationTime"]
        for value in (found["current"], found["next"], found["last"])
    ]


def test_the_local_network_has_one_fork_from_its_genesis_on(rpc, memory_chain):
    found = rpc("eth_config")

    assert list(found) == ["current", "next", "last"]
    assert (found["next"], found["last"]) == (None, None)
    current = found["current"]
    assert list(current) == [
        "activationTime", "blobSchedule", "chainId", "forkId", "precompiles", "systemContracts",
    ]  # fmt: skip
    assert (current["activationTime"], current["chainId"]) == (0, "0xa868")
    assert current["blobSchedule"] == PRAGUE_BLOBS
    assert current["forkId"] == f"0x{zlib.crc32(memory_chain.blocks[0].hash):08x}"
    assert current["precompiles"]["ECREC"] == "0x" + "01".rjust(40, "0")
    assert current["precompiles"]["P256VERIFY"] == "0x" + "100".rjust(40, "0")
    assert current["systemContracts"]["BEACON_ROOTS_ADDRESS"] == (
        "0x000f3df6d732807ef1319fb7b8bb8522d0beac02"
    )


def test_eth_config_shows_next_and_last_fork(rpc, memory_chain, scheduled):
    head = memory_chain.accept().header.timestamp
    scheduled(
        shanghaiTime=0, cancunTime=head, pragueTime=head + 1, osakaTime=head + 2, bpo1Time=head + 3
    )
    found = rpc("eth_config")

    assert activations(found) == [head, head + 1, head + 3]
    assert found["current"]["blobSchedule"] == {
        "target": 3, "max": 6, "baseFeeUpdateFraction": 3338477,
    }  # fmt: skip
    assert found["next"]["blobSchedule"] == PRAGUE_BLOBS
    assert found["last"]["precompiles"]["P256VERIFY"] == "0x" + "0100".rjust(40, "0")
    assert len({item["forkId"] for item in found.values()}) == 3


def test_next_fork_is_the_last_one_if_only_one_follows(rpc, memory_chain, scheduled):
    head = memory_chain.accept().header.timestamp
    scheduled(shanghaiTime=0, cancunTime=0, pragueTime=0, osakaTime=head + 1)
    found = rpc("eth_config")

    assert activations(found) == [0, head + 1, head + 1]
    assert found["next"] == found["last"]


def test_a_block_moves_it_on(rpc, memory_chain, scheduled):
    head = memory_chain.accept().header.timestamp
    scheduled(shanghaiTime=0, cancunTime=0, pragueTime=0, osakaTime=head + 1)
    coming = rpc("eth_config")["next"]
    memory_chain.accept(timestamp=head + 1)

    assert rpc("eth_config") == {"current": coming, "next": None, "last": None}


def test_forks_with_equal_time_are_one_entry_of_the_later_fork(rpc, memory_chain, scheduled):
    head = memory_chain.accept().header.timestamp
    scheduled(shanghaiTime=0, cancunTime=head, pragueTime=head)
    found = rpc("eth_config")

    assert activations(found) == [head, None, None]
    assert found["current"]["blobSchedule"] == PRAGUE_BLOBS


def test_forks_that_have_no_time_have_no_entry(memory_chain, scheduled):
    scheduled()

    assert node.fork_config(this_node().evm_rpc) == {
        "current": None,
        "next": None,
        "last": None,
    }
