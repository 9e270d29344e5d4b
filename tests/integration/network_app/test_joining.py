"""Whether a node that follows others requests the genesis from peers."""

import asyncio
from typing import Any

import pytest

from network_app import joining
from network_app.joining import JoinReason
from network_app.wire.node_pb2 import GenesisAnswer
from nodeproject.apps import this_node
from nodeproject.startup import identity
from primitives.networks import LOCAL
from tests.builders.modules import module_with
from tests.builders.node_settings import updated
from tests.builders.reasons import raises
from tests.servers.ports import free_port

FOLLOWING = {"bootstrap": ("127.0.0.1:1",), "network_id": LOCAL}


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Records that peers would have been asked."""
    found: list[str] = []

    def note(work: Any) -> None:
        work.close()
        found.append("asked")
        raise joining.CannotJoin(JoinReason.NOBODY_ANSWERS, names="", seconds=0, known="")

    monkeypatch.setattr(joining, "asyncio", module_with(asyncio, run=note))
    return found


def test_built_in_genesis_is_not_fetched(settings: Any, asked: list[str], tmp_path: Any) -> None:
    settings.NODE = updated(
        settings.NODE, parameters="avalanchego", data_dir=str(tmp_path), **FOLLOWING
    )
    joining.fetch_genesis(this_node().network)
    assert asked == []


@pytest.mark.parametrize("other", [{}, {"parameters": "avalanchego", "network_id": 777}])
def test_any_other_is(
    settings: Any, asked: list[str], tmp_path: Any, other: dict[str, Any]
) -> None:
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path), **(FOLLOWING | other))
    with raises(JoinReason.NOBODY_ANSWERS, kind=joining.CannotJoin):
        joining.fetch_genesis(this_node().network)
    assert asked == ["asked"]


@pytest.mark.usefixtures("db")
def test_dial_failures_are_in_the_fetch_error(
    settings: Any, data_dir: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = free_port()
    settings.NODE = updated(
        settings.NODE, data_dir=data_dir, network_id=LOCAL, bootstrap=(f"127.0.0.1:{port}",)
    )
    identity.make_identity(settings.NODE, 0)
    monkeypatch.setattr(joining, "PATIENCE", 0.5)

    with raises(JoinReason.NOBODY_ANSWERS, kind=joining.CannotJoin) as refused:
        joining.fetch_genesis(this_node().network)

    assert f"\n  bootstrapper 127.0.0.1:{port}: not reached: " in str(refused.value)


@pytest.mark.parametrize(
    ("consensus", "producer", "reason", "words"),
    [
        (
            "sole",
            "all",
            JoinReason.VALIDATORS_VOTE,
            "the validators of this network vote on its blocks: .*=snowman$",
        ),
        (
            "snowman",
            "NodeID-a",
            JoinReason.ONE_PRODUCER,
            "one node makes all blocks of this network: .*=sole$",
        ),
    ],
)
def test_a_node_with_another_way_of_deciding_is_refused(
    settings: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Any,
    *,
    consensus: str,
    producer: str,
    reason: JoinReason,
    words: str,
) -> None:
    def answer(work: Any) -> GenesisAnswer:
        work.close()
        return GenesisAnswer(platform=b"platform", cchain=b"cchain", producer=producer)

    monkeypatch.setattr(joining, "asyncio", module_with(asyncio, run=answer))
    settings.NODE = updated(settings.NODE, data_dir=str(tmp_path), consensus=consensus, **FOLLOWING)
    with raises(reason, kind=joining.CannotJoin, match=words):
        joining.fetch_genesis(this_node().network)
    assert not settings.NODE.common.genesis_directory.exists()
