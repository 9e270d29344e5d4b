"""Blocks made by a producer that the tests' node has not seen yet, and functions that follow them."""

from typing import Any

import pytest

from chainvm.errors import InvalidBlock
from platform_app.apps import platform_chain, platform_runtime
from platform_app.blocks.block import Block, build_standard
from platform_app.config import DAY
from platform_app.selectors import accepted
from platform_app.services.vm import parse_block
from platform_app.txs.base import Tx
from tests.builders import platform_tables
from tests.builders.decided import accept_platform
from tests.builders.process import restart_node
from tests.integration.platform_app.conftest import PChain

MUCH_LATER = 400 * DAY


class Producer:
    """The chain before and after a producer made blocks that the tests' node has not seen."""

    def __init__(self, pchain: PChain) -> None:
        self.pchain = pchain
        self._before = platform_tables.rows()
        self._height = platform_chain().tip().height

    def hand_over(self) -> list[Block]:
        """Return the blocks made since, and restore the rows from before them."""
        self.after = platform_tables.alike()
        found = accepted.raw_blocks(
            platform_chain(), self._height + 1, platform_chain().tip().height, 1 << 30
        )
        platform_tables.put_back(self._before)
        restart_node()
        return [parse_block(item.raw) for item in found]


def follow(pchain: PChain, *blocks: Block, **given: Any) -> None:
    accept_platform(platform_runtime(), blocks, now=pchain.now, **given)


def refusal(pchain: PChain, *blocks: Block) -> Exception:
    """Return the error with which blocks are rejected; none of them may be accepted."""
    before = platform_tables.rows()
    with pytest.raises(InvalidBlock) as refused:
        follow(pchain, *blocks)
    assert platform_tables.rows() == before
    return refused.value


def standard(pchain: PChain, *txs: Tx, after: int = 0, **changes: Any) -> Block:
    tip = platform_chain().tip()
    fields = {
        "parent_id": tip.block_id,
        "height": tip.height + 1,
        "time": tip.timestamp + after,
        "txs": txs,
        **changes,
    }
    return build_standard(**fields)
