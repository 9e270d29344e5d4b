"""Blocks of the C-Chain whose body another node has changed: their ID, the header's hash, stays the same."""

import pytest

from cchain_app.atomic.transactions import join_payload, split_payload
from cchain_app.blocks.accepted import encode_block
from cchain_app.blocks.errors import BlockReason, BlockRefused
from cchain_app.rules.ethereum import PAYLOAD_FORMAT
from cchain_app.services import atomic
from chaindb import clock
from chainvm.port import BlockContext
from network_app.ports import BlockRejection
from network_app.proposervm.block import parse
from platform_app.config import UNIT
from tests.builders.reasons import raises
from tests.integration.cchain_app.atomic.conftest import Both
from tests.integration.network_app.world import (
    FOLLOWER,
    Past,
    World,
    follow,
    forged,
    refusal,
    tip,
)


@pytest.fixture
def moved(world: World) -> Past:
    """Blocks of which the last one of the C-Chain has two imports and two transfers; the rows have none of them."""
    both = Both(world.p)
    for _ in range(2):
        both.exported_to_c(5 * UNIT)
    for utxo in both.to_c():
        atomic.issue(world.c.evm, both.make_import(utxo))
    block = world.make_c(1, 2)
    assert block.payload is not None
    assert (len(split_payload(block.payload)), len(block.transactions)) == (2, 2)
    return world.hand_over()


def changed_bodies(inner: bytes) -> dict[str, bytes]:
    """Return the header of a block with other bodies."""
    block = PAYLOAD_FORMAT.parse_block(inner)
    header, envelopes, withdrawals = block.header, block.transactions, block.withdrawals
    assert block.payload is not None
    reordered = join_payload(split_payload(block.payload)[::-1])
    return {
        "stripped": encode_block(header, envelopes, (), withdrawals),
        "changed": encode_block(header, envelopes, (), withdrawals, block.payload + b"\0"),
        "reordered": encode_block(header, envelopes, (), withdrawals, reordered),
        "no withdrawals": encode_block(header, envelopes, (), (), block.payload),
        "no transactions": encode_block(header, [], (), withdrawals, block.payload),
        "transactions reordered": encode_block(
            header, envelopes[::-1], (), withdrawals, block.payload
        ),
    }


def test_a_changed_body_is_refused_and_the_right_one_is_accepted_afterwards(
    world: World, moved: Past
) -> None:
    node = world.node(FOLLOWER)
    follow(node.p, moved.p)
    *before, right = moved.c
    follow(node.c, before)

    for body in changed_bodies(parse(right).inner).values():
        wrong = forged(node.c, right, inner=body)
        refusal(BlockRejection, node.c, wrong)
    follow(node.c, [right])

    assert tip(node.c).raw == parse(right).inner


def test_another_body_with_the_header_of_a_processing_block_is_refused(
    world: World, moved: Past
) -> None:
    """Whoever joins later would get the accepted block with a body that nobody can execute."""
    node = world.node(FOLLOWER)
    follow(node.p, moved.p)
    *before, right = moved.c
    follow(node.c, before)
    vm, context = node.c.vm.get(), BlockContext(clock.now())
    block = vm.parse(right)
    vm.verify(block, context)
    rewrapped = vm.parse(forged(node.c, right, by=None))

    for body in changed_bodies(parse(right).inner).values():
        wrong = vm.parse(forged(node.c, right, by=None, inner=body))
        assert wrong.inner.block_id == block.inner.block_id
        with raises(BlockReason.OTHER_BODY, kind=BlockRefused):
            vm.verify(wrong, context)
        assert wrong.block_id not in vm
    vm.verify(rewrapped, context)
    vm.accept([block.block_id], written=lambda _: None)

    assert tip(node.c).raw == parse(right).inner
