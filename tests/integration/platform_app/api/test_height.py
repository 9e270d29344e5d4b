"""platform.getHeight, getProposedHeight and getTimestamp."""

from datetime import datetime

from tests.builders.platform import NOW
from tests.integration.platform_app.conftest import PChain, Rpc


def test_the_height_is_a_decimal_text_and_grows_with_blocks(pchain: PChain, rpc: Rpc) -> None:
    assert rpc("platform.getHeight") == {"height": "0"}
    pchain.do(pchain.make())
    assert rpc("platform.getHeight") == {"height": "1"}


def test_the_proposed_height_is_that_of_a_block_older_than_half_a_minute(
    pchain: PChain, rpc: Rpc
) -> None:
    pchain.do(pchain.make())
    pchain.now += 31
    assert rpc("platform.getProposedHeight") == {"height": "1"}
    pchain.do(pchain.make())
    assert rpc("platform.getProposedHeight") == {"height": "1"}
    pchain.now += 31
    assert rpc("platform.getProposedHeight") == {"height": "2"}


def test_the_proposed_height_is_never_far_behind(pchain: PChain, rpc: Rpc) -> None:
    for _ in range(66):
        pchain.issue(pchain.make())
        pchain.build()

    assert rpc("platform.getProposedHeight") == {"height": "2"}


def test_the_timestamp_is_chain_time_with_a_zone(pchain: PChain, rpc: Rpc) -> None:
    shown = rpc("platform.getTimestamp")["timestamp"]

    assert shown == "2023-11-14T22:13:20Z"
    assert datetime.fromisoformat(shown).timestamp() == NOW
    pchain.do(pchain.make())
    assert rpc("platform.getTimestamp") == {"timestamp": "2023-11-14T22:13:21Z"}
