"""Who gives way when the buffer of blocks is full."""

from network_app.ports import ParsedBlock
from network_app.sync.buffer import Buffer
from primitives.hashing import sha256
from primitives.ids import ID, NodeID

FEW_LARGE, MANY_SMALL, PRODUCER = (NodeID(bytes([at]) * 20) for at in range(3))
ROOT = ID(bytes(32))


def block(name: str, height: int, size: int) -> ParsedBlock:
    return ParsedBlock(ID(sha256(name.encode())), ROOT, height, bytes(size), False)


def test_whoever_fills_the_bytes_gives_way_though_others_sent_more_blocks() -> None:
    buffer = Buffer(most_blocks=100, most_bytes=1000)
    small = [block(f"small {at}", at, 10) for at in range(20)]
    for one in small:
        buffer.add(one, MANY_SMALL, 0.0)
    for at in range(5):
        buffer.add(block(f"large {at}", at, 190), FEW_LARGE, 0.0)
    assert all(one.block_id in buffer for one in small)
    assert buffer.size == 20 * 10 + 4 * 190


def test_what_nobody_vouches_for_gives_way_first() -> None:
    buffer = Buffer(most_blocks=10)
    signed = [block(f"signed {at}", at, 10) for at in range(9)]
    for one in signed:
        buffer.add(one, PRODUCER, 0.0, signed=True)
    told = block("told", 3, 10)
    assert buffer.add(told, FEW_LARGE, 0.0)
    assert buffer.tell(told.block_id, PRODUCER)
    for at in range(5):
        assert not buffer.add(block(f"stray {at}", 5, 10), MANY_SMALL, 0.0)
    assert all(one.block_id in buffer for one in (*signed, told))


def test_of_what_is_vouched_for_the_highest_gives_way() -> None:
    buffer = Buffer(most_blocks=3)
    for at in range(4):
        buffer.add(block(f"signed {at}", at, 10), PRODUCER, 0.0, signed=True)
    assert [held.block.height for held in buffer.roots()] == [0, 1, 2]
