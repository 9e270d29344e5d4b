"""Blocks, and queries of peers about them to a chain that is voted on."""

from typing import Any

from network_app.wire import p2p_pb2 as p2p
from primitives.ids import ID
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.memory_network import node_id
from tests.builders.voting import Voter

A = text_block(GENESIS, "a")
B = text_block(A, "b")
STRANGERS = [node_id(f"stranger {number}") for number in range(20)]


def push(block: TextBlock, number: int = 77, **more: Any) -> p2p.PushQuery:
    return p2p.PushQuery(request_id=number, container=block.raw, requested_height=1, **more)


def pull(block: TextBlock, number: int = 77, height: int = 1) -> p2p.PullQuery:
    return p2p.PullQuery(
        request_id=number, container_id=bytes(block.block_id), requested_height=height
    )


def answers(voter: Voter, number: int = 77) -> list[tuple[ID, ID, ID, int]]:
    """Return the Chits that were sent in reply to a request number."""
    return [
        (
            ID(one.preferred_id),
            ID(one.preferred_id_at_height),
            ID(one.accepted_id),
            one.accepted_height,
        )
        for _, one in voter.peers.told("chits")
        if one.request_id == number
    ]


def nothing_processing(block: TextBlock = GENESIS) -> tuple[ID, ID, ID, int]:
    return block.block_id, block.block_id, block.block_id, block.height
