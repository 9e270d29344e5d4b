"""The least time between blocks of a subnet's chain, and the time in milliseconds (ACP-226)."""

from dataclasses import replace
from typing import Any

import pytest

from cchain_app.blocks.candidate import CandidateBlock
from cchain_app.evm.select import has_native
from cchain_app.rules.coreth.min_delay import FIRST_EXCESS, MAX_EXCESS_CHANGE, delay_of
from cchain_app.rules.subnet_evm.delay import DelayReason
from cchain_app.rules.subnet_evm.genesis import load_genesis
from cchain_app.rules.subnet_evm.header import SubnetEvmHeader
from cchain_app.rules.subnet_evm.rules import SUBNET_EVM_FORMAT, SubnetEvmRules
from chainvm.port import BlockContext
from primitives.hashing import EMPTY_ROOT
from primitives.upgrades import OWN_NETWORK
from tests.builders.reasons import raises
from tests.builders.subnet_evm import subnet_genesis
from tests.builders.transactions import CHAIN_ID
from tests.unit.cchain_app.rules.test_subnet_evm import NOW, built, candidate, processing

pytestmark = pytest.mark.skipif(not has_native(), reason="the native engine was not built")


def test_blocks_wait_for_the_delay() -> None:
    blocks = processing(enforces_delay=True)
    parent = built(blocks, now=NOW)
    rules = blocks._executor.rules
    due, later = 1_000 * NOW + 2_000, 1_000 * NOW + 2_345
    asked = (1_000 * NOW, due - 1, due, later)
    assert [rules.builds_from(parent, time) for time in asked] == [due, due, due, later]
    assert processing()._executor.rules.builds_from(parent, asked[0]) == asked[0]


def test_a_header_has_the_millisecond_at_which_a_block_is_built() -> None:
    here, there = processing(enforces_delay=True), processing(enforces_delay=True)
    parent = candidate(built(here, now=NOW))
    made = here.build((), BlockContext.at(1_000 * NOW + 2_345), allow_empty=True).made
    assert made is not None
    header = made.block.header
    assert isinstance(header, SubnetEvmHeader)
    assert (header.timestamp, header.timestamp_milliseconds) == (NOW + 2, 1_000 * NOW + 2_345)
    for block in (parent, candidate(made.block)):
        there.verify(block, (), BlockContext(NOW + 5))


def test_an_early_block_is_refused_unless_the_network_has_decided_it() -> None:
    here = processing()
    parent, early = built(here, now=NOW), built(here, now=NOW + 1)
    for is_decided in (False, True):
        there = processing(enforces_delay=True)
        there.verify(candidate(parent), (), BlockContext(NOW + 5))
        context = BlockContext(NOW + 5, decided=is_decided)
        if is_decided:
            there.verify(candidate(early), (), context)
            continue
        with raises(DelayReason.TOO_SOON, match="actual delay 1000ms < required 2000ms"):
            there.verify(candidate(early), (), context)


def changed(block: CandidateBlock, **changes: Any) -> CandidateBlock:
    header = replace(block.header, **changes)
    return replace(block, header=header, hash=header.hash)


def test_other_nodes_may_vote_and_have_milliseconds() -> None:
    here = processing()
    parent, child = (candidate(built(here, now=NOW + second)) for second in (0, 2))
    there = processing(enforces_delay=True)
    there.verify(parent, (), BlockContext(NOW + 5))
    voted = changed(
        child,
        timestamp_milliseconds=1_000 * (NOW + 2) + 345,
        min_delay_excess=FIRST_EXCESS - MAX_EXCESS_CHANGE,
    )
    there.verify(voted, (), BlockContext(NOW + 5))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"timestamp_milliseconds": None}, DelayReason.NO_MILLISECONDS),
        ({"timestamp_milliseconds": 1_000 * (NOW + 3)}, DelayReason.OTHER_SECONDS),
        ({"min_delay_excess": None}, DelayReason.NO_EXCESS),
        ({"min_delay_excess": FIRST_EXCESS + MAX_EXCESS_CHANGE + 1}, DelayReason.EXCESS),
        ({"min_delay_excess": FIRST_EXCESS - MAX_EXCESS_CHANGE - 1}, DelayReason.EXCESS),
    ],
)
def test_wrong_times_are_refused(changes: dict[str, Any], reason: DelayReason) -> None:
    here, there = processing(), processing()
    parent, child = (candidate(built(here, now=NOW + second)) for second in (0, 2))
    there.verify(parent, (), BlockContext(NOW + 5))
    with raises(reason):
        there.verify(changed(child, **changes), (), BlockContext(NOW + 5))


def test_time_does_not_go_back_within_a_second() -> None:
    here, there = processing(), processing()
    parent, child = (candidate(built(here, now=NOW)) for _ in range(2))
    late = changed(parent, timestamp_milliseconds=1_000 * NOW + 500)
    there.verify(late, (), BlockContext(NOW + 5))
    with raises(DelayReason.TOO_OLD):
        there.verify(changed(child, parent_hash=late.header.hash), (), BlockContext(NOW + 5))


@pytest.mark.parametrize(("asked", "delay"), [(None, 2_000), (0, 2_000), (1, 1), (25, 25)])
def test_the_genesis_file_says_the_first_delay(asked: int | None, delay: int) -> None:
    more = {} if asked is None else {"initialMinDelayMS": asked}
    genesis = load_genesis(subnet_genesis(CHAIN_ID, **more), OWN_NETWORK)
    header = SUBNET_EVM_FORMAT.genesis_block(genesis, EMPTY_ROOT).header
    assert isinstance(header, SubnetEvmHeader)
    assert delay_of(header.min_delay_excess or 0) == delay
    assert SubnetEvmRules(genesis.config).enforces_delay is False  # type: ignore[arg-type]
