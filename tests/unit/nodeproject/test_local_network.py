"""What the nodes of a local network get from the caller, and what is said of their number."""

from dataclasses import fields
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from nodeproject.local_network import (
    EACH_ITS_OWN,
    LocalNode,
    environment,
    ignored,
    remarks,
    settings_of,
)
from nodeproject.settings.flags import PREFIX
from nodeproject.settings.node import NodeSettings
from primitives.ids import NodeID

IDS = [NodeID(bytes([number]) * 20) for number in range(1, 7)]


def nodes(count: int) -> list[LocalNode]:
    return [
        LocalNode(Path(f"node{place}"), IDS[place], 9650 + 2 * place, 9651 + 2 * place)
        for place in range(count)
    ]


@pytest.mark.parametrize("options", [{"turns": True}, {"turns": False}])
def test_a_node_gets_what_all_may_share(options: dict[str, bool]) -> None:
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


def test_what_is_not_shared_are_settings() -> None:
    names = {PREFIX + one.name.upper() for one in fields(NodeSettings)}
    assert names > EACH_ITS_OWN
    assert set(settings_of(Path("network"), nodes(1), 0, turns=False)) <= EACH_ITS_OWN


@pytest.mark.parametrize(
    ("running", "founders", "said"),
    [
        (5, 5, []),
        (
            1,
            2,
            [
                "This network began with 2 validators, of which 1 runs: their stake is missing, which "
                "the health check P tells below 80 %."
            ],
        ),
        (2, 1, ["This network began with 1 validator: node 2 is none, and follows."]),
        (4, 2, ["This network began with 2 validators: nodes 3, 4 are none, and follow."]),
    ],
)
def test_more_or_fewer_nodes_than_validators_are_told(
    running: int, founders: int, said: list[str]
) -> None:
    assert remarks(nodes(running), frozenset(IDS[:founders])) == said


@pytest.mark.parametrize(
    ("count", "words"),
    [
        ("0", "must be 1 or more"),
        ("-3", "must be 1 or more"),
        ("five", "'five' is no whole number"),
    ],
)
def test_a_network_has_a_node_at_least(count: str, words: str) -> None:
    with pytest.raises(CommandError, match=f"^Error: argument --nodes: {words}$"):
        call_command("local_network", f"--nodes={count}")
