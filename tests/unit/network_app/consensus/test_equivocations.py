"""Only two different blocks that one proposer signs for the same slot are counted and logged."""

import pytest

from network_app.consensus.producers import BLOCKS, SHOWN, SLOTS, Equivocations
from network_app.proposervm.ports import Proposal
from tests.builders.chain_vm import GENESIS, text_block
from tests.builders.voting import PEERS

A, RIVAL = text_block(GENESIS, "a"), text_block(GENESIS, "rival")
SIGNED = Proposal(PEERS[0], slot=3, time=15)


def seen(*signed: tuple[object, Proposal]) -> Equivocations:
    found = Equivocations("C")
    for block, proposal in signed:
        found.look(block, proposal, 12.3456)  # type: ignore[arg-type]
    return found


def test_a_second_block_of_a_slot_is_named(caplog: pytest.LogCaptureFixture) -> None:
    found = seen((A, SIGNED), (RIVAL, SIGNED._replace(time=17)))
    assert found.count == 1
    assert found.latest() == ((PEERS[0], 1, 3, A.block_id, RIVAL.block_id, 12.346),)
    assert caplog.messages == [
        f"C-Chain: equivocation: {PEERS[0]} signed two blocks of height 1 for its slot 3: "
        f"{A.block_id}, {RIVAL.block_id}"
    ]


@pytest.mark.parametrize(
    "other",
    [
        (A, SIGNED),
        (RIVAL, SIGNED._replace(slot=4)),
        (RIVAL, SIGNED._replace(proposer=PEERS[1])),
        (text_block(A, "b"), SIGNED),
        (RIVAL, Proposal(None, 3, 15)),
    ],
    ids=["the same again", "another slot", "another proposer", "another parent", "unsigned"],
)
def test_honest_blocks_are_not_equivocations(other: tuple[object, Proposal]) -> None:
    assert seen((A, SIGNED), other).count == 0


def test_unsigned_siblings_are_not_equivocations() -> None:
    nobody = Proposal(None, 3, 15)
    assert seen((A, nobody), (RIVAL, nobody)).count == 0


def test_repeated_equivocation_is_counted_and_logged_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    blocks = [text_block(GENESIS, f"{number}") for number in range(BLOCKS + SHOWN)]
    found = seen(*((block, SIGNED) for block in blocks))
    assert found.count == len(blocks) - 1
    assert len(found.latest()) == SHOWN
    assert len(caplog.messages) == 1


def test_old_slots_are_dropped() -> None:
    found = seen((A, SIGNED))
    for slot in range(SLOTS):
        found.look(text_block(GENESIS, f"{slot}"), SIGNED._replace(slot=slot + 10), 0.0)
    found.look(RIVAL, SIGNED, 0.0)
    assert found.count == 0
