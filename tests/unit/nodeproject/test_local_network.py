"""The settings that nodes of a local network get from the caller, and messages about their number."""

from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from nodeproject.processes.local_network.directories import (
    EACH_ITS_OWN,
    LocalNode,
    environment,
    ignored,
    remarks,
    settings_of,
)
from nodeproject.processes.local_network.status import Quorum
from nodeproject.settings.flags import declared_in, variable
from nodeproject.settings.node import NodeSettings
from primitives.ids import NodeID
from tests.builders.node_settings import updated

IDS = [NodeID(bytes([number]) * 20) for number in range(1, 7)]


def nodes(count: int) -> list[LocalNode]:
    return [
        LocalNode(Path(f"node{place}"), IDS[place], 9650 + 2 * place, 9651 + 2 * place)
        for place in range(count)
    ]


@pytest.mark.parametrize("options", [{"votes": True}, {"votes": False}])
def test_node_inherits_shared_settings_only(options: dict[str, bool]) -> None:
    own = settings_of(Path("network"), nodes(2), 1, **options)
    caller = {
        "PATH": "/bin", "NODE_OPTIONS": "--trace", "NODE_LOG_LEVEL": "DEBUG", "NODE_MINING": "manual",
        "NODE_PROFILE": "production", "NODE_HTTP_PORT": "1", "NODE_DATA_DIR": "here",
        "NODE_NETWORK_ID": "12345",
    }  # fmt: skip

    assert environment(caller, own) == {
        "PATH": "/bin", "NODE_OPTIONS": "--trace", "NODE_LOG_LEVEL": "DEBUG", "NODE_MINING": "manual",
        **own,
    }  # fmt: skip
    assert ignored(caller, own) == ["NODE_HTTP_PORT", "NODE_PROFILE"]


def test_per_node_names_are_settings() -> None:
    names = {variable(declared) for declared in declared_in(NodeSettings)}
    assert names > EACH_ITS_OWN
    assert set(settings_of(Path("network"), nodes(1), 0, votes=False)) <= EACH_ITS_OWN


@pytest.mark.parametrize(
    ("running", "founders", "said"),
    [
        (5, 5, []),
        (
            1,
            2,
            [
                "This network began with 2 validators, of which 1 runs: their stake is missing, and "
                "the health check P fails below 80 %."
            ],
        ),
        (2, 1, ["This network began with 1 validator: node 2 is none, and follows."]),
        (4, 2, ["This network began with 2 validators: nodes 3, 4 are none, and follow."]),
    ],
)
def test_more_or_fewer_nodes_than_validators_are_reported(
    running: int, founders: int, said: list[str]
) -> None:
    sole = Quorum(13, 20, str(IDS[0]))
    assert remarks(nodes(running), frozenset(IDS[:founders]), sole) == said


@pytest.mark.parametrize(
    ("running", "founders", "alpha", "said"),
    [
        (5, 5, 13, []),
        (4, 4, 13, []),
        (1, 1, 15, []),
        (
            3,
            3,
            15,
            [
                "3 of 3 validators run, with 100 % of the stake; 75 % must be there: the network "
                "decides, and no other may be missing."
            ],
        ),
        (
            3,
            5,
            13,
            [
                "3 of 5 validators run, with 60 % of the stake; 65 % must be there: no block is "
                "decided until more of them run."
            ],
        ),
    ],
)
def test_too_few_voters_for_a_failure_are_reported(
    running: int, founders: int, alpha: int, said: list[str]
) -> None:
    found = remarks(nodes(running), frozenset(IDS[:founders]), Quorum(alpha, 20))
    assert found[-1:] == said


def test_voters_bootstrap_from_all_others_without_producer() -> None:
    second = settings_of(Path("network"), nodes(3), 1, votes=True)
    assert second["NODE_CONSENSUS"] == "snowman"
    assert second["NODE_PRODUCER"] == ""
    assert second["NODE_BOOTSTRAP"] == "127.0.0.1:9651,127.0.0.1:9655"


def test_followers_bootstrap_from_the_sole_producer() -> None:
    first, second = (settings_of(Path("network"), nodes(3), place, votes=False) for place in (0, 1))
    assert first["NODE_CONSENSUS"] == second["NODE_CONSENSUS"] == "sole"
    assert first["NODE_PRODUCER"] == second["NODE_PRODUCER"] == str(IDS[0])
    assert first["NODE_BOOTSTRAP"] == ""
    assert second["NODE_BOOTSTRAP"] == "127.0.0.1:9651"


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ("0", "must be at least 1"),
        ("-3", "must be at least 1"),
        ("five", "'five' is not a whole number"),
    ],
)
def test_a_network_has_a_node_at_least(count: str, words: str) -> None:
    with pytest.raises(CommandError, match=f"^Error: argument --nodes: {words}$"):
        call_command("local_network", f"--nodes={count}")


@pytest.mark.parametrize(
    "words", [("status",), ("stop", "1"), ("start", "1"), ("pause", "1")], ids=" ".join
)
def test_command_without_running_network_is_refused(
    tmp_path: Path, settings: Any, words: tuple[str, ...]
) -> None:
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path))
    with pytest.raises(CommandError, match=f"^no local network runs in {tmp_path}/network$"):
        call_command("local_network", *words)
