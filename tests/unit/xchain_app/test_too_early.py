"""Blocks that other nodes may accept before this node can."""

import pytest

from chainvm.errors import InvalidBlock, NotYetValid
from primitives.ids import ID
from tests.conformance.xchain_vectors import World, document, raw_bytes, world
from xchain_app.blocks.block import build_block
from xchain_app.blocks.executor import execute_block, verify_alone
from xchain_app.txs.codec import parse

SEMANTIC = {case["id"]: case for case in document("semantic")["cases"]}
PARENT = ID(bytes(31) + b"p")


class Parent:
    block_id = PARENT
    height = 4


def execute(here: World, case_id: str) -> None:
    tx = parse(raw_bytes(SEMANTIC[case_id]["tx"]))
    block = build_block(parent_id=PARENT, height=5, time=here.clock, txs=[tx])
    verify_alone(block, here.env, here.clock)
    execute_block(block, Parent(), here.state, here.env)


@pytest.mark.parametrize(
    "case_id",
    ["semantic/062", "semantic/064", "semantic/008", "semantic/070"],
    ids=["not exported yet", "one not exported yet", "locked", "imported and locked"],
)
def test_too_early_transaction_may_become_valid(case_id: str) -> None:
    with pytest.raises(NotYetValid) as refused:
        execute(world(), case_id)

    assert str(refused.value).endswith(SEMANTIC[case_id]["error"])


@pytest.mark.parametrize("case_id", ["semantic/001", "semantic/005", "semantic/065"])
def test_invalid_block_is_not_reported_as_too_early(case_id: str) -> None:
    with pytest.raises(InvalidBlock) as refused:
        execute(world(), case_id)

    assert not isinstance(refused.value, NotYetValid)
