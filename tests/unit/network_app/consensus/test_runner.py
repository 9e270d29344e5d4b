"""A chain's runner: messages, ticks and failures; the test plays the peers, time is virtual."""

import asyncio

from network_app.wire import p2p_pb2 as p2p
from tests.builders.chain_vm import GENESIS, PROPOSAL, TextBlock, text_block
from tests.builders.queries import STRANGERS, A, B, answers, nothing_processing, pull, push
from tests.builders.voting import OWN, PEERS, Peers, Voter, until, virtually


def test_query_is_answered_before_its_block_is_verified() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A, 1))
            await voter.hear(PEERS[0], pull(A, 2))
            await voter.hear(PEERS[0], pull(A, 3, height=0))
            assert answers(voter, 1) == [nothing_processing()]
            assert answers(voter, 2) == [(A.block_id, A.block_id, GENESIS.block_id, 0)]
            assert answers(voter, 3) == [(A.block_id, GENESIS.block_id, GENESIS.block_id, 0)]

    virtually(run())


def test_votes_decide_and_chits_show_the_decision() -> None:
    async def run() -> None:
        async with Voter() as voter:
            accepted: list[TextBlock] = []
            voter.runner.on_accepted.append(accepted.append)
            await voter.hear(PEERS[0], push(A, 1))
            await voter.accept(A, GENESIS)
            assert voter.vm.accepted == [GENESIS, A]
            assert accepted == [A]
            assert voter.written == [A.block_id]
            await voter.hear(PEERS[0], pull(A, 2))
            assert answers(voter, 2) == [nothing_processing(A)]

    virtually(run())


def test_a_chain_that_bootstraps_answers_nothing() -> None:
    async def run() -> None:
        voter = Voter()
        await voter.hear(PEERS[0], pull(A))
        await voter.hear(PEERS[0], p2p.Get(request_id=1, container_id=bytes(GENESIS.block_id)))
        assert voter.peers.sent == []
        voter.runner.blocks_waiting()
        async with voter:
            await voter.hear(PEERS[0], pull(A))
            assert answers(voter) == [nothing_processing()]
        assert not voter.runner.report().is_running
        voter.peers.sent.clear()
        await voter.hear(PEERS[0], pull(A))
        assert voter.peers.sent == []

    virtually(run())


def test_messages_of_other_chains_are_ignored() -> None:
    async def run() -> None:
        async with Voter() as voter:
            sent = len(voter.peers.told("chits"))
            await voter.hear(PEERS[0], push(A, chain_id=bytes(32)))
            await voter.hear(PEERS[0], p2p.GetAcceptedFrontier(request_id=1))
            await voter.hear(PEERS[0], p2p.PullQuery(request_id=1, container_id=b"short"))
            await voter.hear(PEERS[0], p2p.Get(request_id=1, container_id=b"short"))
            assert len(voter.peers.told("chits")) == sent
            assert voter.vm.verified == []

    virtually(run())


def test_get_returns_processing_and_accepted_blocks_only() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(A))
            for number, block in enumerate((GENESIS, A, B)):
                question = p2p.Get(request_id=number, container_id=bytes(block.block_id))
                await voter.hear(STRANGERS[0] if number else PEERS[1], question)
            voter.peers.there.append(STRANGERS[0])
            await voter.hear(STRANGERS[0], p2p.Get(request_id=3, container_id=bytes(A.block_id)))
            given = [(one.request_id, one.container) for _, one in voter.peers.told("put")]
            assert given == [(0, GENESIS.raw), (3, A.raw)]

    virtually(run())


def test_missing_ancestors_are_fetched_from_the_peer_that_named_them() -> None:
    async def run() -> None:
        line = [GENESIS]
        for number in range(5):
            line.append(text_block(line[-1], f"block {number}"))
        async with Voter() as voter:
            by_id = {bytes(block.block_id): block for block in line}
            await voter.hear(PEERS[2], push(line[-1]))
            seen = 0
            while len(voter.vm.verified) < 5:
                await until(lambda at=seen: len(voter.peers.told("get")) > at)  # type: ignore[misc]
                asked, question = voter.peers.told("get")[seen]
                seen += 1
                assert asked == PEERS[2]
                block = by_id[question.container_id]
                await voter.hear(
                    asked, p2p.Put(request_id=question.request_id, container=block.raw)
                )
                await asyncio.sleep(0.01)
            assert seen == 4
            assert voter.vm.verified == [block.block_id for block in line[1:]]

    virtually(run())


def test_proposal_block_is_issued_with_both_options() -> None:
    async def run() -> None:
        proposal = text_block(GENESIS, "proposal", PROPOSAL)
        async with Voter() as voter:
            await voter.hear(PEERS[0], push(proposal))
            shown = voter.runner.report().processing
            assert [item.height for item in shown] == [1, 2, 2]
            assert [other.preferred for other in shown] == [True, True, False]

    virtually(run())


def test_idle_node_queries_one_validator() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await asyncio.sleep(10.0)
            asked = voter.peers.told("pull_query")
            assert 90 <= len(asked) <= 101
            assert {node_id for node_id, _ in asked} == set(PEERS)
            assert {one.requested_height for _, one in asked} == {1}

    virtually(run())


def test_block_named_by_chits_is_fetched() -> None:
    async def run() -> None:
        async with Voter() as voter:
            await until(lambda: voter.peers.told("pull_query"))
            voter.answer_all(A, GENESIS)
            await until(lambda: voter.peers.told("get"))
            ((asked, question), *_) = voter.peers.told("get")
            assert question.container_id == bytes(A.block_id)
            await voter.hear(asked, p2p.Put(request_id=question.request_id, container=A.raw))
            await until(lambda: A.block_id in voter.vm.verified)

    virtually(run())


def test_unsolicited_answer_is_ignored() -> None:
    async def run() -> None:
        async with Voter(peers=Peers()) as voter:
            await voter.hear(PEERS[0], p2p.Put(request_id=2, container=A.raw))
            await voter.hear(OWN, p2p.Put(request_id=4, container=A.raw))
            await asyncio.sleep(1.0)
            assert voter.vm.verified == []

    virtually(run())


def test_unaccepted_branch_is_reported_from_the_last_accepted_block() -> None:
    async def run() -> None:
        async with Voter() as voter:
            unknown = text_block(B, "unknown").block_id
            assert voter.runner.last_accepted() == GENESIS.block_id
            await voter.hear(PEERS[0], push(A))
            await voter.hear(PEERS[0], push(text_block(A, "second")))
            second = text_block(A, "second")
            await until(lambda: second.block_id in voter.vm.verified)
            line = [second.raw, A.raw, GENESIS.raw]
            assert voter.runner.line(second.block_id) == (line, GENESIS.parent_id)
            assert voter.runner.line(A.block_id) == (line[1:], GENESIS.parent_id)
            assert voter.runner.line(unknown) == ([], unknown)
            await voter.accept(A, GENESIS)
            assert voter.runner.last_accepted() == A.block_id
            assert voter.runner.line(second.block_id) == (line[:2], GENESIS.block_id)
        assert voter.runner.last_accepted() is None
        assert voter.runner.line(A.block_id) == ([], A.block_id)

    virtually(run())
