"""If the producer of all blocks goes back, its followers report that instead of just waiting."""

import asyncio

from network_app.consensus.producers import ProducerHead
from network_app.consensus.report import ProducerRewind
from network_app.snowman.parameters import ONE_VOTE
from network_app.snowman.topological import Topological
from tests.builders.chain_vm import GENESIS, TextBlock, text_block
from tests.builders.queries import push
from tests.builders.voting import PEERS, Peers, Voter, chits, until, virtually

PRODUCER = PEERS[0]
A, OTHER = text_block(GENESIS, "a"), text_block(GENESIS, "other")
HIGHER = text_block(OTHER, "higher")


def tree(last: TextBlock) -> Topological:
    return Topological(ONE_VOTE, last.block_id, last.height)


def look(head: ProducerHead, block: TextBlock, last: TextBlock = A) -> ProducerRewind | None:
    return head.look({PRODUCER: (block.block_id, block.height)}, tree(last))


def test_producer_level_ahead_or_unknown_is_no_obstacle() -> None:
    head = ProducerHead()
    assert look(head, A) is None
    assert look(head, text_block(A, "b")) is None
    assert head.look({}, tree(A)) is None


def test_producer_below_or_on_another_block_counts_as_rewound() -> None:
    below = look(ProducerHead(), GENESIS)
    assert below == ProducerRewind(PRODUCER, GENESIS.block_id, 0, 1)
    assert (
        f"{PRODUCER}, which makes all blocks, has block {GENESIS.block_id} at height 0, below"
        in (below.words)
    )
    elsewhere = look(ProducerHead(), OTHER)
    assert elsewhere == ProducerRewind(PRODUCER, OTHER.block_id, 1, 1)
    assert "at height 1, another one than the last one accepted here" in elsewhere.words


def test_growth_of_another_branch_is_no_agreement() -> None:
    head = ProducerHead()
    found = look(head, OTHER)
    assert look(head, HIGHER) == found
    assert look(head, A) is None
    assert look(head, OTHER) == found
    assert look(head, text_block(A, "b"), text_block(A, "b")) is None


def test_follower_reports_and_clears_the_obstacle() -> None:
    async def case() -> None:
        peers = Peers([PRODUCER])
        async with Voter(peers=peers, parameters=ONE_VOTE, follows=True) as voter:
            await voter.hear(PRODUCER, push(A))
            await voter.accept(A, GENESIS)
            assert voter.runner.report().obstacle is None

            seen = len(peers.sent)
            await until(lambda: len(peers.sent) > seen)
            voter.answer_all(GENESIS, GENESIS, seen)
            await until(lambda: voter.runner.report().contradiction is not None)
            assert "below the last one accepted here, at height 1" in (
                voter.runner.report().obstacle or ""
            )

            seen = len(peers.sent)
            await until(lambda: len(peers.sent) > seen)
            voter.answer_all(A, A, seen)
            await until(lambda: voter.runner.report().obstacle is None)

    virtually(case())


def test_lagging_voters_are_no_obstacle() -> None:
    async def case() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A))
            await voter.accept(A, GENESIS)
            voter.hear(PEERS[1], chits(GENESIS, voter.peers.told("pull_query")[-1][1].request_id))
            await asyncio.sleep(3.0)
            assert voter.runner.report().obstacle is None

    virtually(case())
