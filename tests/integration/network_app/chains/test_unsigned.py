"""Blocks where the schedule names nobody: nobody signs them, and they are taken (p2p.md 11.3)."""

from collections.abc import Mapping
from typing import Any

import pytest

from network_app.chains.chain import NetworkChain
from network_app.ports import InvalidBlock
from network_app.proposervm.block import SignedBlock, parse
from primitives.ids import NodeID
from tests.integration.network_app.world import (
    FOLLOWER,
    MAKER,
    World,
    follow,
    forged,
    raws,
    refusal,
)


def nobody(_height: int) -> Mapping[NodeID, int]:
    return {}


@pytest.fixture
def made(world: World) -> list[bytes]:
    """Blocks of a node where nobody owns a slot; the rows are without them again."""
    maker = world.node(MAKER, nobody)
    maker.decide()
    for value in (1, 2, 3):
        world.make_c(value)
    found = raws(maker.c)
    world.begin_anew()
    return found


@pytest.fixture
def follower(world: World, made: list[bytes]) -> NetworkChain[Any]:
    del made
    return world.node(FOLLOWER, nobody).c


def test_nobody_signs_them(made: list[bytes]) -> None:
    blocks = [parse(raw) for raw in made]
    assert len(blocks) == 3
    assert all(isinstance(one, SignedBlock) and one.proposer is None for one in blocks)


@pytest.mark.parametrize("bootstrapping", [False, True])
def test_they_are_taken_when_those_agree_that_are_trusted(
    follower: NetworkChain[Any], made: list[bytes], *, bootstrapping: bool
) -> None:
    accepted = follow(follower, made, agreed=True, bootstrapping=bootstrapping)
    assert [place.height for place in accepted.places] == [1, 2, 3]


@pytest.mark.parametrize(
    ("bootstrapping", "words"),
    [
        (False, "proposer mismatch: the block should be unsigned"),
        (True, "whoever signed it makes no blocks of this network"),
    ],
)
def test_one_that_is_signed_is_refused(
    follower: NetworkChain[Any], made: list[bytes], words: str, *, bootstrapping: bool
) -> None:
    follow(follower, made[:1], agreed=True)
    signed = forged(follower, made[1], by=MAKER)
    error = refusal(InvalidBlock, follower, signed, agreed=True, bootstrapping=bootstrapping)
    assert words in error.reason


def test_where_somebody_owns_the_slots_an_unsigned_one_of_the_past_is_refused(
    world: World, made: list[bytes]
) -> None:
    chain = world.node(FOLLOWER).c
    follow(chain, made[:1], agreed=True)
    error = refusal(InvalidBlock, chain, made[1], agreed=True, bootstrapping=True)
    assert error.reason == "whoever signed it makes no blocks of this network"
