"""The epoch of a chain's next block, as `proposervm.getCurrentEpoch` returns it."""

from typing import Any

from info_app.proposervm import OuterBlockInfo
from network_app.proposervm.block import SignedBlock, parse
from nodeproject.apps import this_node
from tests.integration.network_app.world import UPGRADES, World, raws


def epoch(world: World) -> Any:
    info = OuterBlockInfo(world.maker.p.rows, this_node().platform_rpc, UPGRADES)
    return info.get_current_epoch()


def test_the_stated_epoch_is_that_of_the_next_block(world: World) -> None:
    assert epoch(world)["number"] == "0"
    world.make_p()
    first = world.maker.p.rows.last()
    assert epoch(world) == {"number": "1", "startTime": str(first.time), "pChainHeight": "0"}

    world.wall.seconds += UPGRADES.granite_epoch_duration + 1
    world.make_p()
    stated = epoch(world)
    world.make_p()

    block = parse(raws(world.maker.p)[-1])
    assert isinstance(block, SignedBlock)
    assert block.epoch is not None
    assert stated == {
        "number": "2",
        "startTime": str(block.epoch.start_time),
        "pChainHeight": str(block.epoch.p_chain_height),
    }
